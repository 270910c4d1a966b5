// SPDX-License-Identifier: GPL-3.0-or-later
/* Units of a pipeline: does a placement become one whose units follow one another on each device, does one that is such
 * a placement stay, and does what belongs to a unit follow it? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "sim/problem/problem.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

/* Ops 0 to 4 are units; op 5 belongs to unit 2, and op 6 to none. */
enum { UNITS = 5, GUEST = 5, FREE = 6, OPS = 7, DEVICES = 3, CPU = 0 };

static const tiny_op ops[OPS];
static const int32_t class_of_unit[UNITS] = {0, 1, 2, 3, 4};
static const int32_t home_of_class[OPS] = {-1, -1, -1, -1, -1, 2, -1};

static emp_problem *create(task *t)
{
    emp_runtime runtime = tiny_serial();

    task_create_tiny(t, ops, OPS, &runtime);
    cr_assert_eq(t->graph->class_count, OPS);
    cr_assert_eq(
        emp_problem_set_sequence(t->problem, class_of_unit, UNITS, home_of_class, NULL),
        EMP_OK);
    return t->problem;
}

/* A device that comes again has been left before; nothing comes before the CPU. */
static bool is_sequence(const emp_device_id *device)
{
    for (int i = 1; i < UNITS; i++) {
        if (device[i] == device[i - 1]) continue;
        if (device[i] == CPU) return false;
        for (int k = 0; k < i; k++)
            if (device[k] == device[i]) return false;
    }
    return true;
}

Test(sequence, every_placement_becomes_one_and_stays)
{
    task         t;
    emp_problem *p = create(&t);
    int          kept = 0;

    for (int number = 0; number < 243; number++) {
        emp_device_id asked[OPS] = {0}, got[OPS], again[OPS];
        for (int i = 0, rest = number; i < UNITS; i++, rest /= DEVICES)
            asked[i] = rest % DEVICES;
        asked[GUEST] = asked[2];
        asked[FREE] = number % DEVICES;
        memcpy(got, asked, sizeof got);
        emp_problem_legalize(p, got);
        cr_assert(is_sequence(got), "placement %d", number);
        cr_expect_eq(got[GUEST], got[2]);
        cr_expect_eq(got[FREE], asked[FREE]);
        if (is_sequence(asked)) cr_expect_eq(memcmp(got, asked, sizeof got), 0);
        kept += is_sequence(asked);
        memcpy(again, got, sizeof again);
        emp_problem_legalize(p, again);
        cr_expect_eq(memcmp(got, again, sizeof got), 0, "placement %d", number);
    }
    cr_expect_gt(kept, 20);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect(emp_problem *p, const emp_device_id *asked,
                   const emp_device_id *wanted)
{
    emp_device_id got[OPS];

    memcpy(got, asked, sizeof got);
    emp_problem_legalize(p, got);
    for (int i = 0; i < OPS; i++) cr_expect_eq(got[i], wanted[i], "op %d", i);
}

Test(sequence, the_fewest_units_move)
{
    task         t;
    emp_problem *p = create(&t);

    expect(p, (emp_device_id[OPS]){2, 1, 2, 1, 1, 2, 0},
           (emp_device_id[OPS]){2, 2, 2, 1, 1, 2, 0});
    expect(p, (emp_device_id[OPS]){1, 1, 0, 1, 2, 2, 0},
           (emp_device_id[OPS]){1, 1, 1, 1, 2, 2, 0}); /* the guest was elsewhere */
    expect(p, (emp_device_id[OPS]){1, 0, 0, 0, 2, 0, 0},
           (emp_device_id[OPS]){0, 0, 0, 0, 2, 0, 0});
    task_destroy(&t);
}

/* A CPU and two GPUs of 1 MiB each, of which the second GPU is withheld. */
Test(sequence, has_nothing_on_a_device_that_is_withheld)
{
    task         t;
    emp_problem *p = create(&t);

    cr_expect(emp_problem_allows(p, FREE, 2));
    t.graph->op[FREE].persistent_bytes = 5 << 19;
    cr_expect_eq(emp_problem_find_shortage(p).kinds, 0);
    emp_sequence_withhold(p, 2, 1);
    cr_expect_not(emp_problem_allows(p, FREE, 2));
    cr_expect(emp_problem_allows(p, FREE, 1));
    expect(p, (emp_device_id[OPS]){2, 2, 2, 1, 1, 2, 2},
           (emp_device_id[OPS]){1, 1, 1, 1, 1, 1, 1});
    cr_expect_eq(emp_problem_find_shortage(p).memory_bytes, 2 << 20);
    cr_expect(emp_problem_has_choice(p));
    emp_sequence_withhold(p, 1, 0);
    emp_sequence_withhold(p, 2, 0);
    cr_expect_not(emp_problem_has_choice(p));
    task_destroy(&t);
}

Test(sequence, is_bounded_and_survives_short_memory)
{
    static int32_t many[EMP_SEQUENCE_UNITS_MAX + 1];
    task           t;
    emp_problem   *p = create(&t);

    EXPECT_REFUSED(emp_problem_set_sequence(p, many, EMP_SEQUENCE_UNITS_MAX + 1,
                                            home_of_class, &err),
                   EMP_EINVAL, "at most 2064 units");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_problem_set_sequence(p, class_of_unit, UNITS, home_of_class, NULL), (void)0);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- classes that are joined ---- */

enum { JOINED = 6 };

/* Ops 0 and 1 are bound already. */
static const tiny_op joined_ops[JOINED] = {{.weight = 1}, {.weight = 1}, {.weight = 1},
                                           {.weight = 1}, {.weight = 1}, {.weight = 1}};

static emp_graph *create_joined(task *t)
{
    emp_runtime runtime = tiny_serial();

    task_create_tiny(t, joined_ops, JOINED, &runtime);
    t->graph->op[1].colocation_class = t->graph->op[0].colocation_class;
    for (emp_op_id op = 2; op < JOINED; op++) t->graph->op[op].colocation_class = op - 1;
    t->graph->class_count = JOINED - 1;
    return t->graph;
}

Test(join_classes, joins_sets_with_what_they_were_bound_to)
{
    static const int32_t set[JOINED] = {-1, 4, -1, 4, 0, 0},
                         want[JOINED] = {0, 0, 1, 0, 2, 2};
    task           t;
    emp_graph     *g = create_joined(&t);
    const uint64_t hash = g->hash;

    cr_assert_eq(emp_graph_join_classes(g, set, NULL), EMP_OK);
    cr_expect_eq(g->class_count, 3);
    for (emp_op_id op = 0; op < JOINED; op++)
        cr_expect_eq(g->op[op].colocation_class, want[op], "op %d", op);
    cr_expect_eq(g->hash, hash);
    task_destroy(&t);
}

Test(join_classes, changes_nothing_without_sets_or_without_memory)
{
    static const int32_t none[JOINED] = {-1, -1, -1, -1, -1, -1};
    task                 t;
    emp_graph           *g = create_joined(&t);

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_graph_join_classes(g, none, NULL),
                                      cr_assert_eq(g->class_count, JOINED - 1));
    cr_expect_eq(g->class_count, JOINED - 1);
    for (emp_op_id op = 0; op < JOINED; op++)
        cr_expect_eq(g->op[op].colocation_class, op < 2 ? 0 : op - 1);
    task_destroy(&t);
}
