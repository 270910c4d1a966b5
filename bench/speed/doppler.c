// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "bench/speed/networks.h"
#include "policy/doppler/doppler.h"
#include "policy/nn/threads.h"
#include "run/tasks/task.h"

enum { F = EMP_DOPPLER_FEATURES, D = 8 /* devices */ };
enum { SELECTOR = EMP_DOPPLER_SELECTOR, PLACER = EMP_DOPPLER_PLACER, NETS = 2 };
enum { ROUNDS = 6 };

/* The rate is a hundredth of the default, as in go.c. */
static const double   CLIP = 1e9, ENTROPY = 0.01, GAMMA = 0.99;
static const emp_adam ADAM = {
    .learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

/* Two networks over a random graph. Choices are made up. The input of the networks at each step follows
 * from them, so that it is the same in every update. */
typedef struct {
    emp_loaded_task   task;
    emp_doppler_agent agent;
    double           *weight; /* [episode] */
    int32_t           most_ready;

    /* The input at each step of each episode, for the peer; -1 where there are fewer choices. */
    int32_t   *ready;             /* [step][most_ready] nodes */
    emp_real  *ready_feature;     /* [step][most_ready][F] */
    int32_t   *candidate;         /* [step][D] */
    emp_real  *candidate_feature; /* [step][D][F] */
    int32_t   *choice[NETS];      /* [step] position in these */
    emp_arrays arrays;            /* all of these arrays */
} state;

static int32_t node_count(const state *s) { return s->agent.scene.graph->node_count; }

static int32_t episode_count(const state *s) { return s->agent.options.learner.samples; }

static int64_t step_count(const state *s)
{
    return (int64_t)episode_count(s) * node_count(s);
}

/* ---- creation ---- */

/* Any order that edges allow, and any devices. Returns the most nodes that were ready at once. */
static int32_t scatter(const state *s, emp_doppler_run *run, int32_t episode,
                       emp_rng *rng)
{
    emp_doppler_episode *e = &run->episode;
    int32_t              most = 0;

    emp_doppler_episode_begin(e);
    for (int32_t t = 0; t < node_count(s); t++) {
        const int64_t at = (int64_t)episode * node_count(s) + t;
        const int32_t ready = (int32_t)emp_rng_below(rng, (uint32_t)e->ready_count);
        const int32_t v = e->ready[ready];
        most = e->ready_count > most ? e->ready_count : most;
        emp_doppler_episode_look(e, v);
        const int32_t choice = (int32_t)emp_rng_below(rng, (uint32_t)e->candidate_count);
        s->choice[SELECTOR][at] = ready;
        s->choice[PLACER][at] = choice;
        run->node_of_step[t] = v;
        run->device_of_step[t] = e->candidate[choice];
        emp_doppler_episode_book(e, ready, e->candidate[choice]);
    }
    return most;
}

/* The passes in which an episode selects nodes and devices; they leave the choices of the step in
 * run->choices. \a seen is called for each, first with the nodes, then with the devices. */
typedef void seen(state *s, const emp_doppler_run *run, int64_t step,
                  emp_doppler_kind kind);

static void look(state *s, int32_t episode, seen *tell)
{
    const emp_doppler_net *net = s->agent.net;
    emp_doppler_run       *run = &s->agent.run[episode];
    emp_doppler_episode   *e = &run->episode;

    emp_doppler_episode_begin(e);
    emp_doppler_loads_zero(&run->loads, &net[PLACER]);
    for (int32_t t = 0; t < node_count(s); t++) {
        const int64_t at = (int64_t)episode * node_count(s) + t;
        const int32_t v = run->node_of_step[t];
        emp_doppler_select(&net[SELECTOR], &run->choices[SELECTOR], e);
        if (tell != NULL) tell(s, run, at, EMP_DOPPLER_SELECTOR);
        emp_doppler_episode_look(e, v);
        emp_doppler_place(&net[PLACER], &run->choices[PLACER], e, &run->loads, v);
        if (tell != NULL) tell(s, run, at, EMP_DOPPLER_PLACER);
        emp_doppler_episode_book(e, s->choice[SELECTOR][at], run->device_of_step[t]);
        emp_doppler_loads_add(&run->loads, &net[PLACER], v, run->device_of_step[t]);
    }
}

/* Keeps the values that the peer needs. */
static void keep(state *s, const emp_doppler_run *run, int64_t step,
                 emp_doppler_kind kind)
{
    const emp_doppler_choices *c = &run->choices[kind];
    const bool                 is_node = kind == EMP_DOPPLER_SELECTOR;
    const int32_t              room = is_node ? s->most_ready : D;
    const int32_t *list = is_node ? run->episode.ready : run->episode.candidate;
    int32_t       *to = (is_node ? s->ready : s->candidate) + step * room;
    emp_real      *feature =
        (is_node ? s->ready_feature : s->candidate_feature) + step * room * F;

    for (int32_t i = 0; i < room; i++) to[i] = i < c->count ? list[i] : -1;
    memcpy(feature, c->feature, (size_t)c->count * F * sizeof *feature);
}

static void embed(state *s, int32_t threads)
{
#pragma omp parallel for num_threads(threads < NETS ? threads : NETS)
    for (int i = 0; i < NETS; i++) {
        unsigned saved = emp_flush_begin();
        emp_doppler_net_embed(&s->agent.net[i]);
        emp_flush_end(saved);
    }
}

/* The gain of the first parameters: rounds of messages make embeddings of nodes similar or different, and where they
 * are all but alike, scaling them over nodes leaves little but what was rounded. */
static const emp_real GAIN = (emp_real)0.5;

static void shrink(emp_params *p)
{
    for (size_t i = 0; i < p->count; i++) p->value[i] *= GAIN;
}

/* Weights are above 0, so that the loss is not near it. */
static emp_status make_up(state *s, emp_rng *rng, emp_error *err)
{
    const size_t steps = (size_t)step_count(s);

    s->weight = EMP_ADD_ARRAY(&s->arrays, double, (size_t)episode_count(s));
    for (int i = 0; i < NETS; i++)
        s->choice[i] = EMP_ADD_ARRAY(&s->arrays, int32_t, steps);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu steps", steps);
    for (int32_t k = 0; k < episode_count(s); k++) {
        const int32_t ready = scatter(s, &s->agent.run[k], k, rng);
        s->most_ready = ready > s->most_ready ? ready : s->most_ready;
        s->weight[k] = (0.5 + emp_rng_uniform(rng)) / episode_count(s);
    }
    const size_t ready = steps * (size_t)s->most_ready;
    s->ready = EMP_ADD_ARRAY(&s->arrays, int32_t, ready);
    s->ready_feature = EMP_ADD_ARRAY(&s->arrays, emp_real, ready * F);
    s->candidate = EMP_ADD_ARRAY(&s->arrays, int32_t, steps * D);
    s->candidate_feature = EMP_ADD_ARRAY(&s->arrays, emp_real, steps * D * F);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu choices", ready);
    for (int i = 0; i < NETS; i++) shrink(&s->agent.net[i].params);
    embed(s, 1);
    for (int32_t k = 0; k < episode_count(s); k++) look(s, k, keep);
    return EMP_OK;
}

/* A random graph of GiPH's generator, of about so many nodes and at most 500, on a random network of devices. */
static emp_status load(emp_loaded_task *loaded, int32_t nodes, uint64_t seed,
                       emp_error *err)
{
    enum { SPEC_BYTES = 64, SEEDS = 1000000 };
    char           spec[SPEC_BYTES], machine[SPEC_BYTES];
    const emp_task task = {
        .key = "giph", .title = "giph", .spec = spec, .machine = machine, .gpu_count = D};
    emp_runtime runtime;

    snprintf(spec, sizeof spec, "giph:v=%d,alpha=0.5,seed=%" PRIu64, nodes, seed % SEEDS);
    snprintf(machine, sizeof machine, "giph:devices=%d,seed=%" PRIu64, D, seed % SEEDS);
    EMP_CHECK(emp_runtime_init(&runtime, "edges", err));
    return emp_tasks_load(loaded, &task, 1, &runtime, 1, err);
}

static emp_status init(void *self, const emp_network_params *params, emp_rng *rng,
                       emp_error *err)
{
    state                    *s = (state *)self;
    const uint64_t            seed = emp_rng_u32(rng);
    const emp_doppler_options options = {
        .learner = {.samples = params->samples, .clip = CLIP, .adam = ADAM},
        .width = params->hidden,
        .steps = ROUNDS,
        .mpnn = EMP_DOPPLER_MATRICES,
        .gamma = GAMMA};

    EMP_CHECK(load(&s->task, params->size, seed, err));
    EMP_CHECK(emp_doppler_agent_init(&s->agent, s->task.problem, &options, seed, 0,
                                     params->threads, err));
    return make_up(s, rng, err);
}

static void clear(void *self)
{
    state *s = (state *)self;

    emp_doppler_agent_clear(&s->agent);
    emp_tasks_clear(&s->task, 1);
    emp_arrays_clear(&s->arrays);
}

/* ---- an update ---- */

/* Returns minus the weighted sum of discounted ln p. */
static double update(void *self, int32_t threads)
{
    state        *s = (state *)self;
    emp_learner  *l = &s->agent.learner;
    const int32_t episodes = episode_count(s);

    l->threads = threads;
    for (int i = 0; i < NETS; i++) s->agent.net[i].params.threads = threads;
    embed(s, threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int32_t k = 0; k < episodes; k++) {
        unsigned saved = emp_flush_begin();
        look(s, k, NULL);
        emp_flush_end(saved);
    }
    const double loss = l->type->take_gradients(l, s->weight, episodes, ENTROPY);
    for (int i = 0; i < NETS; i++)
        emp_params_ascend(&s->agent.net[i].params, CLIP, &ADAM);
    return loss;
}

/* ---- the file for the peer ---- */

/* A matrix whose element is the number of times that the row's list has the column. */
static void write_matrix(FILE *stream, const char *name, const emp_node_edges *edges,
                         int32_t count)
{
    fprintf(stream, "%s int %d %d\n", name, count, count);
    for (int32_t v = 0; v < count; v++)
        for (int32_t u = 0; u < count; u++) {
            int32_t times = 0;
            for (int32_t i = edges->first[v]; i < edges->first[v + 1]; i++)
                times += edges->node[i] == u;
            fwrite(&times, sizeof times, 1, stream);
        }
}

static void write_scene(const emp_doppler_scene *c, FILE *stream)
{
    const int32_t nodes = c->graph->node_count;

    emp_network_write_reals(stream, "feature", c->feature, nodes, F);
    emp_network_write_reals(stream, "class_message", c->class_message, c->class_count, 1);
    emp_network_write_ints(stream, "class_first", c->class_first, 1, c->class_count + 1);
    emp_network_write_ints(stream, "class_node", c->class_node, 1, nodes);
    write_matrix(stream, "neighbors", &c->graph->neighbors, nodes);
    emp_network_write_ints(stream, "below", c->below, 1, nodes);
    emp_network_write_ints(stream, "above", c->above, 1, nodes);
}

static void write(void *self, FILE *stream)
{
    const state           *s = (state *)self;
    const int32_t          episodes = episode_count(s), steps = (int32_t)step_count(s);
    const emp_doppler_net *net = s->agent.net;

    fprintf(stream,
            "doppler lr=%g epsilon=%g clip=%g entropy=%g gamma=%g rounds=%d "
            "selector_parameters=%d\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, ENTROPY, GAMMA, ROUNDS,
            net[SELECTOR].params.slice_count);
    emp_network_write_parameters(stream, &net[SELECTOR].params, 0);
    emp_network_write_parameters(stream, &net[PLACER].params,
                                 net[SELECTOR].params.slice_count);
    write_scene(&s->agent.scene, stream);
    emp_network_write_ints(stream, "ready", s->ready, steps, s->most_ready);
    emp_network_write_reals(stream, "ready_feature", s->ready_feature, steps,
                            s->most_ready * F);
    emp_network_write_ints(stream, "candidate", s->candidate, steps, D);
    emp_network_write_reals(stream, "candidate_feature", s->candidate_feature, steps,
                            D * F);
    emp_network_write_ints(stream, "node_choice", s->choice[SELECTOR], episodes,
                           node_count(s));
    emp_network_write_ints(stream, "device_choice", s->choice[PLACER], episodes,
                           node_count(s));
    emp_network_write_doubles(stream, "weight", s->weight, episodes, 1);
}

static emp_params *params(void *self)
{
    return &((state *)self)->agent.net[PLACER].params;
}

/* With the sizes of its preset `emplace`. A peer has all steps in one batch, so nodes are few. */
const emp_network emp_network_doppler = {"doppler", sizeof(state), 128,    8,    init,
                                         clear,     update,        params, write};
