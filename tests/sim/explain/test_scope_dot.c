// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the picture what Graphviz reads, are scopes those of the names, and do its labels add
 * up to the traffic of the step? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/explain/scope_dot.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { SEEDS = 300, TEXT_BYTES = 8192 };

static const char        ops[] = "1; 2<0; 1<0; 0<1,2";
static const char *const names[] = {"enc/cell/a", "enc/cell/b", "enc/\"q\"/c", "loss"};

TestSuite(scope_dot, .init = scratch_create, .fini = scratch_remove);

/* Draws the four ops above; the text of the picture is in text. */
static emp_scope_dot_summary draw(int32_t depth, char text[TEXT_BYTES])
{
    task                  t;
    emp_runtime           runtime = tiny_serial();
    emp_scope_dot_summary summary = {0};

    task_create_ops(&t, ops, &runtime);
    for (int i = 0; i < 4; i++) t.graph->name[i] = names[i];
    ASSERT_OK(emp_scope_dot_write(scratch_path("g.dot"), t.problem, t.device_of_op, depth,
                                  &summary, &err));
    char *written = scratch_read("g.dot", NULL);
    snprintf(text, TEXT_BYTES, "%s", written);
    free(written);
    task_destroy(&t);
    return summary;
}

static void expect_text(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no %s in\n%s", part, text);
}

Test(scope_dot, scopes_are_cut_at_the_depth)
{
    char                  text[TEXT_BYTES];
    emp_scope_dot_summary s = draw(1, text);

    cr_expect_eq(s.depth, 1);
    cr_expect_eq(s.node_count, 2);
    expect_text(text, "\"enc\\n3 ops\"");
    expect_text(text, "\"(top)\\n1 op\"");
    s = draw(0, text);
    cr_expect_eq(s.depth, 2);
    cr_expect_eq(s.node_count, 3);
    expect_text(text, "\"enc/cell\\n2 ops\"");
    expect_text(text, "\"enc/\\\"q\\\"\\n1 op\"");
    s = draw(9, text);
    cr_expect_eq(s.node_count, 3);
}

Test(scope_dot, colours_and_labels_say_what_is_where)
{
    char                  text[TEXT_BYTES];
    emp_scope_dot_summary s = draw(2, text);

    cr_expect_eq(s.traffic_bytes, 3 * 256, "a to gpu:1, b and c to the host");
    expect_text(text, ";0.5000:");
    expect_text(text, "style=striped");
    expect_text(text, "style=filled");
    expect_text(text, "s0 -> s0 [label=\"256 B\"");
    expect_text(text, "s0 -> s2 [label=\"256 B\"");
    expect_text(text, "s0 -> s1\n");
    cr_expect_eq(strncmp(text, "digraph ", 8), 0);
}

Test(scope_dot, labels_add_up_to_the_traffic)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task                  r;
        emp_scope_dot_summary summary;
        (seed % 2 == 0 ? random_problem_create : random_problem_create_hosts)(&r, seed);
        ASSERT_OK(emp_scope_dot_write(scratch_path("g.dot"), r.problem, r.device_of_op, 0,
                                      &summary, &err));
        cr_expect_eq(summary.traffic_bytes, task_run(&r).traffic_bytes, SEED);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(scope_dot, survives_allocation_failures_and_names_missing_folders)
{
    task r;

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_scope_dot_write(scratch_path("g.dot"),
                                                          r.problem, r.device_of_op, 0,
                                                          NULL, NULL), );
    EXPECT_REFUSED(
        emp_scope_dot_write("/nowhere/g.dot", r.problem, r.device_of_op, 0, NULL, &err),
        EMP_EIO, "/nowhere/g.dot");
    task_destroy(&r);
}
