// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/group_features.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

int32_t emp_group_feature_count(const emp_op_features *ops, int32_t group_count)
{
    return ops->type_count + EMP_ROW_SIZES + group_count;
}

/* Away from the streams of networks. */
enum { STREAM_ORDER = UINT16_MAX - 1 };

/* What groups are sorted by. */
static double order_key(emp_group_sequence sequence, uint64_t seed, int32_t group,
                        double mean_position)
{
    emp_rng rng;

    switch (sequence) {
    case EMP_ORDER_POSITION: return mean_position;
    case EMP_ORDER_REVERSE: return isinf(mean_position) ? mean_position : -mean_position;
    case EMP_ORDER_NUMBER: return 0.0;
    case EMP_ORDER_RANDOM:
        emp_rng_init(&rng, seed, (uint32_t)group, STREAM_ORDER);
        return emp_rng_uniform(&rng);
    }
    return 0.0;
}

int32_t emp_group_order(int32_t *order, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        emp_group_sequence sequence, bool has_empty, uint64_t seed,
                        double *sum)
{
    double *members = sum + group_count;
    int32_t used = 0;

    memset(sum, 0, 2 * (size_t)group_count * sizeof *sum);
    for (int32_t row = 0; row < ops->row_count; row++) {
        sum[group_of_row[row]] += (double)ops->position[row];
        members[group_of_row[row]] += 1;
    }
    for (int32_t g = 0; g < group_count; g++) {
        bool is_empty = members[g] == 0.0;
        if (is_empty && !has_empty) continue;
        order[used++] = g;
        sum[g] = order_key(sequence, seed, g, is_empty ? INFINITY : sum[g] / members[g]);
    }
    /* Insertion keeps equal means in the order of their numbers; 256 groups are few. */
    for (int32_t i = 1; i < used; i++) {
        int32_t group = order[i], j = i;
        for (; j > 0 && sum[order[j - 1]] > sum[group]; j--) order[j] = order[j - 1];
        order[j] = group;
    }
    return used;
}

static void scale(emp_real *x, int32_t count)
{
    for (int32_t i = 0; i < count; i++) x[i] = (emp_real)log1p((double)x[i]);
}

void emp_group_features(emp_real *x, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        const int32_t *order, int32_t used, int32_t *step_of_group)
{
    int64_t width = emp_group_feature_count(ops, group_count);
    int64_t adjacency = ops->type_count + EMP_ROW_SIZES;

    memset(x, 0, (size_t)(used * width) * sizeof *x);
    for (int32_t s = 0; s < used; s++) step_of_group[order[s]] = s;
    for (int32_t row = 0; row < ops->row_count; row++) {
        emp_real *group = &x[step_of_group[group_of_row[row]] * width];
        group[ops->type[row]] += 1;
        for (int32_t i = 0; i < EMP_ROW_SIZES; i++) {
            group[ops->type_count + i] +=
                (emp_real)ops->sizes[(int64_t)row * EMP_ROW_SIZES + i];
        }
    }
    for (int32_t s = 0; s < used; s++) scale(&x[s * width], (int32_t)adjacency);
    for (int32_t e = 0; e < ops->edge_count; e++) {
        int32_t from = group_of_row[ops->edge[e][0]], to = group_of_row[ops->edge[e][1]];
        if (from == to) continue;
        x[step_of_group[from] * width + adjacency + to] = 1;
        x[step_of_group[to] * width + adjacency + from] = 1;
    }
}
