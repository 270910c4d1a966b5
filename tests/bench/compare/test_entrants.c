// SPDX-License-Identifier: GPL-3.0-or-later
/* Arms of one method: series are named by the options in which arms differ, and wrong arms are
 * refused before any run. */
#include "bench/compare/comparison.h"
#include "tests/test.h"

static emp_entrant entrant[EMP_COMPARISON_ENTRANTS];
static int32_t     count;
static char        arms[2048];

static emp_status split(const char *method, const char *preset, const char *text,
                        emp_error *err)
{
    snprintf(arms, sizeof arms, "%s", text);
    return emp_entrants_of_arms(entrant, &count, method, preset, arms, err);
}

static void expect_names(const char *text, int32_t wanted, const char *const *name)
{
    ASSERT_OK(split("hdp", NULL, text, &err));
    cr_assert_eq(count, wanted);
    for (int32_t i = 0; i < count; i++) cr_expect_str_eq(entrant[i].key, name[i]);
}

static void expect_base(const char *method, const char *preset, const char *text,
                        const char *wanted)
{
    char     array[512] = "";
    emp_text base = {array, sizeof array, 0};

    ASSERT_OK(split(method, preset, text, &err));
    emp_entrants_describe_base(&base, entrant, count);
    cr_expect_str_eq(array, wanted);
}

/* An option that any arm names, from the first arm or by the preset's default. */
Test(entrants, the_first_arm_is_described_by_what_others_change)
{
    expect_base("local", NULL, "base; kicks=4; pick=best,kicks=0",
                "local: pick=first, kicks=2");
    expect_base("hdp", NULL, "base; lr=0.5,groups=4",
                "hdp, preset paper: groups=256, lr=0.001");
    expect_base("hdp", "literal", "groups=48; base; lr=0.5",
                "hdp, preset literal: groups=48, lr=0.1");
}

Test(entrants, arms_are_named_by_what_differs)
{
    expect_names("base; grouping=names ;grouping=metis,groups=48", 3,
                 (const char *[]){"base", "grouping=names", "grouping=metis,groups=48"});
    cr_expect_null(entrant[0].options);
    cr_expect_str_eq(entrant[1].options, "grouping=names");
    cr_expect_str_eq(entrant[2].options, "grouping=metis,groups=48");
    cr_expect_str_eq(entrant[2].method->name, "hdp");
    cr_expect(entrant[2].is_budgeted && entrant[2].is_drawn);
    expect_names("groups=48,lr=0.1;lr=0.1,groups=32;lr=0.1", 3,
                 (const char *[]){"groups=48", "groups=32", "base"});
    expect_names("groups=4; groups=48", 2, (const char *[]){"groups=4", "groups=48"});
    ASSERT_OK(split("hdp", "literal", "base; groups=48", NULL));
    cr_expect_str_eq(entrant[1].preset, "literal");
}

Test(entrants, wrong_arms_are_refused)
{
    static char many[1024] = "base";
    static const struct {
        const char *method, *text, *part;
    } cases[] = {{"hdp", "base", "two arms or more"},
                 {"hdp", "", "arm 1"},
                 {"hdp", "base; ", "arm 2"},
                 {"hdp", "base;;groups=48", "arm 2"},
                 {"hdp", "base; groups=x", "groups"},
                 {"hdp", "base; colour=red", "colour"},
                 {"hpd", "base; groups=48", "\"hdp\""},
                 {"hdp", "groups=48; groups=48", "arms 1 and 2"},
                 {"hdp", "lr=1,groups=4; groups=4,lr=1", "arms 1 and 2"},
                 {"hdp", many, "64 arms"},
                 {"hdp",
                  "base; grouping=colocation,tanh_constant=10,temperature=3,"
                  "noise_form=gaussian",
                  "63 characters"}};

    for (int i = 0; i < EMP_COMPARISON_ENTRANTS; i++) strcat(many, ";groups=48");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_REFUSED(split(cases[i].method, NULL, cases[i].text, &err), EMP_EINVAL,
                       cases[i].part);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(entrants, survive_every_allocation_failure)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(split("hdp", NULL, "base; groups=48", NULL), );
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
