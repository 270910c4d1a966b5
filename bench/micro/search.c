// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/micro/search.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/micro/synthetic.h"
#include "run/loop.h"
#include "sim/engine/sim.h"

enum { LEAST_PROPOSALS = 64 };

/* One graph and the oracle of it. */
typedef struct {
    const emp_search_params *params;
    const emp_machine       *machine;
    emp_graph               *graph;
    emp_problem             *problem;
    emp_sim                 *sim;
    double                  *proposals_per_s, *oracle_share; /* [round] */
} stand;

static emp_status set_up(stand *s, int32_t op_count, emp_error *err)
{
    const emp_search_params *p = s->params;
    emp_runtime              runtime;

    EMP_CHECK(EMP_ALLOC(s->proposals_per_s, (size_t)p->repeats));
    EMP_CHECK(EMP_ALLOC(s->oracle_share, (size_t)p->repeats));
    EMP_CHECK(emp_synthetic_graph(&s->graph, op_count, p->seed, err));
    EMP_CHECK(emp_runtime_load(&runtime, p->runtime, err));
    EMP_CHECK(emp_problem_create(&s->problem, s->graph, s->machine, &runtime, "synthetic",
                                 err));
    emp_synthetic_vary_costs(s->problem, p->seed);
    return emp_sim_create(&s->sim, s->problem, err);
}

/* When the first batch of a run ended, and the last. */
typedef struct {
    int     batches;
    int64_t first, last; /* evaluations until then */
    double  first_s, last_s;
} watch;

static void note_batch(void *context, const emp_progress *progress)
{
    watch *w = (watch *)context;

    w->last = progress->evaluations;
    w->last_s = emp_clock_thread_s();
    if (w->batches++ > 0) return;
    w->first = w->last;
    w->first_s = w->last_s;
}

static emp_status time_oracle(const stand *s, const emp_device_id *device_of_op,
                              int64_t count, double *seconds, emp_error *err)
{
    emp_sim_result result;
    double         start_s = emp_clock_thread_s();

    for (int64_t i = 0; i < count; i++)
        EMP_CHECK(emp_sim_run(s->sim, device_of_op, &result, err));
    *seconds = (emp_clock_thread_s() - start_s) / (double)count;
    return EMP_OK;
}

static emp_status measure_round(stand *s, const emp_method *method, int32_t round,
                                emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_record     record = {0};
    watch          w = {0};
    int64_t        most = s->params->ops / s->graph->op_count;
    double         oracle_s = 0.0;
    emp_run_params run = {
        .method = method,
        .placer = {.seed = s->params->seed + (uint64_t)round, .threads = 1},
        .budget_evaluations = most > LEAST_PROPOSALS ? most : LEAST_PROPOSALS,
        .stop = s->params->stop,
        .progress = note_batch,
        .context = &w};

    EMP_TRY(emp_run(&record, s->problem, &run, err));
    if (s->params->stop != NULL && *s->params->stop != 0)
        EMP_FAIL(EMP_EINTERRUPTED, "interrupted");
    if (w.last == w.first)
        EMP_FAIL(EMP_EINVAL,
                 "%s ended with its first batch on %d ops; there is nothing to "
                 "time",
                 method->name, s->graph->op_count);
    EMP_TRY(
        time_oracle(s, record.device_of_op, (w.last - w.first) / 4 + 1, &oracle_s, err));
    s->proposals_per_s[round] = (double)(w.last - w.first) / (w.last_s - w.first_s);
    s->oracle_share[round] = oracle_s * s->proposals_per_s[round];

cleanup:
    emp_record_clear(&record);
    return st;
}

static emp_status measure_method(emp_search_report *report, stand *s, int32_t number,
                                 double before_frac, double share_frac, emp_error *err)
{
    const emp_search_params *p = s->params;
    emp_search_row          *row = &report->row[report->row_count];

    for (int32_t round = 0; round < p->repeats; round++) {
        EMP_CHECK(measure_round(s, p->method[number], round, err));
        if (p->on_progress != NULL)
            p->on_progress(p->context,
                           before_frac + share_frac * (round + 1) / p->repeats);
    }
    row->op_count = s->graph->op_count;
    row->method = p->method[number];
    row->proposals_per_s = emp_quartiles_of(s->proposals_per_s, (size_t)p->repeats);
    row->oracle_share = emp_quartiles_of(s->oracle_share, (size_t)p->repeats);
    report->row_count++;
    return EMP_OK;
}

static emp_status measure_size(emp_search_report *report, const emp_search_params *p,
                               const emp_machine *machine, int32_t number, emp_error *err)
{
    emp_status st = EMP_OK;
    stand      s = {.params = p, .machine = machine};
    double     rows = (double)p->size_count * p->method_count;

    EMP_TRY(set_up(&s, p->size[number], err));
    for (int32_t m = 0; m < p->method_count; m++)
        EMP_TRY(measure_method(report, &s, m,
                               (double)(number * p->method_count + m) / rows, 1.0 / rows,
                               err));

cleanup:
    emp_sim_destroy(s.sim);
    emp_problem_destroy(s.problem);
    emp_graph_destroy(s.graph);
    emp_free(s.proposals_per_s);
    emp_free(s.oracle_share);
    return st;
}

emp_status emp_search_measure(emp_search_report *report, const emp_search_params *params,
                              emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine = NULL;

    *report = (emp_search_report){0};
    EMP_TRY(emp_machine_load(&machine, params->machine, err));
    for (int32_t i = 0; i < params->size_count; i++)
        EMP_TRY(measure_size(report, params, machine, i, err));

cleanup:
    emp_machine_destroy(machine);
    return st;
}

/* ---- printed ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("ops", "ops", EMP_SHEET_COUNT),
    EMP_COLUMN("method", "method", EMP_SHEET_WORD),
    EMP_COLUMN("proposals_per_s", "proposals/s on a core", EMP_SHEET_REAL, .form = "%.0f",
               .low = "low", .high = "high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("oracle_share", "of that the oracle alone", EMP_SHEET_SHARE,
               .form = "%.0f%%"),
    EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT)};

void emp_search_tabulate(emp_sheet *s, const emp_search_report *report)
{
    EMP_SHEET_INIT(s, columns);
    s->rows = "searches";
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_search_row *r = &report->row[i];
        EMP_SHEET_ADD(s, EMP_V(r->op_count), EMP_V(r->method->name),
                      emp_quartiles_value(&r->proposals_per_s),
                      EMP_V(r->oracle_share.median),
                      EMP_V((int64_t)r->proposals_per_s.count));
    }
}
