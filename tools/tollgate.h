/* What the subcommands of the host tool share. */
#ifndef TOOLS_TOLLGATE_H
#define TOOLS_TOLLGATE_H

#include <getopt.h>

#include "hv/types.h"

#define TOLLGATE_VERSION "0.1"

/* Exit statuses of every subcommand. */
enum status {
    STATUS_OK = 0,
    STATUS_FAIL = 1,  /* the platform's fault, or not what is expected of it */
    STATUS_USAGE = 2, /* wrong use, or input that cannot be read */
    STATUS_ERROR = 3, /* Tollgate's or the environment's: damage, no end */
};

/* Each takes its own name as argv[0] and returns an enum status. */
int cmd_print(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_verdict(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_exits(int argc, char **argv);
int cmd_conformance(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* One line on stderr, with the program's name before it. */
void complain(const char *fmt, ...) PRINTF(1, 2);

/* The next option, as getopt_long() returns it: 'h' has printed help and '?'
 * a line that says what is wrong. Every options table has help as 'h'. */
int next_option(int argc, char **argv, const struct option *options,
                const char *help);

/* The only operand, NULL: none. False: there are more (said on stderr). */
bool only_operand(int argc, char **argv, const char **operand);

#endif
