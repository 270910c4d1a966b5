// SPDX-License-Identifier: GPL-3.0-or-later
/* Are options read as the table says, every kind of them, and is what is wrong with one
 * said in a sentence? */
#include "base/text/options.h"
#include "tests/support/survive.h"

typedef enum { COLOR_RED, COLOR_GREEN, COLOR_BLUE } color;

struct inner {
    double share;
};

struct options {
    bool         is_loud;
    int32_t      count;
    struct inner inner;
    double       large;
    color        color;
    int32_t      word;
    char         guard; /* of no option */
};

static const emp_option list[] = {
    EMP_BOOL_OPTION("loud", struct options, is_loud, "1: it is heard", 0, 1),
    EMP_INTEGER_OPTION("count", struct options, count, -2, 1 << 30, "how many", 3, 7),
    EMP_REAL_OPTION("share", struct options, inner.share, 0, 1, "of all", 0.05, 0.5),
    EMP_REAL_OPTION("large", struct options, large, 1e-30, 1e9, "a number", 1e9, 1e-30),
    EMP_WORD_OPTION("color", struct options, color, "red|green|blue", "a color",
                    COLOR_GREEN, COLOR_BLUE),
    EMP_WORD_OPTION("word", struct options, word, "a|ab", "a word", 1, 0),
    EMP_NO_OPTION};
static const emp_option_table table = {"test", "slow|fast", list};

static struct options parse(const char *preset, const char *text)
{
    struct options o = {.guard = 'x'};
    emp_error      err = {0};

    cr_assert_eq(emp_options_parse(&o, &table, preset, text, &err), EMP_OK, "%s: %s",
                 text, err.msg);
    cr_expect_eq(o.guard, 'x');
    return o;
}

Test(options, begin_with_the_defaults_of_a_preset)
{
    const char *const first[] = {NULL, "slow"};

    for (int i = 0; i < 2; i++) {
        struct options o = parse(first[i], i == 0 ? NULL : "");
        cr_expect(!o.is_loud && o.count == 3 && o.inner.share == 0.05 && o.large == 1e9);
        cr_expect(o.color == COLOR_GREEN && o.word == 1);
    }
    struct options o = parse("fast", NULL);
    cr_expect(o.is_loud && o.count == 7 && o.inner.share == 0.5 && o.large == 1e-30);
    cr_expect(o.color == COLOR_BLUE && o.word == 0);
}

/* A preset for which a row has no default of its own has that of the first. */
Test(options, have_one_default_of_all_presets_unless_more_are_given)
{
    static const emp_option some[] = {
        EMP_BOOL_OPTION("loud", struct options, is_loud, "1: it is heard", 1),
        EMP_INTEGER_OPTION("count", struct options, count, 0, 9, "how many", 3, 7),
        EMP_REAL_OPTION("share", struct options, inner.share, 0, 1, "of all", 0.05),
        EMP_WORD_OPTION("color", struct options, color, "red|green|blue", "a color",
                        COLOR_GREEN),
        EMP_NO_OPTION};
    static const emp_option_table three = {"test", "one|two|three", some};
    static const struct {
        const char *preset, *count;
        int32_t     index;
    } cases[] = {{"one", "3", 0}, {"two", "7", 1}, {"three", "3", 2}};

    for (int i = 0; i < 3; i++) {
        struct options o = {0};
        char           text[EMP_OPTION_TEXT_BYTES];
        cr_assert_eq(emp_options_parse(&o, &three, cases[i].preset, NULL, NULL), EMP_OK);
        cr_expect(o.is_loud && o.inner.share == 0.05 && o.color == COLOR_GREEN);
        cr_expect_eq(o.count, atoi(cases[i].count));
        emp_option_write_default(text, &some[1], cases[i].index);
        cr_expect_str_eq(text, cases[i].count);
        emp_option_write_default(text, &some[3], cases[i].index);
        cr_expect_str_eq(text, "green");
    }
}

Test(options, take_values_of_their_kind)
{
    struct options o = parse("fast", "loud=0,count=-2,share=0.125,large=2.5e3,color=red");

    cr_expect(!o.is_loud && o.count == -2 && o.inner.share == 0.125 && o.large == 2500);
    cr_expect(o.color == COLOR_RED && o.word == 0);
    o = parse(NULL, "loud=1,count=1e9,share=1,word=a,color=blue");
    cr_expect(o.is_loud && o.count == 1000000000 && o.inner.share == 1.0);
    cr_expect(o.color == COLOR_BLUE && o.word == 0);
}

/* An option written as percent or thousandths is the same number as a fraction. */
Test(options, read_fractions_as_division_gives_them)
{
    char text[32];

    for (int i = 0; i <= 1000; i++) {
        snprintf(text, sizeof text, "share=%d.%03d", i / 1000, i % 1000);
        cr_expect_eq(parse(NULL, text).inner.share, i / 1000.0, "%s", text);
    }
}

Test(options, say_what_is_wrong)
{
    static const char *const cases[][2] = {
        {"loud=2", "option loud is 2, must be one of 0|1"},
        {"loud=yes", "option loud is yes"},
        {"loud", "option loud has no value"},
        {"count=-3", "option count is -3, must be a whole number in -2..1073741824"},
        {"count=2.5", "option count is 2.5"},
        {"count=99999999999999999999,loud=1", "option count is 99999999999999999999"},
        {"count=3,loud=1,count=4", "option count is given twice"},
        {"share=-0.1", "option share is -0.1, must lie in 0..1"},
        {"share=50", "option share is 50, must lie in 0..1; 5 % is 0.05"},
        {"share=nan", "option share is nan"},
        {"share=1x", "option share is 1x"},
        {"share= 1", "option share is  1"},
        {"share=", "option share has no value"},
        {"large=inf", "option large is inf, must lie in 1e-30..1000000000"},
        {"color=gre", "option color is gre, must be one of red|green|blue"},
        {"color=", "option color has no value"},
        {"color=red|green", "option color is red|green"},
        {"word=b", "option word is b, must be one of a|ab"},
        {"count=1,colour=red", "no option \"colour\" (did you mean \"color\"?)"},
        {"coun=1",
         "(did you mean \"count\"?); it has loud, count, share, large, color, w"},
        {"=1", "no option \"\""}};
    struct options o;

    for (size_t i = 0; i < COUNT(cases); i++)
        EXPECT_REFUSED(emp_options_parse(&o, &table, NULL, cases[i][0], &err), EMP_EINVAL,
                       cases[i][1]);
    EXPECT_REFUSED(emp_options_parse(&o, &table, "best", "", &err), EMP_EINVAL,
                   "test has no preset \"best\"; it has slow|fast");
}

Test(options, may_be_none)
{
    const emp_option_table none = {"heft", NULL, NULL};

    ASSERT_OK(emp_options_parse(NULL, &none, NULL, NULL, &err));
    EXPECT_REFUSED(emp_options_parse(NULL, &none, NULL, "a=1", &err), EMP_EINVAL,
                   "heft takes no options, not \"a=1\"");
    EXPECT_REFUSED(emp_options_parse(NULL, &none, "paper", NULL, &err), EMP_EINVAL,
                   "heft has no presets, not \"paper\"");
}

Test(options, write_defaults_that_they_read)
{
    const char *const presets[] = {"slow", "fast"};

    for (int32_t i = 0; i < 2; i++) {
        struct options wanted = parse(presets[i], NULL);
        char           text[512] = "", value[EMP_OPTION_TEXT_BYTES];
        for (const emp_option *o = list; o->name != NULL; o++) {
            emp_option_write_default(value, o, i);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s=%s,", o->name,
                     value);
        }
        struct options read = parse(presets[1 - i], text);
        cr_expect(read.is_loud == wanted.is_loud && read.count == wanted.count &&
                  read.inner.share == wanted.inner.share && read.large == wanted.large &&
                  read.color == wanted.color && read.word == wanted.word);
    }
}

Test(options, write_their_ranges)
{
    const char *const wanted[] = {
        "0|1", "-2..1073741824", "0..1", "1e-30..1000000000", "red|green|blue", "a|ab"};
    char text[EMP_OPTION_TEXT_BYTES];

    for (int i = 0; i < 6; i++) {
        emp_option_write_range(text, &list[i]);
        cr_expect_str_eq(text, wanted[i]);
    }
}

Test(words, are_found_whole)
{
    size_t length = 0;

    cr_expect_eq(emp_words_find("one|two|three", "two", 3), 1);
    cr_expect_eq(emp_words_find("one|two|three", "three", 5), 2);
    cr_expect_eq(emp_words_find("one|two|three", "thre", 4), -1);
    cr_expect_eq(emp_words_find("one|two|three", "", 0), -1);
    cr_expect_eq(emp_words_find(NULL, "one", 3), -1);
    cr_expect_eq(strncmp(emp_words_at("one|two", 1, &length), "two", 3), 0);
    cr_expect_eq(length, 3);
    cr_expect_null(emp_words_at("one|two", 2, &length));
    cr_expect_null(emp_words_at(NULL, 0, &length));
}
