// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/doppler.h"

#include "base/mem.h"
#include "policy/doppler/agent.h"
#include "search/order.h"

static void clear(void *state) { emp_doppler_agent_clear((emp_doppler_agent *)state); }

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_doppler_agent  *agent = (emp_doppler_agent *)state;
    emp_doppler_options options = {0};

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_doppler, params, err));
    EMP_CHECK(emp_doppler_agent_init(agent, problem, &options, params->seed,
                                     params->budget_evaluations, params->threads, err));
    agent->learner.stop = params->stop;
    agent->learner.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    agent->has_weights = params->weights != NULL;
    return EMP_OK;
}

/* Levels by the step at which an op's node was selected. Ops of no node, which have no choice of
 * devices, come first. */
static emp_status order_by_step(const emp_doppler_agent *a, const emp_doppler_run *run,
                                uint8_t *level_of_op, emp_error *err)
{
    const emp_node_graph *g = a->scene.graph;
    emp_arrays            scratch = {0};
    double               *key = EMP_ADD_ARRAY(&scratch, double, (size_t)g->op_count);
    emp_status            st;

    if (scratch.is_short) return EMP_ERROR(EMP_ENOMEM, "order of %d ops", g->op_count);
    for (int32_t t = 0; t < g->node_count; t++) {
        const int32_t v = run->node_of_step[t];
        for (int32_t i = g->ops.first[v]; i < g->ops.first[v + 1]; i++)
            key[g->ops.member[i]] = 1.0 + t;
    }
    st = emp_order_of_keys(level_of_op, key, g->op_count, err);
    emp_arrays_clear(&scratch);
    return st;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_doppler_agent *a = (emp_doppler_agent *)state;
    const int32_t      samples = a->options.learner.samples;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    EMP_CHECK(emp_learner_check(&a->learner, err));
    if (a->imitated < 0 || a->imitated > INT32_MAX)
        return EMP_ERROR(EMP_EFORMAT, "the saved state of doppler is damaged");
    *count = samples < max ? samples : max;
    emp_doppler_agent_imitate(a);
    if (!emp_stop_is_set(a->learner.stop)) emp_doppler_agent_propose(a, *count);
    if (emp_stop_is_set(a->learner.stop)) return EMP_EINTERRUPTED;
    for (int32_t k = 0; k < *count; k++) {
        const emp_doppler_run *run = &a->run[k];
        for (emp_op_id op = 0; op < a->scene.graph->op_count; op++)
            candidates[k].device_of_op[op] = 0;
        emp_node_graph_spread(a->scene.graph, run->episode.device_of_node,
                              candidates[k].device_of_op);
        if (candidates[k].level_of_op != NULL)
            EMP_CHECK(order_by_step(a, run, candidates[k].level_of_op, err));
    }
    return EMP_OK;
}

/* What imitation came to is reported with every update. */
static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_doppler_agent *a = (emp_doppler_agent *)state;
    int32_t            count = emp_learner_list_state(state, arrays);

    arrays[count++] = (emp_named_array){"imitated", EMP_ARRAY_DOUBLE, 2, a->match};
    arrays[count++] = (emp_named_array){"imitations", EMP_ARRAY_INT64, 1, &a->imitated};
    return count;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_doppler_options, max_nodes, 0, 100000,
                       "nodes that ops are merged into at most; 0: no ops are merged",
                       512),
    EMP_INTEGER_OPTION("width", emp_doppler_options, width, 1, 1024,
                       "width of all layers but the last", 128),
    EMP_INTEGER_OPTION("steps", emp_doppler_options, steps, 0, 64,
                       "rounds of messages between nodes", 6),
    EMP_WORD_OPTION("mpnn", emp_doppler_options, mpnn, "matrices|gated",
                    "messages: a matrix made for each size of a message, or one matrix "
                    "and a vector for sizes, which is faster where there are many",
                    EMP_DOPPLER_MATRICES),
    EMP_WORD_OPTION("explore", emp_doppler_options, explore, "epsilon|softmax",
                    "epsilon: the most probable choice, or any with probability "
                    "epsilon; softmax: choices are drawn by their probability",
                    EMP_DOPPLER_EPSILON, EMP_DOPPLER_SOFTMAX),
    EMP_INTEGER_OPTION("imitation", emp_doppler_options, imitation, 0, 1e9,
                       "episodes that imitate the teacher first, without scores", 2000),
    EMP_REAL_OPTION("imitation_lr", emp_doppler_options, imitation_rate, 0, 10,
                    "learning rate of Adam while imitating", 1e-3),
    EMP_REAL_OPTION("imitation_epsilon", emp_doppler_options, imitation_epsilon, 0, 1,
                    "first epsilon while imitating; it falls to 0", 1),
    EMP_REAL_OPTION("imitation_entropy", emp_doppler_options, imitation_entropy, 0, 1e6,
                    "weight of entropy while imitating", 1e-3),
    EMP_INTEGER_OPTION("samples", emp_doppler_options, learner.samples, 1, EMP_MAX_BATCH,
                       "episodes per update", 1, 8),
    EMP_REAL_OPTION("lr", emp_doppler_options, learner.adam.learning_rate, 0, 10,
                    "learning rate of Adam", 1e-4),
    EMP_REAL_OPTION("epsilon", emp_doppler_options, epsilon, 0, 1,
                    "first epsilon; it falls to 0", 0.2),
    EMP_INTEGER_OPTION("episodes", emp_doppler_options, episodes, 0, 1e9,
                       "over which epsilon falls; 0: those of the budget", 2000, 0),
    EMP_REAL_OPTION("gamma", emp_doppler_options, gamma, 0, 1,
                    "discount of the reward a step before the last", 0.99),
    EMP_REAL_OPTION("entropy", emp_doppler_options, learner.entropy, 0, 1e6,
                    "weight of entropy in the objective", 0),
    EMP_REAL_OPTION("clip", emp_doppler_options, learner.clip, 1e-6, 1e9,
                    "largest gradient norm of each network", 1e9),
    EMP_WORD_OPTION("reward", emp_doppler_options, learner.rules.form,
                    "sqrt|identity|log", "of a step of t seconds: -sqrt(t), -t, -ln(t)",
                    EMP_REWARD_IDENTITY, EMP_REWARD_LOG),
    EMP_BOOL_OPTION("baseline_mean", emp_doppler_options, learner.rules.baseline_mean,
                    "1: rewards are compared with the mean of all so far, 0: with a "
                    "moving average",
                    1, 0),
    EMP_REAL_OPTION("baseline_decay", emp_doppler_options, learner.rules.baseline_decay,
                    0, 1, "of the moving average of rewards", 0.9),
    EMP_REAL_OPTION("failure", emp_doppler_options, learner.rules.failure, 0, 1e6,
                    "out of memory counts as a step of failure^2 s", 10),
    EMP_INTEGER_OPTION("updates_failures", emp_doppler_options,
                       learner.rules.updates_failures, 0, 1e9,
                       "updates that failures take part in", 1e9),
    EMP_REAL_OPTION("beta1", emp_doppler_options, learner.adam.beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9),
    EMP_REAL_OPTION("beta2", emp_doppler_options, learner.adam.beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999),
    EMP_REAL_OPTION("adam_epsilon", emp_doppler_options, learner.adam.epsilon, 1e-30, 1e6,
                    "Adam's epsilon", 1e-8),
    EMP_BOOL_OPTION("baseline_first", emp_doppler_options, learner.rules.baseline_first,
                    "1: the moving average starts at the first placements that ran, 0: "
                    "at a failure's reward",
                    1),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = emp_learner_list_weights,
                                             .sharing = &emp_learner_sharing};

const emp_method emp_method_doppler = {
    .name = "doppler",
    .description = "DOPPLER: a policy selects the next op, another its device (Yao et "
                   "al., ICLR 2026)",
    .advice = "a learner that begins as a list scheduler",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .presets = "paper|emplace",
    .options = option_list,
    .state_bytes = sizeof(emp_doppler_agent),
    .init = init,
    .ask = ask,
    .tell = emp_learner_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = list_state,
    .learning = &learning};
