// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "bench/speed/networks.h"
#include "policy/giph/network.h"
#include "policy/nn/categorical.h"

enum { X = EMP_GIPH_NODE_FEATURES, E = EMP_GIPH_EDGE_FEATURES, MOVES_PER_NODE = 2 };
enum { NODES = 64 /* the default of max_nodes */ };

/* The rate is a hundredth of the default, as in go.c. */
static const double   CLIP = 1.0;
static const emp_adam ADAM = {
    .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

/* Over a random graph on a random network of devices. Moves and the times of nodes are made up. An episode
 * runs on one thread, as it does in a run. */
typedef struct {
    emp_loaded_task task;
    emp_node_graph *nodes; /* owned */
    emp_giph_world  world;
    emp_params      params;
    emp_giph_work   work;
    int32_t         moves;
    emp_gpnet      *net;    /* [move] as it is before the move; owned */
    int32_t        *action; /* [move][pair] pairs that may be moved to; -1 behind them */
    int32_t        *choice; /* [move] position in these */
    double         *weight; /* [move] */
    emp_real       *p;      /* [pair] probabilities of a move */
    emp_arrays      arrays; /* of the moves */
} state;

/* ---- creation ---- */

/* Where nodes are and when they ran, which moves change. */
typedef struct {
    emp_giph_placement at;
    emp_criticality    criticality;
    emp_arrays         arrays;
} history;

static emp_status begin(history *h, const emp_giph_world *w, emp_rng *rng, emp_error *err)
{
    const size_t nodes = (size_t)w->node_count, edges = (size_t)w->edge_count;

    *h = (history){0};
    h->at.pivot = EMP_ADD_ARRAY(&h->arrays, int32_t, nodes);
    h->at.start_ns = EMP_ADD_ARRAY(&h->arrays, emp_time_ns, nodes);
    h->at.end_ns = EMP_ADD_ARRAY(&h->arrays, emp_time_ns, nodes);
    h->at.sent_ns = EMP_ADD_ARRAY(&h->arrays, emp_time_ns, edges);
    h->criticality.edge = EMP_ADD_ARRAY(&h->arrays, double, edges);
    h->criticality.node = EMP_ADD_ARRAY(&h->arrays, double, nodes);
    if (h->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu nodes", nodes);
    for (int32_t v = 0; v < w->node_count; v++) {
        const int32_t pairs = w->pair_first[v + 1] - w->pair_first[v];
        h->at.pivot[v] = w->pair_first[v] + (int32_t)emp_rng_below(rng, (uint32_t)pairs);
        h->at.start_ns[v] = (emp_time_ns)emp_rng_below(rng, 1000000);
        h->criticality.node[v] = emp_rng_uniform(rng);
    }
    for (int32_t e = 0; e < w->edge_count; e++) {
        h->at.sent_ns[e] = (emp_time_ns)emp_rng_below(rng, 1000000);
        h->criticality.edge[e] = emp_rng_uniform(rng);
    }
    return EMP_OK;
}

/* All pairs but pivots and those of a node; returns how many. */
static int32_t list_actions(int32_t *action, const emp_giph_world *w,
                            const int32_t *pivot, int32_t barred)
{
    int32_t count = 0;

    for (int32_t q = 0; q < w->pair_count; q++)
        if (pivot[w->node_of_pair[q]] != q && w->node_of_pair[q] != barred)
            action[count++] = q;
    for (int32_t i = count; i < w->pair_count; i++) action[i] = -1;
    return count;
}

/* Weights are above 0, so that the loss is not near it. */
static emp_status make_up(state *s, emp_rng *rng, emp_error *err)
{
    const emp_giph_world *w = &s->world;
    emp_status            st = EMP_OK;
    history               h;
    int32_t               last = -1;

    EMP_TRY(begin(&h, w, rng, err));
    for (int32_t m = 0; m < s->moves; m++) {
        int32_t *action = &s->action[(int64_t)m * w->pair_count];
        EMP_TRY(emp_gpnet_init(&s->net[m], w, err));
        emp_gpnet_fill(&s->net[m], &h.at, &h.criticality);
        int32_t count = list_actions(action, w, h.at.pivot, last);
        if (count == 0) count = list_actions(action, w, h.at.pivot, -1);
        s->choice[m] = (int32_t)emp_rng_below(rng, (uint32_t)count);
        s->weight[m] = 0.5 + emp_rng_uniform(rng);
        last = w->node_of_pair[action[s->choice[m]]];
        h.at.pivot[last] = action[s->choice[m]];
    }

cleanup:
    emp_arrays_clear(&h.arrays);
    return st;
}

static emp_status add_moves(state *s, emp_error *err)
{
    const size_t moves = (size_t)s->moves, pairs = (size_t)s->world.pair_count;

    EMP_CHECK(EMP_ALLOC(s->net, moves));
    s->action = EMP_ADD_ARRAY(&s->arrays, int32_t, moves * pairs);
    s->choice = EMP_ADD_ARRAY(&s->arrays, int32_t, moves);
    s->weight = EMP_ADD_ARRAY(&s->arrays, double, moves);
    s->p = EMP_ADD_ARRAY(&s->arrays, emp_real, pairs);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu moves", moves);
    return EMP_OK;
}

static emp_status init(void *self, const emp_network_params *params, emp_rng *rng,
                       emp_error *err)
{
    state         *s = (state *)self;
    const uint32_t seed = emp_rng_u32(rng);

    EMP_CHECK(emp_network_task_load(&s->task, params->size, seed, err));
    EMP_CHECK(emp_node_graph_create(&s->nodes, s->task.problem, NODES, err));
    EMP_CHECK(emp_giph_world_init(&s->world, s->nodes, s->task.problem, err));
    EMP_CHECK(emp_giph_params_init(&s->params, seed, 0, err));
    EMP_CHECK(emp_giph_work_init(&s->work, &s->world, err));
    s->moves = MOVES_PER_NODE * s->world.node_count;
    EMP_CHECK(add_moves(s, err));
    return make_up(s, rng, err);
}

static void clear(void *self)
{
    state *s = (state *)self;

    for (int32_t m = 0; m < s->moves && s->net != NULL; m++) emp_gpnet_clear(&s->net[m]);
    emp_free(s->net);
    emp_arrays_clear(&s->arrays);
    emp_giph_work_clear(&s->work);
    emp_params_clear(&s->params);
    emp_giph_world_clear(&s->world);
    emp_node_graph_destroy(s->nodes);
    emp_tasks_clear(&s->task, 1);
}

/* ---- an update ---- */

static int32_t action_count(const state *s, const int32_t *action)
{
    int32_t count = 0;

    while (count < s->world.pair_count && action[count] >= 0) count++;
    return count;
}

/* As emp_giph_agent_move() does. Returns ln p of the move. */
static double learn_move(state *s, int32_t move)
{
    const int32_t  pairs = s->world.pair_count, chosen = s->choice[move];
    const int32_t *action = &s->action[(int64_t)move * pairs];
    const int32_t  count = action_count(s, action);

    emp_giph_forward(&s->work, &s->params, &s->net[move]);
    for (int32_t i = 0; i < count; i++) s->p[i] = s->work.score[action[i]];
    emp_categorical_softmax(s->p, count);
    const double log_p = log((double)s->p[chosen]);
    emp_categorical_score(s->p, count, chosen, s->weight[move]);
    memset(s->work.d_score, 0, (size_t)pairs * sizeof *s->work.d_score);
    for (int32_t i = 0; i < count; i++) s->work.d_score[action[i]] = s->p[i];
    emp_giph_backward(&s->work, &s->params, &s->net[move], s->params.gradient);
    return log_p;
}

/* Returns minus the weighted sum of ln p of moves. */
static double update(void *self, int32_t threads)
{
    state *s = (state *)self;
    double loss = 0.0;

    (void)threads;
    emp_params_zero_gradient(&s->params);
    for (int32_t m = 0; m < s->moves; m++) loss -= s->weight[m] * learn_move(s, m);
    emp_params_ascend(&s->params, CLIP, &ADAM);
    return loss;
}

/* ---- the file for the peer ---- */

static void write_nets(const state *s, FILE *stream)
{
    const int32_t pairs = s->world.pair_count, links = s->world.link_count;

    fprintf(stream, "x float %d %d\n", s->moves, pairs * X);
    for (int32_t m = 0; m < s->moves; m++)
        fwrite(s->net[m].x, sizeof *s->net[m].x, (size_t)pairs * X, stream);
    fprintf(stream, "e float %d %d\n", s->moves, links * E);
    for (int32_t m = 0; m < s->moves; m++)
        fwrite(s->net[m].e, sizeof *s->net[m].e, (size_t)links * E, stream);
    fprintf(stream, "source int %d %d\n", s->moves, links);
    for (int32_t m = 0; m < s->moves; m++)
        fwrite(s->net[m].source, sizeof *s->net[m].source, (size_t)links, stream);
    fprintf(stream, "target int %d %d\n", s->moves, links);
    for (int32_t m = 0; m < s->moves; m++)
        fwrite(s->net[m].target, sizeof *s->net[m].target, (size_t)links, stream);
}

static void write(void *self, FILE *stream)
{
    const state          *s = (state *)self;
    const emp_giph_world *w = &s->world;

    fprintf(stream, "giph lr=%g epsilon=%g clip=%g nodes=%d\n", ADAM.learning_rate,
            ADAM.epsilon, CLIP, w->node_count);
    emp_network_write_parameters(stream, &s->params, 0);
    emp_network_write_ints(stream, "node_of_pair", w->node_of_pair, 1, w->pair_count);
    write_nets(s, stream);
    emp_network_write_ints(stream, "action", s->action, s->moves, w->pair_count);
    emp_network_write_ints(stream, "choice", s->choice, 1, s->moves);
    emp_network_write_doubles(stream, "weight", s->weight, 1, s->moves);
}

static emp_params *params(void *self) { return &((state *)self)->params; }

const emp_network emp_network_giph = {
    "giph", sizeof(state), EMP_GIPH_HIDDEN, 1, NODES, init, clear, update, params, write};
