// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/fixed_groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "search/groups/class_groups.h"

/* Away from the streams of the agent. */
enum { STREAM_GROUPS = UINT16_MAX };

static void draw_groups(int32_t *group, int32_t row_count, int32_t group_count,
                        uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, STREAM_GROUPS);
    for (int32_t r = 0; r < row_count; r++)
        group[r] = (int32_t)emp_rng_below(&rng, (uint32_t)group_count);
}

typedef struct {
    float   position;
    int32_t row;
} placed_row;

static int by_position(const void *a, const void *b)
{
    const placed_row *x = a, *y = b;

    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static emp_status cut_chunks(int32_t *group, const emp_op_features *ops,
                             int32_t group_count, emp_error *err)
{
    emp_status  st = EMP_OK;
    int64_t     rows = ops->row_count;
    placed_row *placed = EMP_NEW_ARRAY(placed_row, (size_t)rows);

    if (placed == NULL) EMP_FAIL(EMP_ENOMEM, "order of %d ops", ops->row_count);
    for (int32_t r = 0; r < rows; r++) placed[r] = (placed_row){ops->position[r], r};
    qsort(placed, (size_t)rows, sizeof *placed, by_position);
    for (int64_t i = 0; i < rows; i++)
        group[placed[i].row] = (int32_t)(i * group_count / rows);

cleanup:
    emp_free(placed);
    return st;
}

/* Between several CPUs ops that only a CPU can run have a choice, and so a row; but
 * partitioners and rules know nothing of them. */
enum { LEFT_OUT = -1 };

static int32_t class_of_row(const emp_problem *problem, const emp_op_features *ops,
                            int32_t row)
{
    return problem->graph->op[ops->op_of_row[row]].colocation_class;
}

/* How many groups to cut the others into: one less where some rows are left out. */
static int32_t count_cut_groups(const emp_problem *problem, const emp_op_features *ops,
                                int32_t group_count)
{
    for (int32_t r = 0; r < ops->row_count; r++) {
        uint32_t kinds = problem->kinds_of_class[class_of_row(problem, ops, r)];
        if ((kinds & EMP_KIND_GPU) == 0) return group_count > 1 ? group_count - 1 : 1;
    }
    return group_count;
}

/* Rows that are left out share the last group. */
static void fill_last_group(int32_t *group, int32_t row_count, int32_t group_count)
{
    for (int32_t r = 0; r < row_count; r++)
        if (group[r] == LEFT_OUT) group[r] = group_count - 1;
}

/* Each row has the group of its colocation class. ColocRL's rules give a number of groups of
 * their own: if it is larger, groups whose first ops are neighbours are joined, equally many
 * in each. */
static emp_status cut_classes(int32_t *group, const emp_problem *problem,
                              const emp_op_features         *ops,
                              const emp_class_groups_params *how, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    classes = problem->graph->class_count, found = 0;
    int32_t   *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)classes);

    if (group_of_class == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d classes", classes);
    EMP_TRY(emp_class_groups(group_of_class, &found, problem, how, err));
    for (int32_t r = 0; r < ops->row_count; r++) {
        int64_t own = group_of_class[class_of_row(problem, ops, r)];
        if (own >= 0 && found > how->count) own = own * how->count / found;
        group[r] = own < 0 ? LEFT_OUT : (int32_t)own;
    }

cleanup:
    emp_free(group_of_class);
    return st;
}

emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t group_count, double imbalance,
                                   const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *group = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);

    emp_class_groups_params how = {.count = count_cut_groups(problem, ops, group_count),
                                   .imbalance = imbalance,
                                   .seed = params->seed,
                                   .stop = params->stop};

    *out = NULL;
    if (group == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d ops", ops->row_count);
    switch (grouping) {
    case EMP_GROUPING_CHUNKS: EMP_TRY(cut_chunks(group, ops, group_count, err)); break;
    case EMP_GROUPING_RANDOM:
        draw_groups(group, ops->row_count, group_count, params->seed);
        break;
    case EMP_GROUPING_METIS: how.kind = EMP_CLASS_GROUPS_METIS; break;
    case EMP_GROUPING_SCOTCH: how.kind = EMP_CLASS_GROUPS_SCOTCH; break;
    case EMP_GROUPING_NAMES: how.kind = EMP_CLASS_GROUPS_NAMES; break;
    case EMP_GROUPING_COLOCATION: how.kind = EMP_CLASS_GROUPS_COLOCRL; break;
    case EMP_GROUPING_LEARNED:
    case EMP_GROUPING_NONE: EMP_FAIL(EMP_EINVAL, "groups that are learned, or none");
    }
    if (grouping != EMP_GROUPING_CHUNKS && grouping != EMP_GROUPING_RANDOM)
        EMP_TRY(cut_classes(group, problem, ops, &how, err));
    fill_last_group(group, ops->row_count, group_count);
    *out = group;
    group = NULL;

cleanup:
    emp_free(group);
    return st;
}
