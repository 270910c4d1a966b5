// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/guide.h"

#include <string.h>

#include "base/mem.h"
#include "sim/explain/blame.h"
#include "sim/surrogate/agreement.h"

/* Without one where there can be none. */
static emp_status create_surrogate(emp_guide *g, emp_error *err)
{
    emp_status st =
        emp_surrogate_create(&g->surrogate, g->problem, EMP_SURROGATE_FASTEST, err);

    return st == EMP_EUNSUPPORTED ? EMP_OK : st;
}

emp_status emp_guide_init(emp_guide *g, const emp_problem *problem,
                          const emp_op_features *ops, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     op_count = (size_t)ops->op_count, row_count = (size_t)ops->row_count;

    *g = (emp_guide){.problem = problem, .ops = ops};
    if (problem->runtime.rules != EMP_RULES_EVENTS) goto cleanup;
    EMP_TRY(emp_sim_create(&g->sim, problem, err));
    EMP_TRY(create_surrogate(g, err));
    g->blame_s = EMP_NEW_ARRAY(double, op_count);
    g->weight = EMP_NEW_ARRAY(double, row_count);
    g->is_host_only = EMP_NEW_ARRAY(bool, row_count);
    g->legal_of_row = EMP_NEW_ARRAY(emp_device_id, row_count + 1);
    if (!g->blame_s || !g->weight || !g->is_host_only || !g->legal_of_row)
        EMP_FAIL(EMP_ENOMEM, "weights of %zu ops", op_count);
    for (int32_t r = 0; r < ops->row_count; r++) {
        int32_t c = problem->class_of_op[ops->op_of_row[r]];
        g->is_host_only[r] = (problem->kinds_of_class[c] & EMP_KIND_GPU) == 0;
    }
    for (int32_t i = 0; i < EMP_GUIDE_BLOCK; i++) {
        g->device[i] = EMP_NEW_ARRAY(emp_device_id, op_count);
        if (g->device[i] == NULL) EMP_FAIL(EMP_ENOMEM, "candidates of %zu ops", op_count);
    }

cleanup:
    if (st != EMP_OK) emp_guide_clear(g);
    return st;
}

void emp_guide_clear(emp_guide *g)
{
    emp_surrogate_destroy(g->surrogate);
    emp_sim_destroy(g->sim);
    emp_free(g->blame_s);
    emp_free(g->weight);
    emp_free(g->is_host_only);
    emp_free(g->legal_of_row);
    for (int32_t i = 0; i < EMP_GUIDE_BLOCK; i++) emp_free(g->device[i]);
    *g = (emp_guide){0};
}

/* Ops without a row run on the only CPU, or nowhere. */
void emp_guide_set(emp_guide *g, int32_t index, const int32_t *device_of_row)
{
    const emp_machine *m = g->problem->machine;
    const int32_t     *row_of_op = g->ops->row_of_op;
    int32_t            op_count = g->ops->op_count;
    emp_device_id     *of_row = g->legal_of_row, *of_op = g->device[index];

    of_row[0] = m->device[0].host;
    /* All ops of a row are of one class, so what is legal for one is so for all. */
    for (int32_t r = 0; r < g->ops->row_count; r++) {
        emp_device_id d = device_of_row[r];
        of_row[r + 1] = g->is_host_only[r] ? m->device[d].host : d;
    }
    for (emp_op_id op = 0; op < op_count; op++) of_op[op] = of_row[row_of_op[op] + 1];
}

emp_status emp_guide_follow(emp_guide *g, const int32_t *device_of_row, emp_error *err)
{
    emp_status st = EMP_OK;

    if (g->sim == NULL) goto cleanup;
    emp_guide_set(g, 0, device_of_row);
    EMP_TRY(emp_explain_blame(g->blame_s, g->problem, g->sim, g->device[0], err));
    memset(g->weight, 0, (size_t)g->ops->row_count * sizeof *g->weight);
    for (emp_op_id op = 0; op < g->ops->op_count; op++) {
        int32_t row = g->ops->row_of_op[op];
        if (row >= 0) g->weight[row] += g->blame_s[op];
    }
    if (g->surrogate != NULL)
        EMP_TRY(emp_surrogate_follow(g->surrogate, g->sim, g->device, 1, err));

cleanup:
    return st;
}

emp_status emp_guide_estimate(emp_guide *g, int32_t count, double *estimate_s,
                              emp_error *err)
{
    return emp_surrogate_run(g->surrogate, g->device, count, estimate_s, err);
}
