/*
 * The CTF 1.8 metadata (TSDL text) that describes Tollgate's packets. It
 * travels in the stream, so that a recording describes itself.
 */
#ifndef TRACE_METADATA_H
#define TRACE_METADATA_H

#include "hv/types.h"

/* The text ends with this, so that a piece that is missing is seen. */
#define METADATA_END "/* end of metadata */\n"

struct metadata_info {
    u64 tsc_hz;         /* 0: not known */
    const char *vendor; /* "VMX", "SVM" */
    const char *cpu;    /* CPUID's brand string */
};

/* Writes at most size bytes, NUL included, and returns the length of the
 * whole text, as snprintf does. */
size_t metadata_text(char *buf, size_t size, const struct metadata_info *info);

#endif
