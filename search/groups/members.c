// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/members.h"

#include "base/mem.h"

/* Sorts by counting: next[g] walks from the first member of g to that of g + 1. */
static void fill(emp_members *m, const int32_t *group_of_item, int32_t count)
{
    int32_t *next = m->first + 1;

    for (int32_t i = 0; i < count; i++)
        if (group_of_item[i] >= 0) next[group_of_item[i] + 1]++;
    for (int32_t g = 0; g < m->group_count; g++) next[g + 1] += next[g];
    for (int32_t i = 0; i < count; i++)
        if (group_of_item[i] >= 0) m->member[next[group_of_item[i]]++] = i;
}

static void drop_empty_groups(emp_members *m)
{
    int32_t used = 0;

    for (int32_t g = 0; g < m->group_count; g++)
        if (m->first[g + 1] > m->first[g]) m->first[++used] = m->first[g + 1];
    m->group_count = used;
}

emp_status emp_members_init(emp_members *members, const int32_t *group_of_item,
                            int32_t count, int32_t group_count, emp_error *err)
{
    emp_status st = EMP_OK;

    *members = (emp_members){.group_count = group_count};
    EMP_TRY(EMP_ALLOC(members->first, (size_t)group_count + 2));
    EMP_TRY(EMP_ALLOC(members->member, (size_t)count));
    fill(members, group_of_item, count);
    drop_empty_groups(members);

cleanup:
    if (st != EMP_OK) emp_members_clear(members);
    return st;
}

emp_status emp_members_init_ops(emp_members *members, const emp_graph *graph,
                                const int32_t *group_of_class, int32_t group_count,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *group_of_op = EMP_NEW_ARRAY(int32_t, (size_t)graph->op_count);

    *members = (emp_members){0};
    if (group_of_op == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        group_of_op[op] = group_of_class[graph->op[op].colocation_class];
    EMP_TRY(emp_members_init(members, group_of_op, graph->op_count, group_count, err));

cleanup:
    emp_free(group_of_op);
    return st;
}

void emp_members_spread(const emp_members *members, const int32_t *value_of_group,
                        int32_t *value_of_item)
{
    for (int32_t g = 0; g < members->group_count; g++)
        for (int32_t i = members->first[g]; i < members->first[g + 1]; i++)
            value_of_item[members->member[i]] = value_of_group[g];
}

void emp_members_clear(emp_members *members)
{
    emp_free(members->first);
    emp_free(members->member);
    *members = (emp_members){0};
}
