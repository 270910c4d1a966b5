// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/balance.h"

#include <math.h>

static const double TOLERANCE = 0.05;

emp_status emp_balance_init(emp_balance *b, const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;

    *b = (emp_balance){.leader_of_class = problem->leader_of_class};
    EMP_TRY(emp_partition_target_init(&b->target, problem->machine, true, "load balance",
                                      err));
    if (emp_power_is_measured(EMP_POWER_PEAK, problem))
        emp_partition_target_measure(&b->target, problem);
    EMP_TRY(emp_partition_graph_create(&b->graph, problem, true, err));
    for (int32_t p = 0; p < b->target.count; p++)
        b->part_of_device[b->target.device[p]] = p;
    for (int32_t v = 0; v < b->graph->vertex_count; v++) {
        b->total_load += b->graph->load[v];
        for (int32_t i = b->graph->row[v]; i < b->graph->row[v + 1]; i++)
            b->total_traffic += 0.5 * b->graph->traffic[i]; /* an edge is in two rows */
    }

cleanup:
    if (st != EMP_OK) emp_balance_clear(b);
    return st;
}

void emp_balance_clear(emp_balance *b)
{
    emp_partition_graph_destroy(b->graph);
    *b = (emp_balance){0};
}

static emp_device_id device_of_vertex(const emp_balance   *b,
                                      const emp_device_id *device_of_op, int32_t vertex)
{
    return device_of_op[b->leader_of_class[b->graph->class_of_vertex[vertex]]];
}

emp_balance_score emp_balance_judge(const emp_balance   *b,
                                    const emp_device_id *device_of_op)
{
    const emp_partition_graph *g = b->graph;
    emp_balance_score          score = {0.0, 0.0};
    double                     load[EMP_MAX_DEVICES] = {0.0}, cut = 0.0;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        emp_device_id device = device_of_vertex(b, device_of_op, v);
        load[b->part_of_device[device]] += g->load[v];
        for (int32_t i = g->row[v]; i < g->row[v + 1] && g->neighbor[i] < v; i++) {
            if (device_of_vertex(b, device_of_op, g->neighbor[i]) != device)
                cut += g->traffic[i];
        }
    }
    if (b->total_traffic > 0.0) score.cut_frac = cut / b->total_traffic;
    for (int32_t p = 0; p < b->target.count && b->total_load > 0.0; p++) {
        double share = b->target.power[p] * b->total_load;
        score.imbalance = fmax(score.imbalance, load[p] / share - 1.0);
    }
    return score;
}

double emp_balance_cost(emp_balance_score score)
{
    return score.cut_frac + fmax(0.0, score.imbalance - TOLERANCE);
}
