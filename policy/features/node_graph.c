// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/node_graph.h"

#include <stdlib.h>

#include "base/collections.h"
#include "base/mem.h"
#include "policy/features/op_features.h"

/* An edge of the graph between two rows. */
typedef struct {
    int32_t from, to;
    int32_t tensor; /* -1: none, it is control */
    bool    is_forward;
} arc;

/* The state while nodes are made. */
typedef struct {
    const emp_problem *problem;
    emp_node_graph    *nodes;
    int32_t            row_count, arc_count;
    const int32_t     *group_of_class; /* NULL: rows are not grouped */
    int32_t           *row_of_class;
    int32_t           *position; /* [row]; later of the lowest row of each node */
    int32_t           *node_of_row;
    arc               *arcs, *scratch; /* [arc], [2 arcs] */
    emp_arrays         arrays;
} builder;

/* -1: of no row. */
static int32_t row_of_op(const builder *b, emp_op_id op)
{
    const emp_op *o = &b->problem->graph->op[op];

    return o->is_folded ? -1 : b->row_of_class[o->colocation_class];
}

/* ---- rows and arcs ---- */

static emp_status number_rows(builder *b, emp_error *err)
{
    const emp_graph *g = b->problem->graph;

    b->row_of_class = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)g->class_count);
    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "rows of %d ops", g->op_count);
    b->row_count = emp_rows_number(b->problem, b->row_of_class, NULL);
    if (b->row_count == 0)
        return EMP_ERROR(EMP_EINVAL, "none of %d ops has a choice of devices",
                         g->op_count);
    b->position = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)b->row_count);
    b->node_of_row = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)b->row_count);
    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d rows", b->row_count);
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        int32_t row = row_of_op(b, g->topo[i]);
        if (row >= 0) b->position[row] = i;
    }
    return EMP_OK;
}

static void add_arc(builder *b, emp_op_id from, emp_op_id to, int32_t tensor)
{
    int32_t u = row_of_op(b, from), v = row_of_op(b, to);

    if (u < 0 || v < 0 || u == v) return;
    b->arcs[b->arc_count++] = (arc){u, v, tensor, b->position[u] < b->position[v]};
}

static emp_status list_arcs(builder *b, emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    size_t           most = (size_t)g->edge_count + (size_t)g->control_edge_count;

    b->arcs = EMP_ADD_ARRAY(&b->arrays, arc, most);
    b->scratch = EMP_ADD_ARRAY(&b->arrays, arc, 2 * most);
    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu edges of rows", most);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
            add_arc(b, g->tensor[g->input[i]].producer, op, g->input[i]);
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            add_arc(b, g->control[i], op, -1);
    }
    return EMP_OK;
}

/* ---- edges in compressed rows ---- */

static int compare_arcs(const void *left, const void *right)
{
    const arc *l = (const arc *)left, *r = (const arc *)right;

    if (l->from != r->from) return l->from < r->from ? -1 : 1;
    if (l->to != r->to) return l->to < r->to ? -1 : 1;
    return (l->tensor > r->tensor) - (l->tensor < r->tensor);
}

typedef enum { SUCCESSORS = 1, PREDECESSORS = 2, NEIGHBORS = 3 } direction;

/* Sorts into scratch the arcs between nodes that the direction asks for; returns how many. */
static int32_t select_arcs(builder *b, direction way)
{
    int32_t count = 0;

    for (int32_t i = 0; i < b->arc_count; i++) {
        arc     a = b->arcs[i];
        int32_t u = b->node_of_row[a.from], v = b->node_of_row[a.to];
        if (u == v || (way != NEIGHBORS && !a.is_forward)) continue;
        if (way & SUCCESSORS) b->scratch[count++] = (arc){u, v, a.tensor, true};
        if (way & PREDECESSORS) b->scratch[count++] = (arc){v, u, a.tensor, true};
    }
    qsort(b->scratch, (size_t)count, sizeof *b->scratch, compare_arcs);
    return count;
}

static bool is_same_edge(const arc *a, const arc *b)
{
    return a->from == b->from && a->to == b->to;
}

static emp_status list_edges(emp_node_edges *e, emp_arrays *arrays, builder *b,
                             int32_t node_count, direction way, emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    const arc       *a = b->scratch;
    int32_t          arcs = select_arcs(b, way);

    *e = (emp_node_edges){0};
    for (int32_t i = 0; i < arcs; i++)
        e->count += i == 0 || !is_same_edge(&a[i], &a[i - 1]);
    e->first = EMP_ADD_ARRAY(arrays, int32_t, (size_t)node_count + 1);
    e->node = EMP_ADD_ARRAY(arrays, int32_t, (size_t)e->count);
    e->bytes = EMP_ADD_ARRAY(arrays, int64_t, (size_t)e->count);
    if (arrays->is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d edges of %d nodes", e->count, node_count);
    for (int32_t i = 0, at = -1; i < arcs; i++) {
        bool is_new = i == 0 || !is_same_edge(&a[i], &a[i - 1]);
        if (is_new) {
            e->node[++at] = a[i].to;
            e->first[a[i].from + 1] = at + 1;
        }
        if (a[i].tensor >= 0 && (is_new || a[i].tensor != a[i - 1].tensor))
            e->bytes[at] += g->tensor[a[i].tensor].copy_bytes;
    }
    for (int32_t v = 0; v < node_count; v++)
        if (e->first[v + 1] < e->first[v]) e->first[v + 1] = e->first[v];
    return EMP_OK;
}

/* ---- merging ---- */

/* The nodes of a directed acyclic graph are merged until there are few enough, and no cycle is closed.
 *
 * With nodes in a topological order, these two may become one:
 *
 *  - a node and the first of its successors, which then stand at the successor's place;
 *  - a node and the last of its predecessors, which then stand at the predecessor's place.
 *
 * A cycle would need another path between the two, and it would have to pass a node that stands
 * between them. Both rules hold where a node has one successor, or one predecessor: those
 * are the rules by which Baechi fuses ops (Jeon et al., SoCC 2020). Nodes without any edge left
 * may join each other.
 *
 * From the two, a node takes the neighbour with which it exchanges more bytes. A limit on the load
 * of what is merged keeps nodes alike. It begins below the mean load that is wanted, and grows
 * when nothing below it is left to merge. Nodes that may use different devices merge last, and those
 * without a common one never. */

typedef struct {
    int32_t               node_count;
    const emp_node_edges *successors, *predecessors;
    const double         *load;    /* [node] not negative */
    const uint64_t       *devices; /* [node] as in emp_node_graph */
} merge_input;

static const double FIRST_LIMIT = 0.25; /* of the mean load that is wanted */
static const double GROWTH = 1.5;

enum { NONE = -1 };

/* Sets of nodes, each a list that begins at its root. */
typedef struct {
    const merge_input *in;
    int32_t           *parent;      /* [node] */
    int32_t           *next, *last; /* [node] of the lists */
    double            *load;        /* [root] */
    uint64_t          *devices;     /* [root] */
    int32_t           *position;    /* [root] */
    int32_t           *order;       /* nodes by their first positions */
    int32_t            set_count, max_sets;
    double             limit;
    bool               mixes; /* sets that may use different devices, too */
    emp_arrays         arrays;
} merging;

/* A set next to another one, and the bytes between them. */
typedef struct {
    int32_t root; /* NONE: there is none */
    int64_t bytes;
} neighbor;

/* The first successor, with sign 1, or the last predecessor, with sign -1. */
static neighbor nearest(merging *m, int32_t root, const emp_node_edges *edges,
                        int32_t sign)
{
    neighbor best = {NONE, 0};

    for (int32_t v = root; v != NONE; v = m->next[v]) {
        for (int32_t i = edges->first[v]; i < edges->first[v + 1]; i++) {
            int32_t other = emp_disjoint_root(m->parent, edges->node[i]);
            if (other == root) continue;
            if (best.root == NONE ||
                sign * m->position[other] < sign * m->position[best.root])
                best = (neighbor){other, 0};
            if (other == best.root) best.bytes += edges->bytes[i];
        }
    }
    return best;
}

static bool may_join(const merging *m, int32_t a, int32_t b)
{
    return m->load[a] + m->load[b] <= m->limit &&
           (m->mixes ? (m->devices[a] & m->devices[b]) != 0
                     : m->devices[a] == m->devices[b]);
}

/* The set then stands at the place of the second. */
static void join(merging *m, int32_t a, int32_t b)
{
    int32_t root = a < b ? a : b, other = a < b ? b : a;

    m->position[root] = m->position[b];
    m->parent[other] = root;
    m->next[m->last[root]] = other;
    m->last[root] = m->last[other];
    m->load[root] += m->load[other];
    m->devices[root] &= m->devices[other];
    m->set_count--;
}

/* Joins the set to one beside it if it may; without any, to the one before that had none. */
static bool try_join(merging *m, int32_t root, int32_t *lone)
{
    neighbor after = nearest(m, root, m->in->successors, 1);
    neighbor before = nearest(m, root, m->in->predecessors, -1);
    int32_t  into = NONE;

    if (after.root != NONE && may_join(m, root, after.root)) into = after.root;
    if (before.root != NONE && may_join(m, root, before.root) &&
        (into == NONE || before.bytes > after.bytes))
        into = before.root;
    if (after.root == NONE && before.root == NONE) {
        if (*lone != NONE && may_join(m, root, *lone)) into = *lone;
        *lone = into == NONE ? root : NONE;
    }
    if (into != NONE) join(m, root, into);
    return into != NONE;
}

static bool run_round(merging *m)
{
    bool    has_changed = false;
    int32_t lone = NONE;

    for (int32_t i = 0; i < m->in->node_count && m->set_count > m->max_sets; i++) {
        int32_t root = m->order[i];
        if (m->parent[root] != root) continue;
        if (try_join(m, root, &lone)) has_changed = true;
    }
    return has_changed;
}

/* Until there are few enough sets, or no two may join. */
static void run(merging *m, double total)
{
    m->limit = FIRST_LIMIT * total / m->max_sets;
    while (m->set_count > m->max_sets) {
        if (run_round(m)) continue;
        if (m->mixes) return;
        if (m->limit >= 2.0 * total) /* all of them, whatever the rounding */
            m->mixes = true;
        else
            m->limit = GROWTH * m->limit;
    }
}

typedef struct {
    int32_t position, node;
} place;

static int by_position(const void *left, const void *right)
{
    int32_t l = ((const place *)left)->position, r = ((const place *)right)->position;

    return (l > r) - (l < r);
}

static emp_status start(merging *m, emp_error *err)
{
    size_t count = (size_t)m->in->node_count;
    place *places = EMP_ADD_ARRAY(&m->arrays, place, count);

    m->next = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    m->last = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    m->load = EMP_ADD_ARRAY(&m->arrays, double, count);
    m->devices = EMP_ADD_ARRAY(&m->arrays, uint64_t, count);
    m->order = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    if (m->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "merging of %d nodes", m->in->node_count);
    emp_disjoint_init(m->parent, m->in->node_count);
    for (int32_t v = 0; v < m->in->node_count; v++) {
        m->next[v] = NONE;
        m->last[v] = v;
        m->load[v] = m->in->load[v];
        m->devices[v] = m->in->devices[v];
        places[v] = (place){m->position[v], v};
    }
    qsort(places, count, sizeof *places, by_position);
    for (size_t i = 0; i < count; i++) m->order[i] = places[i].node;
    return EMP_OK;
}

/* \param max_nodes  At least 1; at most so many nodes are left, and exactly so many if there
 *                   were more.
 * \param[in,out] position  [node] different numbers in a topological order; of the lowest
 *                          member of each merged node, the merged node's.
 * \param[out] merged       [node] the lowest member of the merged node that it is in.
 * O(V + E) a round; the limit grows O(log max_nodes) times, with a few rounds each.
 * \retval EMP_EUNSUPPORTED  More are left, as neighbours have no common device. \retval EMP_ENOMEM */
static emp_status merge_nodes(const merge_input *input, int32_t max_nodes,
                              int32_t *position, int32_t *merged, emp_error *err)
{
    emp_status st = EMP_OK;
    double     total = 0.0;
    merging    m = {.in = input,
                    .parent = merged,
                    .position = position,
                    .set_count = input->node_count,
                    .max_sets = max_nodes};

    EMP_TRY(start(&m, err));
    for (int32_t v = 0; v < input->node_count; v++) total += input->load[v];
    run(&m, total);
    if (m.set_count > max_nodes)
        EMP_FAIL(
            EMP_EUNSUPPORTED,
            "merging leaves %d nodes, whose ops may use no device that those beside them "
            "may use, too; at most %d are asked for",
            m.set_count, max_nodes);
    for (int32_t v = 0; v < input->node_count; v++)
        merged[v] = emp_disjoint_root(m.parent, v);

cleanup:
    emp_arrays_clear(&m.arrays);
    return st;
}

/* ---- from rows to nodes ---- */

static uint64_t devices_of_op(const emp_problem *p, emp_op_id op)
{
    uint32_t kinds = p->kinds_of_class[p->graph->op[op].colocation_class];
    uint64_t devices = 0;

    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        bool is_gpu = p->machine->device[d].kind == EMP_DEVICE_GPU;
        if (kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)) devices |= UINT64_C(1) << d;
    }
    return devices;
}

static double time_of_op(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    return 1e-9 * (double)emp_problem_op_time_ns(p, op, device);
}

/* The weight of rows when they are merged: their time where they run fastest. */
static void weigh_rows(const builder *b, double *load, uint64_t *devices)
{
    const emp_problem *p = b->problem;

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        int32_t row = row_of_op(b, op);
        double  least = -1.0;
        if (row < 0) continue;
        devices[row] = devices_of_op(p, op);
        for (emp_device_id d = 0; d < p->machine->device_count; d++) {
            double time = time_of_op(p, op, d);
            if (devices[row] >> d & 1 && (least < 0.0 || time < least)) least = time;
        }
        load[row] += least;
    }
}

static emp_status merge_rows(builder *b, int32_t max_nodes, emp_error *err)
{
    emp_node_edges successors, predecessors;
    size_t         rows = (size_t)b->row_count;
    double        *load = EMP_ADD_ARRAY(&b->arrays, double, rows);
    uint64_t      *devices = EMP_ADD_ARRAY(&b->arrays, uint64_t, rows);

    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d rows", b->row_count);
    weigh_rows(b, load, devices);
    EMP_CHECK(list_edges(&successors, &b->arrays, b, b->row_count, SUCCESSORS, err));
    EMP_CHECK(list_edges(&predecessors, &b->arrays, b, b->row_count, PREDECESSORS, err));
    return merge_nodes(&(merge_input){.node_count = b->row_count,
                                      .successors = &successors,
                                      .predecessors = &predecessors,
                                      .load = load,
                                      .devices = devices},
                       max_nodes, b->position, b->node_of_row, err);
}

/* Numbers nodes by their lowest rows, whose positions move up with them. */
static int32_t number_nodes(builder *b)
{
    int32_t count = 0;

    for (int32_t r = 0; r < b->row_count; r++) {
        bool is_lowest = b->node_of_row[r] == r;
        if (is_lowest) b->position[count] = b->position[r];
        b->node_of_row[r] = is_lowest ? count++ : b->node_of_row[b->node_of_row[r]];
    }
    return count;
}

/* ---- what is known of nodes ---- */

static emp_status allocate(emp_node_graph *n, emp_error *err)
{
    size_t nodes = (size_t)n->node_count, devices = (size_t)n->device_count;

    n->node_of_op = EMP_ADD_ARRAY(&n->arrays, int32_t, (size_t)n->op_count);
    n->order = EMP_ADD_ARRAY(&n->arrays, int32_t, nodes);
    n->devices = EMP_ADD_ARRAY(&n->arrays, uint64_t, nodes);
    n->time_s = EMP_ADD_ARRAY(&n->arrays, double, nodes *devices);
    n->output_bytes = EMP_ADD_ARRAY(&n->arrays, int64_t, nodes);
    n->persistent_bytes = EMP_ADD_ARRAY(&n->arrays, int64_t, nodes);
    if (n->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d nodes", n->node_count);
    return EMP_OK;
}

static void sort_nodes(const builder *b, int32_t *node_at_position)
{
    emp_node_graph *n = b->nodes;
    int32_t         at = 0;

    for (int32_t i = 0; i < n->op_count; i++) node_at_position[i] = -1;
    for (int32_t v = 0; v < n->node_count; v++) node_at_position[b->position[v]] = v;
    for (int32_t i = 0; i < n->op_count; i++)
        if (node_at_position[i] >= 0) n->order[at++] = node_at_position[i];
}

static bool is_read_outside(const emp_node_graph *n, const emp_graph *g,
                            emp_tensor_id tensor, int32_t node)
{
    for (int32_t i = g->consumer_offset[tensor]; i < g->consumer_offset[tensor + 1]; i++)
        if (n->node_of_op[g->consumer[i]] != node && !g->op[g->consumer[i]].is_folded)
            return true;
    return false;
}

static void describe_op(emp_node_graph *n, const emp_problem *p, emp_op_id op)
{
    const emp_graph *g = p->graph;
    int32_t          v = n->node_of_op[op];

    n->devices[v] &= devices_of_op(p, op);
    for (emp_device_id d = 0; d < n->device_count; d++)
        n->time_s[(size_t)v * (size_t)n->device_count + (size_t)d] +=
            time_of_op(p, op, d);
    n->persistent_bytes[v] += g->op[op].persistent_bytes;
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        if (is_read_outside(n, g, t, v)) n->output_bytes[v] += g->tensor[t].copy_bytes;
}

static emp_status describe_nodes(builder *b, emp_error *err)
{
    emp_node_graph *n = b->nodes;
    int32_t        *scratch = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)n->op_count);

    EMP_CHECK(allocate(n, err));
    if (scratch == NULL) return EMP_ERROR(EMP_ENOMEM, "order of %d ops", n->op_count);
    sort_nodes(b, scratch);
    for (emp_op_id op = 0; op < n->op_count; op++) {
        int32_t row = row_of_op(b, op);
        n->node_of_op[op] = row < 0 ? -1 : b->node_of_row[row];
    }
    for (int32_t v = 0; v < n->node_count; v++) n->devices[v] = ~UINT64_C(0);
    for (emp_op_id op = 0; op < n->op_count; op++)
        if (n->node_of_op[op] >= 0) describe_op(n, b->problem, op);
    return emp_members_init(&n->ops, n->node_of_op, n->op_count, n->node_count, err);
}

/* ---- from rows to groups ---- */

/* A node is called by its lowest row, and stands where the first of its rows does. */
static emp_status gather_groups(builder *b, emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    const size_t     rows = (size_t)b->row_count;
    uint64_t        *devices = EMP_ADD_ARRAY(&b->arrays, uint64_t, rows);
    int32_t         *group_of_row = EMP_ADD_ARRAY(&b->arrays, int32_t, rows);
    int32_t         *lowest = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)g->class_count);

    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "groups of %zu rows", rows);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const int32_t row = row_of_op(b, op);
        if (row < 0) continue;
        devices[row] = devices_of_op(b->problem, op);
        group_of_row[row] = b->group_of_class[g->op[op].colocation_class];
    }
    for (int32_t c = 0; c < g->class_count; c++) lowest[c] = -1;
    for (int32_t r = 0; r < b->row_count; r++) {
        if (group_of_row[r] < 0) continue;
        int32_t *low = &lowest[group_of_row[r]];
        if (*low < 0) *low = r;
        if (devices[r] != devices[*low]) continue;
        b->node_of_row[r] = *low;
        if (b->position[r] < b->position[*low]) b->position[*low] = b->position[r];
    }
    return EMP_OK;
}

/* Arcs that led forward among rows may lead back among nodes. */
static void turn_arcs(builder *b)
{
    for (int32_t i = 0; i < b->arc_count; i++) {
        arc *a = &b->arcs[i];
        a->is_forward =
            b->position[b->node_of_row[a->from]] < b->position[b->node_of_row[a->to]];
    }
}

static emp_status build(builder *b, int32_t max_nodes, emp_error *err)
{
    emp_node_graph *n = b->nodes;

    EMP_CHECK(number_rows(b, err));
    EMP_CHECK(list_arcs(b, err));
    for (int32_t r = 0; r < b->row_count; r++) b->node_of_row[r] = r;
    if (max_nodes > 0 && b->row_count > max_nodes)
        EMP_CHECK(merge_rows(b, max_nodes, err));
    if (b->group_of_class != NULL) EMP_CHECK(gather_groups(b, err));
    n->node_count = number_nodes(b);
    if (b->group_of_class != NULL) turn_arcs(b);
    EMP_CHECK(list_edges(&n->successors, &n->arrays, b, n->node_count, SUCCESSORS, err));
    EMP_CHECK(
        list_edges(&n->predecessors, &n->arrays, b, n->node_count, PREDECESSORS, err));
    EMP_CHECK(list_edges(&n->neighbors, &n->arrays, b, n->node_count, NEIGHBORS, err));
    return describe_nodes(b, err);
}

static emp_status create(emp_node_graph **out, const emp_problem *problem,
                         int32_t max_nodes, const int32_t *group_of_class, emp_error *err)
{
    emp_status st = EMP_OK;
    builder    b = {.problem = problem,
                    .nodes = EMP_NEW(emp_node_graph),
                    .group_of_class = group_of_class};

    *out = NULL;
    if (b.nodes == NULL)
        EMP_FAIL(EMP_ENOMEM, "nodes of %d ops", problem->graph->op_count);
    b.nodes->op_count = problem->graph->op_count;
    b.nodes->device_count = problem->machine->device_count;
    EMP_TRY(build(&b, max_nodes, err));
    *out = b.nodes;
    b.nodes = NULL;

cleanup:
    emp_arrays_clear(&b.arrays);
    emp_node_graph_destroy(b.nodes);
    return st;
}

emp_status emp_node_graph_create(emp_node_graph **out, const emp_problem *problem,
                                 int32_t max_nodes, emp_error *err)
{
    return create(out, problem, max_nodes, NULL, err);
}

emp_status emp_node_graph_create_groups(emp_node_graph **out, const emp_problem *problem,
                                        const int32_t *group_of_class, emp_error *err)
{
    return create(out, problem, 0, group_of_class, err);
}

void emp_node_graph_destroy(emp_node_graph *graph)
{
    if (graph == NULL) return;
    emp_members_clear(&graph->ops);
    emp_arrays_clear(&graph->arrays);
    emp_free(graph);
}

void emp_node_graph_spread(const emp_node_graph *graph,
                           const emp_device_id  *device_of_node,
                           emp_device_id        *device_of_op)
{
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (graph->node_of_op[op] >= 0)
            device_of_op[op] = device_of_node[graph->node_of_op[op]];
}
