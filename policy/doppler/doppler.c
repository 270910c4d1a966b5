// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/doppler.h"

#include <math.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "base/work.h"
#include "policy/nn/categorical.h"
#include "policy/nn/threads.h"
#include "search/order.h"

enum { SELECTOR = EMP_DOPPLER_SELECTOR, PLACER = EMP_DOPPLER_PLACER, NETS = 2 };

/* Streams of random numbers: initial weights, imitation, and one per update. */
enum { STREAM_WEIGHTS, STREAM_IMITATION, STREAM_UPDATES };

enum {
    SELECTOR_ENTROPY = 3,
    PLACER_ENTROPY,
    LOG_PROB,
    SELECTOR_NORM,
    PLACER_NORM,
    SELECTOR_MATCH,
    PLACER_MATCH,
    METRICS
};

static const char *const metric_names[METRICS] = {"loss",
                                                  "reward",
                                                  "baseline",
                                                  "selector_entropy",
                                                  "placer_entropy",
                                                  "log_prob",
                                                  "selector_gradient_norm",
                                                  "placer_gradient_norm",
                                                  "imitated_nodes",
                                                  "imitated_devices"};

/* ---- life ---- */

static int32_t node_count(const emp_doppler_agent *a)
{
    return a->scene.graph->node_count;
}

static emp_status init_run(emp_doppler_agent *a, emp_doppler_run *r, emp_error *err)
{
    const int32_t nodes = node_count(a), devices = a->scene.graph->device_count;

    EMP_CHECK(emp_doppler_episode_init(&r->episode, &a->scene, err));
    for (int i = 0; i < NETS; i++)
        EMP_CHECK(emp_doppler_choices_init(
            &r->choices[i], i == SELECTOR ? nodes : devices, &a->net[i].head, err));
    EMP_CHECK(emp_doppler_loads_init(&r->loads, &a->net[PLACER], err));
    for (int i = 0; i < NETS; i++)
        EMP_CHECK(emp_doppler_gradient_init(&r->gradient[i], &a->net[i], err));
    r->node_of_step = EMP_ADD_ARRAY(&r->arrays, int32_t, (size_t)nodes);
    r->device_of_step = EMP_ADD_ARRAY(&r->arrays, emp_device_id, (size_t)nodes);
    if (r->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "episode of %d steps", nodes);
    return EMP_OK;
}

static void clear_run(emp_doppler_run *r)
{
    emp_doppler_episode_clear(&r->episode);
    for (int i = 0; i < NETS; i++) emp_doppler_choices_clear(&r->choices[i]);
    emp_doppler_loads_clear(&r->loads);
    for (int i = 0; i < NETS; i++) emp_doppler_gradient_clear(&r->gradient[i]);
    emp_arrays_clear(&r->arrays);
}

static emp_status init_nets(emp_doppler_agent *a, uint64_t seed, emp_error *err)
{
    const emp_doppler_options   *o = &a->options;
    const emp_doppler_mpnn_shape shape = {o->width, o->steps,
                                          o->mpnn == EMP_DOPPLER_GATED};
    emp_rng                      rng;

    for (int i = 0; i < NETS; i++) {
        emp_rng_init(&rng, seed, STREAM_WEIGHTS, (uint32_t)i);
        EMP_CHECK(
            emp_doppler_net_init(&a->net[i], &a->scene, (emp_doppler_kind)i, shape, err));
        emp_doppler_net_randomize(&a->net[i], &rng);
    }
    emp_learner_add(&a->learner, EMP_LEARNER_NET("selector_", &a->net[SELECTOR].params,
                                                 SELECTOR_NORM));
    emp_learner_add(&a->learner,
                    EMP_LEARNER_NET("placer_", &a->net[PLACER].params, PLACER_NORM));
    return EMP_OK;
}

void emp_doppler_agent_clear(emp_doppler_agent *a)
{
    for (int32_t k = 0; k < a->options.learner.samples && a->run != NULL; k++)
        clear_run(&a->run[k]);
    emp_free(a->run);
    for (int i = 0; i < NETS; i++) emp_doppler_net_clear(&a->net[i]);
    emp_doppler_scene_clear(&a->scene);
    *a = (emp_doppler_agent){0};
}

/* Episodes that are under way then end where they are, and nothing is made of them. */
static bool is_stopped(const emp_doppler_agent *a)
{
    return emp_stop_is_set(a->learner.stop);
}

/* ---- one episode ---- */

typedef struct {
    emp_doppler_exploration explore;
    double                  epsilon;
} exploration;

static int32_t choose(const emp_doppler_choices *c, exploration x, emp_rng *rng)
{
    if (x.explore == EMP_DOPPLER_SOFTMAX)
        return emp_categorical_sample(c->p, c->count, emp_rng_uniform(rng));
    if (emp_rng_uniform(rng) < x.epsilon)
        return (int32_t)emp_rng_below(rng, (uint32_t)c->count);
    return emp_categorical_mode(c->p, c->count);
}

static void begin(const emp_doppler_agent *a, emp_doppler_run *r)
{
    emp_doppler_episode_begin(&r->episode);
    emp_doppler_loads_zero(&r->loads, &a->net[PLACER]);
    r->log_prob = 0.0;
    for (int i = 0; i < NETS; i++) {
        r->entropy[i] = 0.0;
        r->taught[i] = r->agreed[i] = 0;
        r->choices[i].rows = r->choices[i].steps = 0;
    }
}

static double log_of(emp_real p) { return log(fmax((double)p, 1e-300)); }

static void book(const emp_doppler_agent *a, emp_doppler_run *r, int32_t ready,
                 emp_device_id device)
{
    const int32_t v = r->episode.ready[ready];

    emp_doppler_episode_book(&r->episode, ready, device);
    emp_doppler_loads_add(&r->loads, &a->net[PLACER], v, device);
}

/* ---- what an episode teaches ---- */

typedef struct {
    bool   is_imitation;
    double weight, entropy;
} lesson;

/* Position in a list that has the item. */
static int32_t find(const int32_t *list, int32_t item)
{
    int32_t i = 0;

    while (list[i] != item) i++;
    return i;
}

/* Targets, of the teacher or of the choice made, become the gradient of the logits of
 *     sum of target ln p + entropy H
 * Returns the sum of target ln p. */
static double aim(emp_doppler_choices *c, const lesson *l, double factor)
{
    emp_real *d_logit = c->d_logit + c->rows;
    double    total = 0.0, objective = 0.0;

    for (int32_t i = 0; i < c->count; i++) {
        c->target[i] *= l->weight * factor;
        total += c->target[i];
        if (c->target[i] != 0.0) objective += c->target[i] * log_of(c->p[i]);
    }
    for (int32_t i = 0; i < c->count; i++)
        d_logit[i] = (emp_real)(c->target[i] - total * (double)c->p[i]);
    if (l->entropy != 0.0)
        emp_categorical_entropy_gradient(d_logit, c->p, c->count, l->entropy);
    return objective;
}

/* The choice made, or those that the teacher may make, become targets. Returns the objective. */
static double aim_at(emp_doppler_run *r, int kind, int32_t chosen, int32_t node,
                     const lesson *l, double factor)
{
    emp_doppler_choices       *c = &r->choices[kind];
    const emp_doppler_episode *e = &r->episode;

    for (int32_t i = 0; i < c->count; i++) c->target[i] = i == chosen ? 1.0 : 0.0;
    if (l->is_imitation && kind == SELECTOR) emp_doppler_episode_teach_node(e, c->target);
    if (l->is_imitation && kind == PLACER)
        emp_doppler_episode_teach_device(e, node, c->target);
    r->taught[kind] += c->target[chosen] > 0.0;
    r->agreed[kind] += c->target[emp_categorical_mode(c->p, c->count)] > 0.0;
    return aim(c, l, factor);
}

/* Episodes that are drawn, or played again as they were drawn, and what is learned from them. */
typedef struct {
    bool          is_again;
    exploration   explore;
    uint64_t      seed;
    uint32_t      stream, substream;
    bool          learns;
    const double *weight; /* [samples]; NULL: imitation, all alike */
    double        entropy;
} pass;

/* Returns the ready node to take, or the candidate. */
static int32_t take(const pass *p, emp_doppler_run *r, int kind, const int32_t *list,
                    int32_t item, emp_rng *rng)
{
    const emp_doppler_choices *c = &r->choices[kind];
    const int32_t at = p->is_again ? find(list, item) : choose(c, p->explore, rng);

    r->log_prob += log_of(c->p[at]);
    return at;
}

/* Plays an episode. Returns its objective, without entropy, where there is a lesson. */
static double play(const emp_doppler_agent *a, emp_doppler_run *r, const pass *p,
                   const lesson *l, emp_rng rng)
{
    const emp_doppler_net *selector = &a->net[SELECTOR], *placer = &a->net[PLACER];
    const double           gamma = l == NULL || l->is_imitation ? 1.0 : a->options.gamma;
    emp_doppler_choices   *nodes = &r->choices[SELECTOR], *devices = &r->choices[PLACER];
    emp_doppler_episode   *e = &r->episode;
    const int32_t          steps = node_count(a);
    double                 objective = 0.0;

    begin(a, r);
    for (int i = 0; i < NETS && l != NULL; i++)
        emp_doppler_gradient_zero(&r->gradient[i], &a->net[i]);
    for (int32_t t = 0; t < steps && !is_stopped(a); t++) {
        const double factor = pow(gamma, steps - 1 - t);
        r->entropy[SELECTOR] += emp_doppler_select(selector, nodes, e);
        const int32_t ready = take(p, r, SELECTOR, e->ready, r->node_of_step[t], &rng);
        const int32_t v = e->ready[ready];
        if (l != NULL) {
            objective += aim_at(r, SELECTOR, ready, v, l, factor);
            emp_doppler_select_keep(selector, nodes, &r->gradient[SELECTOR]);
        }
        emp_doppler_episode_look(e, v);
        r->entropy[PLACER] += emp_doppler_place(placer, devices, e, &r->loads, v);
        const int32_t candidate =
            take(p, r, PLACER, e->candidate, r->device_of_step[t], &rng);
        const emp_device_id device = e->candidate[candidate];
        if (l != NULL) {
            objective += aim_at(r, PLACER, candidate, v, l, factor);
            emp_doppler_place_keep(placer, devices, &r->loads, v, device,
                                   &r->gradient[PLACER]);
        }
        r->node_of_step[t] = v;
        r->device_of_step[t] = device;
        book(a, r, ready, device);
    }
    if (l == NULL || is_stopped(a)) return objective; /* nodes are without devices */
    emp_doppler_select_learn(selector, nodes, &r->gradient[SELECTOR]);
    emp_doppler_place_learn(placer, devices, e, &r->loads, &r->gradient[PLACER]);
    return objective;
}

static void learn_net(emp_doppler_agent *a, int i, int32_t samples)
{
    emp_doppler_gradient *gradient[EMP_MAX_BATCH];

    for (int32_t k = 0; k < samples; k++) gradient[k] = &a->run[k].gradient[i];
    emp_doppler_net_learn(&a->net[i], gradient, samples);
}

/* The two nets compute side by side, a thread each, and so do episodes.
 * Plays so many episodes, those drawn with the embeddings of now, and sets the gradients where they
 * are learned from. Returns their objective, without entropy. */
static double play_all(emp_doppler_agent *a, int32_t samples, const pass *p)
{
    double         objective[EMP_MAX_BATCH], sum = 0.0;
    const int32_t  pair = a->learner.threads < NETS ? a->learner.threads : NETS;
    const unsigned saved = emp_flush_begin();

    if (!p->is_again) a->learner.drawn = samples;
#pragma omp parallel for num_threads(pair)
    for (int i = 0; i < NETS; i++) {
        unsigned own = emp_flush_begin();
        if (!p->is_again && !is_stopped(a)) emp_doppler_net_embed(&a->net[i]);
        emp_flush_end(own);
    }
#pragma omp parallel for num_threads(a->learner.threads) schedule(dynamic)
    for (int32_t k = 0; k < samples; k++) {
        unsigned     own = emp_flush_begin();
        const lesson l = {.is_imitation = p->weight == NULL,
                          .weight = p->weight == NULL ? 1.0 / samples : p->weight[k],
                          .entropy = p->entropy / samples};
        emp_rng      rng;
        emp_rng_init(&rng, p->seed, p->stream, p->substream + (uint32_t)k);
        objective[k] = play(a, &a->run[k], p, p->learns ? &l : NULL, rng);
        emp_flush_end(own);
    }
    for (int32_t k = 0; k < samples; k++) sum += objective[k];
#pragma omp parallel for num_threads(pair)
    for (int i = 0; i < NETS; i++) {
        unsigned own = emp_flush_begin();
        if (p->learns && !is_stopped(a)) learn_net(a, i, samples);
        emp_flush_end(own);
    }
    emp_flush_end(saved);
    return sum;
}

/* ---- imitation ---- */

static double imitate(emp_doppler_agent *a, int32_t samples, const pass *p)
{
    const double objective = play_all(a, samples, p);

    for (int i = 0; i < NETS; i++) {
        int32_t taught = 0;
        for (int32_t k = 0; k < samples; k++) taught += a->run[k].taught[i];
        a->match[i] = (double)taught / samples / node_count(a);
    }
    return objective;
}

/* Weight of an earlier episode in the moving average of agreements. */
static const double DECAY = 0.9;

/* Enters an update of \a samples episodes. */
static void progress_enter(emp_doppler_progress *p, double agreement, int32_t samples)
{
    const double decay = pow(DECAY, samples), before = decay * p->weight;

    p->weight = before + 1.0 - decay;
    p->average = (before * p->average + (1.0 - decay) * agreement) / p->weight;
    p->since += samples;
    if (p->average < p->best + EMP_DOPPLER_RISE) return;
    p->best = p->average;
    p->since = 0.0;
}

/* True once the average has reached the wanted agreement, or has not risen for as many episodes as
 * options have patience. */
static bool progress_is_over(const emp_doppler_progress *p, const emp_doppler_options *o)
{
    const bool is_settled = p->weight > 0.6; /* nine episodes */

    if (o->imitation_patience == 0 || !is_settled) return false;
    return p->average >= o->imitation_agreement || p->since >= o->imitation_patience;
}

/* The lesser of both policies' agreements in the episodes played last. */
static double agreement_of(const emp_doppler_agent *a, int32_t samples)
{
    double least = 1.0;

    for (int i = 0; i < NETS; i++) {
        double agreed = 0.0;
        for (int32_t k = 0; k < samples; k++) agreed += a->run[k].agreed[i];
        least = fmin(least, agreed / samples / node_count(a));
    }
    return least;
}

double emp_doppler_agent_imitation(emp_doppler_agent *a, int32_t samples, double entropy)
{
    return imitate(a, samples,
                   &(pass){.is_again = true, .learns = true, .entropy = entropy});
}

/* \return whether there was an update. */
static bool imitate_once(emp_doppler_agent *a)
{
    const emp_doppler_options *o = &a->options;
    const int32_t              most = o->learner.samples;
    const int32_t              episodes = o->imitation - (int32_t)a->imitated;
    const int32_t              samples = most < episodes ? most : episodes;
    const double               left = 1.0 - (double)a->imitated / o->imitation;
    emp_adam                   adam = o->learner.adam;

    adam.learning_rate = o->imitation_rate;
    imitate(a, samples,
            &(pass){.explore = {o->explore, o->imitation_epsilon * left},
                    .seed = a->learner.seed,
                    .stream = STREAM_IMITATION,
                    .substream = (uint32_t)a->imitated,
                    .learns = true,
                    .entropy = o->imitation_entropy});
    if (is_stopped(a)) return false;
    for (int i = 0; i < NETS; i++)
        emp_params_ascend(&a->net[i].params, o->learner.clip, &adam);
    a->imitated += samples;
    progress_enter(&a->progress, agreement_of(a, samples), samples);
    return true;
}

static bool is_taught(const emp_doppler_agent *a)
{
    return a->has_weights || a->learner.update > 0 ||
           a->imitated >= a->options.imitation ||
           progress_is_over(&a->progress, &a->options);
}

void emp_doppler_agent_imitate(emp_doppler_agent *a)
{
    if (is_taught(a)) return;
    const char *before = emp_stage_set("doppler: learning from the teacher");
    while (!is_taught(a) && imitate_once(a)) {
    }
    (void)emp_stage_set(before);
    for (int i = 0; i < NETS && is_taught(a); i++) emp_params_forget(&a->net[i].params);
}

/* ---- the learner's type ---- */

void emp_doppler_agent_propose(emp_doppler_agent *a, int32_t samples)
{
    const emp_doppler_options *o = &a->options;
    const double               drawn = (double)a->learner.update * o->learner.samples;
    const double left = a->budget > 0 ? fmax(1.0 - drawn / (double)a->budget, 0.0) : 1.0;

    play_all(a, samples,
             &(pass){.explore = {o->explore, o->epsilon * left},
                     .seed = a->learner.draw_seed,
                     .stream = (uint32_t)(STREAM_UPDATES + a->learner.update)});
}

static void propose(emp_learner *learner, int32_t samples)
{
    emp_doppler_agent_propose((emp_doppler_agent *)learner, samples);
}

/* The learner has no rows: it is never asked for the device of one. */
static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t node)
{
    const emp_doppler_agent *a = (const emp_doppler_agent *)learner;

    return a->run[sample].episode.device_of_node[node];
}

static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    return -play_all(
        (emp_doppler_agent *)learner, own,
        &(pass){.is_again = true, .learns = true, .weight = weight, .entropy = entropy});
}

static void report(emp_learner *learner)
{
    const emp_doppler_agent *a = (const emp_doppler_agent *)learner;
    emp_method_metric       *metric = learner->metric;
    double                   entropy[2] = {0.0, 0.0}, log_prob = 0.0;
    const int32_t            samples = learner->drawn;

    for (int32_t k = 0; k < samples; k++) {
        log_prob += a->run[k].log_prob / samples;
        for (int i = 0; i < NETS; i++) entropy[i] += a->run[k].entropy[i] / samples;
    }
    metric[SELECTOR_ENTROPY].value = entropy[SELECTOR];
    metric[PLACER_ENTROPY].value = entropy[PLACER];
    metric[LOG_PROB].value = log_prob;
    metric[SELECTOR_MATCH].value = a->match[SELECTOR];
    metric[PLACER_MATCH].value = a->match[PLACER];
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report};

emp_status emp_doppler_agent_init(emp_doppler_agent *a, const emp_problem *problem,
                                  const emp_doppler_options *options, uint64_t seed,
                                  int64_t budget, int32_t threads, emp_error *err)
{
    *a = (emp_doppler_agent){.options = *options, .match = {NAN, NAN}};
    a->budget = options->episodes > 0 ? options->episodes : budget;
    a->learner = emp_learner_start(&type, &options->learner, NULL, seed, threads);
    EMP_CHECK(emp_openblas_open(err));
    EMP_CHECK(emp_doppler_scene_init(&a->scene, problem, options->max_nodes, err));
    EMP_CHECK(init_nets(a, seed, err));
    EMP_CHECK(EMP_ALLOC(a->run, (size_t)options->learner.samples));
    for (int32_t k = 0; k < options->learner.samples; k++)
        EMP_CHECK(init_run(a, &a->run[k], err));
    return EMP_OK;
}

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

/* How far imitation has come, behind the \a n arrays that are listed. Its result is reported with every update. */
static int32_t list_imitation(emp_doppler_agent *a, emp_named_array *arrays, int32_t n)
{
    arrays[n++] = (emp_named_array){"imitated", EMP_ARRAY_DOUBLE, 2, a->match};
    arrays[n++] = (emp_named_array){"imitations", EMP_ARRAY_INT64, 1, &a->imitated};
    arrays[n++] =
        (emp_named_array){"imitation_progress", EMP_ARRAY_DOUBLE, 4, &a->progress};
    return n;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return list_imitation(state, arrays, emp_learner_list_state(state, arrays));
}

/* A rank that gets taught parameters must not imitate again. */
static int32_t list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return list_imitation(state, arrays, emp_learner_list_values(state, arrays));
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_doppler_options, max_nodes, 0, 100000,
                       "nodes that ops are merged into at most; 0: no ops are merged",
                       256),
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
                       "most episodes that imitate the teacher first, without scores",
                       2000),
    EMP_INTEGER_OPTION("imitation_patience", emp_doppler_options, imitation_patience, 0,
                       1e9,
                       "episodes without a rise of the agreement with the teacher, after "
                       "which imitation ends; 0: it has all its episodes",
                       60),
    EMP_REAL_OPTION("imitation_agreement", emp_doppler_options, imitation_agreement, 0, 1,
                    "share of the steps with the teacher's choice at which imitation "
                    "ends, too",
                    1),
    EMP_REAL_OPTION("imitation_lr", emp_doppler_options, imitation_rate, 0, 10,
                    "learning rate of Adam while imitating", 1e-3),
    EMP_REAL_OPTION("imitation_epsilon", emp_doppler_options, imitation_epsilon, 0, 1,
                    "first epsilon while imitating; it falls to 0", 1),
    EMP_REAL_OPTION("imitation_entropy", emp_doppler_options, imitation_entropy, 0, 1e6,
                    "weight of entropy while imitating", 1e-3),
    EMP_INTEGER_OPTION("samples", emp_doppler_options, learner.samples, 1, EMP_MAX_BATCH,
                       "episodes per update", 1, 8),
    EMP_REAL_OPTION("epsilon", emp_doppler_options, epsilon, 0, 1,
                    "first epsilon; it falls to 0", 0.2),
    EMP_INTEGER_OPTION("episodes", emp_doppler_options, episodes, 0, 1e9,
                       "over which epsilon falls; 0: those of the budget", 2000, 0),
    EMP_REAL_OPTION("gamma", emp_doppler_options, gamma, 0, 1,
                    "discount of the reward a step before the last", 0.99),
    EMP_ADAM_OPTIONS(emp_doppler_options, learner.adam, 1e-4, "adam_epsilon", 1e-8, 0),
    EMP_CLIP_OPTION(emp_doppler_options, learner.clip, 1e9),
    EMP_ENTROPY_OPTION(emp_doppler_options, learner.entropy, 0),
    EMP_REWARD_OPTIONS(emp_doppler_options, learner.rules,
                       EMP_LEARNER_DEFAULTS(EMP_REWARD_IDENTITY, EMP_REWARD_LOG), 1, 0,
                       1e9),
    EMP_BOOL_OPTION("baseline_mean", emp_doppler_options, learner.rules.baseline_mean,
                    "1: rewards are compared with the mean of all so far, 0: with a "
                    "moving average",
                    1, 0),
    EMP_NO_OPTION};

static const emp_method_sharing sharing = {.backward = emp_learner_backward,
                                           .step = emp_learner_step,
                                           .list_gradient = emp_learner_list_gradient,
                                           .list_values = list_values};

static const emp_method_learning learning = {.list_weights = emp_learner_list_weights,
                                             .sharing = &sharing};

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
