// SPDX-License-Identifier: GPL-3.0-or-later
/* The random graphs of GiPH (Hu et al., MLSys 2023): layers of nodes, each of which reads any
 * earlier node with one probability, as env/utils.py of its repository draws them. Every op states
 * its time on a device of speed 1, every edge its bytes; nothing is said of memory. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/random.h"
#include "graphs/workloads/workloads_internal.h"
#include "sim/graph/graph_builder.h"

enum { NODES, ALPHA, DENSITY, TYPES, COMPUTE, BYTES, B_COMPUTE, B_BYTES, SEED };

/* Nanoseconds in GiPH's unit of time and bytes in its unit of size, large enough that rounding does not count. */
enum { NS_PER_UNIT = 1000000, BYTES_PER_UNIT = 1000000 };

const char emp_giph_description[] = "GiPH's random layered graphs, with stated costs; "
                                    "for --machine giph, --runtime edges";

const emp_option emp_giph_params[] = {
    EMP_WORKLOAD_NUMBER(NODES, "v", 1, 500, "nodes, about", 15),
    EMP_WORKLOAD_REAL(ALPHA, "alpha", 0.05, 1, "shape: about sqrt(v) / alpha layers",
                      0.2),
    EMP_WORKLOAD_REAL(DENSITY, "p", 0, 1, "probability of an edge from an earlier node",
                      0.1),
    EMP_WORKLOAD_NUMBER(TYPES, "types", 1, 1000,
                        "kinds of hardware that ops are drawn to need: their type", 5),
    EMP_WORKLOAD_NUMBER(COMPUTE, "compute", 1, 100000, "mean ms of an op at speed 1",
                        100),
    EMP_WORKLOAD_NUMBER(BYTES, "bytes", 0, 100000, "mean MB of an edge", 100),
    EMP_WORKLOAD_REAL(B_COMPUTE, "b_compute", 0, 2, "width of the times over their mean",
                      0.4),
    EMP_WORKLOAD_REAL(B_BYTES, "b_bytes", 0, 2, "width of the bytes over their mean",
                      0.4),
    EMP_WORKLOAD_NUMBER(SEED, "seed", 0, 2147483647, "of the random numbers", 0),
    EMP_NO_OPTION};

typedef struct {
    int32_t from, to, next; /* of the same `from`, or -1 */
    int64_t bytes;
} edge;

typedef struct {
    emp_arrays  arrays;
    emp_mt19937 numpy, python;
    int32_t     layer_count, node_count, edge_count;
    int32_t    *first;       /* [layer + 1] node */
    int32_t    *in, *out;    /* [node] degrees */
    bool       *is_edge;     /* [from * node_count + to] */
    int32_t    *head, *tail; /* [node] its edges, as they were added; -1 = none */
    edge       *edge;
} drawing;

/* The number that an option gives in millionths: of six decimals, the one that was written. */
static double real_of(int64_t millionths) { return (double)millionths / 1e6; }

/* ---- structure ---- */

static emp_status draw_layers(drawing *g, const int64_t *v, emp_error *err)
{
    double root = sqrt((double)v[NODES]), alpha = real_of(v[ALPHA]);
    double height = root / alpha, width = alpha * root;

    g->layer_count =
        (int32_t)ceil(emp_mt19937_between(&g->numpy, height * 0.8, height * 1.2)) + 2;
    g->first = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)g->layer_count + 1);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d layers", g->layer_count);
    g->node_count = 1; /* the source is layer 0 */
    for (int32_t layer = 1; layer <= g->layer_count; layer++) {
        g->first[layer] = g->node_count;
        if (layer < g->layer_count - 1)
            g->node_count +=
                (int32_t)ceil(emp_mt19937_between(&g->numpy, 0.0, 2.0 * width));
        if (layer == g->layer_count - 1) g->node_count++; /* the sink */
    }
    return EMP_OK;
}

static emp_status allocate(drawing *g, emp_error *err)
{
    size_t nodes = (size_t)g->node_count;

    g->in = EMP_ADD_ARRAY(&g->arrays, int32_t, nodes);
    g->out = EMP_ADD_ARRAY(&g->arrays, int32_t, nodes);
    g->head = EMP_ADD_ARRAY(&g->arrays, int32_t, nodes);
    g->tail = EMP_ADD_ARRAY(&g->arrays, int32_t, nodes);
    g->is_edge = EMP_ADD_ARRAY(&g->arrays, bool, nodes *nodes);
    g->edge = EMP_ADD_ARRAY(&g->arrays, edge, nodes * nodes / 2 + 1);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d nodes", g->node_count);
    for (int32_t i = 0; i < g->node_count; i++) g->head[i] = g->tail[i] = -1;
    return EMP_OK;
}

static void add_edge(drawing *g, int32_t from, int32_t to)
{
    bool *is_there = &g->is_edge[(size_t)from * (size_t)g->node_count + (size_t)to];

    if (*is_there) return;
    *is_there = true;
    g->out[from]++;
    g->in[to]++;
    g->edge[g->edge_count] = (edge){.from = from, .to = to, .next = -1};
    if (g->head[from] < 0)
        g->head[from] = g->edge_count;
    else
        g->edge[g->tail[from]].next = g->edge_count;
    g->tail[from] = g->edge_count++;
}

/* Nodes of layer 1 and on read what comes before their layer. */
static void draw_edges(drawing *g, double density)
{
    for (int32_t layer = 1; layer < g->layer_count - 1; layer++) {
        for (int32_t to = g->first[layer]; to < g->first[layer + 1]; to++) {
            for (int32_t from = 0; from < g->first[layer]; from++)
                if (emp_mt19937_uniform(&g->numpy) < density) add_edge(g, from, to);
        }
    }
}

/* A node from \a low on, below \a high. */
static int32_t choose(drawing *g, int32_t low, int32_t high)
{
    uint32_t count = (uint32_t)(high - low);

    return low + (int32_t)emp_mt19937_below_python(&g->python, count);
}

/* Makes the graph as deep as it has layers: one node of each is on the path. */
static void force_path(drawing *g)
{
    int32_t last = choose(g, 0, 1);

    for (int32_t layer = 1; layer < g->layer_count; layer++) {
        int32_t node = choose(g, g->first[layer], g->first[layer + 1]);
        add_edge(g, last, node);
        last = node;
    }
}

static void repair_degrees(drawing *g)
{
    for (int32_t layer = 1; layer < g->layer_count - 1; layer++) {
        for (int32_t i = g->first[layer]; i < g->first[layer + 1]; i++) {
            if (g->out[i] == 0)
                add_edge(g, i, choose(g, g->first[layer + 1], g->node_count));
            if (g->in[i] == 0) add_edge(g, choose(g, 0, g->first[layer]), i);
        }
    }
}

/* ---- costs ---- */

static double draw_cost(drawing *g, int64_t mean, double width)
{
    return emp_mt19937_between(&g->numpy, (double)mean * (1 - width / 2),
                               (double)mean * (1 + width / 2));
}

static emp_status add_op(emp_graph_builder *b, drawing *g, const int64_t *v, int32_t node,
                         emp_error *err)
{
    double        compute = draw_cost(g, v[COMPUTE], real_of(v[B_COMPUTE]));
    int64_t       ns = llround(compute * NS_PER_UNIT);
    emp_stated_op stated = {
        .cost = {.gpu_ns = ns, .cpu_ns = ns, .copy_ns = -1, .colocation = -1},
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU};
    char      name[32], type[32];
    emp_op_id op;

    snprintf(name, sizeof name, "node%d", node);
    snprintf(type, sizeof type, "Type%u",
             emp_mt19937_below_numpy(&g->numpy, (uint32_t)v[TYPES]));
    return emp_graph_builder_state(b, name, type, &stated, &op, err);
}

/* Bytes are of edges, so a node has a result for each of its edges. */
static emp_status add_results(emp_graph_builder *b, drawing *g, const int64_t *v,
                              int32_t node, emp_error *err)
{
    double  width = real_of(v[B_BYTES]);
    int32_t number = 0;

    for (int32_t i = g->head[node]; i >= 0; i = g->edge[i].next) {
        int64_t bytes = llround(draw_cost(g, v[BYTES], width) * BYTES_PER_UNIT);
        EMP_CHECK(emp_graph_builder_state_result(b, node, number, bytes, err));
        EMP_CHECK(
            emp_graph_builder_connect(b, (emp_port){node, number++}, g->edge[i].to, err));
    }
    return EMP_OK;
}

static emp_status build_ops(emp_graph_builder *b, drawing *g, const int64_t *v,
                            emp_error *err)
{
    emp_mt19937_seed_numpy(&g->numpy, (uint32_t)v[SEED]); /* as the program does, again */
    for (int32_t i = 0; i < g->node_count; i++) EMP_CHECK(add_op(b, g, v, i, err));
    for (int32_t i = 0; i < g->node_count; i++) EMP_CHECK(add_results(b, g, v, i, err));
    emp_graph_builder_set_target(b, g->node_count - 1);
    return EMP_OK;
}

emp_status emp_giph_build(const int64_t *v, emp_graph **out, emp_error *err)
{
    emp_status         st = EMP_OK;
    drawing            g = {0};
    emp_graph_builder *b = NULL;

    *out = NULL;
    emp_mt19937_seed_numpy(&g.numpy, (uint32_t)v[SEED]);
    emp_mt19937_seed_python(&g.python, (uint32_t)v[SEED]);
    EMP_TRY(draw_layers(&g, v, err));
    EMP_TRY(allocate(&g, err));
    draw_edges(&g, real_of(v[DENSITY]));
    force_path(&g);
    repair_degrees(&g);
    EMP_TRY(emp_graph_builder_create(&b, err));
    EMP_TRY(build_ops(b, &g, v, err));
    EMP_TRY(emp_graph_builder_finish(b, out, err));

cleanup:
    emp_graph_builder_destroy(b);
    emp_arrays_clear(&g.arrays);
    return st;
}
