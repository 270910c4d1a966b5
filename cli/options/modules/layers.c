// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/modules/layers.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/sources.h"
#include "sim/problem/problem.h"

size_t cli_path_length(const char *op_name, const char *spec)
{
    size_t length = strcspn(op_name, "/");

    return op_name[length] == '/' || emp_source_has_prefix(spec, "hf") ? length : 0;
}

static bool is_part(const char *part, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(part, word, length) == 0;
}

static bool is_number(const char *part, size_t length)
{
    return length > 0 && strspn(part, "0123456789") >= length;
}

size_t cli_layer_length(const char *path, size_t length)
{
    size_t layer = 0;

    for (size_t from = 0; from < length;) {
        size_t end = from;
        while (end < length && path[end] != '.') end++;
        if (is_part(path + from, end - from, "experts")) break;
        if (is_number(path + from, end - from)) layer = end;
        from = end + 1;
    }
    return layer;
}

void cli_layers_mark_cpu(bool *is_cpu_class, const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && (g->op[op].kinds & EMP_KIND_GPU) == 0)
            is_cpu_class[g->op[op].colocation_class] = true;
}

emp_status cli_layers_join(emp_graph *g, const char *spec, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap layers = {0};
    int32_t   *set_of_op = NULL, count = 0;
    bool      *is_cpu_class = NULL;

    EMP_TRY(EMP_ALLOC(set_of_op, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(is_cpu_class, (size_t)g->class_count));
    cli_layers_mark_cpu(is_cpu_class, g);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name = g->name[op];
        size_t      length = cli_layer_length(name, cli_path_length(name, spec));
        set_of_op[op] = -1;
        if (length == 0 || is_cpu_class[g->op[op].colocation_class]) continue;
        set_of_op[op] = emp_strmap_get(&layers, name, length);
        if (set_of_op[op] >= 0) continue;
        set_of_op[op] = count++;
        EMP_TRY(emp_strmap_set(&layers, name, length, set_of_op[op], err));
    }
    if (count == 0)
        EMP_FAIL(
            EMP_EINVAL,
            "--whole-layers is for PyTorch models and configs, and no op of %s names "
            "a numbered layer, such as model.layers.0",
            spec);
    EMP_TRY(emp_graph_join_classes(g, set_of_op, err));

cleanup:
    emp_strmap_clear(&layers);
    emp_free(set_of_op);
    emp_free(is_cpu_class);
    return st;
}
