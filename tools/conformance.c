/* tollgate conformance: the verdicts of several runs side by side. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tools/tollgate.h"

#define MAX_RUNS 16

static const char help[] =
    "usage: tollgate conformance VERDICT.JSON...\n"
    "\n"
    "Prints a Markdown page of runs (as tollgate verdict --json wrote them),\n"
    "a column for each: what it provoked, the verdict on each exit, and the\n"
    "verdict of each scenario.\n"
    "\n"
    "  --help       this text\n";

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {0},
};

static json_t *runs[MAX_RUNS];
static size_t run_count;

/* What the page is made of; `tollgate verdict --json` writes it all. */
static bool is_verdict(const json_t *run)
{
    return json_is_string(json_object_get(run, "platform")) &&
           json_is_string(json_object_get(run, "vendor")) &&
           json_is_array(json_object_get(run, "scenarios")) &&
           json_is_array(json_object_get(run, "exits")) &&
           json_is_object(json_object_get(run, "summary"));
}

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

/* The verdict as a cell of the page. */
static const char *cell(const json_t *entry)
{
    const char *verdict = entry ? text(entry, "verdict") : "";

    if (strcmp(verdict, "known-deviation") == 0)
        return "**deviation**";
    if (strcmp(verdict, "fail") == 0)
        return "**fail**";
    return strcmp(verdict, "not-covered") == 0 ? "-" : verdict;
}

static bool is_of(size_t run, const char *vendor)
{
    return strcmp(text(runs[run], "vendor"), vendor) == 0;
}

/* Begins a table with `first` as its columns to the left; vendor: only those
 * runs, NULL: all. */
static void print_head(const char *first, int columns, const char *vendor)
{
    printf("\n| %s |", first);
    for (size_t r = 0; r < run_count; r++)
        if (!vendor || is_of(r, vendor))
            printf(" %s |", text(runs[r], "platform"));
    printf("\n|");
    for (int n = 0; n < columns; n++)
        printf("---|");
    for (size_t r = 0; r < run_count; r++)
        if (!vendor || is_of(r, vendor))
            printf("---|");
    putchar('\n');
}

static void print_scenario(const json_t *scenario)
{
    const char *name = text(scenario, "name");

    printf("| `%s` | %s |", name, text(scenario, "kind"));
    for (size_t r = 0; r < run_count; r++)
        printf(" %s |", cell(find(runs[r], name)));
    putchar('\n');
}

static void print_scenarios(void)
{
    printf("\n## By scenario\n");
    print_head("scenario | exit", 2, NULL);
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
}

/* A run of some scenarios has no list of exits: the worst that was provoked. */
static const json_t *exit_of_some(const json_t *run, json_int_t code)
{
    const json_t *list = json_object_get(run, "scenarios"), *worst = NULL;
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (json_is_true(json_object_get(entry, "provoked")) &&
            json_integer_value(json_object_get(entry, "code")) == code &&
            (!worst || strcmp(text(entry, "verdict"), "pass") != 0))
            worst = entry;
    }
    return worst;
}

/* The run's entry on a code in its list "exits", NULL: none. */
static const json_t *exit_of(const json_t *run, json_int_t code)
{
    const json_t *list = json_object_get(run, "exits");
    json_t *entry;
    size_t i;

    if (!json_array_size(list))
        return exit_of_some(run, code);

    json_array_foreach(list, i, entry)
    {
        if (json_integer_value(json_object_get(entry, "code")) == code)
            return entry;
    }
    return NULL;
}

/* The scenarios say it, for a run of some of them has no list of exits. */
static bool provoked(const json_t *run, json_int_t code)
{
    const json_t *list = json_object_get(run, "scenarios");
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (json_is_true(json_object_get(entry, "provoked")) &&
            json_integer_value(json_object_get(entry, "code")) == code)
            return true;
    }
    return false;
}

/* A vendor's complete run, which has each of its codes, NULL: there is none. */
static const json_t *complete_run(const char *vendor)
{
    for (size_t r = 0; r < run_count; r++)
        if (is_of(r, vendor) &&
            json_array_size(json_object_get(runs[r], "exits")))
            return runs[r];
    return NULL;
}

/* How many codes some run provoked, or the run with that index. */
static int count_provoked(const char *vendor, size_t run)
{
    const json_t *list = json_object_get(complete_run(vendor), "exits");
    json_t *entry;
    size_t i;
    int count = 0;

    json_array_foreach(list, i, entry)
    {
        json_int_t code = json_integer_value(json_object_get(entry, "code"));
        bool came = false;

        for (size_t r = 0; r < run_count; r++)
            came = came || ((run == run_count || r == run) &&
                            is_of(r, vendor) && provoked(runs[r], code));
        count += came;
    }
    return count;
}

static void print_coverage(const char *vendor, const char *name,
                           const char *codes)
{
    const json_t *run = complete_run(vendor);

    if (run)
        printf("- %s: %d of %zu %s provoked on one platform or another\n", name,
               count_provoked(vendor, run_count),
               json_array_size(json_object_get(run, "exits")), codes);
}

static void print_summary(size_t r)
{
    const json_t *summary = json_object_get(runs[r], "summary");
    const char *key;
    json_t *value;

    printf("| `%s` | %s | %d |", text(runs[r], "platform"),
           text(runs[r], "vendor"), count_provoked(text(runs[r], "vendor"), r));
    json_object_foreach((json_t *)summary, key, value)
    {
        if (strcmp(key, "error") != 0 && strcmp(key, "not-covered") != 0)
            printf(" %lld |", (long long)json_integer_value(value));
    }
    putchar('\n');
}

static void print_exits(const char *vendor, const char *title,
                        const char *first)
{
    const json_t *list = json_object_get(complete_run(vendor), "exits");
    json_t *entry;
    size_t i;

    if (!list)
        return;
    printf("\n## %s\n", title);
    print_head(first, 2, vendor);
    json_array_foreach(list, i, entry)
    {
        json_int_t code = json_integer_value(json_object_get(entry, "code"));

        printf(strcmp(vendor, "VMX") == 0 ? "| %lld | %s |" : "| %llXh | %s |",
               (long long)code, text(entry, "name"));
        for (size_t r = 0; r < run_count; r++)
            if (is_of(r, vendor))
                printf(" %s |", cell(exit_of(runs[r], code)));
        putchar('\n');
    }
}

static void print_page(void)
{
    printf(
        "# Conformance\n\n"
        "Made by `make conformance` from the last run on each platform.\n"
        "*skip*: this CPU lacks the feature; *deviation*: the platform is\n"
        "wrong, `deviations.md` has the evidence; -: no scenario provokes\n"
        "it, `exits.md` says why. An exit is as good as the worst of the\n"
        "scenarios that are to provoke it; it counts as provoked when it was\n"
        "seen in one of them.\n"
        "\n");
    print_coverage("VMX", "VT-x", "exit reasons");
    print_coverage("SVM", "AMD-V", "exit codes");
    printf("\n| platform | vendor | exits provoked | pass | skip | deviation |"
           " fail |\n|---|---|---:|---:|---:|---:|---:|\n");
    for (size_t r = 0; r < run_count; r++)
        print_summary(r);
    print_exits("VMX", "VT-x, by exit reason", "reason | exit");
    print_exits("SVM", "AMD-V, by exit code", "code | exit");
    print_scenarios();
}

/* One more of the runs, from what a file holds. */
static int load(const char *name)
{
    json_error_t error;
    json_t *run = json_load_file(name, 0, &error);

    if (!run) {
        complain("%s: %s (line %d)", name, error.text, error.line);
        return STATUS_USAGE;
    }
    runs[run_count++] = run;
    if (is_verdict(run))
        return STATUS_OK;
    complain("%s: no JSON of `tollgate verdict --json`", name);
    return STATUS_USAGE;
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
    for (int i = optind; i < argc && status == STATUS_OK; i++)
        status = load(argv[i]);
    if (status == STATUS_OK)
        print_page();
    while (run_count)
        json_decref(runs[--run_count]);
    return status;
}
