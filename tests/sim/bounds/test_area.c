// SPDX-License-Identifier: GPL-3.0-or-later
/* The fractional sharing of work, beside what can be worked out by hand and beside the best
 * of all divisions of a few items.
 * Do many windows at once cost what the equation of each op and window says? */
#include "base/rng.h"
#include "sim/bounds/inside.h"
#include "tests/support/survive.h"

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
    emp_area       area;
    emp_area_table table;

    ASSERT_OK(emp_area_table_init(&table, count, true, &err));
    for (int32_t i = 0; i < count; i++) emp_area_table_set(&table, i, &item[i]);
    ASSERT_OK(emp_area_solve(&area, &table, ones, 1e-6, INFINITY, &err));
    emp_area_table_clear(&table);
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

/* ---- many windows at once ---- */

enum { WINDOWS = 9, MOST_OPS = 1029, LONGEST_NS = 1000 };

/* Whole vectors and not, and several blocks. */
static const int32_t counts[] = {0, 1, 7, 8, 255, 256, 257, 600, MOST_OPS};

static double draw_ns(emp_rng *rng) { return emp_rng_below(rng, LONGEST_NS); }

/* A third of the ops may be only on the CPU, a third only on GPUs. */
static void bar(const emp_inside *s, int32_t i, uint32_t drawn)
{
    if (drawn == 0) s->barred[EMP_DEVICE_GPU][i] = INFINITY;
    if (drawn == 1) s->barred[EMP_DEVICE_CPU][i] = INFINITY;
}

static void create(emp_inside *s, int32_t count, emp_rng *rng)
{
    emp_error err = {0};

    cr_assert_eq(emp_inside_init(s, count, &err), EMP_OK);
    for (int32_t i = 0; i < count; i++) {
        bar(s, i, emp_rng_below(rng, 3));
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
            s->of[r].work[i] = draw_ns(rng);
            s->of[r].head[i] = draw_ns(rng);
            s->of[r].tail[i] = draw_ns(rng);
        }
    }
    emp_inside_find_reach(s);
}

static double inside(const emp_inside_work *of, int32_t i, emp_window w)
{
    return fmax(0, of->work[i] - fmax(0, w.before - of->head[i]) -
                       fmax(0, w.after - of->tail[i]));
}

/* Where it is cheapest. */
static double cost_of(const emp_inside *s, int32_t i, const double *price, emp_window w)
{
    const emp_inside_work *cores = &s->of[EMP_BOUND_CORES];
    double                 cpu = 0, gpu = 0;

    if (cores->head[i] >= w.before && cores->tail[i] >= w.after)
        cpu = price[EMP_BOUND_CORES] * cores->work[i];
    for (int32_t r = EMP_BOUND_THREAD; r <= EMP_BOUND_STREAM; r++)
        gpu += price[r] * inside(&s->of[r], i, w);
    return fmin(cpu + s->barred[EMP_DEVICE_CPU][i], gpu + s->barred[EMP_DEVICE_GPU][i]);
}

/* The item of a table without memory. */
static emp_area_item item_of(const emp_area_table *table, int32_t i)
{
    emp_area_item item = {0};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (table->barred[k][i] == 0) item.kinds |= 1u << k;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
        const int32_t kind = r == EMP_BOUND_CORES ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
        item.load[kind][r] = table->load[r][i];
    }
    return item;
}

static void expect_cost(const emp_inside *s, const double *price, emp_window w,
                        double cost)
{
    double         want = 0, of_items = 0;
    emp_area_table table;

    ASSERT_OK(emp_area_table_init(&table, s->count, false, &err));
    emp_inside_items(s, w, &table);
    for (int32_t i = 0; i < table.count; i++) {
        const emp_area_item item = item_of(&table, i);
        double              least = 0;
        cr_assert_geq(emp_area_cheapest(&item, price, &least), 0);
        of_items += least;
    }
    emp_area_table_clear(&table);
    for (int32_t i = 0; i < s->count; i++) want += cost_of(s, i, price, w);
    cr_expect_float_eq(cost, want, 1e-12 * want, "%d ops: %.17g, not %.17g", s->count,
                       cost, want);
    cr_expect_float_eq(of_items, want, 1e-12 * want, "%d ops: items of %.17g, not %.17g",
                       s->count, of_items, want);
}

Test(inside, windows_cost_what_the_equation_says)
{
    emp_rng rng;

    emp_rng_init(&rng, 1, 0, 0);
    for (size_t n = 0; n < COUNT(counts); n++) {
        double     price[EMP_AREA_PRICES] = {0}, cost[WINDOWS];
        emp_window window[WINDOWS];
        emp_inside s;
        create(&s, counts[n], &rng);
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            price[r] = emp_rng_uniform(&rng);
        for (int32_t i = 0; i < WINDOWS; i++)
            window[i] = (emp_window){draw_ns(&rng), draw_ns(&rng)};
        emp_inside_costs(&s, price, window, WINDOWS, cost);
        for (int32_t i = 0; i < WINDOWS; i++) expect_cost(&s, price, window[i], cost[i]);
        if (counts[n] > 8) cr_expect_gt(cost[0], 0, "the window is empty");
        emp_inside_clear(&s);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
