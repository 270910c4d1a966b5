// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the shares of the timeline add up to what the oracle says devices did? */
#include "bench/report/timeline.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { SEEDS = 60 };

/* a on gpu:0, then b on gpu:1, which needs a copy; list scheduling: 10 ns, 5 + 256 ns,
 * 10 ns. */
static const tiny_op ops[] = {
    {.device = 1},
    {.device = 2, .input_count = 1, .input = {0}},
};

static double sum_of(const emp_track *track)
{
    double sum = 0;

    for (int32_t bin = 0; bin < EMP_TIMELINE_BINS; bin++) {
        cr_expect(track->busy_frac[bin] >= 0 && track->busy_frac[bin] <= 1.0001,
                  "bin %d is busy for %g", bin, (double)track->busy_frac[bin]);
        sum += (double)track->busy_frac[bin];
    }
    return sum / EMP_TIMELINE_BINS;
}

static emp_status create(emp_timeline *timeline, const task *t,
                         const uint8_t *level_of_op)
{
    return emp_timeline_create(
        timeline, t->problem,
        &(emp_decision){.device_of_op = t->device_of_op, .level_of_op = level_of_op},
        NULL);
}

Test(timeline, intervals_lie_where_they_were)
{
    OWN_TASK    t;
    emp_runtime runtime = tiny_list_scheduling();
    SCOPED(emp_timeline, emp_timeline_clear) timeline = {0};

    task_create_tiny(&t, ops, 2, &runtime);
    ASSERT_OK(create(&timeline, &t, NULL));
    cr_assert_eq(timeline.result.step_time_ns, 10 + 5 + 256 + 10);
    const emp_track *first = emp_timeline_at(&timeline, 1, EMP_TRACK_COMPUTE);
    const emp_track *second = emp_timeline_at(&timeline, 2, EMP_TRACK_COMPUTE);
    const emp_track *out = emp_timeline_at(&timeline, 1, EMP_TRACK_COPY_OUT);
    const emp_track *in = emp_timeline_at(&timeline, 2, EMP_TRACK_COPY_IN);
    cr_expect_eq(first->busy_ns, 10);
    cr_expect_eq(second->busy_ns, 10);
    cr_expect_eq(out->busy_ns, 261);
    cr_expect_eq(in->busy_ns, 261);
    cr_expect_eq(emp_timeline_at(&timeline, 1, EMP_TRACK_COPY_IN)->busy_ns, 0);
    cr_expect_gt(first->busy_frac[0], 0.99f);
    cr_expect_eq(first->busy_frac[40], 0.0f, "10 of 281 ns are 32 bins");
    cr_expect_eq(second->busy_frac[860], 0.0f);
    cr_expect_gt(second->busy_frac[EMP_TIMELINE_BINS - 1], 0.99f);
    cr_expect_gt(out->busy_frac[EMP_TIMELINE_BINS / 2], 0.99f);
}

/* The op that another device waits for is the second of two, and goes first. */
Test(timeline, shows_the_order_that_was_decided)
{
    static const tiny_op waiting[] = {{.device = 1, .weight = 5},
                                      {.device = 1},
                                      {.device = 2, .input_count = 1, .input = {1}}};
    const emp_runtime    runtime = tiny_list_scheduling();
    const uint8_t        levels[] = {1, 0, 0};
    SCOPED(emp_timeline, emp_timeline_clear) timeline = {0};
    OWN_TASK t;

    task_create_tiny(&t, waiting, 3, &runtime);
    ASSERT_OK(create(&timeline, &t, levels));
    cr_expect_eq(timeline.result.step_time_ns, 10 + 5 + 256 + 10);
}

/* With the profile of TensorFlow and random graphs. */
Test(timeline, shares_of_gpus_add_up_to_their_busy_time)
{
    int32_t checked = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        task         r;
        emp_timeline timeline = {0};
        random_problem_create(&r, seed);
        ASSERT_OK(create(&timeline, &r, NULL));
        double step = (double)timeline.result.step_time_ns;
        for (emp_device_id d = 0; d < timeline.device_count && step > 0; d++) {
            const emp_track *track = emp_timeline_at(&timeline, d, EMP_TRACK_COMPUTE);
            cr_expect_float_eq(sum_of(track), (double)track->busy_ns / step, 1e-4);
            if (r.problem->machine->device[d].kind != EMP_DEVICE_GPU) continue;
            cr_expect_eq(track->busy_ns, timeline.result.busy_ns[d],
                         "seed %llu, device %d", (unsigned long long)seed, d);
            checked += track->busy_ns > 0;
        }
        emp_timeline_clear(&timeline);
        task_destroy(&r);
    }
    cr_expect_gt(checked, SEEDS / 2);
}

Test(timeline, every_allocation_may_fail)
{
    OWN_TASK    t;
    emp_runtime runtime = tiny_serial();

    task_create_tiny(&t, ops, 2, &runtime);
    emp_timeline timeline = {0};
    SURVIVES_EVERY_ALLOCATION_FAILURE(create(&timeline, &t, NULL),
                                      emp_timeline_clear(&timeline));
    emp_timeline_clear(&timeline);
}
