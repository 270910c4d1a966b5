// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/orders/orders.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/text/options.h"
#include "base/text/units.h"
#include "bench/tables/paper.h"
#include "run/methods.h"
#include "run/ranks/deal.h"
#include "search/moves.h"
#include "search/order.h"
#include "sim/engine/sim.h"
#include "sim/problem/fusion.h"

enum { MOST_PLACEMENTS = 8 };

/* Titles of annealings, and their options: the share of moves that change the decision. */
static const struct {
    const char *title[EMP_ORDERS_ARMS], *options[EMP_ORDERS_ARMS];
    int32_t     decides;
} parts[EMP_ORDERS_PARTS] = {[EMP_ORDERS_ORDER] = {{"order", "devices", "both"},
                                                   {"order=1", NULL, "order=0.5"},
                                                   EMP_DECIDES_ORDER},
                             [EMP_ORDERS_FUSION] = {{"fusion", "devices", "both"},
                                                    {"fusion=1", NULL, "fusion=0.5"},
                                                    EMP_DECIDES_FUSION}};

struct plan {
    const emp_orders_params *params;
    emp_task                 task[EMP_PAPER_TASKS];
    emp_loaded_task          loaded[EMP_PAPER_TASKS];
    const emp_method        *method[MOST_PLACEMENTS];
    int32_t                  task_count, method_count;
    emp_job                 *placing;   /* [task][method] */
    emp_job                 *annealing; /* [arm][seed] of each row that has a placement */
    int32_t                 *first;     /* [row] its first annealing; -1: no placement */
    int32_t                  annealing_count;
    emp_orders_table        *table;
};

/* ---- what is asked for ---- */

static const char *task_key(const void *context, int32_t i)
{
    (void)context;
    return i < EMP_PAPER_TASKS ? emp_paper_task[i].key : NULL;
}

static emp_status choose_tasks(struct plan *plan, emp_error *err)
{
    const char *rows = plan->params->rows;

    EMP_CHECK(emp_word_list_check(rows, "there is no task", task_key, NULL, err));
    for (int32_t i = 0; i < EMP_PAPER_TASKS; i++)
        if (emp_word_list_has(rows, emp_paper_task[i].key))
            plan->task[plan->task_count++] = emp_paper_task[i];
    return EMP_OK;
}

static emp_status create_table(struct plan *plan, const emp_runtime *runtime,
                               emp_error *err)
{
    emp_orders_table *t = plan->table = EMP_NEW(emp_orders_table);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "table of orders");
    t->part = plan->params->part;
    snprintf(t->runtime, sizeof t->runtime, "%s", runtime->name);
    t->budget = plan->params->budget;
    t->seed_count = plan->params->seed_count;
    t->row_count = plan->task_count * plan->method_count;
    EMP_CHECK(EMP_ALLOC(t->row, (size_t)t->row_count));
    for (int32_t i = 0; i < t->row_count; i++) {
        emp_orders_row *row = &t->row[i];
        row->task = &emp_paper_task[0];
        row->placement = plan->method[i % plan->method_count]->name;
        row->plain_s = row->own_s = row->rule_s = NAN;
        for (int arm = 0; arm < EMP_ORDERS_ARMS; arm++)
            row->annealed_s[arm] = (emp_summary){NAN, NAN, NAN};
        while (strcmp(row->task->key, plan->task[i / plan->method_count].key) != 0)
            row->task++;
    }
    return EMP_OK;
}

static emp_status lay_out(struct plan *plan, emp_error *err)
{
    emp_runtime runtime;

    EMP_CHECK(choose_tasks(plan, err));
    EMP_CHECK(emp_methods_find(plan->method, &plan->method_count, MOST_PLACEMENTS,
                               plan->params->methods, err));
    EMP_CHECK(emp_runtime_init(&runtime, plan->params->runtime, err));
    if (runtime.rules != EMP_RULES_EVENTS)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "the rules of the runtime %s leave nothing but devices to decide "
            "here; take one with event rules, as tf-r1.3 or ideal",
            runtime.name);
    EMP_CHECK(create_table(plan, &runtime, err));
    return emp_tasks_load(plan->loaded, plan->task, plan->task_count, &runtime,
                          plan->params->jobs.threads, err);
}

/* ---- shards ---- */

/* A part has the rows that it is dealt in turn: their placements and the annealings from these. */
static bool is_own(const struct plan *plan, int32_t row)
{
    const emp_jobs_params *jobs = &plan->params->jobs;

    return jobs->shard_count == 0 || row % jobs->shard_count == jobs->shard - 1;
}

/* ---- placements ---- */

static emp_status place(struct plan *plan, emp_error *err)
{
    const int32_t count = plan->table->row_count;

    EMP_CHECK(EMP_ALLOC(plan->placing, (size_t)count));
    for (int32_t i = 0; i < count; i++) {
        const int32_t        r = i / plan->method_count;
        const emp_method    *type = plan->method[i % plan->method_count];
        const emp_job_method method = {.title = type->name,
                                       .method = type->name,
                                       .budget =
                                           type->uses_budget ? plan->params->budget : 0};
        EMP_CHECK(emp_job_init(&plan->placing[i], &plan->loaded[r], &plan->task[r],
                               &method, 1, err));
        plan->placing[i].is_elsewhere = !is_own(plan, i);
    }
    emp_jobs_params jobs = plan->params->jobs;
    jobs.keeps_refusals = true; /* not every scheduler finds room for every model */
    jobs.shard_count = 0;       /* the parts are dealt out here */
    jobs.is_for_all = true;
    return emp_jobs_run(plan->placing, count, &jobs, err);
}

static emp_status simulate(double *step_s, emp_sim *sim, const emp_decision *decision,
                           emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(emp_sim_run_decision(sim, decision, &result, err));
    *step_s = result.is_feasible ? (double)result.step_time_ns * 1e-9 : INFINITY;
    return EMP_OK;
}

/* A list scheduler proposes the same devices again, and its order with them. */
static emp_status ask_for_own(uint8_t *level_of_op, const emp_job *job, emp_error *err)
{
    emp_status              st = EMP_OK;
    const emp_problem      *problem = job->problem;
    const emp_method_params params = {
        .seed = 1, .threads = 1, .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER};
    emp_owned_decision again = {0};

    EMP_TRY(EMP_ALLOC(again.device_of_op, (size_t)problem->graph->op_count));
    again.level_of_op = level_of_op;
    EMP_TRY(job->run.method->place(job->run.method, problem, &params, &again, err));

cleanup:
    emp_free(again.device_of_op);
    return st;
}

static bool has_own_order(const emp_method *method)
{
    return method->place != NULL && (method->decides & EMP_DECIDES_ORDER) != 0;
}

static emp_status try_orders(emp_orders_row *row, const emp_job *job, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_sim             *sim = NULL;
    uint8_t             *level = NULL;
    const emp_device_id *device_of_op = job->record.decision.device_of_op;
    emp_decision         d = {.device_of_op = device_of_op};

    EMP_TRY(EMP_ALLOC(level, (size_t)job->problem->graph->op_count));
    EMP_TRY(emp_sim_create(&sim, job->problem, err));
    EMP_TRY(simulate(&row->plain_s, sim, &d, err));
    EMP_TRY(emp_order_of_bottom_levels(level, job->problem, device_of_op, err));
    d.level_of_op = level;
    EMP_TRY(simulate(&row->rule_s, sim, &d, err));
    if (has_own_order(job->run.method)) {
        EMP_TRY(ask_for_own(level, job, err));
        EMP_TRY(simulate(&row->own_s, sim, &d, err));
    }

cleanup:
    emp_sim_destroy(sim);
    emp_free(level);
    return st;
}

static emp_status try_random(double *step_s, emp_sim *sim, emp_fusion *fusion,
                             emp_decision d, emp_op_id *leader, int32_t ops,
                             int64_t budget, emp_error *err)
{
    emp_rng rng;

    for (int64_t i = 0; i < budget; i++) {
        double one_s;
        emp_rng_init(&rng, 1, (uint32_t)i, 0);
        emp_moves_draw_leaders(&rng, leader, ops);
        emp_fusion_legalize(fusion, d.device_of_op, leader);
        EMP_CHECK(simulate(&one_s, sim, &d, err));
        *step_s = fmin(*step_s, one_s);
    }
    return EMP_OK;
}

static emp_status try_fusions(emp_orders_row *row, const emp_job *job, int64_t budget,
                              emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_sim      *sim = NULL;
    emp_fusion   *fusion = NULL;
    emp_op_id    *leader = NULL;
    const int32_t ops = job->problem->graph->op_count;
    emp_decision  d = {.device_of_op = job->record.decision.device_of_op};

    EMP_TRY(EMP_ALLOC(leader, (size_t)ops));
    EMP_TRY(emp_fusion_create(&fusion, job->problem, err));
    EMP_TRY(emp_sim_create(&sim, job->problem, err));
    EMP_TRY(simulate(&row->plain_s, sim, &d, err));
    for (emp_op_id op = 0; op < ops; op++) leader[op] = EMP_JOINS_READERS;
    emp_fusion_legalize(fusion, d.device_of_op, leader);
    d.leader_of_op = leader;
    EMP_TRY(simulate(&row->rule_s, sim, &d, err));
    row->own_s = INFINITY;
    EMP_TRY(try_random(&row->own_s, sim, fusion, d, leader, ops, budget, err));

cleanup:
    emp_sim_destroy(sim);
    emp_fusion_destroy(fusion);
    emp_free(leader);
    return st;
}

static emp_status try_row(const struct plan *plan, int32_t row, emp_error *err)
{
    emp_orders_row *r = &plan->table->row[row];
    const emp_job  *job = &plan->placing[row];

    if (!emp_job_has_placement(job)) return EMP_OK;
    return plan->params->part == EMP_ORDERS_ORDER
               ? try_orders(r, job, err)
               : try_fusions(r, job, plan->params->budget, err);
}

/* ---- annealing ---- */

static emp_status add_annealing(struct plan *plan, int32_t row, int32_t arm, int32_t seed,
                                emp_error *err)
{
    emp_job             *job = &plan->annealing[plan->annealing_count++];
    const int32_t        r = row / plan->method_count;
    const emp_job_method method = {.title = parts[plan->params->part].title[arm],
                                   .method = "anneal",
                                   .options = parts[plan->params->part].options[arm],
                                   .budget = plan->params->budget};

    EMP_CHECK(emp_job_init(job, &plan->loaded[r], &plan->task[r], &method,
                           (uint64_t)seed + 1, err));
    job->run.placer.start = plan->placing[row].record.decision.device_of_op;
    job->run.placer.decides = EMP_DECIDES_DEVICES;
    if (arm != EMP_ORDERS_DEVICES)
        job->run.placer.decides |= parts[plan->params->part].decides;
    return EMP_OK;
}

static emp_status anneal(struct plan *plan, emp_error *err)
{
    const int32_t seeds = plan->params->seed_count, rows = plan->table->row_count;

    EMP_CHECK(EMP_ALLOC(plan->annealing, (size_t)rows * EMP_ORDERS_ARMS * (size_t)seeds));
    EMP_CHECK(EMP_ALLOC(plan->first, (size_t)rows));
    for (int32_t row = 0; row < rows; row++) {
        plan->first[row] =
            emp_job_has_placement(&plan->placing[row]) ? plan->annealing_count : -1;
        for (int32_t arm = 0; arm < EMP_ORDERS_ARMS && plan->first[row] >= 0; arm++) {
            for (int32_t seed = 0; seed < seeds; seed++)
                EMP_CHECK(add_annealing(plan, row, arm, seed, err));
        }
    }
    emp_jobs_params jobs = plan->params->jobs;
    jobs.shard_count = 0;
    return emp_jobs_run(plan->annealing, plan->annealing_count, &jobs, err);
}

static emp_summary summary_of(const emp_job *jobs, int32_t count)
{
    double  step_s[EMP_TABLE_MAX_SEEDS];
    int32_t ready = 0;

    for (int32_t i = 0; i < count; i++) {
        const emp_record *r = &jobs[i].record;
        if (!jobs[i].is_ready) continue;
        step_s[ready++] = r->is_feasible ? r->best_step_time_s : INFINITY;
    }
    return emp_summary_of(step_s, (size_t)ready);
}

static void fill_annealed(struct plan *plan)
{
    const int32_t seeds = plan->params->seed_count;

    for (int32_t row = 0; row < plan->table->row_count; row++) {
        if (plan->first[row] < 0) continue;
        const emp_job *job = &plan->annealing[plan->first[row]];
        for (int32_t arm = 0; arm < EMP_ORDERS_ARMS; arm++)
            plan->table->row[row].annealed_s[arm] = summary_of(job + arm * seeds, seeds);
    }
}

/* ---- the table ---- */

/* The placements of this part. */
static emp_status place_own(struct plan *plan, emp_error *err)
{
    const emp_jobs_params *jobs = &plan->params->jobs;
    const emp_status       st = place(plan, err);

    if (st != EMP_EINTERRUPTED || jobs->shard_count == 0) return st;
    return emp_ranks_go_on(jobs->ranks, jobs->stop, EMP_OK, err);
}

/* Only one program prints the table. */
static emp_status try_rows(struct plan *plan, emp_error *err)
{
    const emp_jobs_params *jobs = &plan->params->jobs;

    if (jobs->shard_count > 0 || (jobs->ranks != NULL && jobs->ranks->rank > 0))
        return EMP_OK;
    for (int32_t i = 0; i < plan->table->row_count; i++) EMP_CHECK(try_row(plan, i, err));
    return EMP_OK;
}

/* EMP_EINTERRUPTED leaves a table with what was ready. */
static emp_status make(struct plan *plan, emp_error *err)
{
    EMP_CHECK(lay_out(plan, err));
    EMP_CHECK(place_own(plan, err));
    EMP_CHECK(try_rows(plan, err));
    const emp_status st = anneal(plan, err);
    if (st == EMP_OK || st == EMP_EINTERRUPTED) fill_annealed(plan);
    return st == EMP_OK && plan->params->jobs.shard_count > 0 ? EMP_EINTERRUPTED : st;
}

emp_status emp_orders_make(emp_orders_table **out, const emp_orders_params *params,
                           emp_error *err)
{
    struct plan     *plan = EMP_NEW(struct plan);
    const emp_status st =
        plan != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "table of orders");

    *out = NULL;
    if (plan == NULL) return st;
    plan->params = params;
    const emp_status made = make(plan, err);
    emp_jobs_clear(plan->annealing, plan->annealing_count);
    emp_jobs_clear(plan->placing, plan->placing != NULL ? plan->table->row_count : 0);
    emp_free(plan->annealing);
    emp_free(plan->first);
    emp_free(plan->placing);
    emp_tasks_clear(plan->loaded, plan->task_count);
    if (made == EMP_OK || made == EMP_EINTERRUPTED)
        *out = plan->table;
    else
        emp_orders_destroy(plan->table);
    emp_free(plan);
    return made;
}

void emp_orders_destroy(emp_orders_table *table)
{
    if (table == NULL) return;
    emp_free(table->row);
    emp_free(table);
}

#define SECONDS(key, title) \
    EMP_COLUMN(key, title, EMP_SHEET_REAL, .width = 7, .precision = 9)
#define ANNEALED(key)                                                                 \
    EMP_COLUMN(key "_s", key " annealed", EMP_SHEET_REAL, .width = 7, .precision = 9, \
               .low = key "_low_s", .high = key "_high_s", .range = EMP_SHEET_BEHIND)
#define COLUMNS(plain, plain_title, own, own_title, rule, rule_title, alone)         \
    {                                                                                \
        EMP_COLUMN("task", NULL, EMP_SHEET_WORD),                                    \
            EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),                      \
            EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),                        \
            EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),                             \
            EMP_COLUMN("placement", "placement", EMP_SHEET_WORD),                    \
            EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),                             \
            EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT), SECONDS(plain, plain_title), \
            SECONDS(own, own_title), SECONDS(rule, rule_title), ANNEALED(alone),     \
            ANNEALED("devices"), ANNEALED("both")                                    \
    }

static const emp_sheet_column order_columns[] =
    COLUMNS("first_come_s", "first come", "own_s", "own order", "bottom_s",
            "bottom levels", "order");
static const emp_sheet_column fusion_columns[] =
    COLUMNS("nothing_s", "nothing fused", "random_s", "best random", "all_s",
            "all that may", "fusion");

static emp_value summary_value(const emp_summary *s)
{
    return isnan(s->median) ? EMP_V(NAN) : emp_value_range(s->median, s->min, s->max);
}

static void add_row(emp_sheet *sheet, const emp_orders_table *t, const emp_orders_row *r)
{
    EMP_SHEET_ADD(sheet, EMP_V(r->task->key), EMP_V(r->task->spec),
                  EMP_V(r->task->machine), EMP_V(t->runtime), EMP_V(r->placement),
                  EMP_V(t->budget), EMP_V(t->seed_count), EMP_V(r->plain_s),
                  emp_value_if(!isnan(r->own_s), EMP_V(r->own_s)), EMP_V(r->rule_s),
                  summary_value(&r->annealed_s[EMP_ORDERS_ALONE]),
                  summary_value(&r->annealed_s[EMP_ORDERS_DEVICES]),
                  summary_value(&r->annealed_s[EMP_ORDERS_BOTH]));
}

emp_status emp_orders_print(FILE *out, const emp_orders_table *t, emp_sheet_format format,
                            emp_error *err)
{
    emp_sheet sheet;

    if (t->part == EMP_ORDERS_ORDER)
        EMP_SHEET_INIT(&sheet, order_columns);
    else
        EMP_SHEET_INIT(&sheet, fusion_columns);
    emp_sheet_set_title(&sheet, "What %s is worth, runtime %s: seconds a step",
                        t->part == EMP_ORDERS_ORDER ? "an order" : "fusion", t->runtime);
    for (int32_t i = 0; i < t->row_count; i++) add_row(&sheet, t, &t->row[i]);
    emp_sheet_note(&sheet,
                   "Devices are the same in the first four columns. Annealing has "
                   "%lld evaluation%s from there: median of %d seed%s, and range.",
                   (long long)t->budget, emp_units_plural(t->budget), t->seed_count,
                   emp_units_plural(t->seed_count));
    const emp_status st = emp_sheet_print(out, &sheet, format, err);
    emp_sheet_clear(&sheet);
    return st;
}
