// SPDX-License-Identifier: GPL-3.0-or-later
/* Are devices drawn in proportion to their peak FLOP/s? */
#include <criterion/criterion.h>
#include <math.h>

#include "search/moves.h"
#include "sim/graph/graph.h"

enum { DRAWS = 100000 };

enum { ALL = EMP_KIND_CPU | EMP_KIND_GPU };

static emp_machine machine_of(int32_t count, const double *peak)
{
    emp_machine m = {.device_count = count};

    for (int32_t d = 0; d < count; d++) m.device[d].peak_flops_per_s = peak[d];
    return m;
}

Test(odds, are_running_sums_of_shares)
{
    const double          peak[] = {1e12, 3e12, 4e12};
    const emp_machine     m = machine_of(3, peak);
    const emp_device_odds odds = emp_device_odds_of(&m, ALL);

    cr_expect_eq(odds.device_count, 3);
    cr_expect_eq(odds.up_to[0], 0.125);
    cr_expect_eq(odds.up_to[1], 0.5);
    cr_expect_eq(odds.up_to[2], 1.0);
}

/* Each number falls to the first device whose running sum is above it. */
Test(odds, draw_by_one_uniform_number)
{
    const double          peak[] = {1e12, 0.0, 3e12, 4e12};
    const emp_machine     m = machine_of(4, peak);
    const emp_device_odds odds = emp_device_odds_of(&m, ALL);
    emp_rng               rng, same;
    int32_t               drawn[4] = {0};

    emp_rng_init(&rng, 5, 0, 0);
    emp_rng_init(&same, 5, 0, 0);
    for (int32_t i = 0; i < DRAWS; i++) {
        double        u = emp_rng_uniform(&same);
        emp_device_id want = u < 0.125 ? 0 : u < 0.5 ? 2 : 3;
        emp_device_id got = emp_device_odds_draw(&odds, &rng);
        cr_assert_eq(got, want, "%g: device %d, not %d", u, got, want);
        drawn[got]++;
    }
    cr_expect_eq(drawn[1], 0, "a device without speed is never drawn");
    cr_expect_lt(fabs(drawn[3] / (double)DRAWS - 0.5), 0.01);
}

Test(odds, leave_out_devices_of_other_kinds)
{
    const double peak[] = {8e12, 1e12, 8e12, 3e12};
    emp_machine  m = machine_of(4, peak);
    m.device[1].kind = m.device[3].kind = EMP_DEVICE_GPU;
    const emp_device_odds odds = emp_device_odds_of(&m, EMP_KIND_GPU);
    emp_rng               rng;

    cr_expect_eq(odds.device_count, 2);
    cr_expect_eq(odds.up_to[0], 0.25);
    cr_expect_eq(odds.up_to[1], 1.0);
    emp_rng_init(&rng, 5, 0, 0);
    for (int32_t i = 0; i < 100; i++)
        cr_expect_eq(emp_device_odds_draw(&odds, &rng) % 2, 1);
}

Test(odds, of_one_device_always_draw_it)
{
    const double          peak[] = {7.0};
    const emp_machine     m = machine_of(1, peak);
    const emp_device_odds odds = emp_device_odds_of(&m, ALL);
    emp_rng               rng;

    emp_rng_init(&rng, 1, 0, 0);
    for (int32_t i = 0; i < 100; i++) cr_expect_eq(emp_device_odds_draw(&odds, &rng), 0);
}
