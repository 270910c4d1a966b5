// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook_internal.h"

#undef NDEBUG
#include <assert.h>

#include "base/mem.h"
#include "sim/problem/fusion.h"

static double bytes_of(const emp_op_cost *cost)
{
    return (double)(cost->bytes_read + cost->bytes_written);
}

static struct cost plain_cost(const struct textbook *b, emp_op_id op)
{
    const emp_cost_table *costs = b->p->costs;
    size_t                row = emp_cost_row(costs, b->device[op], op);
    struct cost           cost = {.launches = b->g->op[op].cost->kernels > 0,
                                  .workspace = b->g->op[op].cost->workspace_bytes,
                                  .bytes = bytes_of(b->g->op[op].cost)};

    if (!is_cpu(b, b->device[op])) {
        cost.gpu = costs->gpu[row].compute_ns;
        cost.issue = costs->gpu[row].issue_ns;
        return cost;
    }
    cost.cpu = costs->cpu[row].compute_ns;
    cost.lanes = costs->cpu[row].lanes;
    cost.task = &costs->task_ns[costs->cpu_offset[row]];
    return cost;
}

static struct cost cost_of_set(const struct textbook *b, const emp_fusion *fusion,
                               emp_op_id leader)
{
    const emp_device         *device = &b->p->machine->device[b->device[leader]];
    const emp_runtime_events *events = &b->p->runtime.events;
    emp_op_id                 member[EMP_FUSION_MOST];
    int                       count = 0;
    emp_op_cost               work;
    struct cost               cost = {0};

    for (emp_op_id op = 0; op < b->g->op_count; op++)
        if (is_inner(b, op) && b->leader[op] == leader) member[count++] = op;
    member[count++] = leader;
    emp_op_id product = emp_fusion_cost(fusion, member, count, b->leader, &work);
    cost.launches = work.kernels > 0;
    cost.workspace = work.workspace_bytes;
    cost.bytes = bytes_of(&work);
    if (device->kind == EMP_DEVICE_GPU) {
        emp_gpu_cost taken = emp_cost_on_gpu(&work, b->g, product, device, events);
        cost.gpu = taken.compute_ns;
        cost.issue = taken.issue_ns;
        return cost;
    }
    work = emp_fusion_cost_on_cpu(&work, device);
    cost.lanes = emp_cost_lanes(&work, device);
    cost.task = cost.owned = emp_calloc((size_t)cost.lanes, sizeof *cost.owned);
    assert(cost.owned != NULL);
    cost.cpu = emp_cost_fill_row(cost.owned, &work, cost.lanes, device, events);
    return cost;
}

void textbook_fuse(struct textbook *b, const emp_op_id *leader_of_op)
{
    emp_fusion *fusion = NULL;
    int         is_fused = 0;

    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        b->leader[op] = leader_of_op != NULL && is_live(b, op) ? leader_of_op[op] : op;
        if (is_inner(b, op)) is_fused = 1;
    }
    if (is_fused) assert(emp_fusion_create(&fusion, b->p, NULL) == EMP_OK);
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        emp_free(b->cost[op].owned);
        b->cost[op].owned = NULL;
        if (is_live(b, op)) b->cost[op] = plain_cost(b, op);
    }
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        if (!is_inner(b, op)) continue;
        b->led[b->leader[op]]++;
        b->cost[op].workspace = 0;
        emp_free(b->cost[b->leader[op]].owned);
        b->cost[b->leader[op]] = cost_of_set(b, fusion, b->leader[op]);
    }
    emp_fusion_destroy(fusion);
}
