// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/runners_up.h"

#include "base/mem.h"

enum { ALIKE_PERCENT = 1 };

/* True if \a a is better than \a b. */
static bool is_better(const emp_runner_up *a, const emp_runner_up *b)
{
    if (a->is_feasible != b->is_feasible) return a->is_feasible;
    return a->step_time_ns < b->step_time_ns;
}

static bool is_alike(const emp_runner_up *a, const emp_runner_up *b)
{
    int64_t different = 0;

    if (a->is_feasible == b->is_feasible && a->step_time_ns == b->step_time_ns)
        return true;
    for (emp_op_id op = 0; op < a->decision.op_count; op++)
        different += a->decision.device_of_op[op] != b->decision.device_of_op[op];
    return 100 * different < (int64_t)ALIKE_PERCENT * a->decision.op_count;
}

static void remove_place(emp_runners_up *r, int32_t place)
{
    emp_decision_clear(&r->place[place].decision);
    for (r->count--; place < r->count; place++) r->place[place] = r->place[place + 1];
    r->place[r->count] = (emp_runner_up){0};
}

/* The place of a newcomer; -1 = it gets none. */
static int32_t find_place(const emp_runners_up *r, const emp_runner_up *newcomer)
{
    int32_t place = 0;

    while (place < r->count && !is_better(newcomer, &r->place[place])) place++;
    if (place == r->limit) return -1;
    for (int32_t i = 0; i < place; i++)
        if (is_alike(&r->place[i], newcomer)) return -1;
    return place;
}

emp_status emp_runners_up_note(emp_runners_up           *runners_up,
                               const emp_owned_decision *decision,
                               const emp_sim_result *result, emp_error *err)
{
    emp_runner_up newcomer = {.decision = *decision,
                              .step_time_ns = result->step_time_ns,
                              .is_feasible = result->is_feasible};
    int32_t       place = find_place(runners_up, &newcomer);

    if (place < 0) return EMP_OK;
    emp_status st = emp_decision_init(&newcomer.decision, decision->op_count,
                                      emp_decision_decides(decision), err);
    if (st != EMP_OK) {
        emp_decision_clear(&newcomer.decision);
        return st;
    }
    emp_decision_copy(&newcomer.decision, decision);
    for (int32_t i = runners_up->count - 1; i >= place; i--)
        if (is_alike(&runners_up->place[i], &newcomer)) remove_place(runners_up, i);
    if (runners_up->count == runners_up->limit)
        remove_place(runners_up, runners_up->limit - 1);
    for (int32_t i = runners_up->count++; i > place; i--)
        runners_up->place[i] = runners_up->place[i - 1];
    runners_up->place[place] = newcomer;
    return EMP_OK;
}

void emp_runners_up_clear(emp_runners_up *runners_up)
{
    while (runners_up->count > 0) remove_place(runners_up, runners_up->count - 1);
}
