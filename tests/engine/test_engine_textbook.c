// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the engine equal to a plain textbook simulator, whatever the graph, the machine, the
 * runtime's switches and the placement? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "tests/engine/random_problem.h"
#include "tests/support/textbook.h"

enum { PROBLEMS = 1000, PLACEMENTS = 3 };

static void expect_equal(const emp_sim_result *got, const emp_sim_result *want, int seed)
{
    cr_expect_eq(got->step_time_ns, want->step_time_ns,
                 "seed %d: step time %" PRId64 ", textbook %" PRId64, seed,
                 got->step_time_ns, want->step_time_ns);
    for (int d = 0; d < want->device_count; d++) {
        cr_expect_eq(got->peak_bytes[d], want->peak_bytes[d],
                     "seed %d: peak of device %d: %" PRId64 ", textbook %" PRId64, seed,
                     d, got->peak_bytes[d], want->peak_bytes[d]);
        cr_expect_eq(got->busy_ns[d], want->busy_ns[d], "seed %d: busy time of device %d",
                     seed, d);
    }
    cr_expect_eq(got->traffic_bytes, want->traffic_bytes, "seed %d: traffic", seed);
    cr_expect_eq(got->transfer_count, want->transfer_count, "seed %d: transfers", seed);
    cr_expect_eq(got->event_count, want->event_count,
                 "seed %d: events %" PRId64 ", %" PRId64, seed, got->event_count,
                 want->event_count);
    cr_expect_eq(got->fingerprint, want->fingerprint, "seed %d: fingerprint", seed);
    cr_expect_eq(got->is_feasible, want->is_feasible, "seed %d: feasible", seed);
    cr_expect_eq(got->oom_device, want->oom_device, "seed %d: device out of memory",
                 seed);
    cr_expect_eq(got->oom_op, want->oom_op, "seed %d: op out of memory", seed);
    cr_expect_eq(got->oom_bytes, want->oom_bytes, "seed %d: bytes asked for", seed);
    cr_expect_eq(got->oom_at_ns, want->oom_at_ns, "seed %d: time out of memory", seed);
}

Test(engine, equals_the_textbook_simulator)
{
    int64_t transfers = 0, infeasible = 0;

    for (int seed = 0; seed < PROBLEMS; seed++) {
        random_problem r;
        emp_sim       *sim = NULL;
        emp_error      err = {0};
        emp_rng        rng;
        random_problem_create(&r, (uint64_t)seed);
        emp_rng_init(&rng, (uint64_t)seed, 1, 0);
        cr_assert_eq(emp_sim_create(&sim, r.problem, &err), EMP_OK, "seed %d: %s", seed,
                     err.msg);
        for (int k = 0; k < PLACEMENTS; k++) {
            emp_sim_result got = {0}, want;
            cr_assert_eq(emp_sim_run(sim, r.device_of_op, &got, &err), EMP_OK,
                         "seed %d: %s", seed, err.msg);
            textbook_run(r.problem, r.device_of_op, &want);
            expect_equal(&got, &want, seed);
            transfers += got.transfer_count;
            infeasible += !got.is_feasible;
            random_problem_place(&r, &rng);
        }
        emp_sim_destroy(sim);
        random_problem_destroy(&r);
    }
    /* the cases are worth something */
    cr_expect_gt(transfers, 10 * PROBLEMS);
    cr_expect_gt(infeasible, PROBLEMS / 10);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
