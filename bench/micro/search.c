// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/micro/search.h"

#include "base/mem.h"
#include "base/work.h"
#include "bench/micro/synthetic.h"
#include "run/loop.h"
#include "sim/engine/sim.h"

enum { LEAST_PROPOSALS = 64 };

/* One graph and the oracle of it. What is owned here is NULL of a task, which is loaded. */
typedef struct {
    const emp_search_params *params;
    const char              *task; /* or NULL */
    const emp_problem       *problem;
    emp_graph               *graph;
    emp_problem             *owned;
    emp_sim                 *sim;
    int64_t                  proposals;                      /* of a run */
    double                  *proposals_per_s, *oracle_share; /* [round] */
} stand;

static emp_status set_up_synthetic(stand *s, const emp_machine *machine, int32_t op_count,
                                   emp_error *err)
{
    const emp_search_params *p = s->params;
    emp_runtime              runtime;

    EMP_CHECK(emp_synthetic_graph(&s->graph, op_count, p->seed, err));
    EMP_CHECK(emp_runtime_init(&runtime, p->runtime, err));
    EMP_CHECK(
        emp_problem_create(&s->owned, s->graph, machine, &runtime, "synthetic", err));
    emp_synthetic_vary_costs(s->owned, p->seed);
    s->problem = s->owned;
    s->proposals = p->ops / op_count;
    if (s->proposals < LEAST_PROPOSALS) s->proposals = LEAST_PROPOSALS;
    return EMP_OK;
}

static emp_status set_up(stand *s, emp_error *err)
{
    const size_t rounds = (size_t)s->params->repeats;

    EMP_CHECK(EMP_ALLOC(s->proposals_per_s, rounds));
    EMP_CHECK(EMP_ALLOC(s->oracle_share, rounds));
    return emp_sim_create(&s->sim, s->problem, err);
}

static void tear_down(stand *s)
{
    emp_sim_destroy(s->sim);
    emp_problem_destroy(s->owned);
    emp_graph_destroy(s->graph);
    emp_free(s->proposals_per_s);
    emp_free(s->oracle_share);
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

static emp_status time_search(emp_record *record, watch *w, const stand *s,
                              const emp_method *method, int32_t round, emp_error *err)
{
    emp_run_params run = {
        .method = method,
        .placer = {.seed = s->params->seed + (uint64_t)round, .threads = 1},
        .budget_evaluations = s->proposals,
        .stop = s->params->stop,
        .progress = note_batch,
        .context = w};

    *w = (watch){0};
    EMP_CHECK(emp_run(record, s->problem, &run, err));
    if (emp_stop_is_set(s->params->stop))
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    if (w->last == w->first)
        return EMP_ERROR(EMP_EINVAL,
                         "%s ended with its first batch on %d ops; there is nothing to "
                         "time",
                         method->name, s->problem->graph->op_count);
    return EMP_OK;
}

static double rate_of(const watch *w)
{
    return (double)(w->last - w->first) / (w->last_s - w->first_s);
}

static emp_status measure_round(stand *s, const emp_method *method, int32_t round,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    emp_record record = {0};
    watch      w;
    double     oracle_s = 0.0;

    EMP_TRY(time_search(&record, &w, s, method, round, err));
    EMP_TRY(time_oracle(s, record.decision.device_of_op, (w.last - w.first) / 4 + 1,
                        &oracle_s, err));
    s->proposals_per_s[round] = rate_of(&w);
    s->oracle_share[round] = oracle_s * s->proposals_per_s[round];

cleanup:
    emp_record_clear(&record);
    return st;
}

static int32_t count_graphs(const emp_search_params *p)
{
    return p->task_count > 0 ? p->task_count : p->size_count;
}

static emp_status measure_method(emp_search_report *report, stand *s, int32_t number,
                                 emp_error *err)
{
    const emp_search_params *p = s->params;
    emp_search_row          *row = &report->row[report->row_count];
    const size_t             rounds = (size_t)p->repeats;
    const double             rows = (double)count_graphs(p) * p->method_count;

    for (int32_t round = 0; round < p->repeats; round++) {
        EMP_CHECK(measure_round(s, p->method[number], round, err));
        if (p->on_progress != NULL)
            p->on_progress(p->context,
                           (report->row_count + (round + 1.0) / p->repeats) / rows);
    }
    row->task = s->task;
    row->op_count = s->problem->graph->op_count;
    row->method = p->method[number];
    row->proposals_per_s = emp_quartiles_of(s->proposals_per_s, rounds);
    row->oracle_share = emp_quartiles_of(s->oracle_share, rounds);
    report->row_count++;
    return EMP_OK;
}

static emp_status measure_methods(emp_search_report *report, stand *s, emp_error *err)
{
    EMP_CHECK(set_up(s, err));
    for (int32_t m = 0; m < s->params->method_count; m++)
        EMP_CHECK(measure_method(report, s, m, err));
    return EMP_OK;
}

static emp_status measure_size(emp_search_report *report, const emp_search_params *p,
                               const emp_machine *machine, int32_t number, emp_error *err)
{
    emp_status st = EMP_OK;
    stand      s = {.params = p};

    EMP_TRY(set_up_synthetic(&s, machine, p->size[number], err));
    EMP_TRY(measure_methods(report, &s, err));

cleanup:
    tear_down(&s);
    return st;
}

static emp_status measure_tasks(emp_search_report *report, const emp_search_params *p,
                                emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_loaded_task loaded[EMP_SEARCH_MAX_SIZES] = {0};
    emp_runtime     runtime;

    EMP_TRY(emp_runtime_init(&runtime, p->runtime, err));
    EMP_TRY(emp_tasks_load(loaded, p->task, p->task_count, &runtime, 1, err));
    for (int32_t i = 0; i < p->task_count; i++) {
        stand s = {.params = p,
                   .task = p->task[i].key,
                   .problem = loaded[i].problem,
                   .proposals = p->moves};
        st = measure_methods(report, &s, err);
        tear_down(&s);
        if (st != EMP_OK) goto cleanup;
    }

cleanup:
    emp_tasks_clear(loaded, p->task_count);
    return st;
}

static emp_status measure_sizes(emp_search_report *report, const emp_search_params *p,
                                emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine = NULL;

    EMP_TRY(emp_machine_load(&machine, p->machine, err));
    for (int32_t i = 0; i < p->size_count; i++)
        EMP_TRY(measure_size(report, p, machine, i, err));

cleanup:
    emp_machine_destroy(machine);
    return st;
}

emp_status emp_search_measure(emp_search_report *report, const emp_search_params *params,
                              emp_error *err)
{
    *report = (emp_search_report){0};
    return params->task_count > 0 ? measure_tasks(report, params, err)
                                  : measure_sizes(report, params, err);
}

/* ---- printed ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("task", "task", EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("ops", "ops", EMP_SHEET_COUNT),
    EMP_COLUMN("method", "method", EMP_SHEET_WORD),
    EMP_COLUMN("proposals_per_s", "moves/CPU s", EMP_SHEET_REAL, .form = "%.0f",
               .low = "low", .high = "high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("oracle_share", "of that the oracle alone", EMP_SHEET_SHARE,
               .form = "%.0f %%"),
    EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT)};

/* Rows of Table 1 have machines of their own. */
static void add_task(emp_sheet *s, const emp_search_params *p)
{
    const char *machine = p->task_count > 0 ? "of the row" : p->machine;

    emp_sheet_set_facts(
        s, json_pack("{s:s, s:s}", "machine", machine, "runtime", p->runtime));
    emp_sheet_note(s, "%s, machine %s, runtime %s.",
                   p->task_count > 0 ? "Rows of Table 1" : "Synthetic training graphs",
                   machine, p->runtime);
}

void emp_search_tabulate(emp_sheet *s, const emp_search_report *report,
                         const emp_search_params *params)
{
    EMP_SHEET_INIT(s, columns);
    s->rows = "searches";
    add_task(s, params);
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_search_row *r = &report->row[i];
        EMP_SHEET_ADD(s, EMP_V(r->task), EMP_V(r->op_count), EMP_V(r->method->name),
                      emp_quartiles_value(&r->proposals_per_s),
                      EMP_V(r->oracle_share.median),
                      EMP_V((int64_t)r->proposals_per_s.count));
    }
}
