// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the model no farther off any anchor than errors.csv says? That file is
 *     emplace calibrate check --machine k40 --format csv
 * cut to names and errors by tests/bench/anchors/anchor-errors: what a change of the model changes. torch_errors.csv is the same of
 * the steps of PyTorch. */
#include <unistd.h>

#include "bench/anchors/anchors.h"
#include "tests/test.h"

enum { LINE = 512 };

static emp_anchors       anchors;
static emp_anchor_times *times;

static void predict(const char *of, const char *profile)
{
    emp_runtime runtime;
    char        folder[512];

    emp_data_folder(folder, sizeof folder, of);
    ASSERT_OK(emp_anchors_load(&anchors, folder, &err));
    ASSERT_OK(emp_runtime_init(&runtime, profile, &err));
    times = EMP_NEW_ARRAY(emp_anchor_times, (size_t)anchors.count);
    cr_assert_not_null(times);
    ASSERT_OK(emp_anchors_predict(times, &anchors, &runtime, 2, &err));
}

static void set_up(void) { predict("anchors", "tf-r1.3"); }

/* Specs of these name graphs of the tree from its root. */
static void set_up_torch(void)
{
    cr_assert_eq(chdir(getenv("EMP_SOURCE_DIR")), 0);
    predict("anchors/torch", "torch-eager");
}

static void tear_down(void)
{
    emp_free(times);
    emp_anchors_clear(&anchors);
}

TestSuite(anchor_errors, .init = set_up, .fini = tear_down, .timeout = 120);
TestSuite(torch_errors, .init = set_up_torch, .fini = tear_down, .timeout = 120);

static int32_t find(const char *name)
{
    for (int32_t i = 0; i < anchors.count; i++)
        if (strcmp(anchors.anchor[i].name, name) == 0) return i;
    return -1;
}

static void expect_no_larger(const char *committed)
{
    char path[512], line[LINE];
    int  lines = 0;

    snprintf(path, sizeof path, "%s/tests/bench/anchors/%s", getenv("EMP_SOURCE_DIR"),
             committed);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        char *tab = strchr(line, '\t');
        if (line[0] == '#') continue;
        cr_assert_not_null(tab, "%s", line);
        *tab = '\0';
        int32_t i = find(line);
        cr_assert_geq(i, 0, "no anchor %s", line);
        double was = atof(tab + 1), is = 100.0 * emp_anchor_off(&times[i]);
        cr_expect_leq(fabs(is), fabs(was) + 0.06, "%s: %+.1f %%, was %+.1f %%", line, is,
                      was);
        lines++;
    }
    fclose(file);
    cr_expect_eq(lines, anchors.count, "%d anchors, %d lines", anchors.count, lines);
}

static void expect_steps_to_check(void)
{
    int32_t steps_that_fit = 0;

    for (int32_t i = 0; i < anchors.count; i++)
        steps_that_fit +=
            anchors.anchor[i].is_fit && strncmp(anchors.anchor[i].spec, "step", 4) == 0;
    cr_expect_eq(steps_that_fit, 0, "whole steps only check");
}

Test(anchor_errors, are_no_larger_than_committed) { expect_no_larger("errors.csv"); }

Test(anchor_errors, are_of_forty_anchors_or_more)
{
    cr_expect_geq(emp_anchors_errors(&anchors, times, EMP_ANCHOR_KINDS).count, 40);
    expect_steps_to_check();
}

Test(torch_errors, are_no_larger_than_committed)
{
    expect_no_larger("torch_errors.csv");
    expect_steps_to_check();
}
