// SPDX-License-Identifier: GPL-3.0-or-later
/* Parts of figures and pages. Are marks of axes round, few and inside? Do labels stay apart, move as
 * little as they can, and stay whole where they are cut? Can text of a record become markup? */
#include <stdint.h>

#include "bench/plots/axis.h"
#include "bench/plots/html.h"
#include "tests/test.h"

static const double slack = 1e-9;

Test(axis, marks_are_even_decades_or_finer)
{
    static const struct {
        double  low, high;
        bool    is_log;
        int32_t most, count;
        double  mark[6];
    } cases[] = {{0, 1, false, 5, 6, {0, 0.2, 0.4, 0.6, 0.8, 1}},
                 {0.31, 0.58, false, 6, 5, {0.35, 0.4, 0.45, 0.5, 0.55}},
                 {-1, 1, false, 4, 5, {-1, -0.5, 0, 0.5, 1}},
                 {2, 2, false, 4, 0, {0}},
                 {-1, 1, false, 0, 0, {0}},
                 {0.5, 4, true, 0, 0, {0}},
                 {0.5, 4, true, 1, 1, {1}},
                 {1, 1e4, true, 6, 5, {1, 10, 100, 1e3, 1e4}},
                 {0.15, 3, true, 8, 4, {0.2, 0.5, 1, 2}},
                 {3, 4, true, 6, 6, {3, 3.2, 3.4, 3.6, 3.8, 4}},
                 {1e-9, 1e9, true, 5, 5, {1e-8, 1e-4, 1, 1e4, 1e8}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const emp_axis axis = {
            .low = cases[i].low, .high = cases[i].high, .is_log = cases[i].is_log};
        double mark[EMP_AXIS_MARKS];
        cr_assert_eq(emp_axis_marks(&axis, cases[i].most, mark), cases[i].count,
                     "%g to %g", axis.low, axis.high);
        for (int32_t k = 0; k < cases[i].count; k++)
            cr_expect_float_eq(
                mark[k], cases[i].mark[k], slack * fabs(cases[i].mark[k]) + 1e-12,
                "%g to %g: %g, not %g", axis.low, axis.high, mark[k], cases[i].mark[k]);
    }
}

Test(axis, values_have_places)
{
    emp_axis linear = {0, 10, false, 100, 0}, logarithmic = {1, 100, true, 0, 200};
    emp_axis empty = emp_axis_empty();

    cr_expect_float_eq(emp_axis_place(&linear, 2.5), 75, slack);
    cr_expect_float_eq(emp_axis_place(&linear, 11), 0, slack, "beyond is at the end");
    cr_expect_float_eq(emp_axis_place(&logarithmic, 10), 100, slack);
    emp_axis_stretch(&empty, INFINITY);
    emp_axis_stretch(&empty, NAN);
    cr_expect_gt(empty.low, empty.high, "what is not finite is no value");
    emp_axis_stretch(&empty, 3);
    cr_expect_eq(empty.low, 3);
    emp_axis_widen(&empty, 0.1);
    cr_expect(empty.low < 3 && empty.high > 3, "equal ends, too");
}

Test(axis, numbers_are_short)
{
    static const struct {
        double      value;
        const char *text;
    } cases[] = {{0.25, "0.25"},
                 {5000, "5000"},
                 {20000, "20k"},
                 {1.5e6, "1.5M"},
                 {-20000, "-20k"}};
    char text[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(emp_axis_number(cases[i].value, text, sizeof text),
                         cases[i].text);
}

Test(labels, stay_apart_and_move_as_little_as_they_can)
{
    static const struct {
        int32_t count;
        double  gap, low, high, place[4], expected[4];
    } cases[] = {{3, 15, 0, 100, {10, 30, 50}, {10, 30, 50}}, /* there is room */
                 {3, 10, 0, 100, {20, 20, 60}, {15, 25, 60}}, /* they share the move */
                 {3, 10, 0, 100, {20, 20, 28}, {38.0 / 3, 68.0 / 3, 98.0 / 3}},
                 {2, 10, 4, 96, {0, 0}, {4, 14}}, /* inside */
                 {2, 10, 4, 96, {100, 100}, {86, 96}},
                 {4, 20, 10, 40, {50, 50, 50, 50}, {10, 20, 30, 40}}}; /* too many */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double place[4];
        memcpy(place, cases[i].place, sizeof place);
        emp_labels_spread(place, cases[i].count, cases[i].gap, cases[i].low,
                          cases[i].high);
        for (int32_t k = 0; k < cases[i].count; k++)
            cr_expect_float_eq(place[k], cases[i].expected[k], slack,
                               "case %zu: label %d at %g, not %g", i, k, place[k],
                               cases[i].expected[k]);
    }
}

Test(labels, never_overlap_wherever_they_would_be)
{
    uint32_t state = 1;

    for (int trial = 0; trial < 2000; trial++) {
        double  place[12] = {0};
        int32_t count = 1 + trial % 12;
        for (int32_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            double step = (state >> 24) % 3 == 0 ? 0 : (double)(state >> 20 & 31);
            place[i] = (i > 0 ? place[i - 1] : 0) + step;
        }
        emp_labels_spread(place, count, 17, 8, 400);
        cr_assert_geq(place[0], 8 - slack);
        cr_assert_leq(place[count - 1], 400 + slack);
        for (int32_t i = 1; i < count; i++)
            cr_assert_geq(place[i] - place[i - 1], 17 - slack, "trial %d", trial);
    }
}

Test(labels, have_the_width_of_their_characters_and_keep_both_ends_when_cut)
{
    char label[64];

    cr_expect_eq(emp_label_width("", 12), 0);
    cr_expect_float_eq(emp_label_width("00", 2048), 2606, slack);
    cr_expect_float_eq(emp_label_width("\xe6\xbc\xa2", 10), 10, slack, "a square");
    cr_expect_gt(emp_label_width("WWW", 10), emp_label_width("iii", 10));
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

#define NONE "\xef\xbf\xbd" /* in place of what is no character */

Test(html, markup_is_escaped_and_what_is_no_character_replaced)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"<b a=\"1\">&'2'</b>", "&lt;b a=&quot;1&quot;&gt;&amp;&#39;2&#39;&lt;/b&gt;"},
        {"&amp;", "&amp;amp;"},
        {"", ""},
        {"é–漢\xf0\x9f\x98\x80 a\tb\nc", "é–漢\xf0\x9f\x98\x80 a\tb\nc"},
        {"a\x01z", "a" NONE "z"},                   /* a control character */
        {"a\xffz", "a" NONE "z"},                   /* no UTF-8 */
        {"a\xc3", "a" NONE},                        /* cut off */
        {"\xc0\xbc", NONE NONE},                    /* '<' in two bytes */
        {"\xed\xa0\x80", NONE NONE NONE},           /* a surrogate */
        {"\xef\xbf\xbf", NONE NONE NONE},           /* U+FFFF */
        {"\xf4\x90\x80\x80", NONE NONE NONE NONE}}; /* above U+10FFFF */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char  *got = NULL;
        size_t size = 0;
        FILE  *file = open_memstream(&got, &size);
        emp_html_text(file, cases[i].text);
        fclose(file);
        cr_expect_str_eq(got, cases[i].written, "case %zu", i);
        free(got);
    }
}

/* RFC 4648, and one more. */
Test(html, bytes_become_base64)
{
    static const struct {
        const char *bytes, *digits;
    } vector[] = {{"", ""},
                  {"f", "Zg=="},
                  {"fo", "Zm8="},
                  {"foo", "Zm9v"},
                  {"foob", "Zm9vYg=="},
                  {"fooba", "Zm9vYmE="},
                  {"foobar", "Zm9vYmFy"},
                  {"\xff\xfe\xfb", "//77"}};

    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        char  *got = NULL;
        size_t size = 0;
        FILE  *file = open_memstream(&got, &size);
        emp_html_base64(file, vector[i].bytes, strlen(vector[i].bytes));
        fclose(file);
        cr_expect_str_eq(got, vector[i].digits);
        free(got);
    }
}

Test(html, a_text_is_taken_apart_into_characters)
{
    const char *text = "a\n\xc3\xa9\xff";
    const char *expected[] = {"a", " ", "\xc3\xa9", NONE};
    char        character[EMP_CHARACTER_BYTES];

    for (int i = 0; i < 4; i++) {
        text = emp_html_next(text, character);
        cr_expect_str_eq(character, expected[i]);
    }
    cr_expect_eq(*text, '\0');
}
