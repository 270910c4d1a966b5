// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/transferable.h"

#include <math.h>
#include <string.h>

/* The numbers of a node, in this order. */
enum {
    OUTPUT_BYTES,
    DIMS, /* of the first output of its first op */
    TIME_FIRST = DIMS + 4,
    TIME_LAST,  /* on the CPU and on the last device */
    TIME_SHARE, /* of all nodes' time there */
    IN_DEGREE,
    OUT_DEGREE,
    TOP_LEVEL, /* longest path to it, over the longest of all; with transfers */
    BOTTOM_LEVEL,
    DEPTH, /* the same in nodes */
    HEIGHT,
    POSITION,
    PERSISTENT_BYTES,
    PERSISTENT_SHARE, /* of the last device's memory */
    OPS,
    HAS_GPU_KERNEL,
    CLASS,
    GPUS = CLASS + EMP_TRANSFERABLE_CLASSES,
    LINK_TIME,
    MEMORY,
    LATENCY,
    COUNT
};
_Static_assert((int)COUNT == (int)EMP_TRANSFERABLE, "the header says how many there are");

typedef struct {
    const emp_node_graph *nodes;
    const emp_problem    *problem;
    emp_transferable     *features;
    emp_device_id         last;   /* a GPU where there is one */
    double s_per_byte, latency_s; /* between the first and the last device */
} builder;

static double logarithm(double x) { return log1p(x > 0.0 ? x : 0.0); }

static double time_on(const builder *b, int32_t node, emp_device_id device)
{
    return b->nodes->time_s[(int64_t)node * b->nodes->device_count + device];
}

/* ---- levels ---- */

typedef struct {
    double *level;
    bool    with_costs;
    bool    is_bottom;
} levels;

static double node_cost(const builder *b, const levels *l, int32_t node)
{
    return l->with_costs ? time_on(b, node, b->last) : 1.0;
}

static void raise_level(const builder *b, const levels *l, int32_t node)
{
    const emp_node_edges *e =
        l->is_bottom ? &b->nodes->successors : &b->nodes->predecessors;
    double most = 0.0;

    for (int32_t i = e->first[node]; i < e->first[node + 1]; i++) {
        double transfer =
            l->with_costs ? b->latency_s + b->s_per_byte * (double)e->bytes[i] : 0.0;
        most = fmax(most, l->level[e->node[i]] + transfer);
    }
    l->level[node] = most + node_cost(b, l, node);
}

/* Into one column, over the largest. */
static void write_levels(const builder *b, const levels *l, int32_t column)
{
    const int32_t count = b->nodes->node_count;
    double        most = 0.0;

    for (int32_t i = 0; i < count; i++)
        raise_level(b, l, b->nodes->order[l->is_bottom ? count - 1 - i : i]);
    for (int32_t v = 0; v < count; v++) most = fmax(most, l->level[v]);
    for (int32_t i = 0; i < count && most > 0.0; i++)
        b->features->value[(int64_t)i * COUNT + column] =
            (emp_real)(l->level[b->nodes->order[i]] / most);
}

static emp_status add_levels(const builder *b, emp_error *err)
{
    static const struct {
        int32_t column;
        bool    with_costs, is_bottom;
    } kinds[] = {{TOP_LEVEL, true, false},
                 {BOTTOM_LEVEL, true, true},
                 {DEPTH, false, false},
                 {HEIGHT, false, true}};
    emp_arrays arrays = {0};
    double    *level = EMP_ADD_ARRAY(&arrays, double, (size_t)b->nodes->node_count);

    if (arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "levels of %d nodes", b->nodes->node_count);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const levels l = {level, kinds[i].with_costs, kinds[i].is_bottom};
        write_levels(b, &l, kinds[i].column);
    }
    emp_arrays_clear(&arrays);
    return EMP_OK;
}

/* ---- numbers of a node and of the machine ---- */

static int32_t degree(const emp_node_edges *edges, int32_t node)
{
    return edges->first[node + 1] - edges->first[node];
}

static emp_op_id first_op(const builder *b, int32_t node)
{
    return b->nodes->ops.member[b->nodes->ops.first[node]];
}

static void write_dims(const builder *b, emp_op_id op, emp_real *x)
{
    const emp_graph *g = b->problem->graph;

    if (g->output_offset[op] == g->output_offset[op + 1]) return;
    const emp_shape *s = g->tensor[g->output_offset[op]].shape;
    for (int32_t i = 0; i < 4 && i < s->rank; i++)
        x[DIMS + i] = (emp_real)(logarithm((double)s->dim[i]) / 10);
}

static void write_node(const builder *b, int32_t node, double total_s, emp_real *x)
{
    const emp_node_graph *n = b->nodes;
    const emp_graph      *g = b->problem->graph;
    const emp_op_id       op = first_op(b, node);
    const double          last_s = time_on(b, node, b->last);
    const double memory = (double)b->problem->machine->device[b->last].memory_bytes;
    const double kept = (double)n->persistent_bytes[node];

    x[OUTPUT_BYTES] = (emp_real)(logarithm((double)n->output_bytes[node]) / 20);
    write_dims(b, op, x);
    x[TIME_FIRST] = (emp_real)(logarithm(1e6 * time_on(b, node, 0)) / 15);
    x[TIME_LAST] = (emp_real)(logarithm(1e6 * last_s) / 15);
    x[TIME_SHARE] = (emp_real)logarithm(n->node_count * last_s / total_s);
    x[IN_DEGREE] = (emp_real)(logarithm(degree(&n->predecessors, node)) / 5);
    x[OUT_DEGREE] = (emp_real)(logarithm(degree(&n->successors, node)) / 5);
    x[PERSISTENT_BYTES] = (emp_real)(logarithm(kept) / 20);
    x[PERSISTENT_SHARE] = (emp_real)(kept / fmax(memory, 1.0));
    x[OPS] = (emp_real)(logarithm(n->ops.first[node + 1] - n->ops.first[node]) / 5);
    x[HAS_GPU_KERNEL] = (g->op[op].kinds & EMP_KIND_GPU) != 0;
    x[CLASS + g->op[op].cost->op_class] = 1;
}

static void write_machine(const builder *b, emp_real *x)
{
    const emp_machine *m = b->problem->machine;

    x[GPUS] = (emp_real)(emp_machine_count(m, EMP_DEVICE_GPU) / 8.0);
    x[LINK_TIME] = (emp_real)(b->s_per_byte * 1e6 * 100);
    x[MEMORY] = (emp_real)((double)m->device[b->last].memory_bytes / 32e9);
    x[LATENCY] = (emp_real)(b->latency_s * 1e3);
}

static void write_values(const builder *b)
{
    const emp_node_graph *n = b->nodes;
    double                total_s = 0.0;

    for (int32_t v = 0; v < n->node_count; v++) total_s += time_on(b, v, b->last);
    total_s = fmax(total_s, 1e-12);
    for (int32_t i = 0; i < n->node_count; i++) {
        emp_real *x = &b->features->value[(int64_t)i * COUNT];
        write_node(b, n->order[i], total_s, x);
        write_machine(b, x);
        x[POSITION] = (emp_real)i / (emp_real)n->node_count;
    }
}

/* ---- types and neighbours ---- */

static void write_types(const builder *b)
{
    int32_t            known = 0;
    const emp_op_type *table = emp_op_type_table(&known);

    b->features->type_count = known + 1;
    for (int32_t i = 0; i < b->nodes->node_count; i++) {
        const emp_op_type *type =
            emp_graph_type(b->problem->graph, first_op(b, b->nodes->order[i]));
        bool is_known = type >= table && type < table + known;
        b->features->type[i] = is_known ? (int32_t)(type - table) : known;
    }
}

static void write_neighbors(const builder *b)
{
    const emp_node_edges *e = &b->nodes->neighbors;
    emp_transferable     *f = b->features;
    int32_t               count = 0;

    for (int32_t i = 0; i < f->count; i++) f->position[b->nodes->order[i]] = i;
    for (int32_t i = 0; i < f->count; i++) {
        int32_t node = b->nodes->order[i];
        f->devices[i] = b->nodes->devices[node];
        for (int32_t k = e->first[node]; k < e->first[node + 1]; k++)
            f->neighbor[count++] = f->position[e->node[k]];
        f->first[i + 1] = count;
    }
}

emp_status emp_transferable_init(emp_transferable *f, const emp_node_graph *nodes,
                                 const emp_problem *problem, emp_error *err)
{
    const size_t       count = (size_t)nodes->node_count;
    const emp_machine *m = problem->machine;
    builder            b = {.nodes = nodes, .problem = problem, .features = f};

    *f = (emp_transferable){.count = nodes->node_count};
    f->type = EMP_ADD_ARRAY(&f->arrays, int32_t, count);
    f->value = EMP_ADD_ARRAY(&f->arrays, emp_real, count * COUNT);
    f->devices = EMP_ADD_ARRAY(&f->arrays, uint64_t, count);
    f->position = EMP_ADD_ARRAY(&f->arrays, int32_t, count);
    f->first = EMP_ADD_ARRAY(&f->arrays, int32_t, count + 1);
    f->neighbor = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)nodes->neighbors.count);
    if (f->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "features of %d nodes", nodes->node_count);
    b.last = m->device_count - 1;
    b.s_per_byte = b.last > 0 ? 1.0 / fmax(m->route[0][b.last].bytes_per_s, 1.0) : 0.0;
    b.latency_s = m->route[0][b.last].latency_s;
    write_types(&b);
    write_neighbors(&b);
    write_values(&b);
    return add_levels(&b, err);
}

void emp_transferable_shuffle(emp_transferable *f, emp_rng *rng)
{
    for (int32_t i = 0; i < f->first[f->count]; i++)
        f->neighbor[i] = (int32_t)emp_rng_below(rng, (uint32_t)f->count);
}

void emp_transferable_hide_machine(emp_transferable *f)
{
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t c = GPUS; c < COUNT; c++) f->value[i * COUNT + c] = 0;
}

/* ---- parts ---- */

/* Its columns: from `first` on. */
static const struct {
    const char *name;
    int32_t     first, count;
} parts[EMP_TRANSFERABLE_PARTS + 1] = {
    [EMP_PART_TYPE] = {"op types", HAS_GPU_KERNEL, 1 + EMP_TRANSFERABLE_CLASSES},
    [EMP_PART_SHAPE] = {"shapes", OUTPUT_BYTES, TIME_FIRST - OUTPUT_BYTES},
    [EMP_PART_TIME] = {"times", TIME_FIRST, IN_DEGREE - TIME_FIRST},
    [EMP_PART_MEMORY] = {"memory", PERSISTENT_BYTES, OPS - PERSISTENT_BYTES},
    [EMP_PART_DEGREE] = {"degrees", IN_DEGREE, TOP_LEVEL - IN_DEGREE},
    [EMP_PART_LEVEL] = {"levels", TOP_LEVEL, PERSISTENT_BYTES - TOP_LEVEL},
    [EMP_PART_NEIGHBOR] = {"neighbours", 0, 0},
    [EMP_TRANSFERABLE_PARTS] = {"nothing", 0, 0}};

const char *emp_transferable_part_name(emp_transferable_part part)
{
    return parts[part].name;
}

static void swap_numbers(emp_transferable *f, int32_t i, int32_t j, int32_t column)
{
    emp_real      *x = &f->value[(int64_t)i * COUNT + column];
    emp_real      *y = &f->value[(int64_t)j * COUNT + column];
    const emp_real kept = *x;

    *x = *y;
    *y = kept;
}

static void swap_parts(emp_transferable *f, int32_t i, int32_t j,
                       emp_transferable_part part)
{
    const int32_t kept = f->type[i];

    for (int32_t c = 0; c < parts[part].count; c++)
        swap_numbers(f, i, j, parts[part].first + c);
    if (part == EMP_PART_DEGREE) swap_numbers(f, i, j, OPS);
    if (part != EMP_PART_TYPE) return;
    f->type[i] = f->type[j];
    f->type[j] = kept;
}

void emp_transferable_mix(emp_transferable *to, const emp_transferable *from,
                          emp_transferable_part part, emp_rng *rng)
{
    const size_t count = (size_t)from->count;

    memcpy(to->type, from->type, count * sizeof *to->type);
    memcpy(to->value, from->value, count * COUNT * sizeof *to->value);
    memcpy(to->neighbor, from->neighbor,
           (size_t)from->first[count] * sizeof *to->neighbor);
    if (part == EMP_TRANSFERABLE_PARTS) return;
    if (part == EMP_PART_NEIGHBOR) {
        emp_transferable_shuffle(to, rng);
        return;
    }
    for (int32_t i = to->count - 1; i > 0; i--) /* Fisher and Yates */
        swap_parts(to, i, (int32_t)emp_rng_below(rng, (uint32_t)i + 1), part);
}

void emp_transferable_clear(emp_transferable *f)
{
    emp_arrays_clear(&f->arrays);
    *f = (emp_transferable){0};
}
