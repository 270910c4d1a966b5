// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/move_groups.h"

#include "base/hash.h"
#include "base/mem.h"
#include "policy/hdp/fixed_groups.h"

static double weight_of(const emp_move_grouping *m, int32_t group, const double *weight)
{
    double sum = 0.0;

    for (int32_t i = m->rows.first[group]; i < m->rows.first[group + 1]; i++)
        sum += weight[m->rows.member[i]];
    return sum;
}

/* Without weights, or if they are all 0, all groups are alike. */
static void share_out(emp_move_grouping *m, const double *weight, double alike)
{
    double all = 0.0, sum = 0.0, even = 1.0 / m->rows.group_count;

    for (int32_t g = 0; g < m->rows.group_count; g++) {
        m->share_up_to[g] = weight != NULL ? weight_of(m, g, weight) : 0.0;
        all += m->share_up_to[g];
    }
    for (int32_t g = 0; g < m->rows.group_count; g++) {
        double share = all > 0 ? m->share_up_to[g] / all : even;
        sum += alike * even + (1.0 - alike) * share;
        m->share_up_to[g] = sum;
    }
}

static emp_status add_grouping(emp_move_groups *m, const emp_problem *problem,
                               const emp_op_features *ops, const emp_hdp_options *o,
                               int32_t group_count, uint64_t seed, emp_error *err)
{
    emp_status         st = EMP_OK;
    int32_t           *group_of_row = NULL;
    emp_move_grouping *added = &m->grouping[m->count];

    EMP_TRY(emp_fixed_groups_create(&group_of_row, o->grouping, problem, ops, group_count,
                                    o->refine_imbalance, seed + (uint64_t)m->count, err));
    m->count++;
    EMP_TRY(
        emp_members_init(&added->rows, group_of_row, ops->row_count, group_count, err));
    added->share_up_to = EMP_NEW_ARRAY(double, (size_t)added->rows.group_count);
    if (added->share_up_to == NULL) EMP_FAIL(EMP_ENOMEM, "%d groups", group_count);
    share_out(added, NULL, 1.0);
    m->hash = emp_hash_bytes(m->hash, group_of_row,
                             (size_t)ops->row_count * sizeof *group_of_row);

cleanup:
    emp_free(group_of_row);
    return st;
}

emp_status emp_move_groups_init(emp_move_groups *m, const emp_problem *problem,
                                const emp_op_features *ops, const emp_hdp_options *o,
                                uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    largest = o->refine_largest, cuts = o->refine_cuts;

    *m = (emp_move_groups){.hash = EMP_HASH_SEED};
    for (int32_t groups = o->refine_smallest; groups <= largest; groups *= 2)
        for (int32_t i = 0; i < cuts; i++)
            EMP_TRY(add_grouping(m, problem, ops, o, groups, seed, err));

cleanup:
    if (st != EMP_OK) emp_move_groups_clear(m);
    return st;
}

void emp_move_groups_clear(emp_move_groups *m)
{
    for (int32_t i = 0; i < m->count; i++) {
        emp_members_clear(&m->grouping[i].rows);
        emp_free(m->grouping[i].share_up_to);
    }
    *m = (emp_move_groups){0};
}

void emp_move_groups_weigh(emp_move_groups *m, const double *weight, double alike)
{
    for (int32_t i = 0; i < m->count; i++) share_out(&m->grouping[i], weight, alike);
}

/* The first group up to which the shares are above \a u. */
static int32_t find_group(const emp_move_grouping *m, double u)
{
    int32_t low = 0, high = m->rows.group_count - 1;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (m->share_up_to[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const emp_move_grouping *emp_move_groups_draw(const emp_move_groups *m, emp_rng *rng,
                                              int32_t *group)
{
    const emp_move_grouping *drawn = &m->grouping[emp_rng_below(rng, (uint32_t)m->count)];

    *group = find_group(drawn, emp_rng_uniform(rng));
    return drawn;
}
