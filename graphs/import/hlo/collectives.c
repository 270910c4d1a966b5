// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/collectives.h"

#include <limits.h>

#include "sim/graph/op_entry.h"

/* The numbers between the first brackets that hold numbers alone: their count, and the last one. */
static int64_t count_numbers(emp_slice text, int64_t *last)
{
    const char *end = text.data + text.size, *at = text.data;
    int64_t     count = 0;

    *last = 0;
    while (at < end && (*at < '0' || *at > '9')) at++;
    while (at < end && *at != '}' && *at != ']') {
        int64_t number = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (number < INT_MAX) number = 10 * number + (*at - '0');
        *last = number;
        count++;
        while (at < end && *at != '}' && *at != ']' && (*at < '0' || *at > '9')) at++;
    }
    return count;
}

/* All devices that run the module, or as many as the machine has. */
static int32_t count_all(const emp_hlo_module *m)
{
    int64_t partitions = emp_hlo_number(m->partitions, 0);

    return partitions > 1 && partitions <= INT_MAX ? (int32_t)partitions : EMP_RANKS_ALL;
}

static int32_t count_ranks(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_slice groups = emp_hlo_attr_of(m, i, "replica_groups");
    int64_t   last, count = count_numbers(groups, &last);

    if (count == 0) return count_all(m);
    if (groups.data[0] == '[') count = last; /* [groups,size] */
    return count >= 1 && count <= INT_MAX ? (int32_t)count : EMP_RANKS_ALL;
}

static int64_t count_bytes(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    int64_t      bytes = 0;

    for (int32_t t = made.begin; t < made.end; t++)
        bytes =
            emp_add_saturating(bytes, emp_info_bytes(&m->tensor[i->first_tensor + t]));
    return bytes;
}

bool emp_hlo_collective_of(emp_collective_part *part, const emp_hlo_module *m,
                           const emp_hlo_instruction *i)
{
    *part = (emp_collective_part){0};
    if (emp_hlo_op(m, i)->what != EMP_HLO_COLLECTIVE ||
        !emp_collective_of_type(&part->op, emp_hlo_op(m, i)->type))
        return false;
    part->ranks = count_ranks(m, i);
    part->bytes = count_bytes(m, i);
    if (part->op != EMP_COLLECTIVE_REDUCE_SCATTER) return true;
    part->bytes = 0; /* it is given the whole */
    for (int32_t o = 0; o < i->operand_count; o++)
        part->bytes =
            emp_add_saturating(part->bytes, emp_hlo_bytes(m, emp_hlo_operand(m, i, o)));
    return true;
}
