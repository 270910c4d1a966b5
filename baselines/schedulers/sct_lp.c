// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/baechi.h"

#include <glpk.h>

#include "base/lp/guard.h"
#include "base/mem.h"
#include "base/work.h"

/* Rows and columns, from 1 on as GLPK counts. A column for each task (s), each edge (x),
 * and w; a row for each edge, then for each task three, of which some stay free. */
typedef struct {
    const emp_task_graph *graph;
    emp_sct_solution     *solution;
    double                unit_ns; /**< of times in the program: the longest of all */
    double               *time;    /**< [task] in units */
    int                  *row, *column; /**< [1 ..] of entries */
    double               *value;
    int                   entry_count;
    int32_t              *reader_count, *producer_count; /**< [task] */
    glp_prob             *lp;
    emp_arrays            arrays;
} program;

static int start_column(int32_t task) { return 1 + task; }
static int edge_column(const program *p, int32_t edge)
{
    return 1 + p->graph->task_count + edge;
}
static int end_column(const program *p)
{
    return 1 + p->graph->task_count + p->solution->edge_count;
}
static int edge_row(int32_t edge) { return 1 + edge; }
static int readers_row(const program *p, int32_t task)
{
    return 1 + p->solution->edge_count + 3 * task;
}
static int producers_row(const program *p, int32_t task)
{
    return readers_row(p, task) + 1;
}
static int end_row(const program *p, int32_t task) { return readers_row(p, task) + 2; }

/* ---- edges ---- */

static void list_edges(emp_sct_solution *solution, const emp_task_graph *t)
{
    for (int32_t task = 0; task < t->task_count; task++) {
        int32_t row_end = t->input_offset[task + 1];
        for (int32_t i = t->input_offset[task]; i < row_end;) {
            emp_task_edge     edge = emp_task_edge_at(t, i, row_end);
            uint64_t          from = t->devices_of_pin[t->pin_of_task[edge.producer]];
            uint64_t          to = t->devices_of_pin[t->pin_of_task[task]];
            emp_mean_transfer mean = emp_task_mean_transfer(t, from | to);
            solution->edge[solution->edge_count++] = (emp_sct_edge){
                edge.producer, task, emp_mean_transfer_ns(mean, edge), (from & to) == 0};
            i = edge.end;
        }
    }
}

static emp_status allocate(program *p, emp_error *err)
{
    const emp_task_graph *t = p->graph;
    emp_sct_solution     *s = p->solution;
    size_t                tasks = (size_t)t->task_count;
    size_t                inputs = (size_t)t->input_offset[t->task_count];

    s->edge = EMP_ADD_ARRAY(&s->arrays, emp_sct_edge, inputs);
    s->apart = EMP_ADD_ARRAY(&s->arrays, double, inputs);
    s->start_ns = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->edge_dual = EMP_ADD_ARRAY(&s->arrays, double, inputs);
    s->readers_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->producers_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->end_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    p->time = EMP_ADD_ARRAY(&p->arrays, double, tasks);
    p->reader_count = EMP_ADD_ARRAY(&p->arrays, int32_t, tasks);
    p->producer_count = EMP_ADD_ARRAY(&p->arrays, int32_t, tasks);
    p->row = EMP_ADD_ARRAY(&p->arrays, int, 5 * inputs + 2 * tasks + 1);
    p->column = EMP_ADD_ARRAY(&p->arrays, int, 5 * inputs + 2 * tasks + 1);
    p->value = EMP_ADD_ARRAY(&p->arrays, double, 5 * inputs + 2 * tasks + 1);
    if (s->arrays.is_short || p->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "linear program of %d tasks", t->task_count);
    return EMP_OK;
}

static void measure(program *p)
{
    const emp_task_graph *t = p->graph;
    emp_sct_solution     *s = p->solution;

    list_edges(s, t);
    p->unit_ns = 1.0;
    for (int32_t i = 0; i < t->task_count; i++) {
        p->time[i] = emp_task_mean_time_ns(t, i);
        if (p->time[i] > p->unit_ns) p->unit_ns = p->time[i];
    }
    for (int32_t e = 0; e < s->edge_count; e++) {
        p->reader_count[s->edge[e].from]++;
        p->producer_count[s->edge[e].to]++;
        if (s->edge[e].cost_ns > p->unit_ns) p->unit_ns = s->edge[e].cost_ns;
    }
    for (int32_t i = 0; i < t->task_count; i++) p->time[i] /= p->unit_ns;
}

/* ---- the program ---- */

static void enter(program *p, int row, int column, double value)
{
    p->entry_count++;
    p->row[p->entry_count] = row;
    p->column[p->entry_count] = column;
    p->value[p->entry_count] = value;
}

static void add_edge(program *p, int32_t e)
{
    const emp_sct_edge *edge = &p->solution->edge[e];
    int                 x = edge_column(p, e);

    glp_set_col_bnds(p->lp, x, edge->is_apart ? GLP_FX : GLP_DB,
                     edge->is_apart ? 1.0 : 0.0, 1.0);
    glp_set_row_bnds(p->lp, edge_row(e), GLP_LO, p->time[edge->from], 0.0);
    enter(p, edge_row(e), start_column(edge->to), 1.0);
    enter(p, edge_row(e), start_column(edge->from), -1.0);
    if (edge->cost_ns > 0.0) enter(p, edge_row(e), x, -edge->cost_ns / p->unit_ns);
    if (p->reader_count[edge->from] > 1) enter(p, readers_row(p, edge->from), x, 1.0);
    if (p->producer_count[edge->to] > 1) enter(p, producers_row(p, edge->to), x, 1.0);
}

static void add_task(program *p, int32_t task)
{
    int32_t readers = p->reader_count[task], producers = p->producer_count[task];

    glp_set_col_bnds(p->lp, start_column(task), GLP_LO, 0.0, 0.0);
    glp_set_row_bnds(p->lp, readers_row(p, task), readers > 1 ? GLP_LO : GLP_FR,
                     readers - 1.0, 0.0);
    glp_set_row_bnds(p->lp, producers_row(p, task), producers > 1 ? GLP_LO : GLP_FR,
                     producers - 1.0, 0.0);
    /* Readers start later, so that it says nothing of other tasks. */
    glp_set_row_bnds(p->lp, end_row(p, task), readers == 0 ? GLP_LO : GLP_FR,
                     p->time[task], 0.0);
    if (readers > 0) return;
    enter(p, end_row(p, task), end_column(p), 1.0);
    enter(p, end_row(p, task), start_column(task), -1.0);
}

static void state_program(program *p)
{
    const emp_sct_solution *s = p->solution;
    int32_t                 tasks = p->graph->task_count;

    p->lp = glp_create_prob();
    glp_set_obj_dir(p->lp, GLP_MIN);
    glp_add_rows(p->lp, s->edge_count + 3 * tasks);
    glp_add_cols(p->lp, end_column(p));
    glp_set_col_bnds(p->lp, end_column(p), GLP_LO, 0.0, 0.0);
    glp_set_obj_coef(p->lp, end_column(p), 1.0);
    for (int32_t e = 0; e < s->edge_count; e++) add_edge(p, e);
    for (int32_t i = 0; i < tasks; i++) add_task(p, i);
    glp_load_matrix(p->lp, p->entry_count, p->row, p->column, p->value);
}

static void read_solution(program *p)
{
    emp_sct_solution *s = p->solution;

    s->makespan_ns = glp_get_col_prim(p->lp, end_column(p)) * p->unit_ns;
    for (int32_t e = 0; e < s->edge_count; e++) {
        s->apart[e] = glp_get_col_prim(p->lp, edge_column(p, e));
        s->edge_dual[e] = glp_get_row_dual(p->lp, edge_row(e));
    }
    for (int32_t i = 0; i < p->graph->task_count; i++) {
        s->start_ns[i] = glp_get_col_prim(p->lp, start_column(i)) * p->unit_ns;
        s->readers_dual[i] = glp_get_row_dual(p->lp, readers_row(p, i)) * p->unit_ns;
        s->producers_dual[i] = glp_get_row_dual(p->lp, producers_row(p, i)) * p->unit_ns;
        s->end_dual[i] = glp_get_row_dual(p->lp, end_row(p, i));
    }
}

/* 0, or why GLPK gave up. */
static int solve(void *context)
{
    program *p = (program *)context;
    glp_smcp how;

    state_program(p);
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = GLP_ON;
    how.meth = GLP_DUALP;     /* all at 0 is dual feasible */
    how.r_test = GLP_RT_FLIP; /* many columns have two bounds */
    int failure = glp_simplex(p->lp, &how);
    if (failure == 0 && glp_get_status(p->lp) != GLP_OPT) failure = GLP_EFAIL;
    if (failure == 0) read_solution(p);
    return failure;
}

emp_status emp_sct_solve(emp_sct_solution *solution, const emp_task_graph *graph,
                         emp_error *err)
{
    emp_status st = EMP_OK;
    program    p = {.graph = graph, .solution = solution};

    *solution = (emp_sct_solution){0};
    EMP_TRY(allocate(&p, err));
    measure(&p);
    const char *before = emp_stage_set("solving the linear program");
    int         failure = graph->task_count > 0 ? emp_lp_guarded(solve, &p) : 0;
    (void)emp_stage_set(before);
    if (failure != 0) {
        EMP_FAIL(EMP_EEXTERNAL,
                 "GLPK cannot solve the linear program of %d edges: code %d",
                 solution->edge_count, failure);
    }

cleanup:
    emp_arrays_clear(&p.arrays);
    return st;
}

void emp_sct_solution_clear(emp_sct_solution *s)
{
    emp_arrays_clear(&s->arrays);
    *s = (emp_sct_solution){0};
}
