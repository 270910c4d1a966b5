// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/go.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/threads.h"
#include "search/groups/class_groups.h"

/* Streams of random numbers: initial weights, and one per update. Shuffled edges have a substream
 * of the former. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };
enum { SUBSTREAM_WEIGHTS = 0, SUBSTREAM_EDGES = 1 };

enum { LOSS, REWARD, BASELINE, ENTROPY, GRADIENT_NORM, GREEDY_TIME };

/* Largest group of a cut over the mean. */
static const double GROUP_IMBALANCE = 3.0;

/* An op joins its readers, or stays by itself. */
enum { FUSION_CHOICES = 2, JOINS = 1 };

static emp_status init_network(emp_go_agent *a, const emp_method_params *params,
                               emp_error *err)
{
    const emp_go_options *o = &a->options;
    const int32_t devices = a->problem->machine->device_count, decides = params->decides;
    emp_go_shape  shape = {.type_width = o->type_width,
                           .width = o->width,
                           .graph_layers = o->graph_layers,
                           .layers = o->layers,
                           .heads = o->heads,
                           .hidden = o->hidden,
                           .segment = o->segment,
                           .modulate = o->modulate,
                           .has_memory = o->memory,
                           .has_rounds = o->rounds > 1,
                           .devices = devices > o->max_devices ? devices : o->max_devices,
                           .threads = a->learner.threads};
    emp_rng       rng;

    if (o->rounds > 1 && (decides & (EMP_DECIDES_ORDER | EMP_DECIDES_FUSION)) != 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "go: rounds=%d decide devices alone; take rounds=1, or decide no "
            "order and no fusion",
            o->rounds);
    if (decides & EMP_DECIDES_ORDER) shape.task_choices[shape.task_count++] = o->levels;
    if (decides & EMP_DECIDES_FUSION)
        shape.task_choices[shape.task_count++] = FUSION_CHOICES;
    EMP_CHECK(emp_go_net_init(&a->net, &shape, &a->features, err));
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, SUBSTREAM_WEIGHTS);
    emp_go_net_randomize(&a->net, o->head_gain, &rng);
    emp_learner_add(&a->learner, EMP_LEARNER_NET("", &a->net.params, GRADIENT_NORM));
    return EMP_OK;
}

static void allocate_task(emp_go_agent *a, emp_decides what, int32_t choices,
                          const emp_real *p, emp_real *d_logits)
{
    const size_t rows = (size_t)a->features.count, all = rows * (size_t)choices;
    emp_go_task *t = &a->task[a->task_count++];

    *t =
        (emp_go_task){.what = what,
                      .p = p,
                      .d_logits = d_logits,
                      .ppo = {.rows = a->features.count,
                              .choices = choices,
                              .clip = a->options.clip_ratio,
                              .above = EMP_ADD_ARRAY(&a->arrays, emp_real, all),
                              .below = EMP_ADD_ARRAY(&a->arrays, emp_real, all)},
                      .drawn_from = EMP_ADD_ARRAY(&a->arrays, emp_real, all),
                      .choice = EMP_ADD_ARRAY(&a->arrays, uint8_t,
                                              rows * (size_t)a->options.learner.samples)};
}

static int32_t most_choices(const emp_go_agent *a)
{
    int32_t most = 0;

    for (int32_t k = 0; k < a->task_count; k++)
        most = a->task[k].ppo.choices > most ? a->task[k].ppo.choices : most;
    return most;
}

static emp_status allocate(emp_go_agent *a, int32_t decides, emp_error *err)
{
    const size_t   rows = (size_t)a->features.count;
    emp_tail_task *behind = a->net.tail.task;

    allocate_task(a, EMP_DECIDES_DEVICES, a->net.shape.devices, a->net.p,
                  a->net.d_logits);
    for (int32_t what = EMP_DECIDES_ORDER; what <= EMP_DECIDES_FUSION; what *= 2) {
        if (!(decides & what)) continue;
        allocate_task(a, (emp_decides)what, behind->choices, behind->p, behind->d_logits);
        behind++;
    }
    /* nodes that METIS leaves out may make a group more than there are nodes */
    a->gumbel =
        EMP_ADD_ARRAY(&a->arrays, float,
                      (rows + 1) * (size_t)most_choices(a) * (size_t)a->learner.threads);
    a->device_of_node = EMP_ADD_ARRAY(&a->arrays, emp_device_id, rows);
    a->rounds.count = a->options.rounds;
    emp_go_rounds_allocate(&a->rounds, &a->net, a->options.learner.samples, &a->arrays);
    emp_params_copy_allocate(&a->before, &a->net.params, &a->arrays);
    return a->arrays.is_short
               ? EMP_ERROR(EMP_ENOMEM, "samples of %d nodes", a->features.count)
               : EMP_OK;
}

/* The cut is the one that refine makes with the same seed and coarsest=groups, so that the
 * result of refine with only that can be imitated to the last op. */
static emp_status create_groups(emp_go_agent *a, const emp_method_params *params,
                                emp_error *err)
{
    const emp_class_groups_params how = {.kind = EMP_CLASS_GROUPS_SCOTCH,
                                         .count = a->options.groups,
                                         .imbalance = GROUP_IMBALANCE,
                                         .seed = a->learner.seed +
                                                 (uint64_t)a->options.groups,
                                         .stop = params->stop};
    emp_status                    st = EMP_OK;
    int32_t                       found = 0;
    int32_t                      *group_of_class =
        EMP_NEW_ARRAY(int32_t, (size_t)a->problem->graph->class_count);

    if (group_of_class == NULL) return EMP_ERROR(EMP_ENOMEM, "%d groups", how.count);
    EMP_TRY(emp_class_groups(group_of_class, &found, a->problem, &how, err));
    EMP_TRY(emp_node_graph_create_groups(&a->nodes, a->problem, group_of_class, err));

cleanup:
    emp_free(group_of_class);
    return st;
}

static emp_status init_features(emp_go_agent *a, emp_error *err)
{
    emp_rng rng;

    EMP_CHECK(emp_transferable_init(&a->features, a->nodes, a->problem, err));
    if (!a->options.machine) emp_transferable_hide_machine(&a->features);
    if (a->options.edges == EMP_EDGES_GRAPH) return EMP_OK;
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, SUBSTREAM_EDGES);
    emp_transferable_shuffle(&a->features, &rng);
    return EMP_OK;
}

static emp_status take_start(emp_go_agent *a, const emp_method_params *params,
                             emp_error *err)
{
    const size_t ops = (size_t)a->nodes->op_count;

    if (params->start == NULL) return EMP_OK;
    if (a->task_count == 1)
        return EMP_ERROR(EMP_EINVAL,
                         "go keeps the devices of its start, so that nothing is left to "
                         "decide; take --decide devices,order too, or no start");
    a->start = EMP_ADD_ARRAY(&a->arrays, emp_device_id, ops);
    a->decided = EMP_ADD_ARRAY(&a->arrays, uint8_t, (size_t)a->features.count);
    if (a->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "start of %zu ops", ops);
    memcpy(a->start, params->start, ops * sizeof *a->start);
    for (emp_op_id op = 0; op < a->nodes->op_count; op++) {
        const int32_t v = a->nodes->node_of_op[op];
        if (v >= 0) a->decided[a->features.position[v]] = (uint8_t)a->start[op];
    }
    a->net.decided = a->decided;
    a->task[0].is_kept = true;
    return EMP_OK;
}

emp_status emp_go_agent_init(emp_go_agent *a, const emp_problem *problem,
                             const emp_go_options    *options,
                             const emp_method_params *params, emp_error *err)
{
    static const char *const names[EMP_GO_METRICS] = {
        "loss", "reward", "baseline", "entropy", "gradient_norm", "greedy_time_s"};
    static const emp_learner_type type = {.metric_count = EMP_GO_METRICS,
                                          .metrics = names};

    a->options = *options;
    a->problem = problem;
    a->learner =
        emp_learner_start(&type, &options->learner, NULL, params->seed, params->threads);
    a->budget = params->budget_evaluations;
    EMP_CHECK(emp_openblas_open(err));
    EMP_CHECK(options->nodes == EMP_NODES_GROUPS
                  ? create_groups(a, params, err)
                  : emp_node_graph_create(&a->nodes, problem, options->max_nodes, err));
    EMP_CHECK(init_features(a, err));
    a->coupling = emp_coupling_none(a->features.count);
    if (options->draws == EMP_DRAWS_COUPLED)
        EMP_CHECK(emp_coupling_init(&a->coupling, a->nodes, &a->features, problem, params,
                                    err));
    EMP_CHECK(init_network(a, params, err));
    EMP_CHECK(allocate(a, params->decides, err));
    if (options->fit)
        EMP_CHECK(emp_go_fit_init(&a->fit, a->nodes, &a->features, problem,
                                  a->net.shape.devices, err));
    a->net.stop = a->net.work.stop = a->fit.stop = params->stop;
    return take_start(a, params, err);
}

void emp_go_agent_clear(emp_go_agent *a)
{
    emp_go_net_clear(&a->net);
    emp_go_fit_clear(&a->fit);
    emp_coupling_clear(&a->coupling);
    emp_transferable_clear(&a->features);
    emp_node_graph_destroy(a->nodes);
    emp_arrays_clear(&a->arrays);
    *a = (emp_go_agent){0};
}

static uint8_t *choices_of(const emp_go_agent *a, int32_t task, int32_t sample)
{
    return &a->task[task].choice[(int64_t)sample * a->features.count];
}

static bool is_stopped(const emp_go_agent *a) { return emp_stop_is_set(a->net.stop); }

/* `thread` belongs to the agent's own team. */
static void draw(emp_go_agent *a, int32_t round, int32_t sample, int thread)
{
    const int64_t stride = ((int64_t)a->features.count + 1) * most_choices(a);
    float        *gumbel = a->gumbel + stride * thread;
    emp_rng       rng;

    if (is_stopped(a)) return;
    emp_rng_init(&rng, a->learner.seed, (uint32_t)(STREAM_UPDATES + a->learner.update),
                 (uint32_t)(round * EMP_MAX_BATCH + sample));
    for (int32_t k = 0; k < a->task_count; k++)
        emp_coupling_draw(&a->coupling, choices_of(a, k, sample), a->task[k].p,
                          a->task[k].ppo.choices, gumbel, &rng);
}

/* The first sample. */
static void take_likeliest(emp_go_agent *a)
{
    for (int32_t k = 0; k < a->task_count; k++)
        emp_coupling_argmax(a->task[k].choice, a->task[k].p, a->features.count,
                            a->task[k].ppo.choices);
    if (a->options.fit && a->start == NULL)
        emp_go_fit_mend(&a->fit, a->task[0].choice, a->task[0].p);
}

/* The earlier draw is the input of a new one. */
static void draw_again(emp_go_agent *a, int32_t round, int32_t samples)
{
    const emp_go_task *t = &a->task[0];

    emp_go_rounds_begin(&a->rounds, round, t->choice, samples);
    for (int32_t k = 0; k < samples && !is_stopped(a); k++) {
        emp_go_rounds_show(&a->rounds, round, k, &a->net);
        emp_go_net_forward(&a->net);
        if (k == 0)
            take_likeliest(a);
        else
            draw(a, round, k, 0);
        emp_go_rounds_note(&a->rounds, round, k, &a->net, choices_of(a, 0, k));
    }
}

emp_status emp_go_agent_propose(emp_go_agent *a, int32_t samples)
{
    const int32_t rows = a->features.count;
    unsigned      saved = emp_flush_begin();

    a->learner.drawn = samples;
    if (a->options.rounds > 1) emp_go_net_show(&a->net, NULL);
    a->learner.metric[ENTROPY].value = emp_go_net_forward(&a->net);
    for (int32_t k = 0; k < a->task_count; k++) {
        const emp_go_task *t = &a->task[k];
        memcpy(t->drawn_from, t->p,
               (size_t)rows * (size_t)t->ppo.choices * sizeof *t->drawn_from);
    }
    take_likeliest(a);
#pragma omp parallel for num_threads(a->learner.threads)
    for (int32_t k = 1; k < samples; k++) draw(a, 0, k, omp_get_thread_num());
    for (int32_t round = 1; round < a->options.rounds; round++)
        draw_again(a, round, samples);
    emp_flush_end(saved);
    return is_stopped(a) ? EMP_EINTERRUPTED : EMP_OK;
}

/* Ops of no node have no choice or no effect: device 0, from which legalization sends them where
 * they belong. */
static void write_devices(emp_go_agent *a, const uint8_t *choice,
                          emp_device_id *device_of_op)
{
    const size_t bytes = (size_t)a->nodes->op_count * sizeof *device_of_op;

    if (a->start != NULL) {
        memcpy(device_of_op, a->start, bytes);
        return;
    }
    for (int32_t v = 0; v < a->nodes->node_count; v++)
        a->device_of_node[v] = choice[a->features.position[v]];
    memset(device_of_op, 0, bytes);
    emp_node_graph_spread(a->nodes, a->device_of_node, device_of_op);
}

/* Choice i of n is level 63 i / (n - 1). */
static void write_levels(const emp_go_agent *a, const uint8_t *choice,
                         uint8_t *level_of_op)
{
    const int32_t last = a->options.levels - 1;

    for (emp_op_id op = 0; op < a->nodes->op_count; op++) {
        const int32_t v = a->nodes->node_of_op[op];
        if (v < 0) continue;
        level_of_op[op] =
            (uint8_t)((EMP_LEVELS - 1) * choice[a->features.position[v]] / last);
    }
}

static void write_leaders(const emp_go_agent *a, const uint8_t *choice,
                          emp_op_id *leader_of_op)
{
    for (emp_op_id op = 0; op < a->nodes->op_count; op++) {
        const int32_t v = a->nodes->node_of_op[op];
        if (v >= 0 && choice[a->features.position[v]] == JOINS)
            leader_of_op[op] = EMP_JOINS_READERS;
    }
}

void emp_go_agent_write(emp_go_agent *a, int32_t sample, const emp_owned_decision *to)
{
    for (int32_t k = 0; k < a->task_count; k++) {
        const uint8_t *choice = choices_of(a, k, sample);
        switch (a->task[k].what) {
        case EMP_DECIDES_ORDER: write_levels(a, choice, to->level_of_op); break;
        case EMP_DECIDES_FUSION: write_leaders(a, choice, to->leader_of_op); break;
        default: write_devices(a, choice, to->device_of_op); break;
        }
    }
}

static double reward_of(const emp_go_agent *a, const emp_score *score)
{
    if (a->options.failure == EMP_FAILURE_GRADED)
        return -sqrt(score->step_time_s / a->reference_s) - 3.0 * score->overflow_frac;
    return score->is_feasible ? -sqrt(score->step_time_s) : -10.0;
}

/* Falls from the first to the last weight over the budget. */
static double entropy_weight(const emp_go_agent *a)
{
    const emp_go_options *o = &a->options;
    double done = a->budget > 0 ? fmin(1.0, (double)a->told / (double)a->budget) : 0.0;

    return o->learner.entropy + done * (o->entropy_last - o->learner.entropy);
}

static emp_go_climb climb_of(const emp_go_agent *a, int32_t samples)
{
    const emp_go_options *o = &a->options;

    return (emp_go_climb){.samples = samples,
                          .epochs = o->epochs,
                          .clip = o->learner.clip,
                          .entropy = entropy_weight(a),
                          .adam = o->learner.adam};
}

/* \return minus the objective before the last step. */
static double climb(emp_go_agent *a, const double *advantage, int32_t samples)
{
    const emp_go_climb how = climb_of(a, samples);
    double            *norm = &a->learner.metric[GRADIENT_NORM].value;

    if (a->options.rounds > 1)
        return emp_go_rounds_climb(&a->rounds, &how, &a->net, &a->task[0], advantage,
                                   norm);
    for (int32_t k = 0; k < a->task_count; k++)
        emp_row_ppo_gather(&a->task[k].ppo, choices_of(a, k, 1), advantage, samples);
    return emp_go_climb_run(&how, &a->net, a->task, a->task_count, norm);
}

static void learn(emp_go_agent *a, const emp_score *scores)
{
    const int32_t samples = a->learner.drawn - 1;
    double        reward[EMP_MAX_BATCH], advantage[EMP_MAX_BATCH], sum = 0.0;

    if (!(a->reference_s > 0.0)) a->reference_s = fmax(scores[0].step_time_s, 1e-9);
    for (int32_t k = 0; k < samples; k++) {
        reward[k] = reward_of(a, &scores[k + 1]);
        sum += reward[k];
    }
    if (samples > 0) {
        emp_rewards_judge(&a->rewards, advantage, reward, samples);
        a->learner.metric[LOSS].value = climb(a, advantage, samples);
    }
    a->learner.metric[REWARD].value = samples > 0 ? sum / samples : NAN;
    a->learner.metric[BASELINE].value = a->rewards.mean;
    a->learner.metric[GREEDY_TIME].value = scores[0].step_time_s;
}

emp_status emp_go_agent_learn(emp_go_agent *a, const emp_score *scores)
{
    const double      reference_s = a->reference_s;
    const emp_rewards rewards = a->rewards;
    unsigned          saved = emp_flush_begin();

    emp_params_copy_take(&a->before, &a->net.params);
    learn(a, scores);
    emp_flush_end(saved);
    if (is_stopped(a)) {
        a->reference_s = reference_s;
        a->rewards = rewards;
        emp_params_copy_give_back(&a->net.params, &a->before);
        return EMP_EINTERRUPTED;
    }
    a->told += a->learner.drawn;
    a->learner.update++;
    return EMP_OK;
}

/* ---- imitation ---- */

/* A node's device is the device of most of its ops. */
static void vote(emp_go_agent *a, const emp_device_id *device_of_op)
{
    const emp_members *ops = &a->nodes->ops;

    for (int32_t v = 0; v < a->nodes->node_count; v++) {
        int32_t       votes[EMP_MAX_DEVICES] = {0};
        emp_device_id most = device_of_op[ops->member[ops->first[v]]];
        for (int32_t i = ops->first[v]; i < ops->first[v + 1]; i++) {
            const emp_device_id d = device_of_op[ops->member[i]];
            if (++votes[d] > votes[most]) most = d;
        }
        a->device_of_node[v] = most;
    }
}

static void take_devices(emp_go_agent *a, const emp_device_id *device_of_op)
{
    uint8_t name_of_device[EMP_MAX_DEVICES];

    vote(a, device_of_op);
    emp_go_name_devices(&(emp_go_naming){.problem = a->problem,
                                         .nodes = a->nodes,
                                         .device_of_node = a->device_of_node,
                                         .p = a->task[0].p,
                                         .choices = a->task[0].ppo.choices},
                        a->options.names, name_of_device);
    for (int32_t v = 0; v < a->nodes->node_count; v++)
        a->task[0].choice[a->features.position[v]] = name_of_device[a->device_of_node[v]];
}

/* For the other tasks; a node's choice is its first op's. */
static uint8_t choice_of(const emp_go_agent *a, const emp_go_task *t,
                         const emp_owned_decision *example, emp_op_id op)
{
    const int32_t last = a->options.levels - 1;

    if (t->what == EMP_DECIDES_FUSION) return example->leader_of_op[op] != op ? JOINS : 0;
    return (uint8_t)((example->level_of_op[op] * last + (EMP_LEVELS - 1) / 2) /
                     (EMP_LEVELS - 1));
}

/* The first sample of a task holds the example. */
static void take_example(emp_go_agent *a, const emp_owned_decision *example)
{
    take_devices(a, example->device_of_op);
    for (int32_t k = 1; k < a->task_count; k++) {
        for (int32_t v = 0; v < a->nodes->node_count; v++) {
            const emp_op_id op = a->nodes->ops.member[a->nodes->ops.first[v]];
            a->task[k].choice[a->features.position[v]] =
                choice_of(a, &a->task[k], example, op);
        }
    }
}

/* Sets the gradient of the mean log-likelihood; \return the sum of -ln p. A choice that is forbidden
 * here teaches nothing. */
static double follow(const emp_go_task *t)
{
    const int64_t choices = t->ppo.choices;
    double        sum = 0.0;

    for (int64_t v = 0; v < t->ppo.rows; v++) {
        const emp_real *p = &t->p[v * choices];
        emp_real       *d = &t->d_logits[v * choices];
        const bool      is_possible = p[t->choice[v]] > 0;
        for (int64_t i = 0; i < choices; i++)
            d[i] = is_possible
                       ? ((emp_real)(i == t->choice[v]) - p[i]) / (emp_real)t->ppo.rows
                       : 0;
        if (is_possible) sum -= log((double)p[t->choice[v]]);
    }
    return sum;
}

/* The next round sees what was likeliest. */
static void show_likeliest(emp_go_agent *a)
{
    uint8_t *seen = a->rounds.seen;

    emp_coupling_argmax(seen, a->net.p, a->features.count, a->net.shape.devices);
    emp_go_net_show(&a->net, seen);
}

emp_status emp_go_agent_imitate(emp_go_agent *a, const emp_owned_decision *example,
                                double *loss)
{
    unsigned saved = emp_flush_begin();
    double   sum = 0.0;

    emp_go_rounds_zero(&a->rounds, &a->net);
    if (a->options.rounds > 1) emp_go_net_show(&a->net, NULL);
    for (int32_t round = 0; round < a->options.rounds; round++) {
        if (round > 0) show_likeliest(a);
        emp_go_net_forward(&a->net);
        if (round == 0) take_example(a, example);
        for (int32_t k = 0; k < a->task_count; k++) sum += follow(&a->task[k]);
        emp_go_net_backward(&a->net);
        emp_go_rounds_add(&a->rounds, &a->net);
    }
    emp_go_rounds_give(&a->rounds, &a->net);
    const bool is_whole = !is_stopped(a);
    if (is_whole)
        emp_params_ascend(&a->net.params, a->options.learner.clip,
                          &a->options.learner.adam);
    emp_flush_end(saved);
    *loss = sum / ((double)a->features.count * a->task_count * a->options.rounds);
    return is_whole ? EMP_OK : EMP_EINTERRUPTED;
}
