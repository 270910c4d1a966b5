// SPDX-License-Identifier: GPL-3.0-or-later
/* Moves of layers and ops: estimated by the surrogate, 16 at a time, and simulated where they matter most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/explore/explore_internal.h"
#include "sim/surrogate/surrogate.h"

enum { BATCH = 16 };

struct mover {
    const emp_problem      *problem;
    const emp_decision     *decision;
    const int32_t          *row_of_op;
    const emp_explore_unit *unit;
    int32_t                 unit_count;
    emp_explore_move       *move;
    emp_device_id          *placement[BATCH]; /* [op] each */
    emp_explore_move       *estimated[BATCH]; /* whose step they are */
    int32_t                 waiting;
    emp_surrogate          *surrogate; /* NULL: it does not know the rules */
    double                  now_s;     /* its estimate of the placement */
};

static int32_t device_count(const struct mover *m)
{
    return m->problem->machine->device_count;
}

/* Moves a unit in the placement; the number of ops that are elsewhere then. */
static int32_t place_unit(const struct mover *m, emp_device_id *placement,
                          const emp_explore_unit *unit, emp_device_id to)
{
    const emp_graph *g = m->problem->graph;
    const int32_t *class = m->problem->class_of_op;
    int32_t count = 0;

    memcpy(placement, m->decision->device_of_op, (size_t)g->op_count * sizeof to);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool is_in =
            unit->op < 0 ? m->row_of_op[op] == unit->row : class[op] == class[unit->op];
        if (is_in && class[op] >= 0) placement[op] = to;
    }
    emp_problem_legalize(m->problem, placement);
    for (emp_op_id op = 0; op < g->op_count; op++)
        count += class[op] >= 0 && placement[op] != m->decision->device_of_op[op];
    return count;
}

/* ---- estimates ---- */

static emp_status estimate_waiting(struct mover *m, emp_error *err)
{
    double step_s[BATCH];

    if (m->waiting == 0) return EMP_OK;
    EMP_CHECK(emp_surrogate_run(m->surrogate, m->placement, m->waiting, step_s, err));
    for (int32_t i = 0; i < m->waiting; i++)
        m->estimated[i]->estimate_frac = step_s[i] / m->now_s;
    m->waiting = 0;
    return EMP_OK;
}

/* Lets the surrogate sweep in the order of the placement's own step. */
static emp_status begin_estimates(struct mover *m, emp_sim *sim, emp_error *err)
{
    emp_device_id *now[1] = {m->placement[0]};
    emp_status     st =
        emp_surrogate_create(&m->surrogate, m->problem, EMP_SURROGATE_FASTEST, NULL);

    if (st == EMP_EUNSUPPORTED) return EMP_OK;
    if (st != EMP_OK) return EMP_ERROR(st, "surrogate of %s", m->problem->workload);
    memcpy(now[0], m->decision->device_of_op,
           (size_t)m->problem->graph->op_count * sizeof **now);
    EMP_CHECK(emp_surrogate_follow(m->surrogate, sim, now, 1, err));
    return emp_surrogate_run(m->surrogate, now, 1, &m->now_s, err);
}

static emp_status estimate(struct mover *m, emp_error *err)
{
    for (int32_t u = 0; u < m->unit_count; u++) {
        for (emp_device_id to = 0; to < device_count(m); to++) {
            emp_explore_move *move = &m->move[u * device_count(m) + to];
            *move = (emp_explore_move){.estimate_frac = NAN};
            move->op_count = place_unit(m, m->placement[m->waiting], &m->unit[u], to);
            if (move->op_count == 0 || m->surrogate == NULL) continue;
            m->estimated[m->waiting++] = move;
            if (m->waiting == BATCH) EMP_CHECK(estimate_waiting(m, err));
        }
    }
    return estimate_waiting(m, err);
}

/* ---- the oracle ---- */

struct rank {
    int32_t unit;
    double  blame_s;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (x->blame_s != y->blame_s) return x->blame_s > y->blame_s ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static emp_status simulate_unit(struct mover *m, emp_sim *sim, int32_t unit,
                                int32_t *left, emp_error *err)
{
    emp_sim_result result;
    emp_decision   moved = *m->decision;

    moved.device_of_op = m->placement[0];
    for (emp_device_id to = 0; to < device_count(m) && *left > 0; to++) {
        emp_explore_move *move = &m->move[unit * device_count(m) + to];
        if (move->op_count == 0) continue;
        place_unit(m, m->placement[0], &m->unit[unit], to);
        EMP_CHECK(emp_sim_run_decision(sim, &moved, &result, err));
        move->is_simulated = true;
        move->is_feasible = result.is_feasible;
        move->step_time_ns = result.step_time_ns;
        --*left;
    }
    return EMP_OK;
}

/* Layers and ops get half of the steps each, those most to blame first. */
static emp_status simulate(struct mover *m, emp_sim *sim, bool is_of_layers,
                           emp_error *err)
{
    emp_status   st = EMP_OK;
    struct rank *rank = NULL;
    int32_t      count = 0, left = EMP_EXPLORE_TRIALS / 2;

    EMP_TRY(EMP_ALLOC(rank, (size_t)m->unit_count));
    for (int32_t u = 0; u < m->unit_count; u++)
        if ((m->unit[u].op < 0) == is_of_layers)
            rank[count++] = (struct rank){u, m->unit[u].blame_s};
    qsort(rank, (size_t)count, sizeof *rank, compare_ranks);
    for (int32_t i = 0; i < count && left > 0; i++)
        EMP_TRY(simulate_unit(m, sim, rank[i].unit, &left, err));

cleanup:
    emp_free(rank);
    return st;
}

emp_status emp_explore_find_moves(emp_explore_move *move, const emp_problem *problem,
                                  emp_sim *sim, const emp_decision *decision,
                                  const int32_t *row_of_op, const emp_explore_unit *unit,
                                  int32_t unit_count, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct mover m = {.problem = problem,
                      .decision = decision,
                      .row_of_op = row_of_op,
                      .unit = unit,
                      .unit_count = unit_count,
                      .move = move};

    for (int32_t i = 0; i < BATCH; i++)
        EMP_TRY(EMP_ALLOC(m.placement[i], (size_t)problem->graph->op_count));
    EMP_TRY(begin_estimates(&m, sim, err));
    EMP_TRY(estimate(&m, err));
    EMP_TRY(simulate(&m, sim, true, err));
    EMP_TRY(simulate(&m, sim, false, err));

cleanup:
    emp_surrogate_destroy(m.surrogate);
    for (int32_t i = 0; i < BATCH; i++) emp_free(m.placement[i]);
    return st;
}
