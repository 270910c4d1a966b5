// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand_doppler.h"

#include <string.h>

#include "policy/nn/threads.h"

enum { F = EMP_DOPPLER_FEATURES, D = EMP_STAND_DEVICES };
enum { SELECTOR = EMP_DOPPLER_SELECTOR, PLACER = EMP_DOPPLER_PLACER, NETS = 2 };
enum { ROUNDS = 6 };

/* The rate is a hundredth of the default, as in stand_go.c. */
static const double   CLIP = 1e9, ENTROPY = 0.01, GAMMA = 0.99;
static const emp_adam ADAM = {
    .learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

static int32_t node_count(const emp_stand_doppler *s)
{
    return s->agent.scene.graph->node_count;
}

static int32_t episode_count(const emp_stand_doppler *s)
{
    return s->agent.options.learner.samples;
}

static int64_t step_count(const emp_stand_doppler *s)
{
    return (int64_t)episode_count(s) * node_count(s);
}

/* ---- creation ---- */

/* Any order that edges allow, and any devices. Returns the most nodes that were ready at once. */
static int32_t scatter(const emp_stand_doppler *s, emp_doppler_run *run, int32_t episode,
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
 * run->choices. \a seen is told of each, first with the nodes, then with the devices. */
typedef void seen(emp_stand_doppler *s, const emp_doppler_run *run, int64_t step,
                  emp_doppler_kind kind);

static void look(emp_stand_doppler *s, int32_t episode, seen *tell)
{
    const emp_doppler_net *net = s->agent.net;
    emp_doppler_run       *run = &s->agent.run[episode];
    emp_doppler_episode   *e = &run->episode;

    emp_doppler_episode_begin(e);
    emp_doppler_loads_zero(&run->loads, &net[PLACER]);
    for (int32_t t = 0; t < node_count(s); t++) {
        const int64_t at = (int64_t)episode * node_count(s) + t;
        const int32_t v = run->node_of_step[t];
        emp_doppler_select(&net[SELECTOR], &run->choices, e);
        if (tell != NULL) tell(s, run, at, EMP_DOPPLER_SELECTOR);
        emp_doppler_episode_look(e, v);
        emp_doppler_place(&net[PLACER], &run->choices, e, &run->loads, v);
        if (tell != NULL) tell(s, run, at, EMP_DOPPLER_PLACER);
        emp_doppler_episode_book(e, s->choice[SELECTOR][at], run->device_of_step[t]);
        emp_doppler_loads_add(&run->loads, &net[PLACER], v, run->device_of_step[t]);
    }
}

/* Keeps what the peer must be told. */
static void keep(emp_stand_doppler *s, const emp_doppler_run *run, int64_t step,
                 emp_doppler_kind kind)
{
    const emp_doppler_choices *c = &run->choices;
    const bool                 is_node = kind == EMP_DOPPLER_SELECTOR;
    const int32_t              room = is_node ? s->most_ready : D;
    const int32_t *list = is_node ? run->episode.ready : run->episode.candidate;
    int32_t       *to = (is_node ? s->ready : s->candidate) + step * room;
    emp_real      *feature =
        (is_node ? s->ready_feature : s->candidate_feature) + step * room * F;

    for (int32_t i = 0; i < room; i++) to[i] = i < c->count ? list[i] : -1;
    memcpy(feature, c->feature, (size_t)c->count * F * sizeof *feature);
}

static void embed(emp_stand_doppler *s, int32_t threads)
{
    for (int i = 0; i < NETS; i++) emp_doppler_net_embed(&s->agent.net[i], threads);
}

/* Of the first parameters: rounds of messages make embeddings of nodes alike or unlike, and where they
 * are all but alike, scaling them over nodes leaves little but what was rounded. */
static const emp_real GAIN = (emp_real)0.5;

static void shrink(emp_params *p)
{
    for (size_t i = 0; i < p->count; i++) p->value[i] *= GAIN;
}

/* Weights are above 0, so that the loss is not near it. */
static emp_status make_up(emp_stand_doppler *s, emp_rng *rng, emp_error *err)
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

emp_status emp_stand_doppler_init(emp_stand_doppler *s, int32_t nodes, int32_t width,
                                  int32_t episodes, int32_t threads, emp_rng *rng,
                                  emp_error *err)
{
    emp_status                st = EMP_OK;
    const uint64_t            seed = emp_rng_u32(rng);
    const emp_doppler_options options = {
        .learner = {.samples = episodes, .clip = CLIP, .adam = ADAM},
        .width = width,
        .steps = ROUNDS,
        .mpnn = EMP_DOPPLER_MATRICES,
        .gamma = GAMMA};

    *s = (emp_stand_doppler){0};
    EMP_TRY(emp_stand_task_load(&s->task, nodes, seed, err));
    EMP_TRY(emp_doppler_agent_init(&s->agent, s->task.problem, &options, seed, 0, threads,
                                   err));
    EMP_TRY(make_up(s, rng, err));

cleanup:
    if (st != EMP_OK) emp_stand_doppler_clear(s);
    return st;
}

void emp_stand_doppler_clear(emp_stand_doppler *s)
{
    emp_doppler_agent_clear(&s->agent);
    emp_tasks_clear(&s->task, 1);
    emp_arrays_clear(&s->arrays);
    *s = (emp_stand_doppler){0};
}

/* ---- an update ---- */

double emp_stand_doppler_update(emp_stand_doppler *s, int32_t threads)
{
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

/* ---- what a peer and the limit need to know ---- */

/* (nodes, nodes): 1 where the two are neighbours, for as often as they are. */
static void write_neighbors(const emp_node_graph *g, FILE *stream)
{
    const emp_node_edges *near = &g->neighbors;

    fprintf(stream, "neighbors int %d %d\n", g->node_count, g->node_count);
    for (int32_t v = 0; v < g->node_count; v++)
        for (int32_t u = 0; u < g->node_count; u++) {
            int32_t times = 0;
            for (int32_t i = near->first[v]; i < near->first[v + 1]; i++)
                times += near->node[i] == u;
            fwrite(&times, sizeof times, 1, stream);
        }
}

static void write_scene(const emp_doppler_scene *c, FILE *stream)
{
    const int32_t nodes = c->graph->node_count;

    emp_stand_write_reals(stream, "feature", c->feature, nodes, F);
    emp_stand_write_reals(stream, "class_message", c->class_message, c->class_count, 1);
    emp_stand_write_ints(stream, "class_first", c->class_first, 1, c->class_count + 1);
    emp_stand_write_ints(stream, "class_node", c->class_node, 1, nodes);
    write_neighbors(c->graph, stream);
    emp_stand_write_ints(stream, "below", c->below, 1, nodes);
    emp_stand_write_ints(stream, "above", c->above, 1, nodes);
}

void emp_stand_doppler_write(const emp_stand_doppler *s, FILE *stream)
{
    const int32_t          episodes = episode_count(s), steps = (int32_t)step_count(s);
    const emp_doppler_net *net = s->agent.net;

    fprintf(stream,
            "doppler lr=%g epsilon=%g clip=%g entropy=%g gamma=%g rounds=%d "
            "selector_parameters=%d\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, ENTROPY, GAMMA, ROUNDS,
            net[SELECTOR].params.slice_count);
    emp_stand_write_parameters(stream, &net[SELECTOR].params, 0);
    emp_stand_write_parameters(stream, &net[PLACER].params,
                               net[SELECTOR].params.slice_count);
    write_scene(&s->agent.scene, stream);
    emp_stand_write_ints(stream, "ready", s->ready, steps, s->most_ready);
    emp_stand_write_reals(stream, "ready_feature", s->ready_feature, steps,
                          s->most_ready * F);
    emp_stand_write_ints(stream, "candidate", s->candidate, steps, D);
    emp_stand_write_reals(stream, "candidate_feature", s->candidate_feature, steps,
                          D * F);
    emp_stand_write_ints(stream, "node_choice", s->choice[SELECTOR], episodes,
                         node_count(s));
    emp_stand_write_ints(stream, "device_choice", s->choice[PLACER], episodes,
                         node_count(s));
    emp_stand_write_doubles(stream, "weight", s->weight, episodes, 1);
}

/* Nodes or devices to choose from, in all steps. */
static double choice_count(const int32_t *list, int64_t count)
{
    double sum = 0.0;

    for (int64_t i = 0; i < count; i++) sum += list[i] >= 0;
    return sum;
}

/* Maps meet each node or choice forward, and for two gradients; choices once more where episodes
 * choose. */
emp_stand_work emp_stand_doppler_work(const emp_stand_doppler *s)
{
    const double H = s->agent.options.width, nodes = node_count(s);
    const double classes = s->agent.scene.class_count;
    const double matrices = classes * (H + H * H * H);
    const double rounds = ROUNDS * nodes * 7 * H * H;
    const double embeddings = NETS * (nodes * F * H + matrices + rounds);
    const double choices = choice_count(s->ready, step_count(s) * s->most_ready) +
                           choice_count(s->candidate, step_count(s) * D);
    const double head = F * H + EMP_DOPPLER_BLOCKS * H * H / 2 + H / 2;

    return (emp_stand_work){.large_flops = 2 * (3 * embeddings + 4 * choices * head)};
}
