// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements that a user brings: what is said of them, and where they can be used. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

TestSuite(placements, .init = emplace_set_up, .fini = emplace_tear_down);

static void write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void expect_said(const char *part)
{
    cr_expect_not_null(strstr(program_err, part), "%s", program_err);
}

/* ---- rules ---- */

#define HEAD "format: \"emplace-placement-1\"\n"

Test(placements, rules_place_a_workload_and_say_what_was_moved)
{
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {regex: \"^gradients/\", device: \"gpu:1\"}\n"
                                  "  - {glob: \"nowhere/*\", device: \"gpu:1\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(
        emplace_run("simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --no-bound --json"), 0,
        "%s", program_err);
    expect_said("rules.yaml: 1 rule places no op: rule 2 ('nowhere/*') matches no op");
    expect_said("moved, as there is no kernel for a GPU: the first is '");
    expect_said(", from gpu:0 to cpu:0");
}

Test(placements, colocated_ops_are_counted_apart)
{
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {glob: \"*/read\", device: \"cpu:0\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(
        emplace_run("simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --no-bound --json"), 0,
        "%s", program_err);
    expect_said("moved, as there is no kernel for a GPU: the first is 'global_step', ");
    expect_said("moved, as colocated ops share a device: the first is 'emb', from gpu:0 "
                "to cpu:0");
}

Test(placements, ops_that_no_rule_places_are_counted)
{
    write_text("rules.yaml", HEAD "rules:\n  - {op: \"a\", device: \"gpu:0\"}\n");
    cr_expect_eq(emplace_run("simulate small.pbtxt -m k40x2 -p rules.yaml"), 1);
    expect_said("rules.yaml: 3 of 4 ops match no rule, and there is no default: the "
                "first is 'x'");
}

Test(placements, rules_are_replayed_where_workload_and_machine_are_known)
{
    write_text("rules.yaml", HEAD "default: \"gpu:0\"\n");
    cr_expect_eq(emplace_run("replay rules.yaml --steps 1"), 1);
    expect_said("--workload and --machine");
    cr_expect_eq(emplace_run("replay rules.yaml --workload small.pbtxt -m cpu2 --export "
                             "plan.txt"),
                 0, "%s", program_err);
}
