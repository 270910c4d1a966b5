// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* They bound what a proposal costs: moves that are made, and moves that are tried for each. */
enum { MOST_MOVES = 64, MOST_TRIES = 256 };

/* What is as unlikely as this is as unlikely as anything else. */
static const double LEAST_P = 1e-30;

/* A node to another device. */
typedef struct emp_go_move {
    double  gain; /* of the log-likelihood */
    int32_t position;
    uint8_t to;
} move;

emp_status emp_go_fit_init(emp_go_fit *f, const emp_node_graph *nodes,
                           const emp_transferable *features, const emp_problem *problem,
                           int32_t choices, emp_error *err)
{
    const size_t rows = (size_t)nodes->node_count;

    *f = (emp_go_fit){
        .nodes = nodes, .features = features, .problem = problem, .choices = choices};
    f->device_of_node = EMP_ADD_ARRAY(&f->arrays, emp_device_id, rows);
    f->device_of_op = EMP_ADD_ARRAY(&f->arrays, emp_device_id, (size_t)nodes->op_count);
    f->move = EMP_ADD_ARRAY(&f->arrays, move, rows * (size_t)choices);
    if (f->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "moves of %zu nodes", rows);
    return emp_room_init(&f->room, problem, err);
}

void emp_go_fit_clear(emp_go_fit *f)
{
    emp_room_clear(&f->room);
    emp_arrays_clear(&f->arrays);
    *f = (emp_go_fit){0};
}

static double missing_of(emp_go_fit *f, const uint8_t *choice)
{
    for (emp_op_id op = 0; op < f->nodes->op_count; op++) f->device_of_op[op] = 0;
    for (int32_t v = 0; v < f->nodes->node_count; v++)
        f->device_of_node[v] = choice[f->features->position[v]];
    emp_node_graph_spread(f->nodes, f->device_of_node, f->device_of_op);
    emp_problem_legalize(f->problem, f->device_of_op);
    return emp_room_missing(&f->room, f->device_of_op);
}

static bool is_full(const emp_go_fit *f, int32_t device)
{
    return f->room.peak_bytes[device] > f->problem->machine->device[device].memory_bytes;
}

/* The likelier move first; of equals that of the earlier node, to the lower device. */
static int compare(const void *a, const void *b)
{
    const move *x = a, *y = b;

    if (x->gain != y->gain) return x->gain < y->gain ? 1 : -1;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* \return how many moves leave a device that lacks memory. */
static int32_t list_moves(emp_go_fit *f, const uint8_t *choice, const emp_real *p)
{
    int32_t count = 0;

    for (int32_t i = 0; i < f->features->count; i++) {
        const emp_real *of_node = &p[(int64_t)i * f->choices];
        if (!is_full(f, choice[i])) continue;
        const double here = log(fmax((double)of_node[choice[i]], LEAST_P));
        for (int32_t d = 0; d < f->problem->machine->device_count; d++) {
            if (d == choice[i] || !(f->features->devices[i] >> d & 1)) continue;
            f->move[count++] =
                (move){log(fmax((double)of_node[d], LEAST_P)) - here, i, (uint8_t)d};
        }
    }
    qsort(f->move, (size_t)count, sizeof *f->move, compare);
    return count < MOST_TRIES ? count : MOST_TRIES;
}

/* Makes the best of the moves. \return what is missing then, at most \a missing. */
static double make_move(emp_go_fit *f, uint8_t *choice, int32_t count, double missing)
{
    const move *best = NULL;

    for (int32_t i = 0; i < count && missing > 0.0 && !emp_stop_is_set(f->stop); i++) {
        const move   *m = &f->move[i];
        const uint8_t from = choice[m->position];
        choice[m->position] = m->to;
        const double left = missing_of(f, choice);
        choice[m->position] = from;
        if (left >= missing) continue;
        missing = left;
        best = m;
    }
    if (best != NULL) choice[best->position] = best->to;
    return missing;
}

double emp_go_fit_mend(emp_go_fit *f, uint8_t *choice, const emp_real *p)
{
    double missing = missing_of(f, choice);

    for (int32_t i = 0; i < MOST_MOVES && missing > 0.0; i++) {
        const int32_t count = list_moves(f, choice, p);
        const double  left = make_move(f, choice, count, missing);
        if (left >= missing) break;
        missing = left;
        missing_of(f, choice); /* the peaks of what now stands */
    }
    return missing;
}
