// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/method.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

/* ---- arrays of weights ---- */

static size_t bytes_of(const emp_named_array *array)
{
    return array->count * emp_array_type_bytes(array->type);
}

static const emp_named_array *find(const emp_weights *w, const char *name)
{
    for (int32_t i = 0; i < w->array_count; i++) {
        if (strcmp(w->array[i].name, name) == 0) return &w->array[i];
    }
    return NULL;
}

static emp_status check_array(const emp_weights *w, const char *name, int64_t count,
                              emp_error *err)
{
    const size_t length = strlen(name);

    if (w->array_count == EMP_MAX_NAMED_ARRAYS)
        return EMP_ERROR(EMP_EINVAL, "weights have at most %d arrays",
                         EMP_MAX_NAMED_ARRAYS);
    if (length == 0 || length >= EMP_ARRAY_NAME_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a name of weights has 1 to %d letters, not %zu",
                         EMP_ARRAY_NAME_BYTES - 1, length);
    if (find(w, name) != NULL)
        return EMP_ERROR(EMP_EINVAL, "two arrays of weights are named \"%s\"", name);
    if (count < 0 || count > EMP_WEIGHTS_MOST)
        return EMP_ERROR(EMP_EINVAL, "weights \"%s\" have %lld values; at most %lld",
                         name, (long long)count, (long long)EMP_WEIGHTS_MOST);
    return EMP_OK;
}

emp_status emp_weights_add(emp_weights *w, const char *name, emp_array_type type,
                           int64_t count, emp_error *err)
{
    EMP_CHECK(check_array(w, name, count, err));
    char *own = EMP_ADD_ARRAY(&w->memory, char, EMP_ARRAY_NAME_BYTES);
    void *values = emp_arrays_add(&w->memory, (size_t)count, emp_array_type_bytes(type));

    if (own == NULL || values == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%lld weights \"%s\"", (long long)count, name);
    snprintf(own, EMP_ARRAY_NAME_BYTES, "%s", name);
    w->array[w->array_count] = (emp_named_array){own, type, (size_t)count, values};
    w->array_count++;
    return EMP_OK;
}

/* Whether the arrays are of the networks that the weights are of. */
static emp_status check_networks(const emp_weights *w, const emp_named_array *arrays,
                                 int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        const emp_named_array *own = find(w, arrays[i].name);
        if (own == NULL)
            return EMP_ERROR(EMP_EINVAL, "the weights lack \"%s\"", arrays[i].name);
        if (own->type != arrays[i].type || own->count != arrays[i].count)
            return EMP_ERROR(EMP_EINVAL,
                             "\"%s\" are %zu values in the weights, and %zu here",
                             arrays[i].name, own->count, arrays[i].count);
    }
    if (count != w->array_count)
        return EMP_ERROR(EMP_EINVAL, "the weights have %d arrays, and there are %d here",
                         w->array_count, count);
    return EMP_OK;
}

emp_status emp_weights_take(emp_weights *w, const emp_named_array *arrays, int32_t count,
                            emp_error *err)
{
    for (int32_t i = 0; i < count && w->array_count < count; i++)
        EMP_CHECK(emp_weights_add(w, arrays[i].name, arrays[i].type,
                                  (int64_t)arrays[i].count, err));
    EMP_CHECK(check_networks(w, arrays, count, err));
    for (int32_t i = 0; i < count; i++)
        memcpy(find(w, arrays[i].name)->values, arrays[i].values, bytes_of(&arrays[i]));
    return EMP_OK;
}

emp_status emp_weights_give(const emp_weights *w, const emp_named_array *arrays,
                            int32_t count, emp_error *err)
{
    EMP_CHECK(check_networks(w, arrays, count, err));
    for (int32_t i = 0; i < count; i++)
        memcpy(arrays[i].values, find(w, arrays[i].name)->values, bytes_of(&arrays[i]));
    return EMP_OK;
}

static void set_text(char *text, size_t size, const char *value)
{
    snprintf(text, size, "%s", value != NULL ? value : "");
}

void emp_weights_describe(emp_weights *w, const char *preset, const char *options,
                          const emp_weights *before, int64_t evaluations)
{
    set_text(w->preset, sizeof w->preset, preset);
    set_text(w->options, sizeof w->options, options);
    set_text(w->tasks, sizeof w->tasks, before != NULL ? before->tasks : NULL);
    w->evaluations = evaluations + (before != NULL ? before->evaluations : 0);
}

void emp_weights_add_task(emp_weights *w, const char *workload, const char *machine)
{
    const size_t length = strlen(w->tasks);

    snprintf(w->tasks + length, sizeof w->tasks - length, "%s%s on %s",
             length > 0 ? ", " : "", workload, machine);
}

bool emp_weights_equal(const emp_weights *w, const emp_named_array *arrays)
{
    for (int32_t i = 0; i < w->array_count; i++) {
        const emp_named_array *own = find(w, arrays[i].name);
        if (memcmp(own->values, arrays[i].values, bytes_of(own)) != 0) return false;
    }
    return true;
}

uint64_t emp_weights_hash(const emp_weights *w)
{
    uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, w->method, strlen(w->method));

    for (int32_t i = 0; i < w->array_count; i++)
        hash = emp_hash_bytes(hash, w->array[i].values, bytes_of(&w->array[i]));
    return hash != 0 ? hash : 1;
}

void emp_weights_clear(emp_weights *w)
{
    emp_arrays_clear(&w->memory);
    *w = (emp_weights){0};
}

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

/* Fails if the method has no weights. */
static emp_status need_weights(const emp_method *type, emp_error *err)
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
    EMP_CHECK(need_weights(type, err));
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

/* Gives the weights to a state; NULL leaves it as it is.
 * \retval EMP_EFORMAT  They are damaged. \retval EMP_EINVAL  They are of other networks. */
static emp_status give_weights(const emp_method *type, void *state,
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
    return params->weights != NULL ? need_weights(type, err) : EMP_OK;
}

/* Ops of all candidates of a batch. */
enum { BATCH_OPS = 1 << 23 };

int32_t emp_method_batch_limit(const emp_method *type, int32_t op_count)
{
    const int32_t fitting = BATCH_OPS / (op_count > 0 ? op_count : 1);

    if (type->place != NULL || fitting < 1) return 1;
    return fitting < EMP_MAX_BATCH ? fitting : EMP_MAX_BATCH;
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
    EMP_TRY(give_weights(type, own, params->weights, err));
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
