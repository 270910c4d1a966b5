// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the picture what Graphviz reads, are scopes those of the names, and do its labels add
 * up to the traffic of the step? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "sim/explain/explain.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 300, TEXT_BYTES = 8192 };

static const tiny_op ops[] = {
    {.device = 1},
    {.device = 2, .input_count = 1, .input = {0}},
    {.device = 1, .input_count = 1, .input = {0}},
    {.device = 0, .input_count = 2, .input = {1, 2}},
};
static const char *const names[] = {"enc/cell/a", "enc/cell/b", "enc/\"q\"/c", "loss"};

/* Draws the four ops above; the text of the picture is in text. */
static emp_scope_dot_summary draw(int32_t depth, char text[TEXT_BYTES])
{
    task                  t;
    emp_runtime           runtime = tiny_serial();
    emp_scope_dot_summary summary = {0};
    emp_error             err = {0};
    char                  path[] = P_tmpdir "/emplace-dot-XXXXXX";

    close(mkstemp(path));
    task_create_tiny(&t, ops, 4, &runtime);
    for (int i = 0; i < 4; i++) t.graph->name[i] = names[i];
    cr_assert_eq(
        emp_scope_dot_write(path, t.problem, t.device_of_op, depth, &summary, &err),
        EMP_OK, "%s", err.msg);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
    fclose(file);
    remove(path);
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
    char path[] = P_tmpdir "/emplace-dot-XXXXXX";

    close(mkstemp(path));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task                  r;
        emp_sim              *sim = NULL;
        emp_sim_result        result;
        emp_scope_dot_summary summary;
        if (seed % 2 == 0) {
            random_problem_create(&r, seed);
        } else {
            random_problem_create_hosts(&r, seed);
        }
        cr_assert_eq(emp_sim_create(&sim, r.problem, NULL), EMP_OK);
        cr_assert_eq(emp_sim_run(sim, r.device_of_op, &result, NULL), EMP_OK);
        cr_assert_eq(
            emp_scope_dot_write(path, r.problem, r.device_of_op, 0, &summary, NULL),
            EMP_OK);
        cr_expect_eq(summary.traffic_bytes, result.traffic_bytes, "seed %" PRIu64, seed);
        emp_sim_destroy(sim);
        task_destroy(&r);
    }
    remove(path);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(scope_dot, survives_every_allocation_failure)
{
    task r;
    char path[] = P_tmpdir "/emplace-dot-XXXXXX";

    close(mkstemp(path));
    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_scope_dot_write(path, r.problem, r.device_of_op, 0, NULL, NULL), );
    remove(path);
    task_destroy(&r);
}

Test(scope_dot, a_folder_that_is_not_there_is_named)
{
    task      r;
    emp_error err = {0};

    random_problem_create(&r, 7);
    cr_expect_eq(
        emp_scope_dot_write("/nowhere/g.dot", r.problem, r.device_of_op, 0, NULL, &err),
        EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "/nowhere/g.dot"), "%s", err.msg);
    task_destroy(&r);
}
