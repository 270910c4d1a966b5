// SPDX-License-Identifier: GPL-3.0-or-later
/* Do graph networks see of a problem what node_graph.h says? On every workload and on many
 * random graphs: each op that may move is in one node, nodes are as few as asked, flows form no
 * cycle, and bytes and times add up to those of the ops. */
#include "base/rng.h"
#include "policy/features/node_graph.h"
#include "policy/features/op_features.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

EMP_OWNS(emp_node_graph, emp_node_graph_destroy)
#define OWN_NODES EMP_OWNER(emp_node_graph)

enum { RANDOM_GRAPHS = 200 };

static emp_node_graph *nodes_of(const emp_problem *p, int32_t max_nodes)
{
    emp_node_graph *n = NULL;

    MUST(emp_node_graph_create(&n, p, max_nodes, &why));
    return n;
}

/* ---- what must hold for all graphs ---- */

static void check_ops(const emp_node_graph *n, const emp_problem *p, int32_t max_nodes)
{
    const emp_graph *g = p->graph;
    emp_op_features *rows = NULL;
    int32_t         *seen = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    int32_t          lowest = -1;

    MUST(emp_op_features_create(&rows, p, NULL));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t row = g->op[op].is_folded ? -1 : rows->row_of_op[op];
        cr_assert_eq(n->node_of_op[op] >= 0, row >= 0, "op %d", op);
        if (row < 0) continue;
        cr_assert_eq(n->node_of_op[op], n->node_of_op[rows->op_of_row[row]],
                     "a class is in two nodes");
        if (max_nodes == 0) cr_assert_eq(n->node_of_op[op], row);
    }
    for (int32_t v = 0; v < n->node_count; v++) {
        cr_assert_gt(n->ops.member[n->ops.first[v]], lowest, "by lowest ops");
        lowest = n->ops.member[n->ops.first[v]];
        for (int32_t i = n->ops.first[v]; i < n->ops.first[v + 1]; i++) {
            cr_assert_eq(n->node_of_op[n->ops.member[i]], v);
            cr_assert_eq(seen[n->ops.member[i]]++, 0);
        }
    }
    for (emp_op_id op = 0; op < g->op_count; op++)
        cr_assert_eq(seen[op], n->node_of_op[op] >= 0);
    cr_assert_eq(n->node_count, max_nodes > 0 && max_nodes < rows->row_count
                                    ? max_nodes
                                    : rows->row_count);
    emp_op_features_destroy(rows);
    emp_free(seen);
}

static void check_order(const emp_node_graph *n)
{
    OWN_EMP_FREE int32_t *place = EMP_NEW_ARRAY(int32_t, (size_t)n->node_count);

    for (int32_t i = 0; i < n->node_count; i++) place[n->order[i]] += i + 1;
    for (int32_t v = 0; v < n->node_count; v++) {
        cr_assert(place[v] >= 1 && n->order[place[v] - 1] == v, "no permutation");
        for (int32_t i = n->successors.first[v]; i < n->successors.first[v + 1]; i++)
            cr_assert_gt(place[n->successors.node[i]], place[v], "a cycle");
    }
}

/* -1: they are not joined. */
static int32_t find_edge(const emp_node_edges *e, int32_t from, int32_t to)
{
    for (int32_t i = e->first[from]; i < e->first[from + 1]; i++)
        if (e->node[i] == to) return i;
    return -1;
}

/* Takes each tensor that crosses from one node to another off the bytes of edges that must
 * know it. */
typedef struct {
    const emp_node_graph *nodes;
    const emp_graph      *graph;
    int64_t              *forward, *back, *both; /* [edge] */
    int32_t              *position;              /* [class] its first op's */
} ledger;

static void take(int64_t *bytes, const emp_node_edges *e, int32_t from, int32_t to,
                 int64_t amount)
{
    int32_t at = find_edge(e, from, to);

    cr_assert_geq(at, 0, "%d and %d are not joined", from, to);
    bytes[at] -= amount;
}

static bool is_forward(const ledger *l, emp_op_id from, emp_op_id to)
{
    const emp_op *op = l->graph->op;

    return l->position[op[from].colocation_class] < l->position[op[to].colocation_class];
}

static void book(ledger *l, emp_op_id from, emp_op_id to, int64_t bytes, bool is_known,
                 bool is_known_forward)
{
    const emp_node_graph *n = l->nodes;
    int32_t               u = n->node_of_op[from], v = n->node_of_op[to];

    take(l->both, &n->neighbors, u, v, is_known ? 0 : bytes);
    take(l->both, &n->neighbors, v, u, is_known ? 0 : bytes);
    if (!is_forward(l, from, to)) return;
    take(l->forward, &n->successors, u, v, is_known_forward ? 0 : bytes);
    take(l->back, &n->predecessors, v, u, is_known_forward ? 0 : bytes);
}

static void book_tensor(ledger *l, emp_tensor_id t, int32_t *seen, int32_t *seen_forward)
{
    const emp_graph *g = l->graph;
    emp_op_id        from = g->tensor[t].producer;
    int32_t          u = l->nodes->node_of_op[from];

    for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1] && u >= 0;
         i++) {
        emp_op_id to = g->consumer[i];
        int32_t   v = l->nodes->node_of_op[to];
        if (v < 0 || v == u) continue;
        book(l, from, to, g->tensor[t].copy_bytes, seen[v] == t + 1,
             seen_forward[v] == t + 1);
        seen[v] = t + 1;
        if (is_forward(l, from, to)) seen_forward[v] = t + 1;
    }
}

static int64_t *copy_of(const emp_node_edges *e)
{
    int64_t *bytes = EMP_NEW_ARRAY(int64_t, (size_t)e->count);

    for (int32_t i = 0; i < e->count; i++) bytes[i] = e->bytes[i];
    return bytes;
}

static void expect_nothing_left(int64_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) cr_assert_eq(bytes[i], 0, "edge %d", i);
    emp_free(bytes);
}

static void find_positions(ledger *l)
{
    const emp_graph *g = l->graph;

    l->position = EMP_NEW_ARRAY(int32_t, (size_t)g->class_count);
    for (int32_t i = g->op_count - 1; i >= 0; i--)
        if (!g->op[g->topo[i]].is_folded)
            l->position[g->op[g->topo[i]].colocation_class] = i;
}

static void check_edges(const emp_node_graph *n, const emp_graph *g)
{
    OWN_EMP_FREE int32_t *seen = EMP_NEW_ARRAY(int32_t, (size_t)n->node_count);
    OWN_EMP_FREE int32_t *seen_forward = EMP_NEW_ARRAY(int32_t, (size_t)n->node_count);
    ledger                l = {.nodes = n,
                               .graph = g,
                               .forward = copy_of(&n->successors),
                               .back = copy_of(&n->predecessors),
                               .both = copy_of(&n->neighbors)};

    find_positions(&l);
    for (emp_tensor_id t = 0; t < g->tensor_count; t++)
        book_tensor(&l, t, seen, seen_forward);
    for (emp_op_id op = 0; op < g->op_count; op++)
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++) {
            int32_t u = n->node_of_op[g->control[i]], v = n->node_of_op[op];
            if (u >= 0 && v >= 0 && u != v) book(&l, g->control[i], op, 0, true, true);
        }
    expect_nothing_left(l.forward, n->successors.count);
    expect_nothing_left(l.back, n->predecessors.count);
    expect_nothing_left(l.both, n->neighbors.count);
    emp_free(l.position);
}

/* Every edge must come from one of the graph; together with check_edges(), which looks for
 * those of the graph, the two sets are equal. */
static void check_edges_exist(const emp_node_graph *n, const emp_graph *g)
{
    bool *is_met = EMP_NEW_ARRAY(bool, (size_t)n->neighbors.count);

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t v = n->node_of_op[op];
        int32_t inputs = g->input_offset[op + 1] - g->input_offset[op];
        int32_t controls = g->control_offset[op + 1] - g->control_offset[op];
        for (int32_t k = 0; k < inputs + controls && v >= 0; k++) {
            emp_op_id from = k < inputs
                                 ? g->tensor[g->input[g->input_offset[op] + k]].producer
                                 : g->control[g->control_offset[op] + k - inputs];
            int32_t   u = n->node_of_op[from];
            if (u < 0 || u == v) continue;
            is_met[find_edge(&n->neighbors, u, v)] = true;
            is_met[find_edge(&n->neighbors, v, u)] = true;
        }
    }
    for (int32_t i = 0; i < n->neighbors.count; i++) cr_assert(is_met[i]);
    for (int32_t v = 0; v < n->node_count; v++)
        for (int32_t i = n->successors.first[v]; i < n->successors.first[v + 1]; i++)
            cr_assert_geq(find_edge(&n->neighbors, v, n->successors.node[i]), 0);
    cr_assert_eq(n->successors.count, n->predecessors.count);
    emp_free(is_met);
}

static void check_sums(const emp_node_graph *n, const emp_problem *p)
{
    const emp_graph *g = p->graph;
    int64_t          persistent = 0, held = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (n->node_of_op[op] >= 0) persistent += g->op[op].persistent_bytes;
    for (int32_t v = 0; v < n->node_count; v++) held += n->persistent_bytes[v];
    cr_expect_eq(held, persistent);
    for (emp_device_id d = 0; d < n->device_count; d++) {
        double sum = 0.0, time = 0.0;
        for (emp_op_id op = 0; op < g->op_count; op++)
            if (n->node_of_op[op] >= 0)
                sum += 1e-9 * (double)emp_problem_op_time_ns(p, op, d);
        for (int32_t v = 0; v < n->node_count; v++)
            time += n->time_s[v * n->device_count + d];
        cr_expect(fabs(time - sum) <= 1e-9 * sum, "device %d: %g, not %g", d, time, sum);
    }
    for (int32_t v = 0; v < n->node_count; v++) {
        cr_expect_neq(n->devices[v], 0);
        cr_expect_eq(n->devices[v] >> n->device_count, 0);
    }
}

static void check(const emp_problem *p, int32_t max_nodes)
{
    OWN_NODES n = nodes_of(p, max_nodes);

    check_ops(n, p, max_nodes);
    check_order(n);
    check_edges(n, p->graph);
    check_edges_exist(n, p->graph);
    check_sums(n, p);
}

Test(node_graph, every_workload_is_seen_whole)
{
    static const char *const tasks[][3] = {{"inception_v3:batch=8", "k40x4", "tf-r1.3"},
                                           {"resnet:depth=50", "k40x2", "ideal"},
                                           {"rnnlm:layers=1,steps=5", "k40x4", "placeto"},
                                           {"nmt:layers=2,steps=4", "k40x4x2", "tf-r1.3"},
                                           {"nmt:layers=2,dynamic=1", "k40x4", "tf-r1.3"},
                                           {"giph:v=50,alpha=0.2", "giph", "edges"}};

    for (size_t i = 0; i < COUNT(tasks); i++) {
        OWN_TASK t;
        task_create(&t, tasks[i][0], tasks[i][1], tasks[i][2]);
        check(t.problem, 0);
        check(t.problem, 64);
        check(t.problem, 3);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

/* Random edges to later ops, some control-like returns through shared colors, several CPUs. */
static void draw_graph(task *t, uint64_t seed)
{
    static stated_op   ops[STATED_MAX_OPS];
    static stated_edge edges[STATED_MAX_EDGES];
    int32_t            edge_count = 0;
    emp_rng            rng;

    emp_rng_init(&rng, seed, 1, 0);
    int32_t  count = 2 + (int32_t)emp_rng_below(&rng, STATED_MAX_OPS - 1);
    uint32_t colors = 1 + emp_rng_below(&rng, 20), sparse = 1 + emp_rng_below(&rng, 4);
    for (int32_t v = 0; v < count; v++) {
        ops[v] = (stated_op){.gpu_us = emp_rng_below(&rng, 50),
                             .cpu_us = emp_rng_below(&rng, 500),
                             .copy_us = emp_rng_below(&rng, 9),
                             .bytes = emp_rng_below(&rng, 1000),
                             .is_cpu_only = emp_rng_below(&rng, 10) == 0};
        if (emp_rng_below(&rng, 4) == 0)
            ops[v].color = 1 + (int32_t)emp_rng_below(&rng, colors);
        for (uint32_t k = 0; v > 0 && k < emp_rng_below(&rng, 2 * sparse); k++)
            edges[edge_count++] =
                (stated_edge){(int32_t)emp_rng_below(&rng, (uint32_t)v), v};
    }
    task_create_stated(t, ops, count, edges, edge_count,
                       1 + (int32_t)emp_rng_below(&rng, 2), 2, INT64_C(1) << 40,
                       "msr-latency");
}

Test(node_graph, random_graphs_are_seen_whole)
{
    for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++) {
        OWN_TASK t;
        draw_graph(&t, seed);
        for (int32_t most = 0; most <= 16; most += 1 + most) check(t.problem, most);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

/* ---- one graph by hand ---- */

/* Two layers: their variables and reads are a row each, so are products and relus. */
Test(node_graph, a_layer_becomes_its_rows)
{
    OWN_TASK t;
    hand_graph_layers(&t, 2);
    OWN_NODES n = nodes_of(t.problem, 0);

    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        if (strncmp(t.graph->name[op], "product", 7) == 0) {
            int32_t v = n->node_of_op[op];
            cr_expect_eq(n->predecessors.first[v + 1] - n->predecessors.first[v], 2);
            cr_expect_eq(n->successors.first[v + 1] - n->successors.first[v], 1);
            cr_expect_eq(n->output_bytes[v],
                         t.graph->tensor[t.graph->output_offset[op]].copy_bytes);
        }
}

Test(node_graph, devices_of_nodes_become_those_of_their_ops)
{
    OWN_TASK t;
    hand_graph_layers(&t, 2);
    OWN_NODES     n = nodes_of(t.problem, 2);
    emp_device_id device_of_node[] = {1, 2}, device[64];

    for (emp_op_id op = 0; op < t.graph->op_count; op++) device[op] = 7;
    emp_node_graph_spread(n, device_of_node, device);
    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        cr_expect_eq(device[op],
                     n->node_of_op[op] < 0 ? 7 : device_of_node[n->node_of_op[op]]);
}

/* Few nodes share the work: none gets half as much again as its part and the longest op. */
Test(node_graph, merged_nodes_are_alike)
{
    OWN_TASK t;
    task_create(&t, "inception_v3:batch=8", "k40x4", "tf-r1.3");
    emp_node_graph *rows = nodes_of(t.problem, 0), *n = nodes_of(t.problem, 64);
    double          total = 0.0, longest = 0.0, most = 0.0;

    for (int32_t v = 0; v < rows->node_count; v++) {
        double time = rows->time_s[v * rows->device_count + 1];
        total += time;
        longest = fmax(longest, time);
    }
    for (int32_t v = 0; v < n->node_count; v++)
        most = fmax(most, n->time_s[v * n->device_count + 1]);
    cr_expect_lt(most, 2.0 * total / 64 + longest, "%g of %g", most, total);
    emp_node_graph_destroy(rows);
    emp_node_graph_destroy(n);
}

/* Classes whose numbers are equal modulo 5; each fifth group is left out. */
static int32_t *draw_groups(const emp_graph *g)
{
    int32_t *group = EMP_NEW_ARRAY(int32_t, (size_t)g->class_count);

    for (int32_t c = 0; c < g->class_count; c++) group[c] = c % 5 == 4 ? -1 : c % 5;
    return group;
}

/* Rows of a group that may use the same devices are one node, others stay by themselves; and though groups
 * form cycles, successors form none. */
static void check_groups(const emp_node_graph *n, const emp_graph *g,
                         const int32_t *group)
{
    for (int32_t v = 0; v < n->node_count; v++) {
        const int32_t first = g->op[n->ops.member[n->ops.first[v]]].colocation_class;
        for (int32_t i = n->ops.first[v]; i < n->ops.first[v + 1]; i++) {
            const int32_t own = g->op[n->ops.member[i]].colocation_class;
            cr_assert(own == first || (group[own] >= 0 && group[own] == group[first]));
        }
    }
    check_order(n);
}

Test(node_graph, groups_become_nodes)
{
    for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++) {
        OWN_TASK  t;
        OWN_NODES n = NULL;
        draw_graph(&t, seed);
        OWN_EMP_FREE int32_t *group = draw_groups(t.graph);
        OWN_NODES             rows = nodes_of(t.problem, 0);
        MUST(emp_node_graph_create_groups(&n, t.problem, group, &why));
        check_groups(n, t.graph, group);
        cr_expect_leq(n->node_count, rows->node_count);
        cr_expect_eq(n->ops.first[n->node_count], rows->ops.first[rows->node_count]);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

Test(node_graph, without_a_choice_there_is_no_node)
{
    stated_op       op = {.gpu_us = 1, .cpu_us = 1, .is_cpu_only = true};
    emp_node_graph *n = NULL;
    OWN_TASK        t;

    task_create_stated(&t, &op, 1, NULL, 0, 1, 1, 1000, "msr-latency");
    MUST_FAIL(emp_node_graph_create(&n, t.problem, 0, &why), EMP_EINVAL, "none of 1 ops");
    cr_expect_null(n);
}

/* With two CPUs but without GPUs' ops on them, ops of CPUs are nodes that nothing may join: as many as asked for, each with
 * a device, or none at all. */
Test(node_graph, nodes_without_a_common_device_stay_apart)
{
    emp_node_graph *few = NULL;
    int32_t         kept = 0;
    OWN_TASK        t;

    task_create(&t, "nmt:layers=2,steps=2", "k40x4x2", "tf-r1.3");
    MUST(emp_problem_forbid_cpus(t.problem, &kept, &why));
    cr_assert_gt(kept, 0);
    MUST_FAIL(emp_node_graph_create(&few, t.problem, 1, &why), EMP_EUNSUPPORTED,
              "at most 1 are asked for");
    cr_expect_null(few);
    OWN_NODES n = nodes_of(t.problem, 8);
    cr_expect_eq(n->node_count, 8);
    for (int32_t v = 0; v < n->node_count; v++) cr_expect_neq(n->devices[v], 0);
}

Test(node_graph, survives_every_allocation_failure)
{
    OWN_NODES n = NULL;
    OWN_TASK  t;

    hand_graph_layers(&t, 2);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_node_graph_create(&n, t.problem, 3, NULL), );
}
