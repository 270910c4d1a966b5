// SPDX-License-Identifier: GPL-3.0-or-later
/* The fractional sharing of work, beside what can be worked out by hand and beside the best
 * of all divisions of a few items. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>

#include "base/rng.h"
#include "sim/bounds/inside.h"

enum { BOTH = EMP_KIND_CPU | EMP_KIND_GPU, ITEMS = 9 };

static const double ones[EMP_BOUND_RESOURCES] = {1.0, 1.0, 1.0};

static emp_area_item make(double cpu, double gpu, uint32_t kinds)
{
    emp_area_item item = {.kinds = kinds};

    item.load[EMP_DEVICE_CPU][EMP_BOUND_CORES] = cpu;
    item.load[EMP_DEVICE_GPU][EMP_BOUND_STREAM] = gpu;
    return item;
}

static emp_area solve(const emp_area_item *item, int32_t count)
{
    emp_area  area;
    emp_error err = {0};

    cr_assert_eq(emp_area_solve(&area, item, count, ones, 1e-6, &err), EMP_OK, "%s",
                 err.msg);
    return area;
}

Test(area, divides_one_item_by_speeds)
{
    const emp_area_item item = make(30.0, 10.0, BOTH);

    cr_expect_float_eq(solve(&item, 1).value, 7.5, 1e-4); /* 1/30 + 1/10 an item */
}

Test(area, keeps_to_the_kinds_that_an_item_may_be_on)
{
    const emp_area_item items[] = {make(30.0, 10.0, EMP_KIND_CPU),
                                   make(30.0, 10.0, EMP_KIND_GPU)};

    cr_expect_float_eq(solve(items, 2).value, 30.0, 1e-3);
}

/* Items that do best on the GPU, whose memory holds half of them. */
Test(area, pays_for_memory)
{
    emp_area_item items[4];

    for (int32_t i = 0; i < 4; i++) {
        items[i] = make(100.0, 1.0, BOTH);
        items[i].memory_frac[EMP_DEVICE_GPU] = 0.5;
    }
    cr_expect_float_eq(solve(items, 4).value, 200.0, 0.1);
    for (int32_t i = 0; i < 4; i++) items[i].kinds = EMP_KIND_GPU;
    cr_expect(solve(items, 4).is_infeasible);
}

/* The greedy division by the ratio of costs is optimal with one resource a kind. */
static double divide(emp_area_item *item)
{
    double cpu = 0.0, gpu = 0.0;

    for (int32_t i = 0; i < ITEMS; i++) {
        for (int32_t j = i; j > 0; j--) { /* best on the CPU first */
            const double *a = item[j - 1].load[0], *b = item[j].load[0];
            double        ra =
                a[EMP_BOUND_CORES] / item[j - 1].load[EMP_DEVICE_GPU][EMP_BOUND_STREAM];
            double rb =
                b[EMP_BOUND_CORES] / item[j].load[EMP_DEVICE_GPU][EMP_BOUND_STREAM];
            if (ra <= rb) break;
            emp_area_item swap = item[j];
            item[j] = item[j - 1];
            item[j - 1] = swap;
        }
    }
    for (int32_t i = 0; i < ITEMS; i++)
        gpu += item[i].load[EMP_DEVICE_GPU][EMP_BOUND_STREAM];
    for (int32_t i = 0; i < ITEMS; i++) {
        double c = item[i].load[EMP_DEVICE_CPU][EMP_BOUND_CORES];
        double g = item[i].load[EMP_DEVICE_GPU][EMP_BOUND_STREAM];
        double part = fmin(1.0, (gpu - cpu) / (c + g));
        cpu += part * c, gpu -= part * g;
        if (part < 1.0) break;
    }
    return fmax(cpu, gpu);
}

Test(area, is_the_greedy_division_and_no_more)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        emp_rng       rng;
        emp_area_item item[ITEMS];
        emp_rng_init(&rng, seed, 0, 0);
        for (int32_t i = 0; i < ITEMS; i++)
            item[i] =
                make(1.0 + emp_rng_below(&rng, 100), 1.0 + emp_rng_below(&rng, 30), BOTH);
        double value = solve(item, ITEMS).value, best = divide(item);
        cr_expect_leq(value, best, "seed %" PRIu64, seed);
        cr_expect_geq(value, best * (1.0 - 1e-4), "seed %" PRIu64 ": %g of %g", seed,
                      value, best);
    }
}
