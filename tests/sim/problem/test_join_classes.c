// SPDX-License-Identifier: GPL-3.0-or-later
/* Do ops of one set share a device afterwards, with all that shared one with them, and nobody else? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "sim/problem/problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { OPS = 6 };

/* Ops 0 and 1 are bound already. */
static const tiny_op ops[OPS] = {{.weight = 1}, {.weight = 1}, {.weight = 1},
                                 {.weight = 1}, {.weight = 1}, {.weight = 1}};

static emp_graph *create(task *t)
{
    emp_runtime runtime = tiny_serial();

    task_create_tiny(t, ops, OPS, &runtime);
    t->graph->op[1].colocation_class = t->graph->op[0].colocation_class;
    for (emp_op_id op = 2; op < OPS; op++) t->graph->op[op].colocation_class = op - 1;
    t->graph->class_count = OPS - 1;
    return t->graph;
}

Test(join_classes, joins_sets_with_what_they_were_bound_to)
{
    static const int32_t set[OPS] = {-1, 4, -1, 4, 0, 0}, want[OPS] = {0, 0, 1, 0, 2, 2};
    task                 t;
    emp_graph           *g = create(&t);
    const uint64_t       hash = g->hash;

    cr_assert_eq(emp_graph_join_classes(g, set, NULL), EMP_OK);
    cr_expect_eq(g->class_count, 3);
    for (emp_op_id op = 0; op < OPS; op++)
        cr_expect_eq(g->op[op].colocation_class, want[op], "op %d", op);
    cr_expect_eq(g->hash, hash);
    task_destroy(&t);
}

Test(join_classes, changes_nothing_without_sets_or_without_memory)
{
    static const int32_t none[OPS] = {-1, -1, -1, -1, -1, -1};
    task                 t;
    emp_graph           *g = create(&t);

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_graph_join_classes(g, none, NULL),
                                      cr_assert_eq(g->class_count, OPS - 1));
    cr_expect_eq(g->class_count, OPS - 1);
    for (emp_op_id op = 0; op < OPS; op++)
        cr_expect_eq(g->op[op].colocation_class, op < 2 ? 0 : op - 1);
    task_destroy(&t);
}
