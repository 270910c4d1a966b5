// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/inputs.h"

#include <math.h>

#include "base/mem.h"

enum { DEGREES = 8, WAVES = 8, COST_INPUTS = 10 };

/* What is filled in. */
typedef struct {
    const emp_hsdag_coarse *coarse;
    const emp_node_graph   *nodes;
    const emp_op_features  *ops;
    int32_t                *count; /* [set] rows of ops */
    int32_t                 width;
    emp_real               *value;
} filling;

static emp_real *row_of(const filling *f, int32_t set)
{
    return &f->value[(int64_t)set * f->width];
}

static int32_t set_of_row(const filling *f, int32_t row)
{
    return f->coarse->set_of_node[f->nodes->node_of_op[f->ops->op_of_row[row]]];
}

/* ---- as the paper and its code have it ---- */

static void fill_types(const filling *f)
{
    for (int32_t r = 0; r < f->ops->row_count; r++) {
        int32_t set = set_of_row(f, r);
        row_of(f, set)[f->ops->type[r]] += (emp_real)(1.0 / f->count[set]);
    }
}

double emp_hsdag_fractal_dimension(const emp_hsdag_graph *g, int32_t node,
                                   int32_t *distance, int32_t *queue)
{
    int32_t count = 0, points = 0;
    double  x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;

    for (int32_t v = 0; v < g->node_count; v++) distance[v] = -1;
    queue[count++] = node;
    distance[node] = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = queue[i];
        for (int32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            if (distance[g->node[e]] >= 0) continue;
            distance[g->node[e]] = distance[v] + 1;
            queue[count++] = g->node[e];
        }
    }
    for (int32_t i = 1; i < count; i++) {
        bool is_last = i + 1 == count || distance[queue[i + 1]] > distance[queue[i]];
        if (!is_last) continue;
        double lx = log(distance[queue[i]]), ly = log(i);
        x += lx, y += ly, xx += lx * lx, xy += lx * ly;
        points++;
    }
    return points < 2 ? 0.0 : (points * xy - x * y) / (points * xx - x * x);
}

static void fill_code(const filling *f)
{
    fill_types(f);
    for (int32_t a = 0; a < f->coarse->set_count; a++)
        row_of(f, a)[f->ops->type_count] = (emp_real)a;
}

static int32_t degree_index(int32_t degree)
{
    return degree < DEGREES ? degree : DEGREES - 1;
}

static void fill_shapes(const filling *f, int32_t at)
{
    for (int32_t r = 0; r < f->ops->row_count; r++) {
        int32_t   set = set_of_row(f, r);
        emp_real *row = row_of(f, set);
        for (int32_t i = 0; i < EMP_FEATURE_DIMS; i++) {
            double size = (double)f->ops->sizes[(int64_t)r * EMP_ROW_SIZES + i];
            row[at + i] += (emp_real)(log1p(size) / 10.0 / f->count[set]);
        }
    }
}

static void fill_paper(const filling *f, int32_t *distance, int32_t *queue)
{
    const emp_hsdag_coarse *c = f->coarse;
    const int32_t           types = f->ops->type_count;

    fill_types(f);
    for (int32_t a = 0; a < c->set_count; a++) {
        emp_real *row = row_of(f, a) + types;
        row[degree_index(c->in_degree[a])] = 1;
        row[DEGREES + degree_index(c->out_degree[a])] = 1;
        row[2 * DEGREES] =
            (emp_real)emp_hsdag_fractal_dimension(&c->graph, a, distance, queue);
        for (int32_t i = 0; i < WAVES; i++) {
            double angle = a / pow(10000.0, (double)i / WAVES);
            row[2 * DEGREES + 1 + 2 * i] = (emp_real)sin(angle);
            row[2 * DEGREES + 2 + 2 * i] = (emp_real)cos(angle);
        }
    }
    fill_shapes(f, types + 2 * DEGREES + 1 + 2 * WAVES);
}

/* ---- costs ---- */

/* Of a set's nodes together. */
typedef struct {
    double cpu_s, gpu_s, output_bytes, persistent_bytes;
} set_costs;

static int32_t device_of_kind(const emp_machine *m, emp_device_kind kind)
{
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == kind) return d;
    return 0;
}

static double smallest_memory(const emp_machine *m)
{
    double least = INFINITY;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU || m->device_count == 1)
            least = fmin(least, (double)m->device[d].memory_bytes);
    return least > 0.0 ? least : INFINITY;
}

static double add_costs(const filling *f, set_costs *costs, const emp_machine *m)
{
    const emp_node_graph *n = f->nodes;
    int32_t               cpu = device_of_kind(m, EMP_DEVICE_CPU),
            gpu = device_of_kind(m, EMP_DEVICE_GPU);
    double all = 0.0;

    for (int32_t v = 0; v < n->node_count; v++) {
        set_costs    *s = &costs[f->coarse->set_of_node[v]];
        const double *time = &n->time_s[(int64_t)v * n->device_count];
        s->cpu_s += time[cpu];
        s->gpu_s += time[gpu];
        s->output_bytes += (double)n->output_bytes[v];
        s->persistent_bytes += (double)n->persistent_bytes[v];
        all += time[gpu];
    }
    return all > 0.0 ? all : 1.0;
}

static void fill_costs(const filling *f, const set_costs *costs, double all_gpu_s,
                       double memory)
{
    const emp_hsdag_coarse *c = f->coarse;

    for (int32_t a = 0; a < c->set_count; a++) {
        const set_costs *s = &costs[a];
        const double     row[COST_INPUTS] = {log1p(1e6 * s->cpu_s) / 15.0,
                                             log1p(1e6 * s->gpu_s) / 15.0,
                                             log1p(c->set_count * s->gpu_s / all_gpu_s),
                                             log1p(s->output_bytes) / 20.0,
                                             log1p(s->persistent_bytes) / 20.0,
                                             s->persistent_bytes / memory,
                                             log1p(c->in_degree[a]) / 5.0,
                                             log1p(c->out_degree[a]) / 5.0,
                                             (double)c->position[a],
                                             log1p(f->count[a]) / 5.0};
        for (int32_t i = 0; i < COST_INPUTS; i++) row_of(f, a)[i] = (emp_real)row[i];
    }
}

/* ---- all of them ---- */

static int32_t width_of(emp_hsdag_inputs_form form, int32_t types)
{
    switch (form) {
    case EMP_HSDAG_INPUTS_PAPER:
        return types + 2 * DEGREES + 1 + 2 * WAVES + EMP_FEATURE_DIMS;
    case EMP_HSDAG_INPUTS_CODE: return types + 1;
    case EMP_HSDAG_INPUTS_COSTS: return COST_INPUTS;
    }
    return 0;
}

static emp_status fill(const filling *f, emp_hsdag_inputs_form form, const emp_machine *m,
                       emp_arrays *scratch, emp_error *err)
{
    size_t     sets = (size_t)f->coarse->set_count;
    int32_t   *distance = EMP_ADD_ARRAY(scratch, int32_t, sets);
    int32_t   *queue = EMP_ADD_ARRAY(scratch, int32_t, sets);
    set_costs *costs = EMP_ADD_ARRAY(scratch, set_costs, sets);

    if (scratch->is_short) return EMP_ERROR(EMP_ENOMEM, "inputs of %zu sets", sets);
    for (int32_t r = 0; r < f->ops->row_count; r++) f->count[set_of_row(f, r)]++;
    switch (form) {
    case EMP_HSDAG_INPUTS_PAPER: fill_paper(f, distance, queue); break;
    case EMP_HSDAG_INPUTS_CODE: fill_code(f); break;
    case EMP_HSDAG_INPUTS_COSTS:
        fill_costs(f, costs, add_costs(f, costs, m), smallest_memory(m));
        break;
    }
    return EMP_OK;
}

emp_status emp_hsdag_inputs_init(emp_hsdag_inputs_table *t, emp_hsdag_inputs_form form,
                                 const emp_hsdag_coarse *coarse,
                                 const emp_node_graph *nodes, const emp_op_features *ops,
                                 const emp_machine *machine, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_arrays scratch = {0};
    filling    f = {.coarse = coarse,
                    .nodes = nodes,
                    .ops = ops,
                    .count = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)coarse->set_count),
                    .width = width_of(form, ops->type_count)};

    *t = (emp_hsdag_inputs_table){.width = f.width};
    if (scratch.is_short) EMP_FAIL(EMP_ENOMEM, "inputs of %d sets", coarse->set_count);
    EMP_TRY(EMP_ALLOC(t->value, (size_t)coarse->set_count * (size_t)f.width));
    f.value = t->value;
    EMP_TRY(fill(&f, form, machine, &scratch, err));

cleanup:
    emp_arrays_clear(&scratch);
    if (st != EMP_OK) emp_hsdag_inputs_clear(t);
    return st;
}

void emp_hsdag_inputs_clear(emp_hsdag_inputs_table *t)
{
    emp_free(t->value);
    *t = (emp_hsdag_inputs_table){0};
}
