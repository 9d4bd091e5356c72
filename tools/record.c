/* tollgate record: a stream into a CTF directory that babeltrace2 reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/reader.h"
#include "tools/tollgate.h"
#include "trace/metadata.h"

static const char help[] =
    "usage: tollgate record -o DIR [OPTION...] [SOURCE]\n"
    "\n"
    "Records a stream into the Common Trace Format: DIR/metadata, and a file\n"
    "for each CPU with its packets as they came. `babeltrace2 DIR` prints it.\n"
    "If Tollgate starts more than once, the last run is what is recorded.\n"
    "\n"
    "  -o, --output DIR   where to (made if need be; files of an earlier\n"
    "                     recording are replaced)\n"
    "  --console FILE     the console text as well, without terminal control\n"
    "  --partial          a stream without a run, or a run without an end, is\n"
    "                     no error\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0 a whole run is recorded; 2 wrong use, or it cannot be\n"
    "written; 3 what there is is recorded, but something is missing or\n"
    "damaged.\n";

enum { OPT_CONSOLE = 256, OPT_PARTIAL };
static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"console", required_argument, NULL, OPT_CONSOLE},
    {"partial", no_argument, NULL, OPT_PARTIAL},
    {"help", no_argument, NULL, 'h'},
    {0},
};

#define CPUS_MAX 1024

struct recorder {
    const char *dir;
    FILE *console;
    FILE *streams[CPUS_MAX];
    u64 next_packet[CPUS_MAX]; /* sequence numbers that may still come */
    char *metadata;
    size_t metadata_len;
    u32 metadata_next;  /* sequence number of the piece that comes next */
    bool other_version; /* the packets' UUID is not this schema's */
    u32 runs;
    bool partial;
    bool failed; /* said on stderr */
};

static FILE *create(struct recorder *r, const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f) {
        complain("cannot write %s: %s", path, strerror(errno));
        r->failed = true;
    }
    return f;
}

static FILE *create_in_dir(struct recorder *r, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", r->dir, name);
    return create(r, path);
}

static void finish(struct recorder *r, FILE *f, const char *what)
{
    if (!f)
        return;
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad) {
        complain("cannot write %s: %s", what, strerror(errno));
        r->failed = true;
    }
}

/* Removes the files of an earlier recording or run: readers take every file
 * in the directory for a stream of the trace. */
static void clear(struct recorder *r)
{
    char path[4096];

    for (u32 cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (r->streams[cpu])
            fclose(r->streams[cpu]);
        r->streams[cpu] = NULL;
        r->next_packet[cpu] = 0;
        snprintf(path, sizeof(path), "%s/cpu%u", r->dir, cpu);
        remove(path);
    }
    r->metadata_len = 0;
    r->metadata_next = 0;
}

static void on_run(void *ctx)
{
    struct recorder *r = ctx;

    if (r->runs++)
        clear(r);
}

static void on_line(void *ctx, const char *text)
{
    struct recorder *r = ctx;

    if (r->console)
        fprintf(r->console, "%s\n", text);
}

/* The pieces are the first frames of a run, in order; after a gap the text is
 * of no use, which its missing end tells. */
static void on_metadata(void *ctx, const struct item *item)
{
    struct recorder *r = ctx;
    char *longer;

    if (item->sequence != r->metadata_next)
        return;
    longer = realloc(r->metadata, r->metadata_len + item->size);
    if (!longer) {
        r->failed = true;
        return;
    }
    memcpy(longer + r->metadata_len, item->data, item->size);
    r->metadata = longer;
    r->metadata_len += item->size;
    r->metadata_next++;
}

static void on_packet(void *ctx, const struct item *item)
{
    struct recorder *r = ctx;
    struct packet p;
    char name[32];
    u8 uuid[16];

    if (item->size < sizeof(p))
        return;
    memcpy(&p, item->data, sizeof(p));
    if (p.cpu_id >= CPUS_MAX || p.packet_size != (u64)item->size * 8)
        return;
    /* A packet that was cut and sent again is recorded once. */
    if (p.packet_seq_num < r->next_packet[p.cpu_id])
        return;
    if (!r->streams[p.cpu_id]) {
        snprintf(name, sizeof(name), "cpu%u", p.cpu_id);
        r->streams[p.cpu_id] = create_in_dir(r, name);
    }
    if (!r->streams[p.cpu_id])
        return;
    schema_uuid(uuid);
    r->other_version = memcmp(uuid, p.uuid, sizeof(uuid)) != 0;
    fwrite(item->data, item->size, 1, r->streams[p.cpu_id]);
    r->next_packet[p.cpu_id] = p.packet_seq_num + 1;
}

static bool metadata_whole(const struct recorder *r)
{
    size_t end = strlen(METADATA_END);

    return r->metadata_len >= end &&
           memcmp(r->metadata + r->metadata_len - end, METADATA_END, end) == 0;
}

/* The schema that this tool has, for a stream of the same version whose own
 * metadata is damaged. */
static void own_metadata(struct recorder *r)
{
    const struct metadata_info info = {0, "unknown", "unknown"};

    if (r->other_version) {
        complain("the metadata in the stream is damaged, and the stream was "
                 "written by another version: it cannot be described");
        r->failed = true;
        return;
    }
    complain("the metadata in the stream is damaged: writing this version's "
             "own; the TSC frequency is not known, 1 GHz stands for it");
    r->metadata_len = metadata_text(NULL, 0, &info);
    free(r->metadata);
    r->metadata = malloc(r->metadata_len + 1);
    if (r->metadata)
        metadata_text(r->metadata, r->metadata_len + 1, &info);
    else
        r->failed = true;
}

static void write_metadata(struct recorder *r, const struct reading *reading)
{
    FILE *f;

    if (!metadata_whole(r))
        own_metadata(r);
    f = r->failed ? NULL : create_in_dir(r, "metadata");
    if (f)
        fwrite(r->metadata, r->metadata_len, 1, f);
    finish(r, f, "metadata");
    if (reading->damaged)
        complain("what is intact is in %s", r->dir);
}

static int record(struct recorder *r, const char *source)
{
    static const struct reader_ops ops = {
        .line = on_line,
        .run = on_run,
        .metadata = on_metadata,
        .packet = on_packet,
    };
    struct reading reading;

    if (!read_stream(source, &ops, r, &reading))
        return STATUS_USAGE;
    for (u32 cpu = 0; cpu < CPUS_MAX; cpu++)
        finish(r, r->streams[cpu], "a stream file");
    finish(r, r->console, "the console text");
    if (reading.frames)
        write_metadata(r, &reading);
    free(r->metadata);
    if (r->failed)
        return STATUS_USAGE;
    if (!r->partial && !reading_whole(&reading))
        return STATUS_ERROR;
    return reading.damaged ? STATUS_ERROR : STATUS_OK;
}

int cmd_record(int argc, char **argv)
{
    static struct recorder r;
    const char *console = NULL;
    const char *source;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;) {
        if (o == 'o')
            r.dir = optarg;
        else if (o == OPT_CONSOLE)
            console = optarg;
        else if (o == OPT_PARTIAL)
            r.partial = true;
        else
            return o == 'h' ? STATUS_OK : STATUS_USAGE;
    }
    if (!only_operand(argc, argv, &source))
        return STATUS_USAGE;
    if (!r.dir) {
        complain("record: where to? Give -o DIR; see tollgate record --help");
        return STATUS_USAGE;
    }
    if (mkdir(r.dir, 0777) != 0 && errno != EEXIST) {
        complain("cannot make directory %s: %s", r.dir, strerror(errno));
        return STATUS_USAGE;
    }
    clear(&r);
    if (console)
        r.console = create(&r, console);
    return r.failed ? STATUS_USAGE : record(&r, source);
}
