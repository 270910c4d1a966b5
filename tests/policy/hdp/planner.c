// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/hdp/planner.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/hdp.h"
#include "tests/support/methods.h"

enum { LAYERS = 100 };

task          planner_problem;
emp_device_id planner_storage[PLANNER_SAMPLES][PLANNER_MAX_OPS];

const emp_owned_decision planner_candidates[PLANNER_SAMPLES] = {
    {.device_of_op = planner_storage[0]},
    {.device_of_op = planner_storage[1]},
    {.device_of_op = planner_storage[2]},
    {.device_of_op = planner_storage[3]}};

void planner_problem_create(void)
{
    hand_graph_layers(&planner_problem, LAYERS);
    cr_assert_leq(planner_problem.graph->op_count, PLANNER_MAX_OPS);
}

void planner_problem_destroy(void)
{
    task_destroy(&planner_problem);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

void *planner_create_preset(uint64_t seed, int32_t threads, const char *preset,
                            const char *options)
{
    return method_begin(
        &emp_method_hdp, planner_problem.problem,
        (emp_method_params){
            .seed = seed, .threads = threads, .preset = preset, .options = options});
}

void *planner_create(uint64_t seed, int32_t threads, const char *options)
{
    return planner_create_preset(seed, threads, NULL, options);
}

double planner_update(void *state, bool is_feasible)
{
    emp_score score[PLANNER_SAMPLES];
    int32_t   count = 0, ops = planner_problem.graph->op_count;
    double    sum = 0.0;

    MUST(emp_method_hdp.ask(state, planner_candidates, PLANNER_SAMPLES, &count, NULL));
    cr_assert_eq(count, PLANNER_SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < ops; op++) {
            cr_assert(planner_storage[k][op] >= 0 && planner_storage[k][op] < 3,
                      "op %d on device %d", op, planner_storage[k][op]);
            elsewhere += planner_storage[k][op] != 1;
        }
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere / ops,
                               .is_feasible = is_feasible};
        sum += score[k].step_time_s;
    }
    MUST(emp_method_hdp.tell(state, score, count, NULL));
    return sum / count;
}

double planner_metric(const void *state, const char *name)
{
    return method_metric(&emp_method_hdp, state, name);
}

double planner_weight_sum(const void *state)
{
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    double               sum = 0.0;

    for (size_t i = 0; i < agent->grouper.params.count; i++) {
        sum += (double)agent->grouper.params.value[i] * (double)(i % 7);
    }
    for (size_t i = 0; i < agent->net.params.count; i++) {
        sum += (double)agent->net.params.value[i] * (double)(i % 7);
    }
    return sum;
}
