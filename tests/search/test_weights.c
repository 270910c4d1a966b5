// SPDX-License-Identifier: GPL-3.0-or-later
/* Do weights go from state to state unchanged, and into none that has other networks? */
#include "search/method.h"

#include "tests/support/survive.h"

static void expect_no_leak(void) { expect_all_freed(); }

TestSuite(weights, .fini = expect_no_leak);

typedef struct {
    float   value[3];
    double  moment[2];
    int64_t step;
} networks;

enum { ARRAYS = 3 };

static void list(networks *n, emp_named_array arrays[ARRAYS])
{
    arrays[0] = (emp_named_array){"value", EMP_ARRAY_FLOAT, 3, n->value};
    arrays[1] = (emp_named_array){"moment", EMP_ARRAY_DOUBLE, 2, n->moment};
    arrays[2] = (emp_named_array){"step", EMP_ARRAY_INT64, 1, &n->step};
}

static const networks trained = {{1.0F, -0.0F, 3.5F}, {1e-300, 7.0}, 11};

static emp_weights taken_from(const networks *from)
{
    emp_weights     w = {.method = "go"};
    networks        n = *from;
    emp_named_array arrays[ARRAYS];

    list(&n, arrays);
    ASSERT_OK(emp_weights_take(&w, arrays, ARRAYS, NULL));
    return w;
}

Test(weights, are_given_as_taken)
{
    SCOPED(emp_weights, emp_weights_clear) w = taken_from(&trained);
    networks        other = {0};
    emp_named_array arrays[ARRAYS], swapped[ARRAYS];

    list(&other, arrays);
    cr_expect_not(emp_weights_equal(&w, arrays));
    swapped[0] = arrays[2], swapped[1] = arrays[0], swapped[2] = arrays[1];
    cr_assert_eq(emp_weights_give(&w, swapped, ARRAYS, NULL), EMP_OK, "names decide");
    cr_expect_arr_eq(&other, &trained, sizeof trained);
    cr_expect(emp_weights_equal(&w, arrays));
    other.value[1] = 0.0F;
    cr_expect_not(emp_weights_equal(&w, arrays), "a sign of 0 counts");
}

Test(weights, are_taken_again_without_new_memory)
{
    SCOPED(emp_weights, emp_weights_clear) w = taken_from(&trained);
    networks        later = {{4.0F, 5.0F, 6.0F}, {1.0, 2.0}, 12};
    emp_named_array arrays[ARRAYS];
    const long      blocks = emp_mem_live_blocks();
    const uint64_t  before = emp_weights_hash(&w);

    list(&later, arrays);
    ASSERT_OK(emp_weights_take(&w, arrays, ARRAYS, NULL));
    cr_expect_eq(emp_mem_live_blocks(), blocks);
    cr_expect(emp_weights_equal(&w, arrays));
    cr_expect_neq(emp_weights_hash(&w), before);
}

Test(weights, are_not_given_to_other_networks)
{
    static const struct {
        const char *part, *name;
        int32_t     count, type;
        size_t      values;
    } cases[] = {{"\"value\" are 3 values", "moment", ARRAYS, EMP_ARRAY_DOUBLE, 2},
                 {"\"moments\"", "moments", ARRAYS, EMP_ARRAY_DOUBLE, 3},
                 {"moment", "moment", ARRAYS, EMP_ARRAY_INT64, 3},
                 {"3 arrays", "moment", ARRAYS - 1, EMP_ARRAY_DOUBLE, 3}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_weights, emp_weights_clear) w = taken_from(&trained);
        networks        n = {0};
        emp_named_array arrays[ARRAYS];
        list(&n, arrays);
        arrays[0].count = cases[i].values;
        arrays[1].name = cases[i].name;
        arrays[1].type = (emp_array_type)cases[i].type;
        EXPECT_REFUSED(emp_weights_give(&w, arrays, cases[i].count, &err), EMP_EINVAL,
                       cases[i].part);
        EXPECT_REFUSED(emp_weights_take(&w, arrays, cases[i].count, &err), EMP_EINVAL,
                       "");
        cr_expect_arr_eq(&n, &(networks){0}, sizeof n, "nothing is half given");
    }
}

Test(weights, refuse_what_is_no_array)
{
    static const struct {
        const char *name;
        int64_t     count;
    } cases[] = {{"", 1},
                 {"step", 1},
                 {"x", -1},
                 {"x", INT64_MAX},
                 {"a name of more than thirty letters", 1}};
    SCOPED(emp_weights, emp_weights_clear) w = taken_from(&trained);

    for (size_t i = 0; i < COUNT(cases); i++)
        EXPECT_REFUSED(
            emp_weights_add(&w, cases[i].name, EMP_ARRAY_FLOAT, cases[i].count, &err),
            EMP_EINVAL, "");
    cr_expect_eq(w.array_count, ARRAYS);
}

Test(weights, say_how_they_were_trained)
{
    emp_weights first = taken_from(&trained), second = taken_from(&trained);

    emp_weights_describe(&first, "paper", NULL, NULL, 100);
    emp_weights_add_task(&first, "nmt:layers=2", "k40x2");
    emp_weights_describe(&second, NULL, "lr=0.1", &first, 50);
    emp_weights_add_task(&second, "rnnlm", "k40x4");
    cr_expect_str_eq(first.preset, "paper");
    cr_expect_str_eq(second.options, "lr=0.1");
    cr_expect_eq(second.evaluations, 150);
    cr_expect_str_eq(second.tasks, "nmt:layers=2 on k40x2, rnnlm on k40x4");
    for (int i = 0; i < 40; i++) emp_weights_add_task(&second, "rnnlm", "k40x4");
    cr_expect_eq(strlen(second.tasks), EMP_WEIGHTS_TEXT_BYTES - 1, "as far as fits");
    emp_weights_clear(&first);
    emp_weights_clear(&second);
}

Test(weights, survive_every_allocation_failure)
{
    emp_weights     w = {0};
    networks        n = trained;
    emp_named_array arrays[ARRAYS];

    list(&n, arrays);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_weights_take(&w, arrays, ARRAYS, NULL),
                                      emp_weights_clear(&w));
    emp_weights_clear(&w);
}
