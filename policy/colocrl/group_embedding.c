// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/group_embedding.h"

#include <string.h>

#include "base/arrays.h"
#include "base/mem.h"
#include "policy/nn/blas.h"

/* Numbers the groups that have members by their place in the sequence. */
static emp_status number_steps(emp_group_embedding *e, const emp_op_features *ops,
                               const int32_t *group_of_row, int32_t group_count,
                               emp_group_sequence sequence, uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     groups = (size_t)group_count;
    emp_arrays scratch = {0};
    int32_t   *order = EMP_ADD_ARRAY(&scratch, int32_t, groups);
    int32_t   *step_of_group = EMP_ADD_ARRAY(&scratch, int32_t, groups);
    double    *sum = EMP_ADD_ARRAY(&scratch, double, 2 * groups);

    e->step_of_row = EMP_ADD_ARRAY(&e->arrays, int32_t, (size_t)ops->row_count);
    if (scratch.is_short || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "order of %d groups", group_count);
    e->steps = emp_group_order(order, ops, group_of_row, group_count, sequence, false,
                               seed, sum);
    for (int32_t s = 0; s < e->steps; s++) step_of_group[order[s]] = s;
    for (int32_t r = 0; r < ops->row_count; r++)
        e->step_of_row[r] = step_of_group[group_of_row[r]];

cleanup:
    emp_arrays_clear(&scratch);
    return st;
}

static emp_status fill_shares(emp_group_embedding *e, const emp_op_features *ops,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *members = EMP_NEW_ARRAY(int32_t, (size_t)e->steps);

    e->share = EMP_ADD_ARRAY(&e->arrays, emp_real, (size_t)e->steps * (size_t)e->types);
    if (members == NULL || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "op types of %d groups", e->steps);
    for (int32_t r = 0; r < ops->row_count; r++) {
        members[e->step_of_row[r]]++;
        e->share[(int64_t)e->step_of_row[r] * e->types + ops->type[r]] += 1;
    }
    for (int64_t s = 0; s < e->steps; s++) {
        for (int32_t t = 0; t < e->types; t++)
            e->share[s * e->types + t] /= (emp_real)members[s];
    }

cleanup:
    emp_free(members);
    return st;
}

/* Sizes and adjacency stand behind the type counts in the features of groups; here they
 * stand behind the embedding. */
static emp_status fill_fixed_part(emp_group_embedding *e, const emp_op_features *ops,
                                  emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     steps = (size_t)e->steps;
    int64_t    count = emp_group_feature_count(ops, e->steps);
    emp_arrays scratch = {0};
    int32_t   *order = EMP_ADD_ARRAY(&scratch, int32_t, steps);
    int32_t   *work = EMP_ADD_ARRAY(&scratch, int32_t, steps);
    emp_real  *features = EMP_ADD_ARRAY(&scratch, emp_real, steps * (size_t)count);

    e->x = EMP_ADD_ARRAY(&e->arrays, emp_real, steps * (size_t)e->inputs);
    if (scratch.is_short || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "features of %d groups", e->steps);
    for (int32_t s = 0; s < e->steps; s++) order[s] = s;
    emp_group_features(features, ops, e->step_of_row, e->steps, order, e->steps, work);
    for (int64_t s = 0; s < e->steps; s++)
        memcpy(&e->x[s * e->inputs + e->width], &features[s * count + e->types],
               (size_t)(e->inputs - e->width) * sizeof *e->x);

cleanup:
    emp_arrays_clear(&scratch);
    return st;
}

emp_status emp_group_embedding_init(emp_group_embedding *e, const emp_op_features *ops,
                                    const int32_t *group_of_row, int32_t group_count,
                                    int32_t width, emp_group_sequence sequence,
                                    uint64_t seed, emp_error *err)
{
    emp_status            st = EMP_OK;
    const emp_param_slice slice = {"type_embedding", ops->type_count, width, 0};

    *e = (emp_group_embedding){.types = ops->type_count, .width = width};
    EMP_TRY(number_steps(e, ops, group_of_row, group_count, sequence, seed, err));
    e->inputs = width + EMP_ROW_SIZES + e->steps;
    EMP_TRY(fill_shares(e, ops, err));
    EMP_TRY(fill_fixed_part(e, ops, err));
    EMP_TRY(emp_params_init(&e->params, &slice, 1, err));

cleanup:
    if (st != EMP_OK) emp_group_embedding_clear(e);
    return st;
}

void emp_group_embedding_clear(emp_group_embedding *e)
{
    emp_arrays_clear(&e->arrays);
    emp_params_clear(&e->params);
    *e = (emp_group_embedding){0};
}

void emp_group_embedding_forward(emp_group_embedding *e, int32_t threads)
{
    emp_blas_gemm_shared(false, false, e->steps, e->width, e->types, e->share, e->types,
                         emp_params_value(&e->params, 0), e->width, 0, e->x, e->inputs,
                         threads);
}

void emp_group_embedding_backward(emp_group_embedding *e, const emp_real *d_x,
                                  int32_t threads)
{
    emp_blas_gemm_shared(true, false, e->types, e->width, e->steps, e->share, e->types,
                         d_x, e->width, 0, emp_params_gradient(&e->params, 0), e->width,
                         threads);
}
