// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/best_placement.h"

#undef NDEBUG
#include <assert.h>

#include "base/mem.h"

/* Whether the class has an op that runs, and that op's device matters. */
static bool is_live(const emp_problem *p, int32_t class)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++)
        if (p->graph->op[op].colocation_class == class && !p->graph->op[op].is_folded)
            return true;
    return false;
}

static bool may_be_on(const emp_problem *p, int32_t class, emp_device_id device)
{
    return p->kinds_of_class[class] >> p->machine->device[device].kind & 1u;
}

int64_t best_placement_count(const emp_problem *p, int64_t limit)
{
    int64_t count = 1;

    for (int32_t c = 0; c < p->graph->class_count && count <= limit; c++) {
        int32_t devices = 0;
        if (!is_live(p, c)) continue;
        for (emp_device_id d = 0; d < p->machine->device_count; d++)
            devices += may_be_on(p, c, d);
        count *= devices;
    }
    return count <= limit ? count : limit + 1;
}

typedef struct {
    const emp_problem *problem;
    emp_sim           *sim;
    emp_device_id     *device_of_class, *device_of_op;
    emp_time_ns        best_ns;
} search;

static void score(search *s)
{
    const emp_graph *g = s->problem->graph;
    emp_sim_result   result;

    for (emp_op_id op = 0; op < g->op_count; op++)
        s->device_of_op[op] = s->device_of_class[g->op[op].colocation_class];
    emp_status st = emp_sim_run(s->sim, s->device_of_op, &result, NULL);
    assert(st == EMP_OK);
    if (!result.is_feasible) return;
    if (s->best_ns < 0 || result.step_time_ns < s->best_ns)
        s->best_ns = result.step_time_ns;
}

static void try_all(search *s, int32_t class)
{
    const emp_problem *p = s->problem;

    if (class == p->graph->class_count) {
        score(s);
        return;
    }
    if (!is_live(p, class)) {
        try_all(s, class + 1);
        return;
    }
    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        if (!may_be_on(p, class, d)) continue;
        s->device_of_class[class] = d;
        try_all(s, class + 1);
    }
}

emp_time_ns best_placement_find(const emp_problem *problem)
{
    search s = {.problem = problem, .best_ns = -1};

    s.device_of_class = EMP_NEW_ARRAY(emp_device_id, (size_t)problem->graph->class_count);
    s.device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)problem->graph->op_count);
    emp_status st = emp_sim_create(&s.sim, problem, NULL);
    assert(st == EMP_OK && s.device_of_class != NULL && s.device_of_op != NULL);
    try_all(&s, 0);
    emp_sim_destroy(s.sim);
    emp_free(s.device_of_class);
    emp_free(s.device_of_op);
    return s.best_ns;
}
