/*
 * The two ways out for bytes: the 16550 UART COM1, and the debug port 0xE9 of
 * Bochs (port_e9_hack) and QEMU (isa-debugcon).
 */
#ifndef HV_SERIAL_H
#define HV_SERIAL_H

#include "hv/types.h"

/* 115200 baud, 8 data bits, no parity, 1 stop bit, FIFOs on, no interrupts. */
void serial_init(void);

/* Whether the transmitter takes a byte without losing it. */
bool serial_ready(void);

/* Sends a byte at once: call when serial_ready(). */
void serial_put(u8 byte);

/* Sends size bytes, waiting for the transmitter before each. */
void serial_write(const char *text, size_t size);

/* Waits until the last bit has left the shift register. What is still inside
 * when the power goes is lost. */
void serial_drain(void);

/* The debug port is always ready. */
void e9_put(u8 byte);

#endif
