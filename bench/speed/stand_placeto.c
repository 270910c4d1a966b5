// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand_placeto.h"

#include <string.h>

#include "base/mem.h"
#include "policy/nn/categorical.h"
#include "policy/placeto/placeto.h"

enum { DEVICES = 4, PASSES = 8 };

/* The rate is a hundredth of the default, as in stand_go.c. */
static const double   CLIP = 1.25, ENTROPY = 0.5;
static const emp_adam ADAM = {
    .learning_rate = 1e-5, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

/* ---- creation ---- */

/* How far off those are that a group reads from. */
enum { READS = 2 };
static const int32_t offsets[READS] = {5, 1};

/* Edges to the groups that are so far off: before, for sign -1, or behind. */
static void connect(emp_node_edges *edges, int32_t groups, int32_t sign)
{
    for (int32_t v = 0; v < groups; v++) {
        edges->first[v] = edges->count;
        for (int k = 0; k < READS; k++) {
            const int32_t other = v + sign * offsets[sign < 0 ? k : READS - 1 - k];
            if (other >= 0 && other < groups) edges->node[edges->count++] = other;
        }
    }
    edges->first[groups] = edges->count;
}

static emp_node_edges add_edges(emp_arrays *arrays, size_t groups)
{
    return (emp_node_edges){.first = EMP_ADD_ARRAY(arrays, int32_t, groups + 1),
                            .node = EMP_ADD_ARRAY(arrays, int32_t, groups * READS),
                            .bytes = EMP_ADD_ARRAY(arrays, int64_t, groups * READS)};
}

static emp_status create_graph(emp_node_graph **out, int32_t groups, emp_rng *rng,
                               emp_error *err)
{
    const size_t    count = (size_t)groups;
    emp_node_graph *g = *out = EMP_NEW(emp_node_graph);

    if (g == NULL) return EMP_ERROR(EMP_ENOMEM, "%d groups", groups);
    g->node_count = g->op_count = groups;
    g->device_count = DEVICES;
    g->predecessors = add_edges(&g->arrays, count);
    g->successors = add_edges(&g->arrays, count);
    g->order = EMP_ADD_ARRAY(&g->arrays, int32_t, count);
    g->time_s = EMP_ADD_ARRAY(&g->arrays, double, count *DEVICES);
    g->output_bytes = EMP_ADD_ARRAY(&g->arrays, int64_t, count);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d groups", groups);
    connect(&g->predecessors, groups, -1);
    connect(&g->successors, groups, 1);
    for (int32_t v = 0; v < groups; v++) {
        g->order[v] = v;
        g->output_bytes[v] = 1 + emp_rng_below(rng, 1000);
    }
    for (size_t i = 0; i < count * DEVICES; i++) g->time_s[i] = emp_rng_uniform(rng);
    return EMP_OK;
}

/* Of the first parameters: messages add up over passes, and odds shall not be so far apart that some
 * are 0 in 32 bits. */
static const emp_real GAIN = (emp_real)0.6;

/* An episode as it might have been. Weights are above 0, so that the loss is not near it. */
static void make_up(emp_placeto_agent *a, emp_rng *rng)
{
    const int32_t groups = a->graph->node_count;
    emp_params   *p = &a->net.params;

    for (size_t i = 0; i < p->count; i++) p->value[i] *= GAIN;

    a->rollouts = 1;
    for (int32_t t = 0; t < groups; t++) {
        a->start.device[t] = (int32_t)emp_rng_below(rng, DEVICES);
        a->action[t] = (int32_t)emp_rng_below(rng, DEVICES);
        a->weight[t] = (float)(0.5 + emp_rng_uniform(rng));
    }
    for (int64_t i = 0; i < (int64_t)groups * groups; i++)
        a->time_s[i] = (emp_real)emp_rng_uniform(rng);
}

emp_status emp_stand_placeto_init(emp_stand_placeto *s, int32_t groups, emp_rng *rng,
                                  emp_error *err)
{
    static const emp_device_id devices[DEVICES] = {0, 1, 2, 3};
    const emp_placeto_options  options = {.rollouts = 1, .passes = PASSES, .window = 1};
    emp_node_graph            *graph = NULL;

    *s = (emp_stand_placeto){0};
    const emp_status st = create_graph(&graph, groups, rng, err);
    if (st != EMP_OK) {
        emp_node_graph_destroy(graph);
        return st;
    }
    EMP_CHECK(emp_placeto_agent_init(&s->agent, graph, devices, DEVICES, &options, 0,
                                     emp_rng_u32(rng), 1, err));
    make_up(&s->agent, rng);
    return EMP_OK;
}

void emp_stand_placeto_clear(emp_stand_placeto *s)
{
    emp_placeto_agent_clear(&s->agent);
    *s = (emp_stand_placeto){0};
}

/* ---- an update ---- */

/* The passes in which an episode gives each group its device. */
static void look(emp_placeto_agent *a)
{
    const int32_t groups = a->graph->node_count;

    memcpy(a->replayed, a->start.device, (size_t)groups * sizeof *a->replayed);
    for (int32_t t = 0; t < groups; t++) {
        emp_placeto_fill_states(a, t, a->replayed);
        emp_placeto_net_forward(&a->net, a->x, a->graph->order[t], a->rollouts);
        emp_categorical_softmax_rows(a->net.logits, DEVICES, a->rollouts, DEVICES);
        a->replayed[a->graph->order[t]] = a->action[t];
    }
}

double emp_stand_placeto_update(emp_stand_placeto *s, int32_t threads)
{
    emp_placeto_agent *a = &s->agent;

    a->net.shape.threads = a->net.params.threads = threads;
    look(a);
    emp_params_zero_gradient(&a->net.params);
    const double loss = emp_placeto_add_gradients(a, ENTROPY);
    emp_params_ascend(&a->net.params, CLIP, &ADAM);
    return loss;
}

/* ---- what a peer and the limit need to know ---- */

/* (groups, groups): 1 where the column's group is read by the row's. */
static void write_reads(const emp_node_graph *g, FILE *stream)
{
    fprintf(stream, "reads int %d %d\n", g->node_count, g->node_count);
    for (int32_t v = 0; v < g->node_count; v++)
        for (int32_t u = 0; u < g->node_count; u++) {
            int32_t does = 0;
            for (int32_t i = g->predecessors.first[v]; i < g->predecessors.first[v + 1];
                 i++)
                does |= g->predecessors.node[i] == u;
            fwrite(&does, sizeof does, 1, stream);
        }
}

void emp_stand_placeto_write(const emp_stand_placeto *s, FILE *stream)
{
    const emp_placeto_agent *a = &s->agent;
    const int32_t            groups = a->graph->node_count;

    fprintf(stream, "placeto lr=%g epsilon=%g clip=%g entropy=%g passes=%d devices=%d\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, ENTROPY, PASSES, DEVICES);
    emp_stand_write_parameters(stream, &a->net.params, 0);
    emp_stand_write_reals(stream, "cost", a->cost, 1, groups);
    emp_stand_write_reals(stream, "bytes", a->bytes, 1, groups);
    emp_stand_write_reals(stream, "time", a->time_s, groups, groups);
    emp_stand_write_ints(stream, "start", a->start.device, 1, groups);
    emp_stand_write_ints(stream, "action", a->action, 1, groups);
    emp_stand_write_doubles(stream, "weight", a->weight, 1, groups);
    write_reads(a->graph, stream);
}

/* Of a step: a map of width d meets each group in the input and in each pass, one of width 2d in
 * what is pooled; the head meets one. Forward twice, and two gradients. */
emp_stand_work emp_stand_placeto_work(const emp_stand_placeto *s)
{
    const double d = s->agent.net.shape.inputs, groups = s->agent.graph->node_count;
    const double narrow = (3.0 + 4.0 * EMP_PLACETO_DIRECTIONS * PASSES) * d * d;
    const double wide = 2.0 * EMP_PLACETO_RELATIONS * 4 * d * d;
    const double head =
        (8 * 16 + 16 * 8 + 2 * EMP_PLACETO_RELATIONS * 4) * d * d + 8 * d * DEVICES;

    return (emp_stand_work){.large_flops =
                                2 * 4 * groups * (groups * (narrow + wide) + head)};
}
