// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace merge DIR...: joins the folders of records that the parts of a study have made. */
#include <stdio.h>

#include "base/text/units.h"
#include "cli/cli.h"
#include "run/store/store.h"

enum { MOST_FOLDERS = 4096 };

struct args {
    const char *into;
    const char *folder[MOST_FOLDERS];
    int32_t     count;
};

static const struct argp_option options[] = {
    {"runs", CLI_TEXT(struct args, into), "DIR", 0, "The folder that gets all records",
     0},
    {0},
};

static const char doc[] =
    "Join folders of run records that emplace table, ablate, study, bench placers and "
    "bench transfer have made with --shard.\v"
    "The same command without --shard and with --runs DIR then reads all of them.\n"
    "Two records of one run must be equal byte for byte. Runs that are under way are "
    "left out.\n\n"
    "  emplace table 1 --shard 1/2 --runs part1      # here\n"
    "  emplace table 1 --shard 2/2 --runs part2      # there\n"
    "  emplace merge part1 part2 --runs runs\n"
    "  emplace table 1 --runs runs";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (args->count == MOST_FOLDERS)
            cli_usage_error("more than %d folders; merge them in turns", MOST_FOLDERS);
        args->folder[args->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->count == 0) cli_usage_error("a DIR is missing; --help has examples");
        if (args->into == NULL) cli_usage_error("--runs DIR is missing");
        return 0;
    default: return cli_store(key, arg, args);
    }
}

const struct argp cmd_merge_argp = {options, parse, "DIR...", doc, NULL, NULL, NULL};

emp_status cmd_merge(int argc, char **argv, emp_error *err)
{
    static struct args args;
    emp_merge_counts   counts = {0};

    cli_parse(&cmd_merge_argp, argc, argv, &args);
    for (int32_t i = 0; i < args.count; i++)
        EMP_CHECK(emp_merge(args.into, args.folder[i], &counts, err));
    printf("%d record%s copied to %s, %d already there\n", counts.copied,
           emp_units_plural(counts.copied), args.into, counts.there);
    if (counts.under_way > 0)
        cli_warn("%d run%s under way %s left out; the shard's command goes on with %s",
                 counts.under_way, emp_units_plural(counts.under_way),
                 counts.under_way == 1 ? "is" : "are",
                 counts.under_way == 1 ? "it" : "them");
    return EMP_OK;
}
