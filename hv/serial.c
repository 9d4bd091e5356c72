/* 16550 UART (National Semiconductor PC16550D data sheet) and port 0xE9. */
#include "hv/cpu.h"
#include "hv/serial.h"

#define COM1 0x3f8

enum uart_register {
    UART_THR = COM1 + 0, /* transmitter holding; DLAB = 0 */
    UART_DLL = COM1 + 0, /* divisor, low byte; DLAB = 1 */
    UART_IER = COM1 + 1, /* interrupt enable; DLAB = 0 */
    UART_DLM = COM1 + 1, /* divisor, high byte; DLAB = 1 */
    UART_IIR = COM1 + 2, /* interrupt identification; read */
    UART_FCR = COM1 + 2, /* FIFO control; write */
    UART_LCR = COM1 + 3, /* line control */
    UART_MCR = COM1 + 4, /* modem control */
    UART_LSR = COM1 + 5, /* line status */
};

#define FCR_ENABLE   0x01
#define FCR_CLEAR_RX 0x02
#define FCR_CLEAR_TX 0x04
#define IIR_FIFOS    0xc0 /* both set: the FIFOs are there and on */
#define LCR_8N1      0x03
#define LCR_DLAB     0x80
#define MCR_DTR      0x01
#define MCR_RTS      0x02
#define LSR_THRE     0x20 /* holding register (or FIFO) empty */
#define LSR_TEMT     0x40 /* shift register empty as well */

#define DIVISOR_115200 1  /* of 1.8432 MHz / 16 */
#define FIFO_SIZE      16 /* of a 16550; an 8250 has a register */

/* A full FIFO takes 1.5 ms to leave at 115200 baud; this many reads of a
 * port take far longer anywhere, so only a dead UART reaches the bound. */
#define WAIT_READS 1000000

#define E9_PORT 0xe9

static u32 fifo_size = 1;

/* No REP OUTSB: KVM emulates each of its steps, which takes longer than the
 * short way that it has for OUT. */
static void put(u16 port, const u8 *bytes, u32 count)
{
    for (u32 i = 0; i < count; i++)
        outb(port, bytes[i]);
}

static void wait_for(u8 bits)
{
    for (u32 i = 0; i < WAIT_READS; i++)
        if ((inb(UART_LSR) & bits) == bits)
            return;
}

void serial_init(void)
{
    serial_drain(); /* what the firmware said last */
    outb(UART_IER, 0);
    outb(UART_LCR, LCR_DLAB);
    outb(UART_DLL, DIVISOR_115200);
    outb(UART_DLM, 0);
    outb(UART_LCR, LCR_8N1);
    outb(UART_FCR, FCR_ENABLE | FCR_CLEAR_RX | FCR_CLEAR_TX);
    outb(UART_MCR, MCR_DTR | MCR_RTS);
    if ((inb(UART_IIR) & IIR_FIFOS) == IIR_FIFOS)
        fifo_size = FIFO_SIZE;
}

u32 serial_room(void)
{
    return inb(UART_LSR) & LSR_THRE ? fifo_size : 0;
}

void serial_put(const u8 *bytes, u32 count)
{
    put(UART_THR, bytes, count);
}

void serial_write(const char *text, size_t size)
{
    while (size) {
        u32 n = size < fifo_size ? (u32)size : fifo_size;

        wait_for(LSR_THRE);
        serial_put((const u8 *)text, n);
        text += n;
        size -= n;
    }
}

void serial_drain(void)
{
    wait_for(LSR_THRE | LSR_TEMT);
}

void e9_put(const u8 *bytes, u32 count)
{
    put(E9_PORT, bytes, count);
}
