// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/options.h"

#include <math.h>
#include <string.h>

/* Impossible choices count as very unlikely, so that sums can be compared. */
static const double LEAST_P = 1e-9;

typedef struct {
    uint8_t gpu[EMP_MAX_DEVICES];
    int32_t count;
    int32_t index_of_device[EMP_MAX_DEVICES]; /* -1: no GPU */
} gpus;

static gpus find_gpus(const emp_machine *m)
{
    gpus g = {.count = 0};

    for (emp_device_id d = 0; d < m->device_count; d++) {
        const bool is_gpu = m->device[d].kind == EMP_DEVICE_GPU;
        g.index_of_device[d] = is_gpu ? g.count : -1;
        if (is_gpu) g.gpu[g.count++] = (uint8_t)d;
    }
    return g;
}

static emp_device_id device_of(const emp_go_naming *n, int32_t position)
{
    return n->device_of_node[n->nodes->order[position]];
}

static void name_by_use(const emp_go_naming *n, const gpus *g, int32_t *name_of_gpu)
{
    int32_t used = 0;

    for (int32_t i = 0; i < g->count; i++) name_of_gpu[i] = -1;
    for (int32_t v = 0; v < n->nodes->node_count; v++) {
        const int32_t i = g->index_of_device[device_of(n, v)];
        if (i >= 0 && name_of_gpu[i] < 0) name_of_gpu[i] = used++;
    }
    for (int32_t i = 0; i < g->count; i++)
        if (name_of_gpu[i] < 0) name_of_gpu[i] = used++;
}

/* Rows are taken one by one. Potentials make all gains of what is assigned 0, and no other one
 * positive; columns that no row has yet are reached by a shortest path. */
typedef struct {
    double  row[EMP_MAX_DEVICES + 1], column[EMP_MAX_DEVICES + 1]; /* potentials */
    int32_t row_of_column[EMP_MAX_DEVICES + 1];                    /* from 1; 0: none */
    int32_t before[EMP_MAX_DEVICES + 1];
    double  least[EMP_MAX_DEVICES + 1];
    bool    is_seen[EMP_MAX_DEVICES + 1];
} assignment;

/* \return the next column. */
static int32_t step(assignment *a, double gain[][EMP_MAX_DEVICES], int32_t count,
                    int32_t column)
{
    const int32_t row = a->row_of_column[column];
    double        delta = INFINITY;
    int32_t       next = 0;

    a->is_seen[column] = true;
    for (int32_t c = 1; c <= count; c++) {
        if (a->is_seen[c]) continue;
        const double cost = -gain[row - 1][c - 1] - a->row[row] - a->column[c];
        if (cost < a->least[c]) {
            a->least[c] = cost;
            a->before[c] = column;
        }
        if (a->least[c] < delta) {
            delta = a->least[c];
            next = c;
        }
    }
    for (int32_t c = 0; c <= count; c++) {
        if (a->is_seen[c]) {
            a->row[a->row_of_column[c]] += delta;
            a->column[c] -= delta;
        } else {
            a->least[c] -= delta;
        }
    }
    return next;
}

void emp_go_assign(double gain[][EMP_MAX_DEVICES], int32_t count, int32_t *column_of_row)
{
    assignment a = {.row_of_column = {0}};

    for (int32_t row = 1; row <= count; row++) {
        int32_t column = 0;
        a.row_of_column[0] = row;
        for (int32_t c = 0; c <= count; c++) {
            a.least[c] = INFINITY;
            a.is_seen[c] = false;
        }
        do column = step(&a, gain, count, column);
        while (a.row_of_column[column] != 0);
        for (; column != 0; column = a.before[column])
            a.row_of_column[column] = a.row_of_column[a.before[column]];
    }
    for (int32_t c = 1; c <= count; c++) column_of_row[a.row_of_column[c] - 1] = c - 1;
}

static void name_by_match(const emp_go_naming *n, const gpus *g, int32_t *name_of_gpu)
{
    double gain[EMP_MAX_DEVICES][EMP_MAX_DEVICES];

    memset(gain, 0, sizeof gain);
    for (int32_t v = 0; v < n->nodes->node_count; v++) {
        const int32_t i = g->index_of_device[device_of(n, v)];
        for (int32_t name = 0; i >= 0 && name < g->count; name++)
            gain[i][name] +=
                log(fmax((double)n->p[(int64_t)v * n->choices + g->gpu[name]], LEAST_P));
    }
    emp_go_assign(gain, g->count, name_of_gpu);
}

void emp_go_name_devices(const emp_go_naming *naming, emp_go_names how,
                         uint8_t *name_of_device)
{
    const gpus g = find_gpus(naming->machine);
    int32_t    name_of_gpu[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < naming->machine->device_count; d++)
        name_of_device[d] = (uint8_t)d;
    if (how == EMP_NAMES_MATCHED)
        name_by_match(naming, &g, name_of_gpu);
    else
        name_by_use(naming, &g, name_of_gpu);
    for (int32_t i = 0; i < g.count; i++)
        name_of_device[g.gpu[i]] = g.gpu[name_of_gpu[i]];
}
