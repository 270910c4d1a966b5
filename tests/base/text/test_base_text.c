// SPDX-License-Identifier: GPL-3.0-or-later
/* Do names that are too long keep both ends, in exactly the width they are given? What is an
 * ending? Does a copy end with a whole character? Are words of a command quoted? How is a spec cut? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text/options.h"
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

Test(text, a_copy_has_what_fits_in_whole_characters)
{
    char copy[4];

    cr_expect(emp_text_copy(copy, sizeof copy, "abc", 3));
    cr_expect_str_eq(copy, "abc");
    cr_expect(emp_text_copy(copy, sizeof copy, "abcd", 2));
    cr_expect_str_eq(copy, "ab");
    cr_expect_not(emp_text_copy(copy, sizeof copy, "abcd", 4));
    cr_expect_str_eq(copy, "abc");
    cr_expect_not(emp_text_copy(copy, sizeof copy, "ab\xc3\xa9", 4));
    cr_expect_str_eq(copy, "ab");
    cr_expect_not(emp_text_copy(copy, sizeof copy, "\xf0\x9f\x92\xa1", 4));
    cr_expect_str_eq(copy, "");
}

Test(text, words_are_quoted_for_a_shell_if_they_have_to_be)
{
    static const char *const words[] = {"nmt:layers=2,batch=8", "", "a b", "it's",
                                        "$HOME"};
    char                     array[64];
    emp_text                 text = {array, sizeof array, 0};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (i > 0) emp_text_add(&text, " ");
        emp_text_add_word(&text, words[i]);
    }
    cr_expect_str_eq(array, "nmt:layers=2,batch=8 '' 'a b' 'it'\\''s' '$HOME'");
}

Test(text, an_ending_has_something_before_it)
{
    cr_expect(emp_text_ends_in("best.json", ".json"));
    cr_expect_not(emp_text_ends_in(".json", ".json"));
    cr_expect_not(emp_text_ends_in("best.json", ".csv"));
    cr_expect_not(emp_text_ends_in("n", ".json"));
}

Test(text, a_spec_is_cut_into_texts_and_options)
{
    static const char *const keys[] = {"path=", "gpu=", NULL};
    static emp_spec_parts    parts;
    static char              spec[EMP_SPEC_BYTES + 8] = "a:";
    emp_error                err = {0};

    cr_assert_eq(emp_spec_cut(&parts, "a:n=1,path=b:c=d,m=2", keys, &err), EMP_OK);
    cr_expect_str_eq(parts.text[0], "b:c=d");
    cr_expect_str_eq(parts.text[1], "");
    cr_expect_str_eq(parts.rest, "n=1,m=2");
    cr_assert_eq(emp_spec_cut(&parts, "a", keys, &err), EMP_OK);
    cr_expect_str_empty(parts.rest);
    memset(spec + 2, 'x', EMP_SPEC_BYTES);
    cr_expect_eq(emp_spec_cut(&parts, spec, keys, &err), EMP_EINVAL);
}
