/* tollgate exits: the exit table for people. */
#include <stdio.h>

#include "hv/exit.h"
#include "hv/feature.h"
#include "tools/tollgate.h"

static const char help[] = "usage: tollgate exits --markdown\n"
                           "\n"
                           "  --markdown   the table of exits of both vendors\n"
                           "  --help       this text\n";

enum { OPT_MARKDOWN = 256 };
static const struct option options[] = {
    {"markdown", no_argument, NULL, OPT_MARKDOWN},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* What arms the exit on VT-x, in the SDM's words. */
static void print_control(u16 control)
{
    static const char *const words[] = {
        [CTL_NONE] = "nothing that software arms",
        [CTL_ALWAYS] = "always",
        [CTL_PIN] = "pin-based controls",
        [CTL_PROC] = "primary processor-based controls",
        [CTL_PROC2] = "secondary processor-based controls",
        [CTL_PROC3] = "tertiary processor-based controls",
        [CTL_EXCEPTION] = "exception bitmap",
        [CTL_IO] = "I/O bitmaps",
        [CTL_MSR] = "MSR bitmaps",
        [CTL_CR] = "CR masks and CR3/CR8 exiting",
        [CTL_EPT] = "EPT entries",
        [CTL_ENTRY] = "a VM entry that fails",
    };
    u32 word = control >> 8;

    printf("%s", word < ARRAY_SIZE(words) && words[word] ? words[word] : "?");
    if (word >= CTL_PIN && word <= CTL_PROC3)
        printf(", bit %d", control & 0xff);
}

static void print_gate(u16 gate)
{
    char text[128];

    if (gate == FEAT_NONE)
        printf(" | - |");
    else
        printf(" | %s |", feature_text(gate, text, sizeof(text)));
}

static void print_vmx(const struct exit_row *row)
{
    if (row->vmx_reason < 0) {
        printf(" - | - | - |");
        return;
    }
    printf(" %d | ", row->vmx_reason);
    print_control(row->vmx_control);
    print_gate(row->vmx_gate);
}

static void print_svm(const struct exit_row *row)
{
    if (row->svm_code == SVM_NONE) {
        printf(" - | - |");
        return;
    }
    if (row->svm_code < 0)
        printf(" %lld", row->svm_code);
    else
        printf(" %llXh", row->svm_code);
    if (row->svm_count > 1)
        printf("-%llXh", row->svm_code + row->svm_count - 1);
    print_gate(row->svm_gate);
}

static int print_markdown(void)
{
    printf(
        "# Exits\n\n"
        "Generated from `hv/exit.def` by `tollgate exits --markdown`: every\n"
        "VM exit that the two architectures define. *VMX reason* is the\n"
        "basic exit reason (SDM Appendix C), *SVM code* the exit code (APM\n"
        "vol 2 Appendix C). A gate is the feature without which there is no\n"
        "such exit.\n\n"
        "| kind | VMX reason | armed by | VMX gate | SVM code | SVM gate | "
        "why no scenario provokes it (or not each code) |\n"
        "|---|---:|---|---|---|---|---|\n");
    for (u32 kind = EXIT_NONE + 1; kind < EXIT_KINDS; kind++) {
        const struct exit_row *row = &exit_rows[kind];

        printf("| %s |", row->name);
        print_vmx(row);
        print_svm(row);
        printf(" %s%s%s |\n", row->vmx_uncovered,
               *row->vmx_uncovered && *row->svm_uncovered ? "; " : "",
               row->svm_uncovered);
    }
    return STATUS_OK;
}

int cmd_exits(int argc, char **argv)
{
    const char *source;
    bool markdown = false;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;) {
        if (o != OPT_MARKDOWN)
            return o == 'h' ? STATUS_OK : STATUS_USAGE;
        markdown = true;
    }
    if (!only_operand(argc, argv, &source))
        return STATUS_USAGE;
    if (markdown && !source)
        return print_markdown();
    complain("exits: give --markdown; see tollgate exits --help");
    return STATUS_USAGE;
}
