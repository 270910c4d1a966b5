// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/studies/mechanisms.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/text/units.h"
#include "bench/tables/paper.h"
#include "bench/trials/trials.h"
#include "run/methods.h"
#include "search/moves.h"
#include "search/order.h"
#include "sim/problem/fusion.h"

enum { MOST_METHODS = 8 };

/* Annealing changes the decision, the devices, or both. */
enum { DECISION, DEVICES, BOTH, ARMS };

/* Titles of annealings, and their options: the share of moves that change the decision. */
static const struct {
    const char *what, *title[ARMS], *options[ARMS];
    int32_t     decides;
} parts[EMP_ORDERS_PARTS] = {[EMP_ORDERS_ORDER] = {"an order",
                                                   {"order", "devices", "both"},
                                                   {"order=1", NULL, "order=0.5"},
                                                   EMP_DECIDES_ORDER},
                             [EMP_ORDERS_FUSION] = {"fusion",
                                                    {"fusion", "devices", "both"},
                                                    {"fusion=1", NULL, "fusion=0.5"},
                                                    EMP_DECIDES_FUSION}};

/* Step times of a placement in seconds; infinite: it does not fit in memory, NaN: there is none. */
typedef struct {
    double plain_s; /* first come, first served; nothing fused */
    double
        own_s; /* the order that a list scheduler has in mind; the best random fusion */
    double rule_s; /* bottom levels (search/order.h); everything fused that may be */
} outcome;

typedef struct {
    emp_orders_part          part;
    const emp_trials_params *params;
    emp_trials_tasks         tasks;
    const emp_method        *method[MOST_METHODS];
    int32_t                  method_count, row_count; /* a row: a task and a method */
    emp_trials               placing;                 /* [row] */
    emp_trials annealing; /* [row][arm]; no runs where there is no placement */
    outcome   *outcome;   /* [row] */
} plan;

static emp_status lay_out(plan *p, emp_error *err)
{
    const emp_trials_params *params = p->params;
    emp_runtime              runtime;

    EMP_CHECK(emp_trials_choose(&p->tasks, emp_paper_task, EMP_PAPER_TASKS, params->rows,
                                NULL, "there is no task", err));
    EMP_CHECK(
        emp_methods_find(p->method, &p->method_count, MOST_METHODS, params->arms, err));
    EMP_CHECK(emp_runtime_init(&runtime, params->runtime, err));
    if (runtime.rules != EMP_RULES_EVENTS)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "the rules of the runtime %s leave nothing but devices to decide "
            "here; take one with event rules, as tf-r1.3 or ideal",
            runtime.name);
    EMP_CHECK(emp_trials_load(&p->tasks, params->runtime, params->jobs.threads, err));
    p->row_count = p->tasks.count * p->method_count;
    const int32_t cells = p->row_count * ARMS;
    EMP_CHECK(EMP_ALLOC(p->outcome, (size_t)p->row_count));
    for (int32_t i = 0; i < p->row_count; i++) p->outcome[i] = (outcome){NAN, NAN, NAN};
    EMP_CHECK(emp_trials_reserve(&p->placing, p->row_count, p->row_count, err));
    return emp_trials_reserve(&p->annealing, cells, cells * params->seed_count, err);
}

/* ---- placements ---- */

/* A shard has the rows that it is dealt in turn: their placements and the annealings from these. */
static bool is_own(const plan *p, int32_t row)
{
    const emp_jobs_params *jobs = &p->params->jobs;

    return jobs->shard_count == 0 || row % jobs->shard_count == jobs->shard - 1;
}

static emp_status place(plan *p, emp_error *err)
{
    emp_jobs_params jobs = p->params->jobs;

    for (int32_t i = 0; i < p->row_count; i++) {
        const emp_method    *type = p->method[i % p->method_count];
        const emp_job_method method = {.title = type->name,
                                       .method = type->name,
                                       .budget =
                                           type->uses_budget ? p->params->budget : 0};
        EMP_CHECK(
            emp_trials_add(&p->placing, &p->tasks, i / p->method_count, &method, 1, err));
        p->placing.job[i].is_elsewhere = !is_own(p, i);
    }
    jobs.keeps_refusals = true; /* not every scheduler finds room for every model */
    jobs.shard_count = 0;       /* rows are dealt out here */
    jobs.is_for_all = true;
    return emp_trials_go_on(&p->params->jobs, emp_trials_run(&p->placing, &jobs, err),
                            err);
}

/* ---- the same devices with other decisions ---- */

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

static emp_status try_orders(outcome *t, emp_sim *sim, const emp_job *job, emp_error *err)
{
    emp_status           st = EMP_OK;
    uint8_t             *level = NULL;
    const emp_device_id *device_of_op = job->record.decision.device_of_op;
    emp_decision         d = {.device_of_op = device_of_op};

    EMP_TRY(EMP_ALLOC(level, (size_t)job->problem->graph->op_count));
    EMP_TRY(emp_order_of_bottom_levels(level, job->problem, device_of_op, err));
    d.level_of_op = level;
    EMP_TRY(emp_trials_simulate(&t->rule_s, sim, &d, err));
    if (has_own_order(job->run.method)) {
        EMP_TRY(ask_for_own(level, job, err));
        EMP_TRY(emp_trials_simulate(&t->own_s, sim, &d, err));
    }

cleanup:
    emp_free(level);
    return st;
}

static emp_status try_fusions(outcome *t, emp_sim *sim, const emp_job *job,
                              int64_t budget, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_fusion   *fusion = NULL;
    emp_op_id    *leader = NULL;
    const int32_t ops = job->problem->graph->op_count;
    emp_decision  d = {.device_of_op = job->record.decision.device_of_op};

    EMP_TRY(EMP_ALLOC(leader, (size_t)ops));
    EMP_TRY(emp_fusion_create(&fusion, job->problem, err));
    for (emp_op_id op = 0; op < ops; op++) leader[op] = EMP_JOINS_READERS;
    emp_fusion_legalize(fusion, d.device_of_op, leader);
    d.leader_of_op = leader;
    EMP_TRY(emp_trials_simulate(&t->rule_s, sim, &d, err));
    t->own_s = INFINITY;
    for (int64_t i = 0; i < budget; i++) {
        double  one_s;
        emp_rng rng;
        emp_rng_init(&rng, 1, (uint32_t)i, 0);
        emp_moves_draw_leaders(&rng, leader, ops);
        emp_fusion_legalize(fusion, d.device_of_op, leader);
        EMP_TRY(emp_trials_simulate(&one_s, sim, &d, err));
        t->own_s = fmin(t->own_s, one_s);
    }

cleanup:
    emp_fusion_destroy(fusion);
    emp_free(leader);
    return st;
}

static emp_status try_row(plan *p, int32_t row, emp_error *err)
{
    emp_status     st = EMP_OK;
    outcome       *t = &p->outcome[row];
    const emp_job *job = &p->placing.job[row];
    emp_sim       *sim = NULL;

    if (!emp_job_has_placement(job)) return EMP_OK;
    const emp_decision plain = {.device_of_op = job->record.decision.device_of_op};
    EMP_TRY(emp_sim_create(&sim, job->problem, err));
    EMP_TRY(emp_trials_simulate(&t->plain_s, sim, &plain, err));
    if (p->part == EMP_ORDERS_ORDER)
        EMP_TRY(try_orders(t, sim, job, err));
    else
        EMP_TRY(try_fusions(t, sim, job, p->params->budget, err));

cleanup:
    emp_sim_destroy(sim);
    return st;
}

/* ---- annealing ---- */

static emp_status add_annealing(plan *p, int32_t row, int32_t arm, emp_error *err)
{
    const int32_t        part = (int32_t)p->part;
    const emp_job       *from = &p->placing.job[row];
    const emp_job_method method = {.title = parts[part].title[arm],
                                   .method = "anneal",
                                   .options = parts[part].options[arm],
                                   .budget = p->params->budget};
    int32_t              count;

    EMP_CHECK(emp_trials_add(&p->annealing, &p->tasks, row / p->method_count, &method,
                             emp_job_has_placement(from) ? p->params->seed_count : 0,
                             err));
    emp_job *job = emp_trials_cell(&p->annealing, row * ARMS + arm, &count);
    for (int32_t i = 0; i < count; i++) {
        job[i].run.placer.start = from->record.decision.device_of_op;
        job[i].run.placer.decides =
            EMP_DECIDES_DEVICES | (arm == DEVICES ? 0 : parts[part].decides);
    }
    return EMP_OK;
}

static emp_status anneal(plan *p, emp_error *err)
{
    emp_jobs_params jobs = p->params->jobs;

    for (int32_t i = 0; i < p->row_count * ARMS; i++)
        EMP_CHECK(add_annealing(p, i / ARMS, i % ARMS, err));
    jobs.shard_count = 0;
    return emp_trials_run(&p->annealing, &jobs, err);
}

/* ---- the table ---- */

#define SECONDS(key, title) \
    EMP_COLUMN(key, title, EMP_SHEET_REAL, .width = 7, .precision = 9)
#define ANNEALED(key)                                                                 \
    EMP_COLUMN(key "_s", key " annealed", EMP_SHEET_REAL, .width = 7, .precision = 9, \
               .low = key "_low_s", .high = key "_high_s", .range = EMP_SHEET_BEHIND)
#define COLUMNS(plain, plain_title, own, own_title, rule, rule_title, decision)      \
    {                                                                                \
        EMP_COLUMN("task", NULL, EMP_SHEET_WORD),                                    \
            EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),                      \
            EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),                        \
            EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),                             \
            EMP_COLUMN("placement", "placement", EMP_SHEET_WORD),                    \
            EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),                             \
            EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT), SECONDS(plain, plain_title), \
            SECONDS(own, own_title), SECONDS(rule, rule_title), ANNEALED(decision),  \
            ANNEALED("devices"), ANNEALED("both")                                    \
    }

static const emp_sheet_column columns[EMP_ORDERS_PARTS][13] = {
    [EMP_ORDERS_ORDER] = COLUMNS("first_come_s", "first come", "own_s", "own order",
                                 "bottom_s", "bottom levels", "order"),
    [EMP_ORDERS_FUSION] = COLUMNS("nothing_s", "nothing fused", "random_s", "best random",
                                  "all_s", "all that may", "fusion")};

/* While annealings are not laid out they have no cells. */
static emp_value annealed(const plan *p, int32_t row, int32_t arm)
{
    emp_summary s = {NAN, NAN, NAN};

    if (p->annealing.cell_count > 0)
        s = emp_trials_summary(&p->annealing, row * ARMS + arm);
    return isnan(s.median) ? EMP_V(NAN) : emp_value_range(s.median, s.min, s.max);
}

/* While annealings are not laid out, their number is not known: each placement may have one an arm and seed. */
static int32_t runs_planned(const plan *p)
{
    const bool is_laid_out = p->annealing.cell_count == p->row_count * ARMS;

    return p->row_count + (is_laid_out ? p->annealing.job_count
                                       : p->row_count * ARMS * p->params->seed_count);
}

/* The seeds that all annealings of a row have. */
static int32_t seeds_made(const plan *p, int32_t row)
{
    double  step_s[EMP_TRIALS_SEEDS];
    int32_t least = p->params->seed_count;

    if (p->annealing.cell_count == 0) return 0;
    for (int32_t arm = 0; arm < ARMS; arm++) {
        const int32_t ready = emp_trials_steps(&p->annealing, row * ARMS + arm, step_s);
        if (ready < least) least = ready;
    }
    return least;
}

static void tabulate(emp_sheet *sheet, const plan *p)
{
    const emp_trials_params *params = p->params;
    const int32_t            planned = runs_planned(p);
    const int32_t made = emp_trials_ready(&p->placing) + emp_trials_ready(&p->annealing);

    EMP_SHEET_INIT(sheet, columns[p->part]);
    emp_sheet_set_title(sheet, "What %s is worth, runtime %s: seconds a step",
                        parts[p->part].what, p->tasks.runtime);
    for (int32_t i = 0; i < p->row_count; i++) {
        const emp_task *task = &p->tasks.task[i / p->method_count];
        const outcome  *t = &p->outcome[i];
        EMP_SHEET_ADD(sheet, EMP_V(task->key), EMP_V(task->spec), EMP_V(task->machine),
                      EMP_V(p->tasks.runtime),
                      EMP_V(p->method[i % p->method_count]->name), EMP_V(params->budget),
                      EMP_V(made < planned ? seeds_made(p, i) : params->seed_count),
                      EMP_V(t->plain_s), emp_value_if(!isnan(t->own_s), EMP_V(t->own_s)),
                      EMP_V(t->rule_s), annealed(p, i, DECISION), annealed(p, i, DEVICES),
                      annealed(p, i, BOTH));
    }
    emp_sheet_set_runs(sheet, made, planned);
    emp_sheet_note(sheet,
                   "Devices are the same in the first four columns. Annealing has "
                   "%lld evaluation%s from there: median of %s%d seed%s, and range.",
                   (long long)params->budget, emp_units_plural(params->budget),
                   made < planned ? "at most " : "", params->seed_count,
                   emp_units_plural(params->seed_count));
}

static emp_status make(plan *p, emp_error *err)
{
    EMP_CHECK(lay_out(p, err));
    EMP_CHECK(place(p, err));
    for (int32_t i = 0; emp_trials_is_printed(&p->params->jobs) && i < p->row_count; i++)
        EMP_CHECK(try_row(p, i, err));
    return anneal(p, err);
}

emp_status emp_orders_make(emp_sheet *sheet, emp_orders_part part,
                           const emp_trials_params *params, emp_error *err)
{
    plan       p = {.part = part, .params = params};
    emp_status st = make(&p, err);

    if (st == EMP_OK || st == EMP_EINTERRUPTED) tabulate(sheet, &p);
    if (st == EMP_OK && params->jobs.shard_count > 0) st = EMP_EINTERRUPTED;
    emp_trials_clear(&p.annealing);
    emp_trials_clear(&p.placing);
    emp_trials_tasks_clear(&p.tasks);
    emp_free(p.outcome);
    return st;
}
