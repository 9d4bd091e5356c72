/* What the subcommands share: complaints and options. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/tollgate.h"

void complain(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("tollgate: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

int next_option(int argc, char **argv, const struct option *options,
                const char *text)
{
    const char *word = argv[optind];
    int option;

    opterr = 0;
    option = getopt_long(argc, argv, "+:ho:", options, NULL);
    if (option == 'h')
        fputs(text, stdout);
    if (option == ':')
        complain("%s: %s needs a value; see tollgate %s --help", argv[0], word,
                 argv[0]);
    if (option == '?')
        complain("%s: unknown option %s; see tollgate %s --help", argv[0], word,
                 argv[0]);
    return option == ':' ? '?' : option;
}

bool only_operand(int argc, char **argv, const char **operand)
{
    *operand = optind < argc ? argv[optind] : NULL;
    if (optind + 1 >= argc)
        return true;
    complain("%s: one SOURCE at most, %s is too many; see tollgate %s --help",
             argv[0], argv[optind + 1], argv[0]);
    return false;
}
