// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/giph.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/threads.h"
#include "search/method.h"

/* Streams of random numbers: initial weights, and one per update. Substreams of it are moves. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

enum { LATE = 10 }; /* updates that a mean of returns reaches back to */

static const char *const metric_names[EMP_GIPH_METRICS] = {[EMP_GIPH_LOSS] = "loss",
                                                           [EMP_GIPH_GAIN] = "gain",
                                                           [EMP_GIPH_ENTROPY] = "entropy",
                                                           [EMP_GIPH_NORM] =
                                                               "gradient_norm"};

/* ---- room ---- */

static void clear_drawer(emp_giph_drawer *d)
{
    emp_gpnet_clear(&d->net);
    emp_giph_work_clear(&d->work);
    emp_free(d->p);
    emp_free(d->action);
}

static emp_status init_drawer(emp_giph_drawer *d, const emp_giph_world *w, emp_error *err)
{
    EMP_CHECK(emp_gpnet_init(&d->net, w, err));
    EMP_CHECK(emp_giph_work_init(&d->work, w, err));
    EMP_CHECK(EMP_ALLOC(d->p, (size_t)w->pair_count));
    return EMP_ALLOC(d->action, (size_t)w->pair_count);
}

static emp_status add_episodes(emp_giph_agent *a, emp_error *err)
{
    size_t      episodes = (size_t)a->options.episodes, length = (size_t)a->length;
    size_t      nodes = (size_t)a->world.node_count, edges = (size_t)a->world.edge_count;
    emp_arrays *all = &a->arrays;

    a->at.pivot = EMP_ADD_ARRAY(all, int32_t, episodes * nodes);
    a->at.start_ns = EMP_ADD_ARRAY(all, emp_time_ns, episodes * nodes);
    a->at.end_ns = EMP_ADD_ARRAY(all, emp_time_ns, episodes * nodes);
    a->at.sent_ns = EMP_ADD_ARRAY(all, emp_time_ns, episodes * edges);
    a->last = EMP_ADD_ARRAY(all, int32_t, episodes);
    a->cost = EMP_ADD_ARRAY(all, double, episodes);
    a->entropy = EMP_ADD_ARRAY(all, double, episodes);
    a->reward = EMP_ADD_ARRAY(all, double, episodes *length);
    a->log_p = EMP_ADD_ARRAY(all, double, episodes *length);
    a->gradient = EMP_ADD_ARRAY(all, emp_real, episodes * length * a->params.count);
    a->baseline = EMP_ADD_ARRAY(all, double, length);
    a->criticality.edge = EMP_ADD_ARRAY(all, double, edges);
    a->criticality.node = EMP_ADD_ARRAY(all, double, nodes);
    if (all->is_short)
        return EMP_ERROR(EMP_ENOMEM, "%zu episodes of %zu moves", episodes, length);
    return EMP_OK;
}

static emp_status add_drawers(emp_giph_agent *a, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(a->drawer, (size_t)a->learner.threads));
    for (int32_t t = 0; t < a->learner.threads; t++)
        EMP_CHECK(init_drawer(&a->drawer[t], &a->world, err));
    return EMP_OK;
}

static emp_giph_placement placement_of(const emp_giph_agent *a, int32_t episode)
{
    int64_t nodes = (int64_t)episode * a->world.node_count;

    return (emp_giph_placement){.pivot = a->at.pivot + nodes,
                                .start_ns = a->at.start_ns + nodes,
                                .end_ns = a->at.end_ns + nodes,
                                .sent_ns = a->at.sent_ns +
                                           (int64_t)episode * a->world.edge_count};
}

/* ---- where episodes begin ---- */

static void scatter(emp_giph_agent *a, int32_t episode)
{
    const emp_giph_world *w = &a->world;
    int32_t              *pivot = placement_of(a, episode).pivot;
    emp_rng               rng;

    emp_rng_init(&rng, a->learner.seed, (uint32_t)(STREAM_UPDATES + a->learner.update),
                 (uint32_t)episode);
    for (int32_t v = 0; v < w->node_count; v++) {
        int32_t devices = w->pair_first[v + 1] - w->pair_first[v];
        pivot[v] = w->pair_first[v] + (int32_t)emp_rng_below(&rng, (uint32_t)devices);
    }
}

static void begin_episodes(emp_giph_agent *a)
{
    for (int32_t k = 0; k < a->options.episodes; k++) {
        scatter(a, k);
        a->last[k] = -1;
    }
    a->round = a->told = 0;
}

/* The first episode begins where its ops are, if they are where their nodes may be. */
static void start_at(emp_giph_agent *a, const emp_device_id *device_of_op)
{
    const emp_giph_world *w = &a->world;
    int32_t              *pivot = placement_of(a, 0).pivot;

    for (emp_op_id op = 0; op < a->nodes->op_count; op++) {
        int32_t v = w->node_of_op[op];
        for (int32_t q = v < 0 ? 0 : w->pair_first[v]; v >= 0 && q < w->pair_first[v + 1];
             q++)
            if (w->device_of_pair[q] == device_of_op[op]) pivot[v] = q;
    }
}

emp_status emp_giph_agent_init(emp_giph_agent *a, const emp_problem *problem,
                               const emp_giph_options  *options,
                               const emp_method_params *params, emp_error *err)
{
    static const emp_learner_type type = {.metric_count = EMP_GIPH_METRICS,
                                          .metrics = metric_names};
    const int32_t                 threads =
        params->threads < options->episodes ? params->threads : options->episodes;

    *a = (emp_giph_agent){.options = *options};
    a->learner = emp_learner_start(&type, &options->learner, NULL, params->seed, threads);
    EMP_CHECK(emp_openblas_open(err));
    EMP_CHECK(emp_node_graph_create(&a->nodes, problem, options->max_nodes, err));
    EMP_CHECK(emp_giph_world_init(&a->world, a->nodes, problem, err));
    a->length = options->moves * a->world.node_count;
    EMP_CHECK(emp_giph_params_init(&a->params, a->learner.seed, STREAM_WEIGHTS, err));
    emp_learner_add(&a->learner, EMP_LEARNER_NET("", &a->params, EMP_GIPH_NORM));
    EMP_CHECK(add_episodes(a, err));
    EMP_CHECK(add_drawers(a, err));
    emp_criticality_begin(&a->criticality, &a->world);
    begin_episodes(a);
    if (params->start != NULL) start_at(a, params->start);
    return EMP_OK;
}

void emp_giph_agent_clear(emp_giph_agent *a)
{
    for (int32_t t = 0; a->drawer != NULL && t < a->learner.threads; t++)
        clear_drawer(&a->drawer[t]);
    emp_free(a->drawer);
    emp_arrays_clear(&a->arrays);
    emp_params_clear(&a->params);
    emp_giph_world_clear(&a->world);
    emp_node_graph_destroy(a->nodes);
    *a = (emp_giph_agent){0};
}

/* ---- moves ---- */

/* All pairs but pivots and the pairs of a node; returns how many. */
static int32_t list_actions(emp_giph_drawer *d, const emp_giph_world *w,
                            const int32_t *pivot, int32_t barred)
{
    int32_t count = 0;

    for (int32_t q = 0; q < w->pair_count; q++) {
        int32_t node = w->node_of_pair[q];
        if (pivot[node] != q && node != barred) d->action[count++] = q;
    }
    return count;
}

void emp_giph_agent_see(const emp_giph_agent *a, emp_giph_drawer *d, int32_t episode)
{
    const emp_giph_placement at = placement_of(a, episode);

    emp_gpnet_fill(&d->net, &at, &a->criticality);
    emp_giph_forward(&d->work, &a->params, &d->net);
    d->action_count = list_actions(d, &a->world, at.pivot, a->last[episode]);
    if (d->action_count == 0) d->action_count = list_actions(d, &a->world, at.pivot, -1);
    for (int32_t i = 0; i < d->action_count; i++) d->p[i] = d->work.score[d->action[i]];
    a->entropy[episode] = emp_categorical_softmax(d->p, d->action_count);
}

static emp_real *gradient_of(const emp_giph_agent *a, int32_t episode, int32_t move)
{
    return &a->gradient[((size_t)episode * (size_t)a->length + (size_t)move) *
                        a->params.count];
}

void emp_giph_agent_move(emp_giph_agent *a, emp_giph_drawer *d, int32_t episode,
                         int32_t action)
{
    int32_t   move = a->round - 1, pair = d->action[action];
    int32_t   node = a->world.node_of_pair[pair];
    emp_real *gradient = gradient_of(a, episode, move);

    a->log_p[episode * a->length + move] = log((double)d->p[action]);
    emp_categorical_score(d->p, d->action_count, action, 1.0);
    memset(d->work.d_score, 0, (size_t)a->world.pair_count * sizeof *d->work.d_score);
    for (int32_t i = 0; i < d->action_count; i++) d->work.d_score[d->action[i]] = d->p[i];
    memset(gradient, 0, a->params.count * sizeof *gradient);
    emp_giph_backward(&d->work, &a->params, &d->net, gradient);
    placement_of(a, episode).pivot[node] = pair;
    a->last[episode] = node;
}

static void draw_move(emp_giph_agent *a, emp_giph_drawer *d, int32_t episode)
{
    uint32_t number = (uint32_t)(a->round * EMP_MAX_BATCH + episode);
    emp_rng  rng;

    emp_rng_init(&rng, a->learner.seed, (uint32_t)(STREAM_UPDATES + a->learner.update),
                 number);
    emp_giph_agent_see(a, d, episode);
    emp_giph_agent_move(
        a, d, episode,
        emp_categorical_sample(d->p, d->action_count, emp_rng_uniform(&rng)));
}

/* Episodes move side by side, each on one thread. */
static void draw_moves(emp_giph_agent *a, int32_t first, int32_t count)
{
#pragma omp parallel for num_threads(a->learner.threads) schedule(static, 1)
    for (int32_t t = 0; t < a->learner.threads; t++) {
        unsigned saved = emp_flush_begin();
        for (int32_t k = first + t; k < first + count; k += a->learner.threads)
            draw_move(a, &a->drawer[t], k);
        emp_flush_end(saved);
    }
}

/* ---- the update ---- */

/* Rewards become returns. */
static void discount(emp_giph_agent *a, double *reward)
{
    for (int32_t t = a->length - 2; t >= 0; t--)
        reward[t] += a->options.gamma * reward[t + 1];
}

/* Takes from returns the mean of the rewards up to each, as the released code does. */
static void subtract_rewards(const emp_giph_agent *a, double *back)
{
    double sum = 0.0;

    for (int32_t t = 0; t < a->length; t++) {
        double next = t + 1 < a->length ? back[t + 1] : 0.0;
        sum += back[t] - a->options.gamma * next;
        back[t] -= sum / (t + 1);
    }
}

static void average_returns(emp_giph_agent *a)
{
    double share =
        1.0 / (double)(a->learner.update < LATE ? a->learner.update + 1 : LATE);

    for (int32_t t = 0; t < a->length; t++) {
        double mean = 0.0;
        for (int32_t k = 0; k < a->options.episodes; k++)
            mean += a->reward[k * a->length + t] / a->options.episodes;
        a->baseline[t] += share * (mean - a->baseline[t]);
    }
}

/* From rewards to advantages, in their place. */
static void judge(emp_giph_agent *a)
{
    for (int32_t k = 0; k < a->options.episodes; k++)
        discount(a, &a->reward[k * a->length]);
    if (a->options.baseline == EMP_GIPH_BASELINE_RETURNS) average_returns(a);
    for (int32_t k = 0; k < a->options.episodes; k++) {
        double *back = &a->reward[k * a->length];
        if (a->options.baseline == EMP_GIPH_BASELINE_REWARDS) {
            subtract_rewards(a, back);
            continue;
        }
        for (int32_t t = 0; t < a->length; t++) back[t] -= a->baseline[t];
    }
}

static void add_gradient(emp_giph_agent *a, int32_t episode, int32_t move)
{
    double          weight = a->reward[episode * a->length + move] / a->options.episodes;
    const emp_real *gradient = gradient_of(a, episode, move);

    emp_vector_add_scaled(a->params.gradient, gradient, (emp_real)weight,
                          (int64_t)a->params.count);
    a->learner.metric[EMP_GIPH_LOSS].value -=
        weight * a->log_p[episode * a->length + move];
}

static double total_gain(const emp_giph_agent *a)
{
    double sum = 0.0;

    for (int32_t i = 0; i < a->options.episodes * a->length; i++) sum += a->reward[i];
    return sum / a->options.episodes;
}

static void learn(emp_giph_agent *a)
{
    unsigned saved = emp_flush_begin();

    a->learner.metric[EMP_GIPH_GAIN].value = total_gain(a);
    a->learner.metric[EMP_GIPH_LOSS].value = 0.0;
    judge(a);
    emp_params_zero_gradient(&a->params);
    for (int32_t k = 0; k < a->options.episodes; k++)
        for (int32_t t = 0; t < a->length; t++) add_gradient(a, k, t);
    a->learner.has_gradient = 1;
    emp_learner_step(a);
    begin_episodes(a);
    emp_flush_end(saved);
}

/* ---- ask and tell ---- */

static bool are_times(const emp_time_ns *time, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (time[i] < 0 || time[i] > EMP_COST_LIMIT_NS) return false;
    return true;
}

/* A restored state may come from anywhere. */
static bool is_sound(const emp_giph_agent *a)
{
    const emp_giph_world *w = &a->world;

    if (a->round < 0 || a->round > a->length || a->told < 0 ||
        a->told >= a->options.episodes)
        return false;
    const int64_t nodes = (int64_t)a->options.episodes * w->node_count;
    const int64_t edges = (int64_t)a->options.episodes * w->edge_count;
    if (!are_times(a->at.start_ns, nodes) || !are_times(a->at.end_ns, nodes) ||
        !are_times(a->at.sent_ns, edges))
        return false;
    for (int32_t k = 0; k < a->options.episodes; k++) {
        const int32_t *pivot = placement_of(a, k).pivot;
        if (a->last[k] < -1 || a->last[k] >= w->node_count) return false;
        for (int32_t v = 0; v < w->node_count; v++)
            if (pivot[v] < w->pair_first[v] || pivot[v] >= w->pair_first[v + 1])
                return false;
    }
    return true;
}

emp_status emp_giph_agent_ask(void *state, const emp_owned_decision *candidates,
                              int32_t max, int32_t *count, emp_error *err)
{
    emp_giph_agent *a = (emp_giph_agent *)state;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    EMP_CHECK(emp_learner_check(&a->learner, err));
    if (!is_sound(a)) return EMP_ERROR(EMP_EFORMAT, "the saved state of giph is damaged");
    const int32_t left = a->options.episodes - a->told;
    *count = a->asked = left < max ? left : max;
    if (a->round > 0) draw_moves(a, a->told, *count);
    for (int32_t i = 0; i < *count; i++) {
        const emp_giph_placement at = placement_of(a, a->told + i);
        emp_giph_placement_write(&at, &a->world, candidates[i].device_of_op);
    }
    return EMP_OK;
}

static void keep_score(emp_giph_agent *a, int32_t episode, const emp_score *score)
{
    const emp_giph_placement at = placement_of(a, episode);
    double                   cost = emp_penalized_s(score) * 1e9 / a->world.least_ns;

    if (a->round > 0)
        a->reward[episode * a->length + a->round - 1] = a->cost[episode] - cost;
    a->cost[episode] = cost;
    emp_giph_placement_time(&at, &a->world, score);
}

static void end_round(emp_giph_agent *a)
{
    a->told = 0;
    if (a->round++ == a->length) {
        learn(a);
        return;
    }
    for (int32_t k = 0; k < a->options.episodes; k++) {
        const emp_giph_placement at = placement_of(a, k);
        emp_criticality_learn(&a->criticality, &a->world, &at, a->options.criticality);
    }
    emp_criticality_spread(&a->criticality, &a->world);
}

emp_status emp_giph_agent_tell(void *state, const emp_score *scores, int32_t count,
                               emp_error *err)
{
    emp_giph_agent *a = (emp_giph_agent *)state;

    if (count != a->asked)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count, a->asked);
    for (int32_t i = 0; i < count; i++)
        if (scores[i].start_ns == NULL || scores[i].end_ns == NULL)
            return EMP_ERROR(EMP_EINVAL, "giph is told no times of ops");
    for (int32_t i = 0; i < count; i++) keep_score(a, a->told + i, &scores[i]);
    if (a->round > 0)
        a->learner.metric[EMP_GIPH_ENTROPY].value = a->entropy[a->told + count - 1];
    a->told += count;
    a->asked = 0;
    if (a->told == a->options.episodes) end_round(a);
    return EMP_OK;
}

/* ---- checkpoints ---- */

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_giph_agent *a = (emp_giph_agent *)state;
    int32_t         count = emp_learner_list_weights(state, arrays);
    size_t          episodes = (size_t)a->options.episodes, length = (size_t)a->length;
    size_t nodes = (size_t)a->world.node_count, edges = (size_t)a->world.edge_count;
    const emp_named_array list[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->learner.update},
        {"round", EMP_ARRAY_INT32, 1, &a->round},
        {"told", EMP_ARRAY_INT32, 1, &a->told},
        {"criticality", EMP_ARRAY_DOUBLE, edges, a->criticality.edge},
        {"criticality_of_node", EMP_ARRAY_DOUBLE, nodes, a->criticality.node},
        {"baseline", EMP_ARRAY_DOUBLE, length, a->baseline},
        {"pivot", EMP_ARRAY_INT32, episodes * nodes, a->at.pivot},
        {"start", EMP_ARRAY_INT64, episodes * nodes, a->at.start_ns},
        {"end", EMP_ARRAY_INT64, episodes * nodes, a->at.end_ns},
        {"sent", EMP_ARRAY_INT64, episodes * edges, a->at.sent_ns},
        {"moved", EMP_ARRAY_INT32, episodes, a->last},
        {"cost", EMP_ARRAY_DOUBLE, episodes, a->cost},
        {"reward", EMP_ARRAY_DOUBLE, episodes * length, a->reward},
        {"log_probability", EMP_ARRAY_DOUBLE, episodes * length, a->log_p},
        {"gradient", EMP_ARRAY_REAL, episodes * length * a->params.count, a->gradient}};

    memcpy(&arrays[count], list, sizeof list);
    return count + (int32_t)(sizeof list / sizeof *list);
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_giph_options options = {0};

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_giph, params, err));
    return emp_giph_agent_init((emp_giph_agent *)state, problem, &options, params, err);
}

static void clear(void *state) { emp_giph_agent_clear((emp_giph_agent *)state); }

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_giph_options, max_nodes, 2, 1024,
                       "nodes that ops are merged into, at most", 64),
    EMP_INTEGER_OPTION("episodes", emp_giph_options, episodes, 1, EMP_MAX_BATCH,
                       "episodes side by side, all of an update", 1, 4),
    EMP_INTEGER_OPTION("moves", emp_giph_options, moves, 1, 64,
                       "of an episode, for each node", 2),
    EMP_REAL_OPTION("gamma", emp_giph_options, gamma, 0, 1, "discount of later rewards",
                    0.97),
    EMP_WORD_OPTION("baseline", emp_giph_options, baseline, "rewards|returns",
                    "what is taken from a move's return: the mean reward of its episode "
                    "so far, or the mean return of moves of that number",
                    EMP_GIPH_BASELINE_REWARDS, EMP_GIPH_BASELINE_RETURNS),
    EMP_REAL_OPTION("criticality", emp_giph_options, criticality, 0, 1,
                    "share by which a critical path changes how critical edges count",
                    0.1),
    EMP_ADAM_OPTIONS(emp_giph_options, learner.adam, EMP_LEARNER_DEFAULTS(0.01, 0.1),
                     "epsilon", 1e-8, 0),
    EMP_CLIP_OPTION(emp_giph_options, learner.clip, 1e9),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = emp_learner_list_weights};

const emp_method emp_method_giph = {
    .name = "giph",
    .description = "GiPH, one move of a node after another by a learned policy (Hu et "
                   "al., MLSys 2023)",
    .advice = "a learner of moves, for graphs of some dozen ops",
    .uses_budget = true,
    .uses_seed = true,
    .needs_times = true,
    .has_start = true,
    .presets = "paper|emplace",
    .options = option_list,
    .state_bytes = sizeof(emp_giph_agent),
    .init = init,
    .ask = emp_giph_agent_ask,
    .tell = emp_giph_agent_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = list_state,
    .learning = &learning};
