// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/expert_groups.h"

#include <string.h>

#include "base/collections.h"

size_t emp_expert_layer_length(const char *op_name)
{
    static const char module[] = ".experts", tensor[] = "_exps";
    const size_t      length = strcspn(op_name, "/");
    const char       *at = strstr(op_name, module);

    if (at != NULL && (size_t)(at - op_name) < length) {
        const char behind = at[sizeof module - 1];
        return behind == '.' || behind == '/' || behind == '\0' ? (size_t)(at - op_name)
                                                                : 0;
    }
    at = strstr(op_name, tensor);
    if (at == NULL || (size_t)(at - op_name) >= length) return 0;
    while (at > op_name && *at != '.') at--;
    return (size_t)(at - op_name);
}

bool emp_has_experts(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && emp_expert_layer_length(g->name[op]) > 0) return true;
    return false;
}

emp_status emp_expert_groups(int32_t *group_of_class, int32_t *group_count,
                             const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    emp_strmap       layers = {0};

    *group_count = 0;
    for (int32_t c = 0; c < g->class_count; c++) group_of_class[c] = -1;
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = problem->class_of_op[op];
        const size_t    length = emp_expert_layer_length(g->name[op]);
        if (c < 0 || length == 0 || (problem->kinds_of_class[c] & EMP_KIND_GPU) == 0)
            continue;
        int32_t layer = emp_strmap_get(&layers, g->name[op], length);
        if (layer < 0) {
            layer = (*group_count)++;
            EMP_TRY(emp_strmap_set(&layers, g->name[op], length, layer, err));
        }
        if (group_of_class[c] < 0) group_of_class[c] = layer;
    }

cleanup:
    emp_strmap_clear(&layers);
    return st;
}
