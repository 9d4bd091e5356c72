/* A stream from a platform; see stream.h. */
#include "tools/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/tollgate.h"

#define COMPLAINTS_MAX 10

static int open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        close(fd);
        return -1;
    }
    strcpy(address.sun_path, path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int open_path(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return -1;
    if (S_ISSOCK(st.st_mode))
        return open_socket(path);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    return open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

bool stream_open(struct stream *s, const char *source)
{
    bool use_stdin = !source || strcmp(source, "-") == 0;

    memset(s, 0, sizeof(*s));
    wire_rx_init(&s->rx);
    s->name = use_stdin ? "stdin" : source;
    s->fd = use_stdin ? STDIN_FILENO : open_path(source);
    if (s->fd < 0) {
        complain("cannot open %s: %s; give a recording, a terminal or a Unix "
                 "socket, or - for stdin",
                 source, strerror(errno));
        return false;
    }
    if (use_stdin && isatty(s->fd))
        complain("reading the stream from this terminal; name a source if "
                 "that is not meant");
    if (!use_stdin && isatty(s->fd) && tcgetattr(s->fd, &s->saved) == 0) {
        struct termios raw = s->saved;

        cfmakeraw(&raw);
        s->is_tty = tcsetattr(s->fd, TCSANOW, &raw) == 0;
    }
    return true;
}

void stream_close(struct stream *s)
{
    if (s->is_tty)
        tcsetattr(s->fd, TCSANOW, &s->saved);
    if (s->fd > STDERR_FILENO)
        close(s->fd);
}

/* Reads on; false at the end. A pty whose other side is gone reports EIO. */
static bool fill(struct stream *s)
{
    ssize_t n;

    do
        n = read(s->fd, s->buf, sizeof(s->buf));
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EIO && errno != ECONNRESET)
        complain("cannot read %s: %s", s->name, strerror(errno));
    s->pos = 0;
    s->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static struct item *enqueue(struct stream *s, enum item_kind kind, u64 position)
{
    struct item *item = &s->queue[s->queue_len++];

    *item = (struct item){.kind = kind, .position = position};
    return item;
}

/* A run begins with frame 0, which is metadata. Within a run the numbers only
 * grow, so a smaller one is a new run whose first frames are missing. */
static void frame(struct stream *s)
{
    const struct wire_rx *rx = &s->rx;
    bool new_run = !s->in_run || rx->sequence < s->next_sequence;
    u32 expected = new_run ? 0 : s->next_sequence;

    if (new_run) {
        s->runs++;
        enqueue(s, ITEM_RUN, rx->start);
    }
    if (rx->sequence != expected) {
        u32 count = rx->sequence - expected;

        s->lost += count;
        enqueue(s, ITEM_LOST, rx->start)->count = count;
    }
    s->frames++;
    s->in_run = true;
    s->next_sequence = rx->sequence + 1;

    struct item *item = enqueue(s, ITEM_PACKET, rx->start);
    if (rx->type == FRAME_METADATA) {
        item->kind = ITEM_METADATA;
    } else if (rx->type != FRAME_PACKET) {
        item->kind = ITEM_BAD;
        item->text = "unknown frame type";
        s->bad++;
    }
    item->data = rx->data;
    item->size = rx->size;
    item->sequence = rx->sequence;
}

static void receive(struct stream *s, enum wire_event event)
{
    s->pending_pos = 0;
    s->pending_len = s->rx.text_len;
    memcpy(s->pending, s->rx.text, s->rx.text_len);
    if (event == WIRE_FRAME) {
        frame(s);
    } else if (event == WIRE_BAD) {
        s->bad++;
        enqueue(s, ITEM_BAD, s->rx.start)->text = s->rx.why;
    }
}

static void line(struct stream *s)
{
    const char *text = s->text.line;

    enqueue(s, ITEM_LINE, s->rx.position)->text = text;
    if (text[strspn(text, " \t")])
        snprintf(s->last_line, sizeof(s->last_line), "%.*s",
                 (int)sizeof(s->last_line) - 1, text);
}

struct item stream_next(struct stream *s)
{
    for (;;) {
        if (s->queue_pos < s->queue_len)
            return s->queue[s->queue_pos++];
        s->queue_pos = 0;
        s->queue_len = 0;
        if (s->pending_pos < s->pending_len) {
            if (text_byte(&s->text, s->pending[s->pending_pos++]))
                line(s);
        } else if (s->pos < s->len) {
            receive(s, wire_rx_byte(&s->rx, s->buf[s->pos++]));
        } else if (s->ended) {
            if (!text_end(&s->text))
                return (struct item){.kind = ITEM_END,
                                     .position = s->rx.position};
            line(s);
        } else if (!fill(s)) {
            s->ended = true;
            receive(s, wire_rx_end(&s->rx));
        }
    }
}

void stream_complain(struct stream *s, const struct item *item)
{
    unsigned long long at = item->position;

    if (s->complaints == COMPLAINTS_MAX)
        complain("%s: further damage is only counted", s->name);
    if (s->complaints++ >= COMPLAINTS_MAX)
        return;
    if (item->kind == ITEM_BAD)
        complain("%s: damaged frame at offset %llu: %s", s->name, at,
                 item->text);
    else
        complain("%s: frames missing before offset %llu: %u", s->name, at,
                 item->count);
}

bool stream_damaged(const struct stream *s)
{
    if (!s->bad && !s->lost)
        return false;
    complain("%s: damaged: %llu frames arrived damaged, %llu are missing "
             "(the damaged ones included), %llu are intact",
             s->name, (unsigned long long)s->bad, (unsigned long long)s->lost,
             (unsigned long long)s->frames);
    return true;
}
