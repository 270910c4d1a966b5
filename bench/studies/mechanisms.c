// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/studies/mechanisms.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/work.h"
#include "bench/trials/trials.h"
#include "run/methods.h"
#include "sim/engine/sim.h"

const char *const emp_mechanism_method[EMP_MECHANISM_METHODS] = {
    "cpu", "gpu", "expert", "scotch", "mincut", "metis", "random"};

/* ---- the mechanisms ---- */

static void no_serial_issue(emp_runtime_events *r) { r->serial_issue = false; }
static void no_issue(emp_runtime_events *r) { r->issue_s = r->issue_kernel_s = 0.0; }
static void no_kernelless(emp_runtime_events *r) { r->issue_kernelless_s = 0.0; }
static void no_cpu_op(emp_runtime_events *r) { r->cpu_op_s = 0.0; }
static void no_cpu_pool(emp_runtime_events *r) { r->cpu_pool = false; }
static void no_drain(emp_runtime_events *r) { r->drain_copies = false; }
static void no_poll(emp_runtime_events *r) { r->poll_s = 0.0; }
static void no_send(emp_runtime_events *r) { r->send_s = r->receive_s = 0.0; }
static void no_sharing(emp_runtime_events *r) { r->share_copies = false; }
static void no_streams(emp_runtime_events *r) { r->copy_streams = false; }
static void no_contention(emp_runtime_events *r) { r->shared_links = false; }
static void no_messages(emp_runtime_events *r) { r->control_latency = false; }
/* The rate that data/runtimes/tf-r1.3.yaml gives with its source. */
static void pageable(emp_runtime_events *r) { r->pageable_s_per_byte = 1.0 / 4.5e9; }
static void no_early_release(emp_runtime_events *r) { r->release_at_issue = false; }
static void no_reuse(emp_runtime_events *r) { r->reuse_inputs = false; }
static void no_copy_memory(emp_runtime_events *r) { r->copy_memory = false; }
static void no_workspace(emp_runtime_events *r) { r->workspace = false; }
static void no_waiting_addn(emp_runtime_events *r) { r->addn_waits = false; }
static void share_memory(emp_runtime_events *r) { r->shared_memory = true; }
static void bfc(emp_runtime_events *r) { r->bfc_allocator = true; }

struct mechanism {
    emp_mechanism mechanism;
    /* NULL: the latency of the machine's links goes. */
    void (*change)(emp_runtime_events *runtime);
};

static const struct mechanism mechanisms[] = {
    {{"serial_issue", "off: GPUs need no host thread"}, no_serial_issue},
    {{"issue", "0: issuing a kernel costs the host nothing"}, no_issue},
    {{"issue_kernelless", "0: ops without kernels cost nothing"}, no_kernelless},
    {{"cpu_op", "0: handing an op to the CPU's pool costs nothing"}, no_cpu_op},
    {{"cpu_pool", "off: the CPU runs one op at a time"}, no_cpu_pool},
    {{"drain_copies", "off: copies do not wait for queued compute"}, no_drain},
    {{"poll", "0: the host sees a copy done at once"}, no_poll},
    {{"send, receive", "0: copies cost the host nothing"}, no_send},
    {{"share_copies", "off: a copy per edge, not per tensor and device"}, no_sharing},
    {{"copy_streams", "off: copies of one direction overlap"}, no_streams},
    {{"shared_links", "off: every copy has its links to itself"}, no_contention},
    {{"latency", "0: a copy takes the time of its bytes"}, NULL},
    {{"control_latency", "off: control edges between devices are free"}, no_messages},
    {{"pageable_per_byte", "on: fed tensors cross at 4.5 GB/s"}, pageable},
    {{"release_at_issue", "off: inputs are kept until the kernel ends"},
     no_early_release},
    {{"reuse_inputs", "off: ops in place take a new buffer"}, no_reuse},
    {{"copy_memory", "off: copies take no memory"}, no_copy_memory},
    {{"workspace", "off: convolutions take none"}, no_workspace},
    {{"addn_waits", "off: AddN adds its inputs as they come"}, no_waiting_addn},
    {{"shared_memory", "on: CPU ops share the rate of the memory"}, share_memory},
    {{"bfc_allocator", "on: chunks of one region instead of a sum"}, bfc},
};

enum { MECHANISMS = sizeof mechanisms / sizeof mechanisms[0] };

const emp_mechanism *emp_mechanism_at(int32_t index)
{
    return index >= 0 && index < MECHANISMS ? &mechanisms[index].mechanism : NULL;
}

/* ---- one task ---- */

/* A task and the placements that the methods found for it. */
typedef struct {
    const emp_problem *problem;
    emp_machine       *prompt; /* the machine without latency */
    emp_device_id     *device_of_op[EMP_MECHANISM_METHODS];
} placed;

static emp_status place(emp_device_id **device_of_op, const char *method,
                        const emp_problem *problem, const emp_mechanism_params *params,
                        emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_record     record = {0};
    emp_run_params run = {.placer = {.seed = params->seed, .threads = 1},
                          .budget_evaluations = strcmp(method, "random") == 0 ? 1 : 0,
                          .stop = params->stop};

    EMP_TRY(emp_method_find(&run.method, method, err));
    EMP_TRY(emp_run(&record, problem, &run, err));
    *device_of_op = record.decision.device_of_op;
    record.decision.device_of_op = NULL;
cleanup:
    emp_record_clear(&record);
    return st;
}

static emp_mechanism_score score_of(const emp_sim_result *r)
{
    emp_mechanism_score score = {.step_s = (double)r->step_time_ns * 1e-9,
                                 .fits = r->is_feasible};

    for (int32_t d = 1; d < r->device_count; d++) {
        if (r->peak_bytes[d] > score.peak_bytes) score.peak_bytes = r->peak_bytes[d];
    }
    if (score.peak_bytes == 0) score.peak_bytes = r->peak_bytes[0];
    return score;
}

static emp_status score_all(emp_mechanism_score score[EMP_MECHANISM_METHODS],
                            const placed *task, const emp_problem *problem,
                            emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_sim_result result;

    EMP_TRY(emp_sim_create(&sim, problem, err));
    for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++) {
        EMP_TRY(emp_sim_run(sim, task->device_of_op[k], &result, err));
        score[k] = score_of(&result);
    }
cleanup:
    emp_sim_destroy(sim);
    return st;
}

/* A new problem, because costs follow from the runtime. */
static emp_status score_changed(emp_mechanism_row *row, int32_t mechanism,
                                const placed *task, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_problem       *problem = NULL;
    emp_runtime        changed = task->problem->runtime;
    const emp_machine *machine = task->problem->given;

    if (mechanisms[mechanism].change == NULL)
        machine = task->prompt;
    else
        mechanisms[mechanism].change(&changed.events);
    EMP_TRY(emp_problem_create(&problem, task->problem->graph, machine, &changed,
                               row->task->spec, err));
    EMP_TRY(score_all(row->after[mechanism], task, problem, err));
cleanup:
    emp_problem_destroy(problem);
    return st;
}

/* ---- the table ---- */

typedef struct {
    const emp_mechanism_params *params;
    emp_mechanism_table        *table;
    emp_trials_tasks            tasks;
    int32_t                     done, total;
} plan;

static emp_status create_table(plan *p, emp_error *err)
{
    emp_mechanism_table *t = p->table = EMP_NEW(emp_mechanism_table);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "table of mechanisms");
    snprintf(t->runtime, sizeof t->runtime, "%s", p->tasks.runtime);
    t->mechanism_count = MECHANISMS;
    EMP_CHECK(EMP_ALLOC(t->row, (size_t)p->tasks.count));
    for (int32_t i = 0; i < p->tasks.count; i++) {
        emp_mechanism_row *row = &t->row[t->row_count++];
        row->task = &emp_paper_task[emp_paper_find(p->tasks.task[i].key)];
        EMP_CHECK(EMP_ALLOC(row->after, MECHANISMS));
    }
    p->total = t->row_count * (MECHANISMS + 1);
    return EMP_OK;
}

static emp_status count_done(plan *p, emp_error *err)
{
#pragma omp critical(emp_mechanisms)
    {
        p->done++;
        if (p->params->on_progress != NULL)
            p->params->on_progress(p->params->context, (double)p->done / p->total);
    }
    if (emp_stop_is_set(p->params->stop))
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    return EMP_OK;
}

static emp_status make_row(void *context, int32_t number, emp_error *err)
{
    emp_status         st = EMP_OK;
    plan              *p = (plan *)context;
    emp_mechanism_row *row = &p->table->row[number];
    placed             task = {.problem = p->tasks.loaded[number].problem};

    EMP_TRY(emp_machine_load(&task.prompt, row->task->machine, err));
    for (int32_t l = 0; l < task.prompt->link_count; l++)
        task.prompt->link[l].latency_s = 0.0;
    emp_machine_time_routes(task.prompt);
    for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++)
        EMP_TRY(place(&task.device_of_op[k], emp_mechanism_method[k], task.problem,
                      p->params, err));
    EMP_TRY(score_all(row->before, &task, task.problem, err));
    EMP_TRY(count_done(p, err));
    for (int32_t m = 0; m < MECHANISMS; m++) {
        EMP_TRY(score_changed(row, m, &task, err));
        EMP_TRY(count_done(p, err));
    }
cleanup:
    for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++) emp_free(task.device_of_op[k]);
    emp_machine_destroy(task.prompt);
    return st;
}

emp_status emp_mechanism_table_make(emp_mechanism_table       **out,
                                    const emp_mechanism_params *params, emp_error *err)
{
    emp_status  st = EMP_OK;
    plan        p = {.params = params};
    emp_runtime runtime;

    *out = NULL;
    EMP_TRY(emp_trials_choose(&p.tasks, emp_paper_task, EMP_PAPER_TASKS, params->rows,
                              NULL, "table 1 has no row", err));
    EMP_TRY(emp_runtime_init(&runtime, params->runtime, err));
    if (runtime.rules != EMP_RULES_EVENTS)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "%s has other rules; mechanisms are those of the rules \"events\"",
                 params->runtime);
    EMP_TRY(emp_trials_load(&p.tasks, params->runtime, params->threads, err));
    EMP_TRY(create_table(&p, err));
    EMP_TRY(emp_trials_each(p.table->row_count, params->threads, make_row, &p, err));
    *out = p.table;
    p.table = NULL;
cleanup:
    emp_mechanism_table_destroy(p.table);
    emp_trials_tasks_clear(&p.tasks);
    return st;
}

void emp_mechanism_table_destroy(emp_mechanism_table *table)
{
    if (table == NULL) return;
    for (int32_t r = 0; table->row != NULL && r < table->row_count; r++) {
        emp_free(table->row[r].after);
    }
    emp_free(table->row);
    emp_free(table);
}

/* ---- printing ---- */

static const emp_sheet_column legend_columns[] = {
    EMP_COLUMN("mechanism", "mechanism", EMP_SHEET_WORD),
    EMP_COLUMN("switched", "switched", EMP_SHEET_WORD)};

static const emp_sheet_column columns[] = {
    EMP_COLUMN("row", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("method", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN(NULL, "mechanism", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("switched", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("step_time_s", NULL, EMP_SHEET_REAL, .precision = 9),
    EMP_COLUMN("peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("fits", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD)};

static void describe_change(emp_text *out, const emp_mechanism_score *before,
                            const emp_mechanism_score *after)
{
    double time = 100.0 * (after->step_s / before->step_s - 1.0);
    double peak = 100.0 * ((double)after->peak_bytes / (double)before->peak_bytes - 1.0);

    if (time > -0.05 && time < 0.05)
        emp_text_add(out, "0");
    else
        emp_text_add(out, "%+.1f %%", time);
    if (before->peak_bytes > 0 && (peak >= 1.0 || peak <= -1.0))
        emp_text_add(out, ", memory %+.0f %%", peak);
    if (before->fits != after->fits)
        emp_text_add(out, after->fits ? ", fits" : ", no fit");
}

/* \a after: NULL of the runtime as it is. */
static void add_line(emp_sheet *s, const emp_mechanism_row *row, int32_t method,
                     const char *mechanism, const emp_mechanism_score *after)
{
    const emp_mechanism_score *before = &row->before[method];
    const emp_mechanism_score *score = after == NULL ? before : after;
    char                       array[EMP_SHEET_CELL_BYTES];
    emp_text                   text = {array, sizeof array, 0};

    if (after == NULL)
        emp_text_add(&text, "%.4g s%s", before->step_s,
                     before->fits ? "" : ", does not fit");
    else
        describe_change(&text, before, after);
    EMP_SHEET_ADD(s, EMP_V(row->task->key), EMP_V(row->task->machine),
                  EMP_V(emp_mechanism_method[method]),
                  EMP_V(after == NULL ? "as it is" : mechanism),
                  EMP_V(after == NULL ? "nothing" : mechanism), EMP_V(score->step_s),
                  EMP_V(score->peak_bytes), EMP_V(score->fits), EMP_V(array));
}

static void tabulate(emp_sheet *s, const emp_mechanism_table *table, int32_t row_number)
{
    const emp_mechanism_row *row = &table->row[row_number];
    int32_t                  mechanism_count = table->mechanism_count;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_title(s, "%s (%s) on %s, runtime %s", row->task->title, row->task->spec,
                        row->task->machine, table->runtime);
    emp_sheet_set_facts(s, json_pack("{s:s, s:s, s:s}", "workload", row->task->spec,
                                     "machine", row->task->machine, "runtime",
                                     table->runtime));
    for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++) {
        add_line(s, row, k, NULL, NULL);
        for (int32_t m = 0; m < mechanism_count; m++)
            add_line(s, row, k, emp_mechanism_at(m)->name, &row->after[m][k]);
    }
}

emp_status emp_mechanism_table_print(FILE *out, const emp_mechanism_table *table,
                                     emp_sheet_format format, emp_error *err)
{
    emp_sheet sheet[EMP_PAPER_TASKS], legend;
    bool      is_read = format == EMP_SHEET_TEXT || format == EMP_SHEET_MD;

    emp_sheet_init(&legend, legend_columns, 2);
    for (int32_t m = 0; m < table->mechanism_count; m++)
        EMP_SHEET_ADD(&legend, EMP_V(emp_mechanism_at(m)->name),
                      EMP_V(emp_mechanism_at(m)->what));
    for (int32_t r = 0; r < table->row_count; r++) {
        tabulate(&sheet[r], table, r);
        if (r > 0) sheet[r - 1].next = &sheet[r];
    }
    legend.next = &sheet[0];
    emp_status st = emp_sheet_print(out, is_read ? &legend : &sheet[0], format, err);
    for (int32_t r = 0; r < table->row_count; r++) emp_sheet_clear(&sheet[r]);
    emp_sheet_clear(&legend);
    return st;
}
