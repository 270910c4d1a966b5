// SPDX-License-Identifier: GPL-3.0-or-later
/* Do names that are too long keep both ends, in exactly the width they are given? What is an
 * ending? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text/text.h"

static void expect_short(const char *name, size_t width, const char *want)
{
    char buffer[32];

    cr_expect_str_eq(emp_text_shorten(name, strlen(name), width, buffer), want);
}

Test(text, names_that_fit_stay)
{
    expect_short("", 8, "");
    expect_short("eight_ch", 8, "eight_ch");
}

Test(text, long_names_keep_both_ends)
{
    expect_short("nine_char", 8, "ni...har");
    expect_short("gradients/softmax/MatMul", 13, "gradi...atMul");
}

Test(text, only_the_length_that_is_given_counts)
{
    char buffer[16];

    cr_expect_str_eq(emp_text_shorten("scope/op", 5, 8, buffer), "scope");
}

Test(text, an_ending_has_something_before_it)
{
    cr_expect(emp_text_ends_in("best.json", ".json"));
    cr_expect_not(emp_text_ends_in(".json", ".json"));
    cr_expect_not(emp_text_ends_in("best.json", ".csv"));
    cr_expect_not(emp_text_ends_in("n", ".json"));
}
