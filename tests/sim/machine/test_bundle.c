// SPDX-License-Identifier: GPL-3.0-or-later
/* Do files come back from a bundle as they were, and is a damaged one seen? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "sim/machine/bundle.h"
#include "tests/support/survive.h"

static emp_status build(char **bundle)
{
    *bundle = NULL;
    EMP_CHECK(emp_bundle_add(bundle, "a file.yaml", "one\n", 4, NULL));
    EMP_CHECK(
        emp_bundle_add(bundle, "models/b.yaml", "--- # a file.yaml 3\nxyz\n", 24, NULL));
    EMP_CHECK(emp_bundle_add(bundle, "a file.yaml", "other", 5, NULL));
    return emp_bundle_add(bundle, "empty", "", 0, NULL);
}

Test(bundle, files_come_back_as_they_were)
{
    char           *bundle = NULL;
    emp_bundle_file file;

    cr_assert_eq(build(&bundle), EMP_OK);
    cr_expect_str_eq(bundle, "--- # a file.yaml 4\none\n\n--- # models/b.yaml 24\n"
                             "--- # a file.yaml 3\nxyz\n\n--- # empty 0\n\n");
    cr_assert(emp_bundle_find(bundle, "models/b.yaml", &file));
    cr_expect_eq(file.size, 24);
    cr_assert(emp_bundle_find(bundle, "a file.yaml", &file), "the first of that name");
    cr_expect_eq(strncmp(file.text, "one\n", 4), 0);
    cr_expect(emp_bundle_find(bundle, "empty", &file));
    cr_expect_not(emp_bundle_find(bundle, "none", &file));
    cr_expect_not(emp_bundle_find(NULL, "none", &file));
    emp_free(bundle);
}

Test(bundle, what_cannot_be_held_is_refused)
{
    char *bundle = NULL;
    char  long_name[2 * EMP_BUNDLE_NAME_BYTES];

    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    cr_expect_eq(emp_bundle_add(&bundle, "", "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, "a\nb", "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, long_name, "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, "a", "x\0y", 3, NULL), EMP_EINVAL);
    cr_expect_null(bundle);
}

Test(bundle, damage_is_seen_wherever_it_is)
{
    static const char *const damaged[] = {"",
                                          "a 1\nx\n",
                                          "--- # a\nx\n",
                                          "--- # a 1",
                                          "--- # a 1\n",
                                          "--- # a 2\nx\n",
                                          "--- # a 1\nxx\n",
                                          "--- # a -1\nx\n",
                                          "--- # a 1 \nx\n",
                                          "--- #  1\nx\n",
                                          "--- # a 99999999999999999999\nx\n"};

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        const char     *at = damaged[i];
        emp_bundle_file file;
        cr_expect_not(emp_bundle_next(&at, &file), "%s", damaged[i]);
        cr_expect_eq(at, damaged[i]);
    }
}

Test(bundle, every_allocation_may_fail)
{
    char *bundle = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&bundle), emp_free(bundle));
    emp_free(bundle);
}
