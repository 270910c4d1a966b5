// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/onnx/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/import/onnx/weights.h"

enum { BATCH_DEFAULT = 32, IMAGE_DEFAULT = 224, OTHER_DEFAULT = 128 };

/* The size that "name=size,..." gives for a symbol, or -1. */
static int64_t given_size(const char *dims, emp_slice symbol)
{
    for (const char *at = dims; at != NULL && *at != '\0' && symbol.size > 0;) {
        size_t length = strcspn(at, ",");
        if (length > symbol.size && at[symbol.size] == '=' &&
            memcmp(at, symbol.data, symbol.size) == 0)
            return strtoll(at + symbol.size + 1, NULL, 10);
        at += length + (at[length] == ',');
    }
    return -1;
}

static void say_assumed(emp_onnx *o, const emp_onnx_info *info, int32_t d, int64_t size)
{
    if (info->symbol[d].size > 0)
        emp_import_notes_assume(o->notes, "the size \"%.*s\" is %lld",
                                EMP_SLICE_ARG(info->symbol[d]), (long long)size);
    else
        emp_import_notes_assume(o->notes, "size %d of the input \"%.*s\" is %lld", d,
                                EMP_SLICE_ARG(info->name), (long long)size);
}

/* Numbers for the symbols of an input's shape. */
static void fix_sizes(emp_onnx *o, emp_onnx_info *info, bool *has_batch)
{
    for (int32_t d = 0; d < info->shape.rank; d++) {
        if (info->shape.dim[d] >= 0) continue;
        bool    is_image = info->shape.rank == 4 && d >= 2;
        int64_t size = given_size(o->dims, info->symbol[d]);
        if (d == 0) *has_batch = true;
        if (size < 0 && d == 0 && o->batch > 0) size = o->batch;
        if (size < 0) {
            size = d == 0 ? BATCH_DEFAULT : is_image ? IMAGE_DEFAULT : OTHER_DEFAULT;
            say_assumed(o, info, d, size);
        }
        info->shape.dim[d] = size;
    }
}

/* \param first  The number of the first value that is an input. */
static void bind_input(emp_onnx *o, emp_onnx_scope *scope, emp_onnx_info *info,
                       int32_t first, bool *has_batch)
{
    emp_onnx_value *value = emp_onnx_find(scope, info->name);

    if (value != NULL &&
        emp_strmap_get(&scope->index, info->name.data, info->name.size) >= first)
        emp_import_notes_problem(o->notes, "two inputs have the name \"%.*s\"",
                                 EMP_SLICE_ARG(info->name));
    if (value != NULL || o->status != EMP_OK) return; /* an initializer's default */
    value = emp_onnx_bind(o, scope, info->name);
    if (value == NULL) return;
    if (!info->is_tensor || info->shape.rank < 0 || info->dtype == EMP_DTYPE_NONE) {
        emp_import_notes_problem(o->notes, "input \"%.*s\" is no tensor of a known rank",
                                 EMP_SLICE_ARG(info->name));
        value->is_unknown = true;
        return;
    }
    value->dtype = info->dtype;
    value->shape = info->shape;
    if (emp_shape_is_known(&info->shape)) emp_onnx_mark_input(o, value);
    if (value->is_weight) return;
    fix_sizes(o, info, has_batch);
    value->shape = info->shape;
    char name[128];
    snprintf(name, sizeof name, "%.*s", EMP_SLICE_ARG(info->name));
    for (char *c = name; *c != '\0'; c++)
        if (*c <= ' ' || *c >= '\x7f') *c = '_';
    const char *plain = name + (name[0] == '/');
    value->port = emp_tf_placeholder(o->tf, plain[0] != '\0' ? plain : "input",
                                     value->dtype, value->shape);
}

static bool is_symbol_of(const emp_onnx_info *info, const char *name, size_t length)
{
    for (int32_t d = 0; d < info->shape.rank; d++)
        if (info->symbol[d].size == length &&
            memcmp(info->symbol[d].data, name, length) == 0)
            return true;
    return false;
}

/* Every size that is given must be that of a symbol. */
static emp_status check_given(const emp_onnx *o, const emp_onnx_graph *graph,
                              emp_error *err)
{
    for (const char *at = o->dims; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ",="), whole = strcspn(at, ",");
        bool   is_known = false;
        for (int32_t i = 0; i < graph->inputs.count && !is_known; i++) {
            emp_onnx_info info;
            is_known = emp_onnx_info_read(&info, graph->inputs.item[i], NULL) == EMP_OK &&
                       is_symbol_of(&info, at, length);
        }
        if (!is_known)
            return EMP_ERROR(EMP_EINVAL,
                             "no input of the model has a size named \"%.*s\"",
                             (int)(length < 80 ? length : 80), at);
        at += whole + (at[whole] == ',');
    }
    return EMP_OK;
}

emp_status emp_onnx_bind_inputs(emp_onnx *o, emp_onnx_scope *scope,
                                const emp_onnx_graph *graph, emp_error *err)
{
    const int32_t first = scope->count;
    bool          has_batch = false;

    EMP_CHECK(check_given(o, graph, err));
    for (int32_t i = 0; i < graph->inputs.count && o->status == EMP_OK; i++) {
        emp_onnx_info info;
        EMP_CHECK(emp_onnx_info_read(&info, graph->inputs.item[i], err));
        bind_input(o, scope, &info, first, &has_batch);
    }
    if (o->batch > 0 && !has_batch)
        return EMP_ERROR(
            EMP_EINVAL,
            "a batch of %lld, but no input of the model leaves its first size open",
            (long long)o->batch);
    return EMP_OK;
}
