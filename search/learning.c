// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/learning.h"

#include <stdio.h>

#include "search/method.h"

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
