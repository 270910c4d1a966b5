// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/placeto/placeto.h"

#include "policy/placeto/agent.h"
#include "search/learning.h"

/* GPUs alone, or all devices where CPUs are asked for or there is one GPU at most. */
static int32_t list_devices(emp_device_id devices[EMP_MAX_DEVICES], const emp_machine *m,
                            bool with_cpus)
{
    bool    with_all = with_cpus || emp_machine_count(m, EMP_DEVICE_GPU) < 2;
    int32_t count = 0;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (with_all || m->device[d].kind == EMP_DEVICE_GPU) devices[count++] = d;
    return count;
}

/* Updates that there are, as far as is known. */
static int64_t plan(const emp_placeto_options *o, int64_t budget, int32_t nodes)
{
    return o->updates > 0 ? o->updates : budget / ((int64_t)nodes * o->rollouts);
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_node_graph     *graph = NULL;
    emp_placeto_options options;
    emp_device_id       devices[EMP_MAX_DEVICES];
    int32_t             count;

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_placeto, params, err));
    EMP_CHECK(emp_node_graph_create(&graph, problem, options.max_nodes, err));
    count = list_devices(devices, problem->machine, options.cpu);
    return emp_placeto_agent_init(
        (emp_placeto_agent *)state, graph, devices, count, &options,
        plan(&options, params->budget_evaluations, graph->node_count), params->seed,
        params->threads, err);
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    return emp_placeto_agent_ask((emp_placeto_agent *)state, candidates, max, count, err);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_placeto_agent *agent = (emp_placeto_agent *)state;

    if (count != agent->drawn)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         agent->drawn);
    emp_placeto_agent_tell(agent, scores);
    return EMP_OK;
}

static void clear(void *state) { emp_placeto_agent_clear((emp_placeto_agent *)state); }

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    *count = EMP_PLACETO_METRICS;
    return ((const emp_placeto_agent *)state)->metric;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_placeto_agent_list_state((emp_placeto_agent *)state, arrays);
}

static int32_t list_weights(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_placeto_agent_list_weights((emp_placeto_agent *)state, arrays);
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_placeto_options, max_nodes, 1, 1024,
                       "groups of ops, and steps of an episode, at most", 64),
    EMP_INTEGER_OPTION("rollouts", emp_placeto_options, rollouts, 1, EMP_MAX_BATCH,
                       "of an episode, from one start; they make one update", 1, 4),
    EMP_BOOL_OPTION("cpu", emp_placeto_options, cpu,
                    "1: CPUs are devices to choose from, too", 0),
    EMP_WORD_OPTION(
        "start", emp_placeto_options, start, "once|first|each|best",
        "where an episode begins: at one random placement, with all ops on the "
        "first device, at a random placement of its own, or at the best so far",
        EMP_PLACETO_START_ONCE, EMP_PLACETO_START_BEST),
    EMP_WORD_OPTION("units", emp_placeto_options, units, "seconds|starts",
                    "in what step times count: seconds, or the first start's step time",
                    EMP_PLACETO_SECONDS, EMP_PLACETO_STARTS),
    EMP_WORD_OPTION("memory", emp_placeto_options, memory, "peak|overflow",
                    "what counts as missing: GB above limit_gb on the fullest device, or "
                    "shares of devices' own memory",
                    EMP_PLACETO_PEAK, EMP_PLACETO_OVERFLOW),
    EMP_REAL_OPTION("penalty", emp_placeto_options, penalty, 0, 1e6,
                    "times what is missing, added to the time", 2, 5),
    EMP_REAL_OPTION("limit_gb", emp_placeto_options, limit_gb, 0, 1e6,
                    "memory of a device that costs nothing, for memory=peak", 8),
    EMP_REAL_OPTION("cap", emp_placeto_options, cap, 1e-3, 1e9,
                    "most that time and penalty count", 10),
    EMP_REAL_OPTION("gamma", emp_placeto_options, gamma, 0, 1,
                    "discount of what later moves gain", 1),
    EMP_INTEGER_OPTION("passes", emp_placeto_options, passes, 1, 64,
                       "of messages, each way", 8),
    EMP_INTEGER_OPTION("window", emp_placeto_options, window, 1, 1000,
                       "episodes that the baseline averages, with the present one", 10),
    EMP_INTEGER_OPTION("greedy_every", emp_placeto_options, greedy_every, 0, 1000000000,
                       "every so many episodes, from the first on, takes the likeliest "
                       "devices and teaches nothing; 0: none",
                       999, 0),
    EMP_REAL_OPTION("lr", emp_placeto_options, lr, 0, 10, "learning rate of Adam", 1e-3,
                    3e-3),
    EMP_REAL_OPTION("lr_last", emp_placeto_options, lr_last, 0, 10,
                    "learning rate at the end; between, it falls in a line", 1e-4, 3e-4),
    EMP_REAL_OPTION("epsilon", emp_placeto_options, epsilon, 1e-30, 1e6, "Adam's epsilon",
                    1e-8),
    EMP_REAL_OPTION("clip", emp_placeto_options, clip, 1e-6, 1e9, "largest gradient norm",
                    1.25),
    EMP_REAL_OPTION("entropy", emp_placeto_options, entropy, 0, 1e6,
                    "weight of the odds' entropy in the objective", 1, 0.01),
    EMP_REAL_OPTION("entropy_last", emp_placeto_options, entropy_last, 0, 1e6,
                    "that weight at the end", 0),
    EMP_INTEGER_OPTION(
        "updates", emp_placeto_options, updates, 0, 1000000000,
        "updates until the end of both lines; 0: as many as the budget has", 0),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = list_weights};

const emp_method emp_method_placeto = {
    .name = "placeto",
    .description = "a graph network that moves one group at a time, and sees each score "
                   "(Placeto; Addanki et al., NeurIPS 2019)",
    .advice = "a comparison with Placeto, a score a move",
    .uses_budget = true,
    .uses_seed = true,
    .needs_times = true,
    .presets = "paper|emplace",
    .options = option_list,
    .state_bytes = sizeof(emp_placeto_agent),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = list_state,
    .learning = &learning};
