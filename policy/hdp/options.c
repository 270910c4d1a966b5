// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/rng.h"
#include "policy/seq2seq/device_net.h"
#include "search/groups/class_groups.h"

/* Away from the streams of the agent. */
enum { STREAM_GROUPS = UINT16_MAX };

static void draw_groups(int32_t *group, int32_t row_count, int32_t group_count,
                        uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, STREAM_GROUPS);
    for (int32_t r = 0; r < row_count; r++)
        group[r] = (int32_t)emp_rng_below(&rng, (uint32_t)group_count);
}

static emp_status cut_chunks(int32_t *group, const emp_op_features *ops,
                             int32_t group_count, emp_error *err)
{
    emp_status st = EMP_OK;
    int64_t    rows = ops->row_count;
    emp_keyed *placed = EMP_NEW_ARRAY(emp_keyed, (size_t)rows);

    if (placed == NULL) EMP_FAIL(EMP_ENOMEM, "order of %d ops", ops->row_count);
    for (int32_t r = 0; r < rows; r++) placed[r] = (emp_keyed){ops->position[r], r};
    emp_keyed_sort(placed, (size_t)rows);
    for (int64_t i = 0; i < rows; i++)
        group[placed[i].number] = (int32_t)(i * group_count / rows);

cleanup:
    emp_free(placed);
    return st;
}

/* Between several CPUs ops that only a CPU can run have a choice, and so a row; but
 * partitioners and rules know nothing of them. */
enum { LEFT_OUT = -1 };

static int32_t class_of_row(const emp_problem *problem, const emp_op_features *ops,
                            int32_t row)
{
    return problem->graph->op[ops->op_of_row[row]].colocation_class;
}

/* How many groups to cut the others into: one less where some rows are left out. */
static int32_t count_cut_groups(const emp_problem *problem, const emp_op_features *ops,
                                int32_t group_count)
{
    for (int32_t r = 0; r < ops->row_count; r++) {
        uint32_t kinds = problem->kinds_of_class[class_of_row(problem, ops, r)];
        if ((kinds & EMP_KIND_GPU) == 0) return group_count > 1 ? group_count - 1 : 1;
    }
    return group_count;
}

/* Rows that are left out share the last group. */
static void fill_last_group(int32_t *group, int32_t row_count, int32_t group_count)
{
    for (int32_t r = 0; r < row_count; r++)
        if (group[r] == LEFT_OUT) group[r] = group_count - 1;
}

/* Each row has the group of its colocation class. ColocRL's rules give a number of groups of
 * their own: if it is larger, groups whose first ops are neighbours are joined, equally many
 * in each. A *group_count of 0 joins none, and becomes the number found, with one more for rows
 * that are left out. */
static emp_status cut_classes(int32_t *group, const emp_problem *problem,
                              const emp_op_features         *ops,
                              const emp_class_groups_params *how, int32_t *group_count,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    classes = problem->graph->class_count, found = 0;
    bool       joins = *group_count > 0, leaves_out = false;
    int32_t   *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)classes);

    if (group_of_class == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d classes", classes);
    EMP_TRY(emp_class_groups(group_of_class, &found, problem, how, err));
    for (int32_t r = 0; r < ops->row_count; r++) {
        int64_t own = group_of_class[class_of_row(problem, ops, r)];
        if (own >= 0 && joins && found > how->count) own = own * how->count / found;
        group[r] = own < 0 ? LEFT_OUT : (int32_t)own;
        leaves_out = leaves_out || own < 0;
    }
    if (!joins) *group_count = found + leaves_out;

cleanup:
    emp_free(group_of_class);
    return st;
}

emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t *group_count, double imbalance,
                                   const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *group = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);

    emp_class_groups_params how = {.count = count_cut_groups(problem, ops, *group_count),
                                   .imbalance = imbalance,
                                   .seed = params->seed,
                                   .stop = params->stop};

    *out = NULL;
    if (group == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d ops", ops->row_count);
    switch (grouping) {
    case EMP_GROUPING_CHUNKS: EMP_TRY(cut_chunks(group, ops, *group_count, err)); break;
    case EMP_GROUPING_RANDOM:
        draw_groups(group, ops->row_count, *group_count, params->seed);
        break;
    case EMP_GROUPING_METIS: how.kind = EMP_CLASS_GROUPS_METIS; break;
    case EMP_GROUPING_SCOTCH: how.kind = EMP_CLASS_GROUPS_SCOTCH; break;
    case EMP_GROUPING_NAMES: how.kind = EMP_CLASS_GROUPS_NAMES; break;
    case EMP_GROUPING_COLOCATION: how.kind = EMP_CLASS_GROUPS_COLOCRL; break;
    case EMP_GROUPING_LEARNED:
    case EMP_GROUPING_NONE: EMP_FAIL(EMP_EINVAL, "groups that are learned, or none");
    }
    if (grouping != EMP_GROUPING_CHUNKS && grouping != EMP_GROUPING_RANDOM)
        EMP_TRY(cut_classes(group, problem, ops, &how, group_count, err));
    fill_last_group(group, ops->row_count, *group_count);
    *out = group;
    group = NULL;

cleanup:
    emp_free(group);
    return st;
}

const emp_option emp_hdp_option_list[] = {
    EMP_INTEGER_OPTION(
        "groups", emp_hdp_options, groups, 0, 4096,
        "groups that ops are put into; 0, with grouping=colocation: as many "
        "as the rules make",
        256),
    EMP_INTEGER_OPTION("grouper_hidden", emp_hdp_options, grouper_hidden, 1, 4096,
                       "hidden units of the grouper", 64),
    EMP_INTEGER_OPTION("type_width", emp_hdp_options, type_width, 1, 256,
                       "width of the embedding of op types", 20),
    EMP_INTEGER_OPTION("hidden", emp_hdp_options, hidden, 1, 4096,
                       "cells of each LSTM, width of the attention", 256),
    EMP_REAL_OPTION("temperature", emp_hdp_options, temperature, 1e-3, 1e6,
                    "T in C tanh(logit / T)", 10),
    EMP_REAL_OPTION("tanh_constant", emp_hdp_options, tanh_constant, 1e-3, 1e6,
                    "C in C tanh(logit / T)", 5),
    EMP_INTEGER_OPTION("samples", emp_hdp_options, learner.samples, 1, EMP_MAX_BATCH,
                       "placements per update (k)", 4),
    EMP_ADAM_OPTIONS(emp_hdp_options, learner.adam, EMP_LEARNER_DEFAULTS(0.001, 0.1),
                     "epsilon", EMP_LEARNER_DEFAULTS(3e-4, 1e-8),
                     EMP_LEARNER_DEFAULTS(0, 1)),
    EMP_CLIP_OPTION(emp_hdp_options, learner.clip, 1),
    EMP_ENTROPY_OPTION(emp_hdp_options, learner.entropy, 0),
    EMP_REWARD_OPTIONS(emp_hdp_options, learner.rules, EMP_REWARD_SQRT,
                       EMP_LEARNER_DEFAULTS(1, 0), EMP_LEARNER_DEFAULTS(0, 1), 500),
    EMP_REAL_OPTION(
        "grouper_lr", emp_hdp_options, grouper_lr, 0, 1e6,
        "learning rate of the grouper, whose weights start in the thousands with "
        "ranges=1; 0: that of the placer",
        0),
    EMP_REAL_OPTION("noise", emp_hdp_options, noise, 0, 100,
                    "exploration in the first updates: how much, see noise_form", 0.5),
    EMP_WORD_OPTION("noise_form", emp_hdp_options, noise_form, "gumbel|gaussian",
                    "gumbel: noise is added to the scale 1 of Gumbel draws of devices; "
                    "gaussian: noise times the root mean square of the logits is the "
                    "deviation of normal numbers added to the logits of both networks",
                    EMP_NOISE_GUMBEL, EMP_NOISE_GAUSSIAN),
    EMP_INTEGER_OPTION("updates_noise", emp_hdp_options, updates_noise, 0, 1e9,
                       "updates with noise", 25, 500),
    EMP_REAL_OPTION("run_shortest", emp_hdp_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03, 0),
    EMP_REAL_OPTION("run_longest", emp_hdp_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1, 0),
    EMP_BOOL_OPTION("ranges", emp_hdp_options, ranges,
                    "first groups: 1 ranges of the numbering of ops, 0 by Glorot weights",
                    1, 0),
    EMP_REAL_OPTION("placer_gain", emp_hdp_options, placer_gain, 0, 1e6,
                    "initial scale of the placer's last layer", 1),
    EMP_INTEGER_OPTION("window", emp_hdp_options, window, 0, 16,
                       "neighbours a side that an op's features hold; 0 needs ranges=0",
                       6),
    EMP_WORD_OPTION(
        "absent", emp_hdp_options, absent, "own|-1",
        "what stands for a neighbour that an op lacks: its own position, or -1",
        EMP_ABSENT_OWN, EMP_ABSENT_MINUS_1),
    EMP_REAL_OPTION("imbalance", emp_hdp_options, imbalance, 1, 64,
                    "largest group of METIS or Scotch over the mean", 2),
    EMP_WORD_OPTION(
        "grouping", emp_hdp_options, grouping,
        "learned|random|chunks|metis|scotch|names|colocation|none",
        "who groups ops: the grouper, which learns; one of six ways that do "
        "not; or nobody, and each op has a device of its own: options of groups and of "
        "the placer then count for nothing",
        EMP_GROUPING_COLOCATION, EMP_GROUPING_LEARNED),
    EMP_WORD_OPTION("order", emp_hdp_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the placer: mean position of their ops, their "
                    "number, random, or last position first",
                    EMP_ORDER_POSITION, EMP_ORDER_NUMBER),
    EMP_BOOL_OPTION("empty_groups", emp_hdp_options, empty_groups,
                    "1: groups without ops are given to the placer, too", 0, 1),
    EMP_WORD_OPTION("objective", emp_hdp_options, objective, "time|balance",
                    "what rewards are for: short steps, or little traffic cut under "
                    "balanced load, as partitioners have it",
                    EMP_OBJECTIVE_TIME),
    EMP_REAL_OPTION("cap", emp_hdp_options, learner.rules.cap, 0, 1e6,
                    "largest advantage, in deviations of the rewards of placements that "
                    "ran; 0: advantages are rewards less the baseline, unlimited",
                    1, 0),
    EMP_REAL_OPTION(
        "failures_share", emp_hdp_options, learner.rules.failures_share, 0, 1,
        "after updates_failures, failures still take part in updates of whose "
        "placements at least this share failed; 0: never",
        0.5, 0),
    EMP_REAL_OPTION(
        "heat", emp_hdp_options, heat.first, 0, 1,
        "after updates_noise, share of the groups whose device is drawn other "
        "than the most probable one, at first; the scale of Gumbel numbers "
        "keeps it; 0: the scale is 1",
        0.05, 0),
    EMP_REAL_OPTION("heat_last", emp_hdp_options, heat.last, 1e-6, 1, "and in the end",
                    0.015),
    EMP_INTEGER_OPTION("heat_updates", emp_hdp_options, heat.updates, 1, 1e9,
                       "updates until then", 250),
    EMP_REAL_OPTION("heat_gain", emp_hdp_options, heat.gain, 0, 1,
                    "how fast the scale follows", 0.1),
    EMP_REAL_OPTION(
        "stretches", emp_hdp_options, stretches, 0, EMP_MAX_STRETCHES,
        "after updates_noise, a sample draws so many stretches of groups, and "
        "takes the most probable device of the others; 0: all are drawn",
        2.5, 0),
    EMP_REAL_OPTION(
        "stretch_longest", emp_hdp_options, stretch_longest, 0, 1,
        "part of the groups that the longest stretch has; the shortest is one "
        "group",
        0.3),
    EMP_INTEGER_OPTION("elites", emp_hdp_options, elites, 0, EMP_GUIDE_MAX_ELITES,
                       "best placements so far that the placer imitates", 2, 0),
    EMP_REAL_OPTION("imitation", emp_hdp_options, imitation, 0, 1e6,
                    "weight of all of them in the objective", 3),
    EMP_REAL_OPTION("gradient_bound", emp_hdp_options, gradient_bound, 0, 1e6,
                    "largest gradient that a step of an LSTM hands to the one before; 0: "
                    "unlimited",
                    0.1, 0),
    EMP_BOOL_OPTION("costs", emp_hdp_options, costs,
                    "1: the placer sees a group's time on a CPU and a GPU, its bytes and "
                    "its place in the order, too",
                    1, 0),
    EMP_BOOL_OPTION(
        "standardize", emp_hdp_options, standardize,
        "1: a group's type counts, sizes and costs have mean 0 and variance 1 "
        "over groups",
        1, 0),
    EMP_BOOL_OPTION(
        "aligned", emp_hdp_options, aligned,
        "1: the placer's output reads the encoder's at the same group, too, 0: "
        "only by attention",
        1, 0),
    EMP_BOOL_OPTION("redraw", emp_hdp_options, redraw,
                    "1: a defect of the released code: an update teaches groups and "
                    "devices that are drawn anew, from blank groups, not those that were "
                    "measured",
                    0),
    EMP_NO_OPTION};

emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err)
{
    static const emp_option_table table = {"hdp", EMP_HDP_PRESETS, emp_hdp_option_list};

    if (preset != NULL && strcmp(preset, "emplace") == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "hdp has no preset \"emplace\" any more, whose search did as "
                         "well without a network; give --method refine");
    EMP_CHECK(emp_options_parse(options, &table, preset, text, err));
    if (options->groups == 0 && options->grouping != EMP_GROUPING_COLOCATION &&
        options->grouping != EMP_GROUPING_NONE)
        return EMP_ERROR(EMP_EINVAL, "hdp: groups=0 leaves the number of groups to "
                                     "ColocRL's rules; give grouping=colocation with it");
    options->learner.rules.baseline_mean = false;
    return EMP_OK;
}
