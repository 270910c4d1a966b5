// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/method.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- scores ---- */

static double overflow_of(const emp_machine *machine, const emp_sim_result *result)
{
    double sum = 0.0;

    for (int32_t d = 0; !result->is_feasible && d < result->device_count; d++) {
        double memory = (double)machine->device[d].memory_bytes;
        sum += fmax(0.0, (double)result->peak_bytes[d] / memory - 1.0);
    }
    return sum;
}

emp_score emp_score_of(const emp_problem *problem, const emp_sim_result *result,
                       const emp_sim_times *times)
{
    return (emp_score){.step_time_s = (double)result->step_time_ns * 1e-9,
                       .is_feasible = result->is_feasible,
                       .overflow_frac = overflow_of(problem->machine, result),
                       .result = result,
                       .start_ns = times != NULL ? times->start_ns : NULL,
                       .end_ns = times != NULL ? times->end_ns : NULL};
}

/* ---- weights ---- */

bool emp_method_has_weights(const emp_method *type)
{
    return type->learning != NULL && type->learning->list_weights != NULL;
}

emp_status emp_method_need_weights(const emp_method *type, emp_error *err)
{
    if (emp_method_has_weights(type)) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "method %s has no weights that fit another graph; \"emplace "
                     "methods\" says which methods do",
                     type->name);
}

static emp_status list_weights(const emp_method *type, void *state,
                               emp_named_array array[EMP_MAX_NAMED_ARRAYS],
                               int32_t *count, emp_error *err)
{
    EMP_CHECK(emp_method_need_weights(type, err));
    const char *options = type->learning->weights_options;
    *count = type->learning->list_weights(state, array);
    if (*count > 0) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "with this preset and these options %s has networks for one graph "
                     "alone%s%s",
                     type->name,
                     options != NULL ? "; they fit others with --options " : "",
                     options != NULL ? options : "");
}

/* Integers of weights count steps. */
static bool has_no_count(const emp_named_array *array)
{
    const int64_t *count = (const int64_t *)array->values;

    for (size_t i = 0; array->type == EMP_ARRAY_INT64 && i < array->count; i++)
        if (!emp_count_is_valid(count[i])) return true;
    return false;
}

emp_status emp_method_give_weights(const emp_method *type, void *state,
                                   const emp_weights *weights, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    emp_error       why = {0};
    int32_t         count;

    if (weights == NULL) return EMP_OK;
    EMP_CHECK(list_weights(type, state, array, &count, err));
    for (int32_t i = 0; i < weights->array_count; i++)
        if (has_no_count(&weights->array[i]))
            return EMP_ERROR(EMP_EFORMAT, "the weights are damaged: their \"%s\"",
                             weights->array[i].name);
    const emp_status st = emp_weights_give(weights, array, count, &why);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st,
                     "the weights are of other networks than %s has here: %s; they were "
                     "trained with the preset \"%s\" and the options \"%s\"",
                     type->name, why.msg, weights->preset, weights->options);
}

emp_status emp_method_take_weights(emp_weights *weights, const emp_method *type,
                                   void *state, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count;

    EMP_CHECK(list_weights(type, state, array, &count, err));
    snprintf(weights->method, sizeof weights->method, "%s", type->name);
    return emp_weights_take(weights, array, count, err);
}

emp_status emp_method_check_weights(const emp_method *type, void *state, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count;

    return list_weights(type, state, array, &count, err);
}

/* ---- any method ---- */

/* State of a method with place(). */
typedef struct {
    emp_owned_decision proposal; /* levels only if the order is decided */
    bool               is_given;
} placed;

emp_status emp_method_options_parse(void *options, const emp_method *type,
                                    const emp_method_params *params, emp_error *err)
{
    const emp_option_table table = {type->name, type->presets, type->options};

    return emp_options_parse(options, &table, params->preset, params->options, err);
}

static emp_status place(placed *p, const emp_method *type, const emp_problem *problem,
                        const emp_method_params *params, emp_error *err)
{
    EMP_CHECK(
        emp_decision_init(&p->proposal, problem->graph->op_count, params->decides, err));
    return type->place(type, problem, params, &p->proposal, err);
}

static emp_status check_type(const emp_method *type, emp_error *err)
{
    if (type->place != NULL || type->state_bytes > 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "method %s has init() and no state_bytes; its table must say the "
                     "size of its state",
                     type->name);
}

static emp_status check_decides(const emp_method *type, int32_t decides, emp_error *err)
{
    const int32_t lacking = decides & ~type->decides & EMP_DECIDES_MORE;

    if (lacking == 0) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "method %s decides devices%s, and the %s is to be decided, too; "
                     "\"emplace methods\" says which methods do that",
                     type->name,
                     (type->decides & EMP_DECIDES_MORE) == 0 ? " alone"
                     : type->decides & EMP_DECIDES_ORDER     ? " and their order"
                                                             : " and their fusion",
                     lacking & EMP_DECIDES_ORDER ? "order" : "fusion");
}

static emp_status check_params(const emp_method *type, const emp_method_params *params,
                               emp_error *err)
{
    EMP_CHECK(check_decides(type, params->decides, err));
    if (params->start != NULL && !type->has_start)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "method %s cannot begin at a placement; \"emplace methods\" says "
            "which methods can",
            type->name);
    if (params->weights != NULL && strcmp(params->weights->method, type->name) != 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the weights are of the method %s; %s cannot begin with them",
                         params->weights->method, type->name);
    return params->weights != NULL ? emp_method_need_weights(type, err) : EMP_OK;
}

emp_status emp_method_create(void **state, const emp_method *type,
                             const emp_problem *problem, const emp_method_params *params,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_method_params typed = *params;
    void             *own = NULL;

    *state = NULL;
    typed.type = type;
    EMP_TRY(check_type(type, err));
    EMP_TRY(check_params(type, params, err));
    own = emp_calloc(1, type->place ? sizeof(placed) : type->state_bytes);
    if (own == NULL) EMP_FAIL(EMP_ENOMEM, "state of a placement method");
    EMP_TRY(type->place ? place(own, type, problem, &typed, err)
                        : type->init(own, problem, &typed, err));
    EMP_TRY(emp_method_give_weights(type, own, params->weights, err));
    *state = own;
    own = NULL;

cleanup:
    emp_method_destroy(type, own);
    return st;
}

emp_status emp_method_ask(const emp_method *type, void *state,
                          const emp_owned_decision *candidates, int32_t max,
                          int32_t *count, emp_error *err)
{
    placed *p = state;

    if (type->place == NULL) return type->ask(state, candidates, max, count, err);
    *count = !p->is_given && max > 0;
    if (*count == 0) return EMP_OK;
    emp_decision_copy(&candidates[0], &p->proposal);
    p->is_given = true;
    return EMP_OK;
}

emp_status emp_method_tell(const emp_method *type, void *state, const emp_score *scores,
                           int32_t count, emp_error *err)
{
    return type->tell != NULL ? type->tell(state, scores, count, err) : EMP_OK;
}

void emp_method_destroy(const emp_method *type, void *state)
{
    if (state == NULL) return;
    if (type->place != NULL) emp_decision_clear(&((placed *)state)->proposal);
    if (type->clear != NULL) type->clear(state);
    emp_free(state);
}
