// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "bench/speed/networks.h"
#include "policy/hsdag/hsdag.h"
#include "policy/nn/layers.h"

/* Inputs are as many as features=costs has. */
enum { INPUTS = 10, DEVICES = 4, LEVELS = 2, GROUPS_PER_DEVICE = 4 };

/* The rate is a thousandth of the default: after some updates with the same devices at a higher one, these would be
 * certain, and gradients 0. */
static const double   CLIP = 1.0, ENTROPY = 0.0;
static const emp_adam ADAM = {
    .learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

/* Over a synthetic graph. Groups are those that the network forms, and devices are made up. So are the inputs
 * of each step, where a run adds codes: a group that rounding makes another one then changes nothing but
 * its step. */
typedef struct {
    emp_hsdag_net net;
    int32_t       steps;
    emp_real     *x;        /* [step][set][input] */
    int32_t      *action;   /* [step][set] devices */
    int32_t      *device;   /* [group] scratch */
    double       *weight;   /* [step] */
    emp_real     *gradient; /* [step][parameter] */
    emp_arrays    arrays;   /* all of these arrays */
} state;

/* ---- creation ---- */

static emp_status init_net(state *s, int32_t sets, int32_t width, int32_t threads,
                           emp_error *err)
{
    const emp_hsdag_shape shape = {.inputs = INPUTS,
                                   .width = width,
                                   .devices = DEVICES,
                                   .levels = LEVELS,
                                   .min_groups = GROUPS_PER_DEVICE * DEVICES};
    emp_status            st = EMP_OK;
    emp_hsdag_graph       graph = {0};
    emp_arrays            arrays = {0};

    emp_hsdag_graph_allocate(&graph, sets, EMP_NETWORK_NEIGHBORS * sets, &arrays);
    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "%d sets", sets);
    graph.node_count = sets;
    graph.edge_count = emp_network_connect(graph.first, graph.node, sets);
    for (int32_t v = 0; v < sets; v++) graph.devices[v] = (UINT64_C(1) << DEVICES) - 1;
    EMP_TRY(emp_hsdag_net_init(&s->net, &shape, &graph, threads, err));

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

/* The scale of the first weights of scores. Groups follow the best of a node's edges, which shall not change
 * with what is rounded otherwise. */
static const emp_real GAIN = 2;

static void part_scores(emp_params *p)
{
    for (int32_t i = 0; i < p->slice_count; i++)
        for (int32_t j = 0;
             strcmp(p->slice[i].name, "score") == 0 && j < p->slice[i].rows; j++)
            emp_params_value(p, i)[j] *= GAIN;
}

/* Weights are above 0, so that the loss is not near it. */
static emp_status make_up(state *s, emp_rng *rng, emp_error *err)
{
    const size_t sets = (size_t)s->net.node_count, steps = (size_t)s->steps;

    s->x = EMP_ADD_ARRAY(&s->arrays, emp_real, steps * sets * INPUTS);
    s->action = EMP_ADD_ARRAY(&s->arrays, int32_t, steps * sets);
    s->device = EMP_ADD_ARRAY(&s->arrays, int32_t, sets);
    s->weight = EMP_ADD_ARRAY(&s->arrays, double, steps);
    s->gradient = EMP_ADD_ARRAY(&s->arrays, emp_real, steps * s->net.params.count);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu steps", steps);
    for (size_t i = 0; i < steps * sets * INPUTS; i++)
        s->x[i] = (emp_real)emp_rng_uniform(rng);
    for (size_t i = 0; i < steps * sets; i++)
        s->action[i] = (int32_t)emp_rng_below(rng, DEVICES);
    for (size_t k = 0; k < steps; k++)
        s->weight[k] = (0.5 + emp_rng_uniform(rng)) / (double)steps;
    return EMP_OK;
}

static emp_status init(void *self, const emp_network_params *params, emp_rng *rng,
                       emp_error *err)
{
    state *s = (state *)self;

    s->steps = params->samples;
    EMP_CHECK(init_net(s, params->size, params->hidden, params->threads, err));
    emp_hsdag_net_randomize(&s->net, rng);
    part_scores(&s->net.params);
    return make_up(s, rng, err);
}

static void clear(void *self)
{
    emp_hsdag_net_clear(&((state *)self)->net);
    emp_arrays_clear(&((state *)self)->arrays);
}

/* ---- an update ---- */

static const emp_real *inputs(const state *s, int32_t step)
{
    return &s->x[(int64_t)step * s->net.node_count * INPUTS];
}

/* A group has the device that is made up for its lowest set, so that another group elsewhere changes
 * nothing about it. */
static const int32_t *devices_of_groups(const state *s, int32_t step)
{
    const int32_t sets = s->net.node_count;

    for (int32_t v = sets - 1; v >= 0; v--)
        s->device[s->net.group_of_node[v]] = s->action[(int64_t)step * sets + v];
    return s->device;
}

/* Returns minus the weighted sum of ln p of the steps' devices. As in a run, a step's gradient is taken before its
 * weight is known. */
static double update(void *self, int32_t threads)
{
    state      *s = (state *)self;
    emp_params *p = &s->net.params;
    double      loss = 0.0;
    emp_rng     unused; /* there is no dropout */

    emp_rng_init(&unused, 0, 0, 0);
    s->net.threads = p->threads = threads;
    for (int32_t k = 0; k < s->steps; k++) {
        emp_hsdag_net_forward(&s->net, inputs(s, k), &unused);
        const int32_t *device = devices_of_groups(s, k);
        loss -= s->weight[k] * emp_hsdag_net_log_prob(&s->net, device);
        emp_hsdag_net_gradient(&s->net, inputs(s, k), device,
                               s->gradient + (size_t)k * p->count);
    }
    emp_params_zero_gradient(p);
    for (int32_t k = 0; k < s->steps; k++)
        emp_vector_add_scaled(p->gradient, s->gradient + (size_t)k * p->count,
                              (emp_real)s->weight[k], (int64_t)p->count);
    emp_params_ascend(p, CLIP, &ADAM);
    return loss;
}

/* ---- the file for the peer ---- */

/* (1, edges) nodes that edges leave; their other ends are graph.node. */
static void write_ends(const emp_hsdag_graph *g, FILE *stream)
{
    fprintf(stream, "edge_from int 1 %d\n", g->edge_count);
    for (int32_t v = 0; v < g->node_count; v++)
        for (int32_t e = g->first[v]; e < g->first[v + 1]; e++)
            fwrite(&v, sizeof v, 1, stream);
    emp_network_write_ints(stream, "edge_to", g->node, 1, g->edge_count);
}

static void write(void *self, FILE *stream)
{
    const state  *s = (state *)self;
    const int32_t sets = s->net.node_count;

    fprintf(stream, "hsdag lr=%g epsilon=%g clip=%g entropy=%g levels=%d min_groups=%d\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, ENTROPY, LEVELS,
            GROUPS_PER_DEVICE * DEVICES);
    emp_network_write_parameters(stream, &s->net.params, 0);
    emp_network_write_reals(stream, "x", s->x, s->steps, sets * INPUTS);
    write_ends(&s->net.level[0].graph, stream);
    emp_network_write_ints(stream, "action", s->action, s->steps, sets);
    emp_network_write_doubles(stream, "weight", s->weight, s->steps, 1);
}

static emp_params *params(void *self) { return &((state *)self)->net.params; }

/* With the sizes of its preset `emplace`. */
const emp_network emp_network_hsdag = {"hsdag", sizeof(state), 128,    20,   init,
                                       clear,   update,        params, write};
