// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/op_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* More than one device of the machine may run the class. */
static bool has_choice(const emp_problem *problem, int32_t colocation_class)
{
    uint32_t kinds = problem->kinds_of_class[colocation_class];
    int32_t  choices = 0;

    if (kinds & EMP_KIND_CPU) {
        choices += emp_machine_count(problem->machine, EMP_DEVICE_CPU);
    }
    if (kinds & EMP_KIND_GPU) {
        choices += emp_machine_count(problem->machine, EMP_DEVICE_GPU);
    }
    return choices > 1;
}

int32_t emp_rows_number(const emp_problem *problem, int32_t *row_of_class,
                        emp_op_id *op_of_row)
{
    const emp_graph *g = problem->graph;
    int32_t          count = 0;

    for (int32_t c = 0; c < g->class_count; c++) row_of_class[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = g->op[op].colocation_class;
        if (g->op[op].is_folded || row_of_class[c] >= 0 || !has_choice(problem, c))
            continue;
        if (op_of_row != NULL) op_of_row[count] = op;
        row_of_class[c] = count++;
    }
    return count;
}

static const double NOTHING = -1.0;

static emp_status create_arrays(emp_op_features **out, int32_t row_count,
                                int32_t op_count, int32_t edge_count, int32_t neighbours,
                                emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_op_features *f = EMP_NEW(emp_op_features);

    *out = NULL;
    if (f == NULL) EMP_FAIL(EMP_ENOMEM, "op features");
    f->row_count = row_count;
    f->op_count = op_count;
    f->edge_count = edge_count;
    f->width = EMP_FEATURE_SIZES + 2 * neighbours;
    f->op_of_row = EMP_ADD_ARRAY(&f->arrays, emp_op_id, (size_t)row_count);
    f->row_of_op = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)op_count);
    f->type = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)row_count);
    f->value = EMP_ADD_ARRAY(&f->arrays, emp_real, (size_t)row_count * (size_t)f->width);
    f->sizes = EMP_ADD_ARRAY(&f->arrays, float, (size_t)row_count *EMP_ROW_SIZES);
    f->cost = EMP_ADD_ARRAY(&f->arrays, float, (size_t)row_count *EMP_ROW_COSTS);
    f->position = EMP_ADD_ARRAY(&f->arrays, float, (size_t)row_count);
    f->edge =
        (int32_t(*)[2])emp_arrays_add(&f->arrays, (size_t)edge_count, sizeof *f->edge);
    if (f->arrays.is_short) EMP_FAIL(EMP_ENOMEM, "features of %d ops", row_count);
    *out = f;
    f = NULL;

cleanup:
    emp_op_features_destroy(f);
    return st;
}

emp_status emp_op_features_create_empty(emp_op_features **out, int32_t row_count,
                                        int32_t op_count, int32_t edge_count,
                                        emp_error *err)
{
    return create_arrays(out, row_count, op_count, edge_count, EMP_FEATURE_NEIGHBOURS,
                         err);
}

void emp_op_features_destroy(emp_op_features *f)
{
    if (f == NULL) return;
    emp_arrays_clear(&f->arrays);
    emp_free(f);
}

/* Trees that grow breadth-first together; every live op ends up in one. */
typedef struct {
    const emp_graph *graph;
    emp_op_id       *queue;
    int32_t         *tree; /* -1: in none yet */
    int32_t          head, tail, tree_count;
} forest;

static void join(forest *f, emp_op_id op, int32_t tree)
{
    if (f->graph->op[op].is_folded || f->tree[op] >= 0) return;
    f->tree[op] = tree;
    f->queue[f->tail++] = op;
    if (tree == f->tree_count) f->tree_count++;
}

/* Ops join the tree of what they read, or wait for, that was reached first. */
static void grow(forest *f)
{
    const emp_graph *g = f->graph;

    while (f->head < f->tail) {
        emp_op_id op = f->queue[f->head++];
        int32_t   end = g->consumer_offset[g->output_offset[op + 1]];
        for (int32_t i = g->consumer_offset[g->output_offset[op]]; i < end; i++)
            join(f, g->consumer[i], f->tree[op]);
        for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1];
             i++)
            join(f, g->control_out[i], f->tree[op]);
    }
}

/* Numbers live ops breadth-first, tree by tree. The variables are the roots, in their
 * order: an op so stands with the parameters that it is nearest to, forward and backward
 * ops of a layer together. Ops that no variable leads to follow, from their sources. Folded
 * ops get -1. */
static emp_status number_ops(const emp_graph *g, int32_t *number, int32_t *count,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     ops = (size_t)g->op_count;
    forest     f = {.graph = g,
                    .queue = EMP_NEW_ARRAY(emp_op_id, ops),
                    .tree = EMP_NEW_ARRAY(int32_t, ops)};
    int32_t   *next = EMP_NEW_ARRAY(int32_t, ops + 1); /* number in each tree */

    if (f.queue == NULL || f.tree == NULL || next == NULL)
        EMP_FAIL(EMP_ENOMEM, "numbers of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++) f.tree[op] = number[op] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].flags & EMP_OP_IS_VARIABLE) join(&f, op, f.tree_count);
    grow(&f);
    for (int32_t i = 0; i < g->op_count; i++) {
        join(&f, g->topo[i], f.tree_count);
        grow(&f);
    }
    for (int32_t i = 0; i < f.tail; i++) next[f.tree[f.queue[i]] + 1]++;
    for (int32_t t = 0; t < f.tree_count; t++) next[t + 1] += next[t];
    for (int32_t i = 0; i < f.tail; i++) number[f.queue[i]] = next[f.tree[f.queue[i]]]++;
    *count = f.tail;

cleanup:
    emp_free(f.queue);
    emp_free(f.tree);
    emp_free(next);
    return st;
}

/* Indices of types by how many rows have them; beyond the vocabulary all share the last. */
typedef struct {
    int32_t type, rows;
} type_use;

static int compare_use(const void *a, const void *b)
{
    const type_use *x = (const type_use *)a, *y = (const type_use *)b;

    if (x->rows != y->rows) return x->rows > y->rows ? -1 : 1;
    return x->type < y->type ? -1 : x->type > y->type;
}

static emp_status number_types(const emp_graph *g, emp_op_features *f, emp_error *err)
{
    emp_status st = EMP_OK;
    type_use  *use = EMP_NEW_ARRAY(type_use, (size_t)g->type_count);
    int32_t   *index = EMP_NEW_ARRAY(int32_t, (size_t)g->type_count);

    if (use == NULL || index == NULL) EMP_FAIL(EMP_ENOMEM, "%d op types", g->type_count);
    for (int32_t i = 0; i < g->type_count; i++) use[i].type = i;
    for (int32_t r = 0; r < f->row_count; r++) use[g->type[f->op_of_row[r]]].rows++;
    qsort(use, (size_t)g->type_count, sizeof *use, compare_use);
    for (int32_t i = 0; i < g->type_count; i++) {
        index[use[i].type] = i < EMP_MAX_TYPES ? i : EMP_MAX_TYPES - 1;
        if (use[i].rows > 0) f->type_count = index[use[i].type] + 1;
    }
    for (int32_t r = 0; r < f->row_count; r++)
        f->type[r] = index[g->type[f->op_of_row[r]]];

cleanup:
    emp_free(use);
    emp_free(index);
    return st;
}

static void fill_sizes(const emp_graph *g, emp_op_features *f, int32_t row)
{
    emp_op_id op = f->op_of_row[row];
    int32_t   first = g->output_offset[op], count = g->output_offset[op + 1] - first;
    emp_real *value = &f->value[(int64_t)row * f->width];
    float    *sizes = &f->sizes[(int64_t)row * EMP_ROW_SIZES];

    for (int32_t i = 0; i < EMP_FEATURE_OUTPUTS; i++) {
        const emp_shape *shape = i < count ? g->tensor[first + i].shape : NULL;
        for (int32_t d = 0; d < EMP_FEATURE_DIMS; d++, value++) {
            bool is_known = shape != NULL && d < shape->rank && shape->dim[d] >= 0;
            *value = (emp_real)(is_known ? log1p((double)shape->dim[d]) / 10 : NOTHING);
            if (is_known && i * EMP_FEATURE_DIMS + d < EMP_ROW_SIZES) {
                sizes[i * EMP_FEATURE_DIMS + d] = (float)shape->dim[d];
            }
        }
    }
}

/* One side of an op's window: the positions of its neighbours there. */
typedef struct {
    emp_real *value;
    int32_t   count, room;
} window;

/* Appends a neighbour's position unless it is there already or there is no room. */
static void add_neighbour(window *w, int32_t number, double scale)
{
    emp_real value = (emp_real)((double)number * scale);

    if (number < 0 || w->count == w->room) return;
    for (int32_t i = 0; i < w->count; i++) {
        if (!(w->value[i] < value || w->value[i] > value)) return;
    }
    w->value[w->count++] = value;
}

static void fill_neighbours(const emp_graph *g, emp_op_features *f, int32_t row,
                            const int32_t *number, double scale, emp_absent absent)
{
    emp_op_id op = f->op_of_row[row];
    int32_t   room = (f->width - EMP_FEATURE_SIZES) / 2;
    emp_real *value = &f->value[(int64_t)row * f->width + EMP_FEATURE_SIZES];
    window    in = {value, 0, room}, out = {value + room, 0, room};
    double    own = (double)number[op] * scale;

    for (int32_t i = 0; i < 2 * room; i++)
        value[i] = (emp_real)(absent == EMP_ABSENT_OWN ? own : NOTHING);
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        add_neighbour(&in, number[g->tensor[g->input[i]].producer], scale);
    }
    for (int32_t i = g->consumer_offset[g->output_offset[op]];
         i < g->consumer_offset[g->output_offset[op + 1]]; i++) {
        add_neighbour(&out, number[g->consumer[i]], scale);
    }
}

/* Writes the data edges between different rows, or only counts them (edge NULL). */
static int32_t list_edges(const emp_graph *g, const int32_t *row_of_class,
                          int32_t (*edge)[2])
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t to = row_of_class[g->op[op].colocation_class];
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
            emp_op_id producer = g->tensor[g->input[i]].producer;
            int32_t   from = row_of_class[g->op[producer].colocation_class];
            if (from < 0 || to < 0 || from == to) continue;
            if (edge != NULL) {
                edge[count][0] = from;
                edge[count][1] = to;
            }
            count++;
        }
    }
    return count;
}

/* Columns get mean 0 and variance 1; one that never varies becomes 0. */
static void standardize(emp_op_features *f)
{
    for (int32_t c = 0; c < f->width; c++) {
        emp_real *column = &f->value[c];
        double    sum = 0.0, squares = 0.0, deviation;
        for (int64_t r = 0; r < f->row_count; r++) {
            sum += (double)column[r * f->width];
        }
        f->mean[c] = sum / f->row_count;
        for (int64_t r = 0; r < f->row_count; r++) {
            double d = (double)column[r * f->width] - f->mean[c];
            squares += d * d;
        }
        deviation = sqrt(squares / f->row_count);
        f->deviation[c] = deviation > 1e-6 ? deviation : 1.0;
        for (int64_t r = 0; r < f->row_count; r++) {
            double d = (double)column[r * f->width] - f->mean[c];
            column[r * f->width] = (emp_real)(d / f->deviation[c]);
        }
    }
}

emp_status emp_op_features_create(emp_op_features **out, const emp_problem *problem,
                                  emp_error *err)
{
    return emp_op_features_create_window(out, problem, EMP_FEATURE_NEIGHBOURS,
                                         EMP_ABSENT_OWN, err);
}

static void fill_costs(const emp_problem *problem, emp_op_features *f)
{
    const emp_graph *g = problem->graph;
    double           sum[EMP_ROW_COSTS] = {0};

    for (int pass = 0; pass < 2; pass++) {
        for (emp_op_id op = 0; op < g->op_count; op++) {
            double bytes = 0.0;
            if (f->row_of_op[op] < 0 || g->op[op].is_folded) continue;
            for (int32_t i = g->output_offset[op]; i < g->output_offset[op + 1]; i++)
                bytes += (double)g->tensor[i].bytes;
            const double cost[EMP_ROW_COSTS] = {
                (double)problem->costs->gpu[op].compute_ns,
                (double)problem->costs->cpu[op].compute_ns,
                (double)g->op[op].persistent_bytes, bytes};
            for (int32_t c = 0; c < EMP_ROW_COSTS; c++) {
                if (pass == 0)
                    sum[c] += cost[c];
                else if (sum[c] > 0)
                    f->cost[(int64_t)f->row_of_op[op] * EMP_ROW_COSTS + c] +=
                        (float)(cost[c] / sum[c]);
            }
        }
    }
}

emp_status emp_op_features_create_window(emp_op_features  **out,
                                         const emp_problem *problem, int32_t neighbours,
                                         emp_absent absent, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    emp_op_features *f = NULL;
    int32_t         *number = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    int32_t         *row_of_class = EMP_NEW_ARRAY(int32_t, (size_t)g->class_count);
    int32_t          live = 0, rows;

    *out = NULL;
    if (!number || !row_of_class) EMP_FAIL(EMP_ENOMEM, "%d ops", g->op_count);
    EMP_TRY(number_ops(g, number, &live, err));
    rows = emp_rows_number(problem, row_of_class, NULL);
    if (rows == 0) {
        EMP_FAIL(EMP_EINVAL, "none of %d ops has a choice of devices", g->op_count);
    }
    EMP_TRY(create_arrays(&f, rows, g->op_count, list_edges(g, row_of_class, NULL),
                          neighbours, err));
    emp_rows_number(problem, row_of_class, f->op_of_row);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        f->row_of_op[op] = row_of_class[g->op[op].colocation_class];
    }
    list_edges(g, row_of_class, f->edge);
    EMP_TRY(number_types(g, f, err));
    for (int32_t row = 0; row < rows; row++) {
        f->position[row] = (float)number[f->op_of_row[row]] / (float)live;
        fill_sizes(g, f, row);
        fill_neighbours(g, f, row, number, 1.0 / live, absent);
    }
    standardize(f);
    fill_costs(problem, f);
    *out = f;
    f = NULL;

cleanup:
    emp_free(number);
    emp_free(row_of_class);
    emp_op_features_destroy(f);
    return st;
}

int32_t emp_group_feature_count(const emp_op_features *ops, int32_t group_count)
{
    return ops->type_count + EMP_ROW_SIZES + group_count;
}

/* Away from the streams of networks. */
enum { STREAM_ORDER = UINT16_MAX - 1 };

static double order_key(emp_group_sequence sequence, uint64_t seed, int32_t group,
                        double mean_position)
{
    emp_rng rng;

    switch (sequence) {
    case EMP_ORDER_POSITION: return mean_position;
    case EMP_ORDER_REVERSE: return isinf(mean_position) ? mean_position : -mean_position;
    case EMP_ORDER_NUMBER: return 0.0;
    case EMP_ORDER_RANDOM:
        emp_rng_init(&rng, seed, (uint32_t)group, STREAM_ORDER);
        return emp_rng_uniform(&rng);
    }
    return 0.0;
}

int32_t emp_group_order(int32_t *order, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        emp_group_sequence sequence, bool has_empty, uint64_t seed,
                        double *sum)
{
    double *members = sum + group_count;
    int32_t used = 0;

    memset(sum, 0, 2 * (size_t)group_count * sizeof *sum);
    for (int32_t row = 0; row < ops->row_count; row++) {
        sum[group_of_row[row]] += (double)ops->position[row];
        members[group_of_row[row]] += 1;
    }
    for (int32_t g = 0; g < group_count; g++) {
        bool is_empty = members[g] == 0.0;
        if (is_empty && !has_empty) continue;
        order[used++] = g;
        sum[g] = order_key(sequence, seed, g, is_empty ? INFINITY : sum[g] / members[g]);
    }
    /* Insertion keeps equal means in the order of their numbers; 256 groups are few. */
    for (int32_t i = 1; i < used; i++) {
        int32_t group = order[i], j = i;
        for (; j > 0 && sum[order[j - 1]] > sum[group]; j--) order[j] = order[j - 1];
        order[j] = group;
    }
    return used;
}

static void scale(emp_real *x, int32_t count)
{
    for (int32_t i = 0; i < count; i++) x[i] = (emp_real)log1p((double)x[i]);
}

void emp_group_features(emp_real *x, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        const int32_t *order, int32_t used, int32_t *step_of_group)
{
    emp_group_features_wide(x, emp_group_feature_count(ops, group_count), ops,
                            group_of_row, order, used, step_of_group);
}

static void fill_place(emp_real *x, double z)
{
    static const double pi = 3.14159265358979323846;

    *x++ = (emp_real)z;
    for (int i = 0; i < EMP_GROUP_WAVES; i++) {
        *x++ = (emp_real)sin(pi * ldexp(z, i));
        *x++ = (emp_real)cos(pi * ldexp(z, i));
    }
}

void emp_group_standardize(emp_real *x, int64_t stride, int32_t count, int32_t columns)
{
    for (int32_t c = 0; c < columns; c++) {
        double sum = 0.0, squares = 0.0;
        for (int64_t s = 0; s < count; s++) sum += (double)x[s * stride + c];
        for (int64_t s = 0; s < count; s++) {
            double distance = (double)x[s * stride + c] - sum / count;
            squares += distance * distance;
        }
        double scale = squares > 0 ? sqrt(count / squares) : 0.0;
        for (int64_t s = 0; s < count; s++)
            x[s * stride + c] =
                (emp_real)(((double)x[s * stride + c] - sum / count) * scale);
    }
}

void emp_group_costs(emp_real *x, int64_t stride, const emp_op_features *ops,
                     const int32_t *group_of_row, const int32_t *step_of_group,
                     int32_t used)
{
    for (int64_t s = 0; s < used; s++) {
        memset(&x[s * stride], 0, EMP_ROW_COSTS * sizeof *x);
        fill_place(&x[s * stride + EMP_ROW_COSTS], (double)s / used);
    }
    for (int64_t row = 0; row < ops->row_count; row++) {
        emp_real *group = &x[step_of_group[group_of_row[row]] * stride];
        for (int32_t c = 0; c < EMP_ROW_COSTS; c++)
            group[c] += (emp_real)(ops->cost[row * EMP_ROW_COSTS + c] * (float)used);
    }
    for (int64_t s = 0; s < used; s++) scale(&x[s * stride], EMP_ROW_COSTS);
}

void emp_group_features_wide(emp_real *x, int64_t width, const emp_op_features *ops,
                             const int32_t *group_of_row, const int32_t *order,
                             int32_t used, int32_t *step_of_group)
{
    int64_t adjacency = ops->type_count + EMP_ROW_SIZES;

    memset(x, 0, (size_t)(used * width) * sizeof *x);
    for (int32_t s = 0; s < used; s++) step_of_group[order[s]] = s;
    for (int32_t row = 0; row < ops->row_count; row++) {
        emp_real *group = &x[step_of_group[group_of_row[row]] * width];
        group[ops->type[row]] += 1;
        for (int32_t i = 0; i < EMP_ROW_SIZES; i++) {
            group[ops->type_count + i] +=
                (emp_real)ops->sizes[(int64_t)row * EMP_ROW_SIZES + i];
        }
    }
    for (int32_t s = 0; s < used; s++) scale(&x[s * width], (int32_t)adjacency);
    for (int32_t e = 0; e < ops->edge_count; e++) {
        int32_t from = group_of_row[ops->edge[e][0]], to = group_of_row[ops->edge[e][1]];
        if (from == to) continue;
        x[step_of_group[from] * width + adjacency + to] = 1;
        x[step_of_group[to] * width + adjacency + from] = 1;
    }
}
