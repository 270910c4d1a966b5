// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the elites the best placements of all that were seen, best first? */
#include "base/rng.h"
#include "baselines/searches/grouped.h"
#include "tests/support/survive.h"

enum { CAPACITY = 4, WIDTH = 3, SEEN = 40 };

static emp_elites elites;

static void set_up(void) { ASSERT_OK(emp_elites_init(&elites, CAPACITY, WIDTH, NULL)); }

static void tear_down(void)
{
    emp_elites_clear(&elites);
    expect_all_freed();
}

TestSuite(elites, .init = set_up, .fini = tear_down);

/* Choices that are all the same number. */
static bool keep(int32_t mark, double step_time_s)
{
    int32_t choice[WIDTH];

    for (int i = 0; i < WIDTH; i++) choice[i] = mark;
    return emp_elites_keep(&elites, choice, step_time_s);
}

static void expect_marks(const int32_t *mark, int64_t count)
{
    cr_assert_eq(elites.count, count);
    for (int64_t i = 0; i < count; i++)
        for (int32_t k = 0; k < elites.width; k++)
            cr_expect_eq(emp_elites_at(&elites, i)[k], mark[i], "choice %d of elite %d",
                         k, (int)i);
}

Test(elites, are_copies_in_order_of_which_the_worst_gives_way)
{
    int32_t choice[WIDTH] = {9, 9, 9};

    cr_expect(keep(0, 3.0) && keep(1, 5.0) && keep(2, 1.0) && keep(3, 4.0));
    expect_marks((const int32_t[]){2, 0, 3, 1}, 4);
    cr_expect_not(keep(4, 6.0), "worse than all, of which there are enough");
    cr_expect_not(keep(4, 3.0), "of one step time the first stays");
    expect_marks((const int32_t[]){2, 0, 3, 1}, 4);
    cr_expect(keep(5, 2.0));
    expect_marks((const int32_t[]){2, 5, 0, 3}, 4);
    cr_expect(emp_elites_keep(&elites, choice, 0.5));
    choice[0] = choice[1] = choice[2] = 7;
    expect_marks((const int32_t[]){9, 2, 5, 0}, 4);
}

Test(elites, restart_forgets_and_sets_the_width)
{
    cr_assert(keep(1, 1.0) && keep(2, 2.0));
    emp_elites_restart(&elites, 2);
    cr_expect_eq(elites.count, 0);
    cr_expect(keep(5, 9.0) && keep(6, 8.0) && keep(7, 7.0));
    expect_marks((const int32_t[]){7, 6, 5}, 3);
    cr_expect_eq(emp_elites_at(&elites, 1) - emp_elites_at(&elites, 0), 2);
    emp_elites_restart(&elites, WIDTH);
    cr_expect(keep(8, 1.0));
    expect_marks((const int32_t[]){8}, 1);
}

typedef struct {
    double  step_time_s;
    int32_t mark; /* also says which came first */
} seen;

static int compare(const void *a, const void *b)
{
    const seen *x = a, *y = b;

    if (x->step_time_s != y->step_time_s) return x->step_time_s < y->step_time_s ? -1 : 1;
    return x->mark < y->mark ? -1 : 1;
}

/* Sorts all that was seen, drops those of a time that came before. */
static int64_t best_by_sorting(const seen *all, int32_t count, int32_t mark[CAPACITY])
{
    seen    sorted[SEEN];
    int64_t found = 0;

    memcpy(sorted, all, (size_t)count * sizeof *all);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int32_t i = 0; i < count && found < CAPACITY; i++)
        if (i == 0 || sorted[i].step_time_s != sorted[i - 1].step_time_s)
            mark[found++] = sorted[i].mark;
    return found;
}

Test(elites, are_those_that_a_sort_of_all_gives)
{
    emp_rng rng;

    for (uint32_t run = 0; run < 50; run++) {
        seen    all[SEEN];
        int32_t mark[CAPACITY];
        emp_rng_init(&rng, 1, run, 0);
        emp_elites_restart(&elites, 1 + (int32_t)run % WIDTH);
        for (int32_t i = 0; i < SEEN; i++) { /* few times, so that some are equal */
            all[i] = (seen){1.0 + emp_rng_below(&rng, 25), i};
            keep(i, all[i].step_time_s);
            expect_marks(mark, best_by_sorting(all, i + 1, mark));
        }
    }
}

Test(elites, of_a_damaged_state_are_not_valid)
{
    static const struct {
        int64_t count;
        int32_t width, choice; /* the second of all */
        bool    is_valid;
    } cases[] = {
        {2, WIDTH, 0, true},   {2, WIDTH, -1, false},           {2, WIDTH, 3, false},
        {-1, WIDTH, 0, false}, {CAPACITY + 1, WIDTH, 0, false}, {2, WIDTH + 1, 0, false},
        {2, -1, 0, false}};

    cr_expect(emp_elites_are_valid(&elites, 1), "none at all");
    cr_assert(keep(0, 1.0) && keep(2, 2.0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        elites.count = cases[i].count;
        elites.width = cases[i].width;
        elites.choice[1] = cases[i].choice;
        cr_expect_eq(emp_elites_are_valid(&elites, 3), cases[i].is_valid, "case %zu", i);
    }
}
