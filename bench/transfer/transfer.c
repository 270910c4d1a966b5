// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/transfer/transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "base/work.h"
#include "bench/trials/trials.h"
#include "run/methods.h"
#include "run/ranks/deal.h"
#include "run/sheet/sheet.h"
#include "run/store/checkpoint.h"
#include "run/training.h"

enum { MOST_LEARNERS = 8, PATH_BYTES = 1024, NOBODY = -1 };

static const char *const proposers[] = {"m-sct",  "m-etf",  "heft",    "metis",
                                        "scotch", "mincut", "acyclic", "expert"};
enum { M_SCT = 0, PROPOSERS = sizeof proposers / sizeof *proposers };

#define TRAINED       "trained"
#define ANNEAL        "anneal"
#define FROM_M_SCT    "anneal from m-sct"
#define FROM_TRAINED  "anneal from trained"
#define FROM_PROPOSED "anneal from the best proposed"
#define FROM_TABLE    "anneal from frequencies"

/* The jobs of a row: one a training or seed, or one alone. */
typedef struct {
    emp_job *job;
    int32_t  count, target, learner;
} row_jobs;

/* Runs that begin where others have ended come after those. */
enum { FIRST, FROM_OTHERS, PHASES };

typedef struct {
    emp_job *job; /* [count] */
    int32_t  count;
} phase;

typedef struct {
    const emp_transfer_params *params;
    const emp_split           *split;
    emp_loaded_task            training[EMP_SPLIT_TASKS], target[EMP_SPLIT_TASKS];
    const emp_method          *learner[MOST_LEARNERS];
    int32_t                    learner_count;
    emp_examples   examples[EMP_TRANSFER_TRAININGS]; /* found when they are needed */
    emp_weights    weights[MOST_LEARNERS][EMP_TRANSFER_TRAININGS];
    emp_device_id *table_start[EMP_SPLIT_TASKS]
                              [EMP_TRANSFER_TRAININGS]; /* [op], with frequencies */
    bool                is_trained;            /* no weights are left to make anew */
    int32_t             rows_of_target;        /* equal ones for each */
    int32_t             laid[EMP_SPLIT_TASKS]; /* of them, so far */
    row_jobs           *of_row;                /* [row of the table] */
    phase               phase[PHASES];
    emp_transfer_table *table;
} plan;

/* ---- shards ---- */

/* A part is a learner with a seed, or the others with a seed: what a training gives, only its own part
 * needs. Parts are dealt out in turn, those with a training first. Whatever proposes once is in all. */
static bool is_own(const plan *p, int32_t learner, int32_t training)
{
    const emp_jobs_params *jobs = &p->params->jobs;
    const int32_t          row = learner == NOBODY ? p->learner_count : learner;

    if (jobs->shard_count == 0) return true;
    return (row * p->params->trainings + training) % jobs->shard_count == jobs->shard - 1;
}

/* ---- what is asked for ---- */

static emp_status load(plan *p, emp_error *err)
{
    const emp_split *s = p->split;
    const int32_t    threads = p->params->jobs.threads;
    emp_runtime      training, target;

    EMP_CHECK(emp_runtime_init(&training, s->training_runtime, err));
    EMP_CHECK(emp_tasks_load(p->training, s->training, s->training_count, &training,
                             threads, err));
    EMP_CHECK(emp_runtime_init(&target, s->target_runtime, err));
    return emp_tasks_load(p->target, s->target, s->target_count, &target, threads, err);
}

/* ---- training ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text == NULL ? hash : emp_hash_bytes(hash, text, strlen(text) + 1);
}

/* METHOD:OPTIONS:BUDGET:ROUNDS; "" where nothing is imitated. */
static void describe_imitation(char                       text[EMP_TRANSFER_IMITATED],
                               const emp_transfer_params *params)
{
    text[0] = '\0';
    if (params->imitate != NULL)
        snprintf(text, EMP_TRANSFER_IMITATED, "%s:%s:%" PRId64 ":%" PRId64,
                 params->imitate,
                 params->imitation_options != NULL ? params->imitation_options : "",
                 params->imitation_budget, params->imitation_rounds);
}

/* The inputs of the weights name their file. */
static void name_weights(char path[PATH_BYTES], const plan *p, int32_t learner,
                         uint64_t seed)
{
    const emp_transfer_params *params = p->params;
    const emp_manifest         made = emp_manifest_get();
    uint64_t                   hash = hash_text(EMP_HASH_SEED, made.commit);

    hash = emp_hash_u64(hash, made.is_dirty);
    hash = hash_text(hash, params->preset != NULL ? params->preset : "");
    hash = hash_text(hash, params->options);
    if (params->imitate != NULL) {
        hash = hash_text(hash, params->imitate);
        hash = hash_text(hash, params->imitation_options);
        hash = emp_hash_u64(hash, (uint64_t)params->imitation_budget);
        hash = emp_hash_u64(hash, (uint64_t)params->imitation_rounds);
    }
    for (int32_t i = 0; i < p->split->training_count; i++) {
        const emp_problem *problem = p->training[i].problem;
        hash = emp_hash_u64(hash, problem->graph->hash);
        hash = emp_hash_u64(hash, problem->machine->hash);
        hash = emp_hash_u64(hash, emp_runtime_hash(&problem->runtime));
    }
    snprintf(path, PATH_BYTES,
             "%s/weights.%s.%s.seed%" PRIu64 ".%" PRId64 ".%016" PRIx64 ".h5",
             params->jobs.folder, p->split->name, p->learner[learner]->name, seed,
             params->training_budget, hash);
}

/* All learners of one training imitate the same, and all trainings do if what is imitated draws nothing.
 * NULL where nothing is imitated. */
static emp_status find_examples(plan *p, int32_t training,
                                const emp_problem *const  *problem,
                                const emp_owned_decision **example, emp_error *err)
{
    const emp_transfer_params *params = p->params;
    emp_run_params             run = {
                    .placer = {.threads = params->jobs.threads, .options = params->imitation_options},
                    .budget_evaluations = params->imitation_budget,
                    .stop = params->jobs.stop};

    *example = NULL;
    if (params->imitate == NULL) return EMP_OK;
    EMP_CHECK(emp_method_find(&run.method, params->imitate, err));
    const int32_t own = run.method->uses_seed ? training : 0;
    run.placer.seed = (uint64_t)own + 1;
    if (p->examples[own].count == 0)
        EMP_CHECK(emp_examples_make(&p->examples[own], problem, p->split->training_count,
                                    &run, err));
    *example = p->examples[own].decision;
    return EMP_OK;
}

static emp_status train(plan *p, int32_t learner, int32_t training, emp_error *err)
{
    const emp_transfer_params *params = p->params;
    const uint64_t             seed = (uint64_t)training + 1;
    const emp_problem         *problem[EMP_SPLIT_TASKS];
    const emp_owned_decision  *example;
    emp_weights               *weights = &p->weights[learner][training];
    char                       path[PATH_BYTES];

    name_weights(path, p, learner, seed);
    if (p->is_trained || (!params->jobs.is_fresh && access(path, R_OK) == 0)) {
        emp_weights_clear(weights); /* this rank may have made them */
        return emp_weights_load(weights, path, err);
    }
    for (int32_t i = 0; i < p->split->training_count; i++)
        problem[i] = p->training[i].problem;
    EMP_CHECK(find_examples(p, training, problem, &example, err));
    EMP_CHECK(emp_training_run(
        weights,
        &(emp_training_params){.method = p->learner[learner],
                               .placer = {.seed = seed,
                                          .threads = params->jobs.threads,
                                          .preset = params->preset,
                                          .options = params->options},
                               .problem = problem,
                               .problem_count = p->split->training_count,
                               .budget_evaluations = params->training_budget,
                               .example = example,
                               .imitation_rounds = params->imitation_rounds,
                               .stop = params->jobs.stop},
        err));
    if (emp_stop_is_set(params->jobs.stop))
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted while %s was trained",
                         p->learner[learner]->name);
    EMP_CHECK(emp_folder_make(params->jobs.folder, err));
    return emp_weights_save(path, weights, err);
}

static emp_status train_dealt(void *context, emp_error *err)
{
    plan     *p = (plan *)context;
    emp_piece piece = {.number = -1};

    for (;;) {
        EMP_CHECK(emp_deal_take(&piece, p->params->jobs.ranks, piece.number, false, err));
        if (piece.number < 0) return EMP_OK;
        EMP_CHECK(train(p, (int32_t)piece.number / p->params->trainings,
                        (int32_t)piece.number % p->params->trainings, err));
    }
}

/* Ranks make the weights together; then each reads those that others have made. */
static emp_status share_trainings(plan *p, emp_error *err)
{
    emp_piece piece[MOST_LEARNERS * EMP_TRANSFER_TRAININGS];
    emp_deal  deal = {
         .piece = piece, .work = train_dealt, .context = p, .stop = p->params->jobs.stop};

    for (int32_t i = 0; i < p->learner_count * p->params->trainings; i++)
        if (is_own(p, i / p->params->trainings, i % p->params->trainings))
            piece[deal.count++] = (emp_piece){.number = i};
    EMP_CHECK(emp_deal_share(p->params->jobs.ranks, &deal, err));
    p->is_trained = true;
    return EMP_OK;
}

static emp_status train_all(plan *p, emp_error *err)
{
    if (p->params->jobs.ranks != NULL) EMP_CHECK(share_trainings(p, err));
    for (int32_t l = 0; l < p->learner_count; l++) {
        for (int32_t t = 0; t < p->params->trainings; t++)
            if (is_own(p, l, t)) EMP_CHECK(train(p, l, t, err));
    }
    return EMP_OK;
}

/* ---- rows and their jobs ---- */

/* The runs of an arm's rows, one row a budget. */
typedef struct {
    const char *arm, *method;
    int         phase;
    int32_t     learner;    /* or NOBODY */
    bool        is_learner; /* the method has preset and options of the learners ... */
    bool        is_trained; /* ... and their weights */
} arm;

/* Adds the next row of the target, without jobs. */
static row_jobs *add_row(plan *p, int32_t target, const arm *a, int64_t budget)
{
    const int32_t i = target * p->rows_of_target + p->laid[target]++;
    phase        *ph = &p->phase[a->phase];

    p->of_row[i] = (row_jobs){&ph->job[ph->count], 0, target, a->learner};
    p->table->row[i] = (emp_transfer_row){
        .task = &p->split->target[target],
        .arm = a->arm,
        .method = a->learner != NOBODY ? p->learner[a->learner]->name : NULL,
        .budget = budget > 0 ? budget : 1,
        .step_s = {NAN, NAN, NAN},
        .ratio = {NAN, NAN, NAN},
        .equal = NAN};
    return &p->of_row[i];
}

/* Adds a run to a row; \a start: the placement that it begins at, or NULL. */
static emp_status add_job(plan *p, row_jobs *row, const arm *a, int64_t budget,
                          int32_t training, const emp_device_id *start, emp_error *err)
{
    const emp_transfer_params *params = p->params;
    emp_job                   *job = &p->phase[a->phase].job[p->phase[a->phase].count++];
    const emp_job_method       method = {.title = a->phase == FIRST ? a->arm : a->method,
                                         .method = a->method,
                                         .preset = a->is_learner ? params->preset : NULL,
                                         .options = a->is_learner ? params->options : NULL,
                                         .budget = budget};

    row->count++;
    EMP_CHECK(emp_job_init(job, &p->target[row->target], &p->split->target[row->target],
                           &method, (uint64_t)training + 1, err));
    job->run.placer.start = start;
    if (a->is_trained) job->run.placer.weights = &p->weights[a->learner][training];
    job->is_elsewhere = budget > 0 && !is_own(p, a->learner, training);
    return EMP_OK;
}

static emp_status add_proposers(plan *p, int32_t target, emp_error *err)
{
    for (int32_t i = 0; i < PROPOSERS; i++) {
        const arm a = {proposers[i], proposers[i], FIRST, NOBODY, false, false};
        EMP_CHECK(add_job(p, add_row(p, target, &a, 0), &a, 0, 0, NULL, err));
    }
    return EMP_OK;
}

/* The rows of an arm whose runs begin nowhere. */
static emp_status add_arm(plan *p, int32_t target, arm a, emp_error *err)
{
    for (int32_t b = 0; b < p->params->budget_count; b++) {
        row_jobs *row = add_row(p, target, &a, p->params->budget[b]);
        for (int32_t i = 0; i < p->params->trainings; i++)
            EMP_CHECK(add_job(p, row, &a, p->params->budget[b], i, NULL, err));
    }
    return EMP_OK;
}

static double time_of(const emp_job *job)
{
    if (!emp_job_has_placement(job) || !job->record.is_feasible) return INFINITY;
    return job->record.best_step_time_s;
}

/* The first row of the target that has the arm and the learner: the row of the least budget. */
static const row_jobs *find_row(const plan *p, int32_t target, const char *name,
                                int32_t learner)
{
    const int32_t first = target * p->rows_of_target;

    for (int32_t i = first; i < first + p->laid[target]; i++) {
        if (strcmp(p->table->row[i].arm, name) == 0 && p->of_row[i].learner == learner)
            return &p->of_row[i];
    }
    return NULL;
}

/* The best of what proposes once, for the target; NULL where nothing fits. */
static const row_jobs *best_proposed(const plan *p, int32_t target)
{
    const row_jobs *best = NULL;

    for (int32_t i = 0; i < PROPOSERS; i++) {
        const row_jobs *row = &p->of_row[target * p->rows_of_target + i];
        if (isfinite(time_of(row->job)) &&
            (best == NULL || time_of(row->job) < time_of(best->job)))
            best = row;
    }
    return best;
}

/* Annealing from one placement for each training; without a placement there is no run. */
static emp_status add_annealing(plan *p, int32_t target, int32_t learner,
                                const char *name, const emp_device_id *const *start,
                                emp_error *err)
{
    const arm a = {name, ANNEAL, FROM_OTHERS, learner, false, false};

    for (int32_t b = 0; b < p->params->budget_count; b++) {
        row_jobs *row = add_row(p, target, &a, p->params->budget[b]);
        for (int32_t i = 0; i < p->params->trainings; i++)
            if (start[i] != NULL && is_own(p, learner, i))
                EMP_CHECK(add_job(p, row, &a, p->params->budget[b], i, start[i], err));
    }
    return EMP_OK;
}

/* Annealing from the placements of a row, which has one for all trainings or one for each. */
static emp_status add_annealing_from(plan *p, int32_t target, int32_t learner,
                                     const char *name, const row_jobs *from,
                                     emp_error *err)
{
    const emp_device_id *start[EMP_TRANSFER_TRAININGS] = {0};

    for (int32_t i = 0; from != NULL && i < p->params->trainings; i++) {
        const emp_job *job = &from->job[from->count > i ? i : 0];
        if (emp_job_has_placement(job)) start[i] = job->record.decision.device_of_op;
    }
    return add_annealing(p, target, learner, name, start, err);
}

static emp_status allocate(plan *p, emp_error *err)
{
    const emp_transfer_params *params = p->params;
    const int32_t              targets = p->split->target_count;
    emp_transfer_table        *t = p->table = EMP_NEW(emp_transfer_table);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "table of transfer");
    p->rows_of_target =
        PROPOSERS + params->budget_count *
                        (4 + 3 * p->learner_count + (params->has_frequencies ? 1 : 0));
    *t = (emp_transfer_table){.split = p->split,
                              .training_budget = params->training_budget,
                              .trainings = params->trainings,
                              .row_count = targets * p->rows_of_target};
    describe_imitation(t->imitated, params);
    EMP_CHECK(EMP_ALLOC(t->row, (size_t)(t->row_count + p->rows_of_target)));
    EMP_CHECK(EMP_ALLOC(p->of_row, (size_t)t->row_count));
    for (int i = 0; i < PHASES; i++)
        EMP_CHECK(
            EMP_ALLOC(p->phase[i].job, (size_t)t->row_count * (size_t)params->trainings));
    return EMP_OK;
}

static emp_status run_phase(plan *p, int which, emp_error *err)
{
    emp_jobs_params jobs = p->params->jobs;

    jobs.keeps_refusals = true; /* not every scheduler finds room for every model */
    jobs.shard_count = 0;       /* the parts are dealt out here */
    jobs.is_for_all = which == FIRST;
    return emp_jobs_run(p->phase[which].job, p->phase[which].count, &jobs, err);
}

static emp_status run_first(plan *p, emp_error *err)
{
    for (int32_t target = 0; target < p->split->target_count; target++) {
        EMP_CHECK(add_proposers(p, target, err));
        EMP_CHECK(add_arm(p, target,
                          (arm){"random", "random", FIRST, NOBODY, false, false}, err));
        EMP_CHECK(
            add_arm(p, target, (arm){ANNEAL, ANNEAL, FIRST, NOBODY, false, false}, err));
        for (int32_t l = 0; l < p->learner_count; l++) {
            const char *name = p->learner[l]->name;
            EMP_CHECK(
                add_arm(p, target, (arm){TRAINED, name, FIRST, l, true, true}, err));
            EMP_CHECK(
                add_arm(p, target, (arm){"untrained", name, FIRST, l, true, false}, err));
        }
    }
    return run_phase(p, FIRST, err);
}

/* One training's table: what its learners imitate says where each op of the target belongs. */
static emp_status place_by_table(plan *p, int32_t target, int32_t training,
                                 emp_error *err)
{
    const emp_problem        *problem[EMP_SPLIT_TASKS], *to = p->target[target].problem;
    const emp_owned_decision *example;
    emp_device_id           **start = &p->table_start[target][training];

    for (int32_t i = 0; i < p->split->training_count; i++)
        problem[i] = p->training[i].problem;
    EMP_CHECK(find_examples(p, training, problem, &example, err));
    EMP_CHECK(EMP_ALLOC(*start, (size_t)to->graph->op_count));
    return emp_frequencies_place(*start, to, problem, example, p->split->training_count,
                                 err);
}

static emp_status place_by_tables(plan *p, emp_error *err)
{
    for (int32_t target = 0; target < p->split->target_count; target++) {
        for (int32_t i = 0; i < p->params->trainings; i++)
            if (is_own(p, NOBODY, i)) EMP_CHECK(place_by_table(p, target, i, err));
    }
    return EMP_OK;
}

static emp_status run_from_others(plan *p, emp_error *err)
{
    const emp_jobs_params *jobs = &p->params->jobs;

    if (p->params->has_frequencies)
        EMP_CHECK(emp_ranks_go_on(jobs->ranks, jobs->stop, place_by_tables(p, err), err));
    for (int32_t t = 0; t < p->split->target_count; t++) {
        if (p->params->has_frequencies)
            EMP_CHECK(add_annealing(p, t, NOBODY, FROM_TABLE,
                                    (const emp_device_id *const *)p->table_start[t],
                                    err));
        EMP_CHECK(add_annealing_from(p, t, NOBODY, FROM_M_SCT,
                                     find_row(p, t, proposers[M_SCT], NOBODY), err));
        EMP_CHECK(
            add_annealing_from(p, t, NOBODY, FROM_PROPOSED, best_proposed(p, t), err));
        for (int32_t l = 0; l < p->learner_count; l++)
            EMP_CHECK(add_annealing_from(p, t, l, FROM_TRAINED,
                                         find_row(p, t, TRAINED, l), err));
    }
    return run_phase(p, FROM_OTHERS, err);
}

/* ---- what came of it ---- */

static emp_summary summary_of(const row_jobs *row)
{
    double step_s[EMP_TRANSFER_TRAININGS];

    for (int32_t i = 0; i < row->count; i++) step_s[i] = time_of(&row->job[i]);
    return emp_summary_of(step_s, (size_t)row->count);
}

/* The best of what proposes once. */
static double reference_of(const plan *p, int32_t target)
{
    double best = INFINITY;

    for (int32_t i = 0; i < PROPOSERS; i++)
        best = fmin(best, p->table->row[target * p->rows_of_target + i].step_s.median);
    return best;
}

/* Samples of a run until it was as good; infinite: it never was. */
static double samples_until(const emp_record *r, double step_s)
{
    for (int32_t i = 0; i < r->point_count; i++) {
        if (r->curve[i].best_s <= step_s) return (double)r->curve[i].evaluations;
    }
    return INFINITY;
}

static double equal_samples(const plan *p, const row_jobs *trained)
{
    const row_jobs *least = find_row(p, trained->target, ANNEAL, NOBODY);
    const row_jobs *most = least + p->params->budget_count - 1;
    double          samples[EMP_TRANSFER_TRAININGS];

    for (int32_t i = 0; i < most->count; i++)
        samples[i] = emp_job_has_placement(&most->job[i])
                         ? samples_until(&most->job[i].record, time_of(&trained->job[i]))
                         : INFINITY;
    return emp_summary_of(samples, (size_t)most->count).median;
}

static void fill_rows(plan *p)
{
    emp_transfer_table *t = p->table;

    for (int32_t i = 0; i < t->row_count; i++)
        t->row[i].step_s = summary_of(&p->of_row[i]);
    for (int32_t i = 0; i < t->row_count; i++) {
        const row_jobs *jobs = &p->of_row[i];
        const double    ratio = t->row[i].step_s.median / reference_of(p, jobs->target);
        t->row[i].ratio = (emp_ratio){ratio, ratio, ratio};
        if (jobs == find_row(p, jobs->target, TRAINED, jobs->learner))
            t->row[i].equal = equal_samples(p, jobs);
    }
}

/* Geometric means over targets behind their rows. */
static void add_means(plan *p)
{
    emp_transfer_table *t = p->table;
    double              log_ratio[EMP_SPLIT_TASKS];

    for (int32_t i = 0; i < p->rows_of_target; i++) {
        emp_transfer_row mean = t->row[i];
        double           log_equal = 0.0;
        for (int32_t k = 0; k < p->split->target_count; k++) {
            const emp_transfer_row *row = &t->row[k * p->rows_of_target + i];
            log_ratio[k] = log(row->ratio.mean);
            log_equal += log(row->equal);
        }
        mean.task = NULL;
        mean.step_s = (emp_summary){NAN, NAN, NAN};
        mean.ratio = emp_ratio_interval(log_ratio, p->split->target_count, 1);
        mean.equal = exp(log_equal / p->split->target_count);
        t->row[t->row_count + i] = mean;
    }
    t->row_count += p->rows_of_target;
}

static emp_status make(plan *p, emp_error *err)
{
    if (p->params->has_frequencies && p->params->imitate == NULL)
        return EMP_ERROR(EMP_EINVAL, "frequencies are those of placements that are "
                                     "imitated; say whose, as in --imitate refine");
    EMP_CHECK(emp_split_find(&p->split, p->params->split, err));
    EMP_CHECK(emp_methods_find(p->learner, &p->learner_count, MOST_LEARNERS,
                               p->params->methods, err));
    for (int32_t i = 0; i < p->learner_count; i++)
        EMP_CHECK(
            emp_training_check_method(p->learner[i], p->params->imitate != NULL, err));
    EMP_CHECK(load(p, err));
    EMP_CHECK(train_all(p, err));
    EMP_CHECK(allocate(p, err));
    EMP_CHECK(emp_trials_go_on(&p->params->jobs, run_first(p, err), err));
    EMP_CHECK(run_from_others(p, err));
    if (p->params->jobs.shard_count > 0) return EMP_EINTERRUPTED; /* no whole table */
    fill_rows(p);
    add_means(p);
    return EMP_OK;
}

static void clear(plan *p)
{
    for (int i = 0; i < PHASES; i++) {
        emp_jobs_clear(p->phase[i].job, p->phase[i].count);
        emp_free(p->phase[i].job);
    }
    emp_free(p->of_row);
    emp_tasks_clear(p->training, p->split != NULL ? p->split->training_count : 0);
    emp_tasks_clear(p->target, p->split != NULL ? p->split->target_count : 0);
    for (int32_t t = 0; t < EMP_TRANSFER_TRAININGS; t++) {
        emp_examples_clear(&p->examples[t]);
        for (int32_t i = 0; i < EMP_SPLIT_TASKS; i++) emp_free(p->table_start[i][t]);
    }
    for (int32_t l = 0; l < MOST_LEARNERS; l++) {
        for (int32_t t = 0; t < EMP_TRANSFER_TRAININGS; t++)
            emp_weights_clear(&p->weights[l][t]);
    }
    emp_free(p);
}

emp_status emp_transfer_make(emp_transfer_table **out, const emp_transfer_params *params,
                             emp_error *err)
{
    plan *p = EMP_NEW(plan);

    *out = NULL;
    if (p == NULL) return EMP_ERROR(EMP_ENOMEM, "table of transfer");
    p->params = params;
    const emp_status st = make(p, err);
    if (st == EMP_OK)
        *out = p->table;
    else
        emp_transfer_destroy(p->table);
    clear(p);
    return st;
}

void emp_transfer_destroy(emp_transfer_table *table)
{
    if (table == NULL) return;
    emp_free(table->row);
    emp_free(table);
}

/* ---- the table ---- */

#define PROPOSED_BY "the best of the methods that propose once"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("split", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("task", "task", EMP_SHEET_WORD),
    EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),
    EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("arm", "arm", EMP_SHEET_WORD),
    EMP_COLUMN("method", "learner", EMP_SHEET_WORD),
    EMP_COLUMN("imitated", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("training", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("trainings", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("budget", "samples", EMP_SHEET_COUNT),
    EMP_COLUMN("step_s", "s", EMP_SHEET_REAL, .width = 7, .precision = 9,
               .low = "step_low_s", .high = "step_high_s", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("ratio", "to the best proposed", EMP_SHEET_REAL, .digits = 3,
               .low = "ratio_low", .high = "ratio_high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("equal", "N_eq", EMP_SHEET_REAL, .infinite = "never")};

static void add_line(emp_sheet *sheet, const emp_transfer_table *t,
                     const emp_transfer_row *r)
{
    const bool is_one = r->task != NULL;

    EMP_SHEET_ADD(
        sheet, EMP_V(t->split->name), EMP_V(is_one ? r->task->key : "all"),
        emp_value_word(is_one ? r->task->spec : NULL),
        emp_value_word(is_one ? r->task->machine : NULL), EMP_V(t->split->target_runtime),
        EMP_V(r->arm), emp_value_word(r->method),
        emp_value_word(t->imitated[0] != '\0' ? t->imitated : NULL),
        EMP_V(t->training_budget), EMP_V(t->trainings), EMP_V(r->budget),
        emp_value_if(!isnan(r->step_s.median),
                     emp_value_range(r->step_s.median, r->step_s.min, r->step_s.max)),
        emp_value_if(!isnan(r->ratio.mean),
                     emp_value_range(r->ratio.mean, r->ratio.low, r->ratio.high)),
        emp_value_if(!isnan(r->equal), EMP_V(r->equal)));
}

emp_status emp_transfer_print(FILE *out, const emp_transfer_table *t,
                              emp_sheet_format format, emp_error *err)
{
    emp_sheet sheet;

    EMP_SHEET_INIT(&sheet, columns);
    emp_sheet_set_title(&sheet, "Transfer, split %s, runtime %s: %s", t->split->name,
                        t->split->target_runtime, t->split->description);
    for (int32_t i = 0; i < t->row_count; i++) add_line(&sheet, t, &t->row[i]);
    emp_sheet_note(&sheet,
                   "Learners were trained with %lld evaluation%s in all; medians of %d "
                   "training%s, and range. Ratios are to " PROPOSED_BY
                   ", of all: geometric mean and its 95 %% interval over tasks.",
                   (long long)t->training_budget, emp_units_plural(t->training_budget),
                   t->trainings, emp_units_plural(t->trainings));
    if (t->imitated[0] != '\0')
        emp_sheet_note(&sheet,
                       "Before that they imitated %s (method, options, evaluations and "
                       "steps a task).",
                       t->imitated);
    const emp_status st = emp_sheet_print(out, &sheet, format, err);
    emp_sheet_clear(&sheet);
    return st;
}
