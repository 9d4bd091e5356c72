/* tollgate conformance: the verdicts of several runs side by side. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tools/tollgate.h"

#define MAX_RUNS 16

static const char help[] =
    "usage: tollgate conformance VERDICT.JSON...\n"
    "\n"
    "Prints a Markdown page: a line for each scenario, a column for each run\n"
    "(as tollgate verdict --json wrote it), and what each run covers.\n"
    "\n"
    "  --help       this text\n";

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {0},
};

static json_t *runs[MAX_RUNS];
static size_t run_count;

static const char *text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

/* A not-covered code is an entry too, but no scenario. */
static bool is_scenario(const json_t *entry)
{
    return strcmp(text(entry, "verdict"), "not-covered") != 0;
}

static const json_t *find(const json_t *run, const char *name)
{
    const json_t *list = json_object_get(run, "scenarios");
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (is_scenario(entry) && strcmp(text(entry, "name"), name) == 0)
            return entry;
    }
    return NULL;
}

/* Has an earlier run named it already? */
static bool printed(size_t before, const char *name)
{
    for (size_t r = 0; r < before; r++)
        if (find(runs[r], name))
            return true;
    return false;
}

static void print_scenario(const json_t *scenario)
{
    const char *name = text(scenario, "name");

    printf("| `%s` | %s |", name, text(scenario, "kind"));
    for (size_t r = 0; r < run_count; r++) {
        const json_t *entry = find(runs[r], name);
        const char *verdict = entry ? text(entry, "verdict") : "";

        printf(" %s |", strcmp(verdict, "known-deviation") == 0
                            ? "**deviation**"
                        : strcmp(verdict, "fail") == 0 ? "**fail**"
                                                       : verdict);
    }
    putchar('\n');
}

static void print_summary(const json_t *run)
{
    const json_t *summary = json_object_get(run, "summary");
    const char *key;
    json_t *value;
    bool first = true;

    printf("- `%s` (%s):", text(run, "platform"), text(run, "vendor"));
    json_object_foreach((json_t *)summary, key, value)
    {
        if (!json_is_integer(value))
            continue;
        printf("%s %lld %s", first ? "" : ",",
               (long long)json_integer_value(value), key);
        first = false;
    }
    putchar('\n');
}

static void print_page(void)
{
    printf("# Conformance\n\n"
           "Made by `make conformance` from the last run on each platform.\n"
           "*skip*: this CPU lacks the feature; *deviation*: the platform is\n"
           "wrong, `deviations.md` has the evidence; an empty field: the\n"
           "scenario is for the other vendor.\n\n"
           "| scenario | exit |");
    for (size_t r = 0; r < run_count; r++)
        printf(" %s |", text(runs[r], "platform"));
    printf("\n|---|---|");
    for (size_t r = 0; r < run_count; r++)
        printf("---|");
    putchar('\n');
    for (size_t r = 0; r < run_count; r++) {
        const json_t *list = json_object_get(runs[r], "scenarios");
        json_t *entry;
        size_t i;

        json_array_foreach(list, i, entry)
        {
            if (is_scenario(entry) && !printed(r, text(entry, "name")))
                print_scenario(entry);
        }
    }
    printf("\nBy exit code, those without a scenario included:\n\n");
    for (size_t r = 0; r < run_count; r++)
        print_summary(runs[r]);
}

int cmd_conformance(int argc, char **argv)
{
    int status = STATUS_OK;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;)
        return o == 'h' ? STATUS_OK : STATUS_USAGE;
    if (optind == argc || argc - optind > MAX_RUNS) {
        complain("conformance: give 1 to %d files that tollgate verdict --json "
                 "wrote",
                 MAX_RUNS);
        return STATUS_USAGE;
    }
    for (int i = optind; i < argc && status == STATUS_OK; i++) {
        json_error_t error;

        runs[run_count] = json_load_file(argv[i], 0, &error);
        if (!runs[run_count]) {
            complain("%s: %s (line %d)", argv[i], error.text, error.line);
            status = STATUS_USAGE;
        } else {
            run_count++;
        }
    }
    if (status == STATUS_OK)
        print_page();
    while (run_count)
        json_decref(runs[--run_count]);
    return status;
}
