/* \tollgate.cfg: `key = value` lines, '#' comments. Pure: host-tested. */
#ifndef BOOT_CONFIG_H
#define BOOT_CONFIG_H

#include "boot/boot.h"

/* What holds for every key that the file does not name. */
void config_defaults(struct config *c);

/* Reads the file's text over *c; of a key given twice the last counts. The
 * first bad line is described in c->error, the others are still read. */
void config_parse(struct config *c, const char *text, size_t size);

#endif
