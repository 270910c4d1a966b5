// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a study of derived constants change what it says it changes, and find rankings that turn? */
#include <sys/stat.h>

#include "run/sensitivity.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(sensitivity, .init = scratch_create, .fini = scratch_tear_down);

static const emp_sensitivity_row *row_of(const emp_sensitivity *s, const char *model,
                                         const char *constant)
{
    for (int32_t i = 0; i < s->row_count; i++)
        if (strcmp(s->row[i].model, model) == 0 &&
            strcmp(s->row[i].constant, constant) == 0)
            return &s->row[i];
    return NULL;
}

static void place_on(task *t, emp_device_id device)
{
    for (emp_op_id op = 0; op < t->graph->op_count; op++) t->device_of_op[op] = device;
    emp_problem_legalize(t->problem, t->device_of_op);
}

static void move_to(task *t, const char *machine)
{
    emp_runtime runtime;

    emp_problem_destroy(t->problem);
    emp_machine_destroy(t->machine);
    emp_free(t->device_of_op);
    ASSERT_OK(emp_machine_load(&t->machine, machine, NULL));
    ASSERT_OK(emp_runtime_init(&runtime, "ideal", NULL));
    task_pose(t, &runtime, "chain");
}

Test(sensitivity, a_slower_constant_makes_a_longer_step)
{
    OWN_TASK        t;
    emp_sensitivity s;

    task_create(&t, "rnnlm:steps=1", "rtx5090x1", "tf-r1.3");
    place_on(&t, 1);
    const emp_decision all_gpu = {.device_of_op = t.device_of_op};
    ASSERT_OK(emp_sensitivity_find(&s, t.problem, &all_gpu, &err));
    cr_expect_float_eq(s.winner_s, (double)task_run(&t).step_time_ns * 1e-9, 1e-12);
    const emp_sensitivity_row *stream = row_of(&s, "rtx5090", "stream");
    cr_assert_not_null(stream);
    cr_expect_gt(stream->winner_s[0], s.winner_s);
    cr_expect_leq(stream->winner_s[1], s.winner_s);
    const emp_sensitivity_row *tile = row_of(&s, "rtx5090", "gemm_per_wave");
    cr_assert_not_null(tile, "a time: more is longer");
    cr_expect_leq(tile->winner_s[0], tile->winner_s[1]);
    cr_expect_not_null(row_of(&s, "links", "rate"));
    cr_expect_not_null(row_of(&s, "links", "latency"));
    cr_expect_null(row_of(&s, "rtx5090", "multiprocessors"), "it is published");
    cr_expect_null(row_of(&s, "ryzen-16", "gemm_core"), "it is stated");
}

/* One of two GPUs has the stream of its card, the other one states a little more than the same. */
Test(sensitivity, a_ranking_may_turn)
{
#define MODEL                                                                           \
    "card: {peak: {fp32: \"10 TFLOP/s\"}, memory: \"8 GiB\", rate: \"100 GB/s\", bus: " \
    "\"PCIe 4 x16\", class: \"consumer\"}\n"
    static const char machine[] =
        "description: \"d\"\nnodes:\n  - {name: \"n\"}\ndevices:\n"
        "  - {model: \"ryzen-16\", at: \"n\"}\n  - {model: \"by-rule\", at: \"n\"}\n"
        "  - {model: \"stated\", at: \"n\"}\n";
    OWN_TASK        t;
    emp_sensitivity s;

    cr_assert_eq(mkdir(scratch_path("models"), 0700), 0);
    scratch_file("models/by-rule.yaml", MODEL);
    scratch_file("models/stated.yaml", MODEL "gpu: {stream: \"84 GB/s\"}\n");
    t = task_chain(10000000);
    move_to(&t, scratch_file("two.yaml", machine));
    place_on(&t, 1); /* the slower one; a quick method finds the other */
    const emp_decision slower = {.device_of_op = t.device_of_op};
    ASSERT_OK(emp_sensitivity_find(&s, t.problem, &slower, &err));
    cr_assert_not_null(s.other);
    cr_expect_lt(s.other_s, s.winner_s, "%s: %g and %g", s.other, s.other_s, s.winner_s);
    const emp_sensitivity_row *stream = row_of(&s, "by-rule", "stream");
    cr_assert_not_null(stream);
    cr_expect_not(stream->turns[0]);
    cr_expect(stream->turns[1], "%g and %g", stream->winner_s[1], stream->other_s[1]);
    cr_expect_geq(s.turn_count, 1);
    cr_expect_null(row_of(&s, "stated", "stream"));
}

Test(sensitivity, nothing_derived_is_refused)
{
    OWN_TASK        t;
    emp_sensitivity s;

    task_create(&t, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    const emp_decision cpu = {.device_of_op = t.device_of_op};
    EXPECT_REFUSED(emp_sensitivity_check(t.problem, &err), EMP_EUNSUPPORTED,
                   "machine k40x2 has no derived constant");
    cr_expect_eq(emp_sensitivity_find(&s, t.problem, &cpu, NULL), EMP_EUNSUPPORTED);
}

Test(sensitivity, survives_every_allocation_failure)
{
    OWN_TASK        t = task_chain(1000);
    emp_sensitivity s;

    move_to(&t, "gh200x1");
    place_on(&t, 1);
    const emp_decision all_gpu = {.device_of_op = t.device_of_op};
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sensitivity_find(&s, t.problem, &all_gpu, NULL),
                                      (void)0);
    cr_expect_gt(s.row_count, 0);
}
