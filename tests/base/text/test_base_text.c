// SPDX-License-Identifier: GPL-3.0-or-later
/* Do names that are too long keep both ends, in exactly the width they are given? What is an
 * ending? Does a copy end with a whole character? Are words of a command quoted? How is a spec cut?
 * Is the distance of words that of its definition, and is only what is near offered? */
#include <unistd.h>

#include "base/rng.h"
#include "base/text/nearest.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static void expect_short(const char *name, size_t width, const char *want)
{
    char buffer[32];

    cr_expect_str_eq(emp_text_shorten(name, strlen(name), width, buffer), want);
}

Test(text, long_names_keep_both_ends)
{
    char buffer[16];

    expect_short("", 8, "");
    expect_short("eight_ch", 8, "eight_ch");
    expect_short("nine_char", 8, "ni...har");
    expect_short("gradients/softmax/MatMul", 13, "gradi...atMul");
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

    for (size_t i = 0; i < COUNT(words); i++) {
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

/* ---- words that are near ---- */

static int32_t distance(const char *a, const char *b)
{
    return emp_edit_distance(a, strlen(a), b, strlen(b));
}

/* The recursion as it is defined. */
static int32_t plain(const char *a, size_t i, const char *b, size_t j)
{
    if (i == 0 || j == 0) return (int32_t)(i + j);
    int32_t best = plain(a, i - 1, b, j - 1) + (a[i - 1] != b[j - 1]);
    int32_t less = plain(a, i - 1, b, j) + 1, more = plain(a, i, b, j - 1) + 1;
    if (less < best) best = less;
    if (more < best) best = more;
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        int32_t exchanged = plain(a, i - 2, b, j - 2) + 1;
        if (exchanged < best) best = exchanged;
    }
    return best;
}

Test(nearest, distances_equal_the_plain_recursion)
{
    char    a[8] = "", b[8] = "";
    emp_rng rng;

    emp_rng_init(&rng, 1, 0, 0);
    for (int k = 0; k < 300; k++) {
        size_t m = emp_rng_below(&rng, 6), n = emp_rng_below(&rng, 6);
        for (size_t i = 0; i < m; i++) a[i] = (char)('a' + emp_rng_below(&rng, 3));
        for (size_t i = 0; i < n; i++) b[i] = (char)('a' + emp_rng_below(&rng, 3));
        cr_expect_eq(emp_edit_distance(a, m, b, n), plain(a, m, b, n), "%.*s %.*s",
                     (int)m, a, (int)n, b);
    }
    cr_expect_eq(distance("kitten", "sitting"), 3);
    cr_expect_eq(distance("HDP", "hdp"), 0, "case does not count");
}

static const char *nearest_of(const char *word, const char *list)
{
    static char text[EMP_NEAREST_BYTES];
    emp_nearest near = emp_nearest_begin(word, strlen(word), "--");

    emp_nearest_offer_list(&near, list);
    return emp_nearest_hint(&near, text);
}

Test(nearest, only_what_is_near_is_offered)
{
    cr_expect_str_eq(nearest_of("machin3", "method, machine"),
                     " (did you mean \"--machine\"?)");
    cr_expect_str_eq(nearest_of("mach", "method|machine"),
                     " (did you mean \"--machine\"?)", "it begins so");
    cr_expect_str_eq(nearest_of("best", "slow|fast"), "");
    cr_expect_str_eq(nearest_of("", "a|b"), "");
    cr_expect_str_eq(nearest_of("x", "a|b"), "", "not one letter in common");
    cr_expect_str_eq(nearest_of("anything", ""), "");
}

Test(nearest, long_words_are_far_from_all)
{
    char word[200];

    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cr_expect_eq(distance(word, word), INT32_MAX);
    cr_expect_str_eq(nearest_of(word, "aaa"), "");
}

Test(nearest, a_file_of_the_same_folder_is_offered, .init = scratch_create,
     .fini = scratch_remove)
{
    char text[EMP_NEAREST_BYTES];

    scratch_write("box.yaml", "", 0);
    scratch_write("bix.yaml", "", 0);
    scratch_write(".bx.yaml", "", 0);
    scratch_write("mlp.json", "", 0);
    scratch_write("a.txt", "", 0);
    cr_assert_eq(chdir(scratch_path("")), 0);
    cr_expect_str_eq(emp_nearest_file("boxx.yaml", text),
                     " (did you mean \"box.yaml\"?)");
    cr_expect_str_eq(emp_nearest_file("bx.yaml", text), " (did you mean \"bix.yaml\"?)",
                     "of equals the first by name");
    cr_expect_str_eq(emp_nearest_file("./mpl.json", text),
                     " (did you mean \"./mlp.json\"?)");
    cr_expect_str_eq(emp_nearest_file("mlp", text), " (did you mean \"mlp.json\"?)");
    cr_expect_str_eq(emp_nearest_file("b.txt", text), "", "endings alone are alike");
    cr_expect_str_eq(emp_nearest_file("nowhere/mlp.jsn", text), "");
    cr_expect_str_eq(emp_nearest_file("", text), "");
    cr_expect_str_eq(emp_nearest_file("box.yaml", text), "", "it is there");
}
