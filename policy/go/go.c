// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/go.h"

#include "search/method.h"

static void clear(void *state) { emp_go_agent_clear((emp_go_agent *)state); }

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_go_options options = {0};

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_go, params, err));
    return emp_go_agent_init((emp_go_agent *)state, problem, &options, params, err);
}

/* A restored state may come from anywhere. */
static bool is_sound(const emp_go_agent *a)
{
    return emp_count_is_valid(a->told) && emp_count_is_valid(a->rewards.count);
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_go_agent *a = (emp_go_agent *)state;
    int32_t       samples = a->options.learner.samples;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    EMP_CHECK(emp_learner_check(&a->learner, err));
    if (!is_sound(a)) return EMP_ERROR(EMP_EFORMAT, "the saved state of go is damaged");
    *count = samples < max ? samples : max;
    EMP_CHECK(emp_go_agent_propose(a, *count));
    for (int32_t k = 0; k < *count; k++) emp_go_agent_write(a, k, &candidates[k]);
    return EMP_OK;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_go_agent *a = (emp_go_agent *)state;

    if (count != a->learner.drawn)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         a->learner.drawn);
    return emp_go_agent_learn(a, scores);
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_go_agent *a = (emp_go_agent *)state;
    int32_t       n = emp_learner_list_weights(state, arrays);

    arrays[n++] = (emp_named_array){"update", EMP_ARRAY_INT64, 1, &a->learner.update};
    arrays[n++] = (emp_named_array){"told", EMP_ARRAY_INT64, 1, &a->told};
    arrays[n++] = (emp_named_array){"reference", EMP_ARRAY_DOUBLE, 1, &a->reference_s};
    arrays[n++] = (emp_named_array){"rewards", EMP_ARRAY_INT64, 1, &a->rewards.count};
    arrays[n++] = (emp_named_array){"baseline", EMP_ARRAY_DOUBLE, 1, &a->rewards.mean};
    arrays[n++] = (emp_named_array){"squares", EMP_ARRAY_DOUBLE, 1, &a->rewards.squares};
    return n;
}

static emp_status imitate(void *state, const emp_owned_decision *example, double *loss,
                          emp_error *err)
{
    (void)err;
    return emp_go_agent_imitate((emp_go_agent *)state, example, loss);
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("samples", emp_go_options, learner.samples, 1, EMP_MAX_BATCH,
                       "placements of an update; the first is the likeliest", 64),
    EMP_INTEGER_OPTION("epochs", emp_go_options, epochs, 1, 64,
                       "steps of Adam of an update", 4),
    EMP_INTEGER_OPTION("rounds", emp_go_options, rounds, 1, 8,
                       "times that devices are drawn; each but the first sees the one "
                       "before, and costs a pass for each placement",
                       1),
    EMP_REAL_OPTION("clip_ratio", emp_go_options, clip_ratio, 1e-3, 10,
                    "how far PPO lets an op's probability move, as a part of it", 0.2),
    EMP_ADAM_OPTIONS(emp_go_options, learner.adam, 3e-4, "epsilon", 1e-5, 0),
    EMP_CLIP_OPTION(emp_go_options, learner.clip, 1),
    EMP_ENTROPY_OPTION(emp_go_options, learner.entropy, 0.01),
    EMP_REAL_OPTION("entropy_last", emp_go_options, entropy_last, 0, 1e6,
                    "and at the end of the budget", 0.001),
    EMP_WORD_OPTION("draws", emp_go_options, draws, "independent|coupled",
                    "whether each op is drawn alone, or with its group of a METIS cut",
                    EMP_DRAWS_INDEPENDENT, EMP_DRAWS_COUPLED),
    EMP_WORD_OPTION("failure", emp_go_options, failure, "fixed|graded",
                    "what is out of memory: a reward of -10, or less by how much is "
                    "missing",
                    EMP_FAILURE_FIXED, EMP_FAILURE_GRADED),
    EMP_WORD_OPTION("modulate", emp_go_options, modulate, EMP_MODULATE_WORDS,
                    "what gates the attention: one more layer over nodes, the mean of "
                    "the graph, or nothing",
                    EMP_MODULATE_NODE),
    EMP_BOOL_OPTION("memory", emp_go_options, memory,
                    "1: a segment also sees the one before", 1),
    EMP_INTEGER_OPTION("segment", emp_go_options, segment, 1, 4096, "nodes of a segment",
                       256),
    EMP_INTEGER_OPTION("width", emp_go_options, width, 1, 1024, "width of the network",
                       128),
    EMP_INTEGER_OPTION("type_width", emp_go_options, type_width, 1, 256,
                       "width of the embedding of op types", 32),
    EMP_INTEGER_OPTION("graph_layers", emp_go_options, graph_layers, 0,
                       EMP_GO_MAX_GRAPH_LAYERS, "layers that look at neighbours", 3),
    EMP_INTEGER_OPTION("layers", emp_go_options, layers, 1, EMP_GO_MAX_LAYERS,
                       "attention layers", 2),
    EMP_INTEGER_OPTION("heads", emp_go_options, heads, 1, 64,
                       "of each attention layer; they divide the width", 8),
    EMP_INTEGER_OPTION("hidden", emp_go_options, hidden, 1, 4096,
                       "hidden units of each attention layer", 512),
    EMP_WORD_OPTION("nodes", emp_go_options, nodes, "rows|groups",
                    "what gets a device: each op with those that must be beside it, or a "
                    "group of a Scotch cut",
                    EMP_NODES_ROWS),
    EMP_WORD_OPTION(
        "edges", emp_go_options, edges, "graph|shuffled",
        "what the network sees as a node's neighbours: those of the graph, or "
        "as many nodes drawn at random, as a control",
        EMP_EDGES_GRAPH),
    EMP_BOOL_OPTION("machine", emp_go_options, machine,
                    "1: the network sees four numbers of the machine: how many GPUs "
                    "there are, their memory, and how fast copies are; 0: these are 0, "
                    "as a control",
                    1),
    EMP_BOOL_OPTION(
        "fit", emp_go_options, fit,
        "1: nodes of the likeliest placement move until an estimate says that "
        "it fits in memory",
        0),
    EMP_WORD_OPTION("names", emp_go_options, names, "used|matched",
                    "what GPUs of an example are called: in the order of their first "
                    "use, or as is likeliest by the network so far",
                    EMP_NAMES_USED),
    EMP_REAL_OPTION("head_gain", emp_go_options, head_gain, 0, 1e6,
                    "initial scale of the last layer", 0.1),
    EMP_INTEGER_OPTION("max_nodes", emp_go_options, max_nodes, 0, 100000000,
                       "nodes that ops are merged into at most; 0: none are merged", 0),
    EMP_INTEGER_OPTION("groups", emp_go_options, groups, 1, 1 << 14, "groups of that cut",
                       48),
    EMP_INTEGER_OPTION("max_devices", emp_go_options, max_devices, 1, EMP_MAX_DEVICES,
                       "devices the network knows, if the machine has no more", 9),
    EMP_INTEGER_OPTION("levels", emp_go_options, levels, 2, EMP_LEVELS,
                       "levels of the order that the network knows, where it is decided",
                       8),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = emp_learner_list_weights,
                                             .imitate = imitate};

const emp_method emp_method_go = {
    .name = "go",
    .description = "GO: PPO on devices, order and fusion of all ops, by a graph network "
                   "and attention (Zhou "
                   "et al., NeurIPS 2020)",
    .advice = "a learner whose weights serve other graphs, too",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .presets = "paper|emplace",
    .options = option_list,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    .has_start = true,
    .state_bytes = sizeof(emp_go_agent),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = list_state,
    .learning = &learning};
