/*
 * The two ways out for bytes: the 16550 UART COM1, and the debug port 0xE9 of
 * Bochs (port_e9_hack) and QEMU (isa-debugcon).
 */
#ifndef HV_SERIAL_H
#define HV_SERIAL_H

#include "hv/types.h"

/* 115200 baud, 8 data bits, no parity, 1 stop bit, FIFOs on, no interrupts. */
void serial_init(void);

/* How many bytes the transmitter takes without losing one, 0: it is busy. */
u32 serial_room(void);

/* Sends bytes at once, at most serial_room(). */
void serial_put(const u8 *bytes, u32 count);

/* Sends size bytes, waiting for the transmitter on the way. */
void serial_write(const char *text, size_t size);

/* Waits until the last bit has left the shift register. What is still inside
 * when the power goes is lost. */
void serial_drain(void);

/* The debug port is always ready. */
void e9_put(const u8 *bytes, u32 count);

#endif
