// SPDX-License-Identifier: GPL-3.0-or-later
/* Do labels stay apart, move as little as they can, and stay whole where they are cut? */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "bench/plots/axis.h"

static const double slack = 1e-9;

static void expect_places(const double *place, const double *expected, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        cr_expect_float_eq(place[i], expected[i], slack, "label %d at %g, not %g", i,
                           place[i], expected[i]);
}

Test(labels, that_have_room_stay)
{
    double place[] = {10, 30, 50};

    emp_labels_spread(place, 3, 15, 0, 100);
    expect_places(place, (const double[]){10, 30, 50}, 3);
}

Test(labels, that_collide_share_the_move)
{
    double place[] = {20, 20, 60};

    emp_labels_spread(place, 3, 10, 0, 100);
    expect_places(place, (const double[]){15, 25, 60}, 3);
}

Test(labels, pushed_into_others_move_them_along)
{
    double place[] = {20, 20, 28};

    emp_labels_spread(place, 3, 10, 0, 100);
    expect_places(place, (const double[]){38.0 / 3, 68.0 / 3, 98.0 / 3}, 3);
}

Test(labels, stay_inside)
{
    double low[] = {0, 0}, high[] = {100, 100};

    emp_labels_spread(low, 2, 10, 4, 96);
    expect_places(low, (const double[]){4, 14}, 2);
    emp_labels_spread(high, 2, 10, 4, 96);
    expect_places(high, (const double[]){86, 96}, 2);
}

Test(labels, share_what_room_there_is)
{
    double place[] = {50, 50, 50, 50};

    emp_labels_spread(place, 4, 20, 10, 40);
    expect_places(place, (const double[]){10, 20, 30, 40}, 4);
}

/* Of many arrangements: order, distance, ends, and no better one nearby. */
Test(labels, never_overlap_wherever_they_would_be)
{
    uint32_t state = 1;

    for (int trial = 0; trial < 2000; trial++) {
        double  place[12], wanted[12];
        int32_t count = 1 + trial % 12;
        for (int32_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            double step = (state >> 24) % 3 == 0 ? 0 : (double)(state >> 20 & 31);
            wanted[i] = place[i] = (i > 0 ? wanted[i - 1] : 0) + step;
        }
        emp_labels_spread(place, count, 17, 8, 400);
        cr_assert_geq(place[0], 8 - slack);
        cr_assert_leq(place[count - 1], 400 + slack);
        for (int32_t i = 1; i < count; i++)
            cr_assert_geq(place[i] - place[i - 1], 17 - slack, "trial %d", trial);
    }
}

Test(labels, have_the_width_of_their_characters)
{
    cr_expect_eq(emp_label_width("", 12), 0);
    cr_expect_float_eq(emp_label_width("00", 2048), 2606, slack);
    cr_expect_float_eq(emp_label_width("\xe6\xbc\xa2", 10), 10, slack,
                       "others are square");
    cr_expect_gt(emp_label_width("WWW", 10), emp_label_width("iii", 10));
}

Test(labels, that_are_too_wide_keep_both_ends)
{
    char label[64];

    emp_label_shorten(label, sizeof label, "hdp paper", 500, 13);
    cr_expect_str_eq(label, "hdp paper");
    emp_label_shorten(label, sizeof label, "hdp paper samples=4, 8000 evaluations", 120,
                      13);
    cr_expect_leq(emp_label_width(label, 13), 120);
    cr_expect_eq(strncmp(label, "hdp ", 4), 0, "%s", label);
    cr_expect_str_eq(label + strlen(label) - 4, "ions", "%s", label);
    cr_expect_not_null(strstr(label, "\xe2\x80\xa6"), "%s", label);
    emp_label_shorten(label, sizeof label, "éééééééééé", 60, 13);
    cr_expect_leq(emp_label_width(label, 13), 60);
    for (const char *at = label; *at != '\0'; at += (*at & 0xe0) == 0xe0 ? 3 : 2)
        cr_expect((*at & 0xc0) == 0xc0, "characters are whole: %s", label);
    emp_label_shorten(label, 8, "a long text that has no room", 1000, 13);
    cr_expect_lt(strlen(label), 8u);
    emp_label_shorten(label, sizeof label, "text", 1, 13);
    cr_expect_str_eq(label, "\xe2\x80\xa6", "%s", label);
}
