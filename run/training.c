// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/training.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "base/work.h"
#include "run/loop_internal.h"
#include "run/methods.h"

typedef struct {
    const emp_training_params *params;
    emp_run_params             run_params; /* of every problem */
    emp_record                *record;     /* [problem] */
    emp_run_state            **run;        /* [problem] */
    int32_t                   *order;      /* [problem] of the round */
    emp_rng                    rng;
    int64_t                    evaluations, turn;
} training;

static const char *name_of(const training *t, int32_t problem)
{
    return t->params->problem[problem]->workload;
}

static bool has_room(const training *t)
{
    const emp_training_params *p = t->params;

    return t->evaluations < p->budget_evaluations && !emp_stop_is_set(p->stop);
}

static emp_status refuse_method(const char *name, emp_error *err)
{
    char              array[256] = "";
    emp_text          names = {array, sizeof array, 0};
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++)
        if (emp_method_has_weights(method))
            emp_text_add(&names, "%s%s", names.used > 0 ? ", " : "", method->name);
    return EMP_ERROR(
        EMP_EUNSUPPORTED,
        "method %s has no weights that fit another graph; --method names one "
        "that has: %s",
        name, array);
}

emp_status emp_training_check_method(const emp_method *method, bool imitates,
                                     emp_error *err)
{
    if (!emp_method_has_weights(method)) return refuse_method(method->name, err);
    if (imitates && method->learning->imitate == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s learns from scores alone and imitates nobody; the "
                         "method go imitates",
                         method->name);
    return EMP_OK;
}

static emp_status check_params(const emp_training_params *p, emp_error *err)
{
    EMP_CHECK(emp_training_check_method(p->method, p->example != NULL, err));
    if (p->problem_count < 1 || (p->budget_evaluations < 1 && p->example == NULL))
        return EMP_ERROR(EMP_EINVAL, "training needs a problem and an evaluation");
    return EMP_OK;
}

static emp_status prepare_problem(training *t, int32_t i, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(t->run[i], 1));
    emp_run_init(t->run[i], &t->record[i], t->params->problem[i], &t->run_params);
    return emp_run_prepare(t->run[i], err);
}

static emp_status prepare(training *t, const emp_training_params *p, emp_error *err)
{
    const size_t count = (size_t)p->problem_count;

    t->params = p;
    t->run_params = (emp_run_params){.method = p->method,
                                     .placer = p->placer,
                                     .budget_evaluations =
                                         (p->budget_evaluations + p->problem_count - 1) /
                                         p->problem_count, /* for schedules */
                                     .stop = p->stop};
    emp_rng_init(&t->rng, p->placer.seed, 1, 0);
    EMP_CHECK(EMP_ALLOC(t->record, count));
    EMP_CHECK(EMP_ALLOC(t->run, count));
    EMP_CHECK(EMP_ALLOC(t->order, count));
    for (int32_t i = 0; i < p->problem_count; i++) {
        t->order[i] = i;
        EMP_CHECK(prepare_problem(t, i, err));
    }
    return EMP_OK;
}

static void clear(training *t)
{
    for (int32_t i = 0; t->run != NULL && i < t->params->problem_count; i++) {
        if (t->run[i] != NULL) emp_run_clear(t->run[i]);
        emp_free(t->run[i]);
        emp_record_clear(&t->record[i]);
    }
    emp_free(t->run);
    emp_free(t->record);
    emp_free(t->order);
}

/* Fisher and Yates. */
static void shuffle(training *t)
{
    for (int32_t i = t->params->problem_count - 1; i > 0; i--) {
        const int32_t j = (int32_t)emp_rng_below(&t->rng, (uint32_t)i + 1);
        const int32_t kept = t->order[i];
        t->order[i] = t->order[j];
        t->order[j] = kept;
    }
}

static void tell_of(const training *t, int32_t problem, double sum_s, int64_t count)
{
    const emp_record       *r = &t->record[problem];
    const emp_training_turn turn = {.evaluations = t->evaluations,
                                    .turn = t->turn,
                                    .problem = problem,
                                    .mean_s = sum_s / (double)count,
                                    .best_s = r->is_feasible ? r->best_step_time_s : NAN};

    if (t->params->on_turn != NULL) t->params->on_turn(t->params->context, &turn);
}

static emp_status run_batch(training *t, int32_t problem, emp_error *err)
{
    emp_run_state *run = t->run[problem];
    const int64_t  left = t->params->budget_evaluations - t->evaluations;

    EMP_CHECK(emp_run_batch(
        run, left < run->batch_limit ? (int32_t)left : run->batch_limit, err));
    if (run->is_untold)
        run->count = 0; /* nothing was learned from it */
    else if (run->count == 0)
        return EMP_ERROR(EMP_EINVAL, "method %s proposes nothing more on %s",
                         t->params->method->name, name_of(t, problem));
    t->evaluations += run->count;
    return EMP_OK;
}

/* The problem's networks get the weights, and are trained until they have changed. */
static emp_status take_turn(training *t, int32_t problem, emp_weights *weights,
                            emp_error *err)
{
    emp_run_state    *run = t->run[problem];
    const emp_method *method = t->params->method;
    emp_named_array   array[EMP_MAX_NAMED_ARRAYS];
    const int32_t     arrays = method->learning->list_weights(run->placer, array);
    const int64_t     before = t->evaluations;
    double            sum_s = 0.0;

    EMP_CHECK(emp_weights_give(weights, array, arrays, err));
    do {
        EMP_CHECK(run_batch(t, problem, err));
        for (int32_t i = 0; i < run->count; i++) sum_s += run->score[i].step_time_s;
    } while (has_room(t) && emp_weights_equal(weights, array));
    if (t->evaluations == before) return EMP_OK; /* it was stopped */
    t->turn++;
    tell_of(t, problem, sum_s, t->evaluations - before);
    return emp_weights_take(weights, array, arrays, err);
}

/* One step of a problem's networks towards its example. */
static emp_status imitate_one(training *t, int32_t problem, emp_weights *weights,
                              double *loss, emp_error *err)
{
    void             *state = t->run[problem]->placer;
    const emp_method *method = t->params->method;
    emp_named_array   array[EMP_MAX_NAMED_ARRAYS];
    const int32_t     arrays = method->learning->list_weights(state, array);
    double            one = 0.0;

    EMP_CHECK(emp_weights_give(weights, array, arrays, err));
    EMP_CHECK(method->learning->imitate(state, &t->params->example[problem], &one, err));
    *loss += one / t->params->problem_count;
    return emp_weights_take(weights, array, arrays, err);
}

static emp_status imitate(training *t, emp_weights *weights, emp_error *err)
{
    const emp_training_params *p = t->params;
    emp_training_imitation     round = {0};

    while (p->example != NULL && round.round < p->imitation_rounds &&
           !emp_stop_is_set(p->stop)) {
        shuffle(t);
        round.loss = 0.0;
        for (int32_t i = 0; i < p->problem_count; i++) {
            const emp_status st = imitate_one(t, t->order[i], weights, &round.loss, err);
            if (st == EMP_EINTERRUPTED) return EMP_OK;
            EMP_CHECK(st);
        }
        if (round.round++ == 0) round.first_loss = round.loss;
        if (p->on_imitation != NULL) p->on_imitation(p->context, &round);
    }
    return EMP_OK;
}

static emp_status run_rounds(training *t, emp_weights *weights, emp_error *err)
{
    while (has_room(t)) {
        shuffle(t);
        for (int32_t i = 0; i < t->params->problem_count && has_room(t); i++)
            EMP_CHECK(take_turn(t, t->order[i], weights, err));
    }
    return EMP_OK;
}

/* All networks must be of the same sizes: the first problem's weights go to every other. */
static emp_status begin(training *t, emp_weights *weights, emp_error *err)
{
    const emp_method *method = t->params->method;
    emp_named_array   array[EMP_MAX_NAMED_ARRAYS];
    emp_error         why = {0};

    EMP_CHECK(emp_method_take_weights(weights, method, t->run[0]->placer, err));
    for (int32_t i = 1; i < t->params->problem_count; i++) {
        const int32_t    count = method->learning->list_weights(t->run[i]->placer, array);
        const emp_status st = emp_weights_give(weights, array, count, &why);
        if (st != EMP_OK)
            return EMP_ERROR(
                st,
                "method %s has other networks for %s than for %s (%s); train "
                "on machines with equally many devices",
                method->name, name_of(t, i), name_of(t, 0), why.msg);
    }
    return EMP_OK;
}

static void describe(emp_weights *weights, const training *t)
{
    const emp_method_params *placer = &t->params->placer;

    emp_weights_describe(weights, placer->preset, placer->options, placer->weights,
                         t->evaluations);
    for (int32_t i = 0; i < t->params->problem_count; i++)
        emp_weights_add_task(weights, t->params->problem[i]->workload,
                             t->params->problem[i]->machine->name);
}

emp_status emp_training_run(emp_weights *weights, const emp_training_params *params,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    training   t = {.params = params};

    EMP_TRY(check_params(params, err));
    EMP_TRY(prepare(&t, params, err));
    EMP_TRY(begin(&t, weights, err));
    EMP_TRY(imitate(&t, weights, err));
    EMP_TRY(run_rounds(&t, weights, err));
    describe(weights, &t);

cleanup:
    clear(&t);
    return st;
}

/* ---- examples ---- */

emp_status emp_examples_init(emp_examples *e, const emp_problem *const *problem,
                             int32_t count, int32_t decides, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(e->decision, (size_t)count));
    EMP_CHECK(EMP_ALLOC(e->step_time_s, (size_t)count));
    while (e->count < count) {
        const int32_t i = e->count++;
        e->step_time_s[i] = NAN;
        EMP_CHECK(emp_decision_init(&e->decision[i], problem[i]->graph->op_count, decides,
                                    err));
    }
    return EMP_OK;
}

static emp_status take_best(emp_examples *e, int32_t i, const emp_record *record,
                            const emp_problem *problem, const emp_run_params *params,
                            emp_error *err)
{
    if (emp_stop_is_set(params->stop))
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted while %s looked for examples",
                         params->method->name);
    if (!record->is_feasible)
        return EMP_ERROR(EMP_EINFEASIBLE,
                         "%s has found nothing for %s on %s that fits in memory; imitate "
                         "another method",
                         params->method->name, problem->workload, problem->machine->name);
    emp_decision_copy(&e->decision[i], &record->decision);
    e->step_time_s[i] = record->best_step_time_s;
    return EMP_OK;
}

emp_status emp_examples_make(emp_examples *e, const emp_problem *const *problem,
                             int32_t count, const emp_run_params *params, emp_error *err)
{
    EMP_CHECK(emp_examples_init(e, problem, count, params->placer.decides, err));
    for (int32_t i = 0; i < count; i++) {
        emp_record record = {0};
        emp_status st = emp_run(&record, problem[i], params, err);
        if (st == EMP_OK) st = take_best(e, i, &record, problem[i], params, err);
        emp_record_clear(&record);
        EMP_CHECK(st);
    }
    return EMP_OK;
}

void emp_examples_clear(emp_examples *e)
{
    for (int32_t i = 0; i < e->count; i++) emp_decision_clear(&e->decision[i]);
    emp_free(e->decision);
    emp_free(e->step_time_s);
    *e = (emp_examples){0};
}
