/* The host tool: picks the subcommand. */
#include "tools/tollgate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} commands[] = {
    {"print", cmd_print, "print a stream as it comes, a line for each event"},
    {"record", cmd_record, "record a stream into a CTF directory"},
    {"verdict", cmd_verdict, "judge a run: table, TAP, JSON, exit status"},
    {"schema", cmd_schema, "print the trace schema in one of its forms"},
    {"exits", cmd_exits, "print the table of exits"},
    {"conformance", cmd_conformance, "put the verdicts of runs side by side"},
    {"bench", cmd_bench, "print what each exit costs"},
};

static const char usage[] =
    "usage: tollgate COMMAND [OPTION...] [SOURCE]\n"
    "\n"
    "SOURCE is what carries the stream of a platform: a file, a terminal, a\n"
    "Unix socket, or stdin (when it is - or left out).\n"
    "\n";

static const char statuses[] =
    "\n"
    "tollgate COMMAND --help tells more.\n"
    "\n"
    "Exit status: 0 all is as expected; 1 the platform failed, or differs\n"
    "from what is expected of it; 2 wrong use or unreadable input; 3 an error\n"
    "of Tollgate's or of the environment (a damaged or unfinished stream).\n";

static void help(FILE *f)
{
    fputs(usage, f);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].what);
    fputs(statuses, f);
}

static int run_command(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help(stdout);
        return STATUS_OK;
    }
    if (strcmp(name, "--version") == 0) {
        puts("tollgate " TOLLGATE_VERSION);
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (*name)
        complain("unknown command '%s'; see tollgate --help", name);
    else
        help(stderr);
    return STATUS_USAGE;
}

/* What was printed must have arrived: a page is made of it. */
int main(int argc, char **argv)
{
    int status = run_command(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("cannot write to stdout: %s", strerror(errno));
        return STATUS_ERROR;
    }
    return status;
}
