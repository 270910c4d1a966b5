/** \file tests/support/methods.h
 * Methods driven by hand.
 */
#ifndef EMP_TESTS_SUPPORT_METHODS_H
#define EMP_TESTS_SUPPORT_METHODS_H

#include "search/method.h"
#include "tests/support/status.h"

/** The state of a method that must not refuse its parameters. */
static inline void *method_begin(const emp_method *type, const emp_problem *problem,
                                 emp_method_params params)
{
    void *state = NULL;

    MUST(emp_method_create(&state, type, problem, &params, &why));
    return state;
}

/** Asks for \a most candidates of any number; \return how many there are. */
static inline int32_t method_ask(const emp_method *type, void *state,
                                 const emp_owned_decision *candidates, int32_t most)
{
    int32_t count = 0;

    MUST(emp_method_ask(type, state, candidates, most, &count, &why));
    return count;
}

/** The value of a metric of the last tell. */
static inline double method_metric(const emp_method *type, const void *state,
                                   const char *name)
{
    int32_t                  count = 0;
    const emp_method_metric *metric = type->metrics(state, &count);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(metric[i].name, name) == 0) return metric[i].value;
    cr_assert_fail("no metric %s", name);
    return 0.0;
}

#endif /* EMP_TESTS_SUPPORT_METHODS_H */
