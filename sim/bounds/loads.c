// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/area.h"

#include <math.h>

/* An op, with the idle time that its device has after it. */
static emp_area_item item_of_op(const emp_bound_model *model, emp_op_id op)
{
    const emp_bound_op *o = &model->op[op];
    emp_area_item       item = {.kinds = o->kinds};

    item.load[EMP_DEVICE_CPU][EMP_BOUND_CORES] =
        (double)o->core_ns + (double)o->gap_ns[EMP_DEVICE_CPU];
    item.load[EMP_DEVICE_GPU][EMP_BOUND_THREAD] = (double)o->issue_ns;
    item.load[EMP_DEVICE_GPU][EMP_BOUND_STREAM] =
        (double)o->run_ns[EMP_DEVICE_GPU] + (double)o->gap_ns[EMP_DEVICE_GPU];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (model->memory_bytes[k] > 0)
            item.memory_frac[k] = (double)o->bytes[k] / (double)model->memory_bytes[k];
    }
    return item;
}

static void add_item(emp_area_item *sum, const emp_area_item *item)
{
    sum->kinds &= item->kinds;
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        sum->memory_frac[k] += item->memory_frac[k];
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            sum->load[k][r] += item->load[k][r];
    }
}

static void sum_classes(const emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) item[c] = (emp_area_item){0};
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t       c = g->op[op].colocation_class;
        emp_area_item one = item_of_op(model, op);
        if (g->op[op].is_folded) continue;
        if (item[c].kinds == 0) item[c].kinds = EMP_KIND_CPU | EMP_KIND_GPU;
        add_item(&item[c], &one);
    }
}

/* A device is as large as the largest; a sum of fractions is rounded, so a class that just
 * fits must not be refused. */
static bool fits(const emp_bound_model *model, const emp_area_item *item, int32_t kind)
{
    if (model->memory_bytes[kind] < 0) return true;
    return item->memory_frac[kind] * (double)model->memory_bytes[kind] <=
           (double)model->most_bytes[kind] * (1.0 + 1e-9);
}

bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;
    bool             have_all_some = true;

    sum_classes(model, item);
    for (int32_t c = 0; c < g->class_count; c++)
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (!fits(model, &item[c], k)) item[c].kinds &= ~(1u << k);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        model->op[op].kinds = item[g->op[op].colocation_class].kinds;
        have_all_some &= model->op[op].kinds != 0;
    }
    return have_all_some;
}

emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item)
{
    double longest = 0.0;

    for (int32_t c = 0; c < model->problem->graph->class_count; c++) {
        double least = INFINITY;
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            double busiest = 0.0;
            if (!(item[c].kinds >> k & 1u)) continue;
            for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
                busiest = fmax(busiest, item[c].load[k][r] / model->unit[r]);
            least = fmin(least, busiest);
        }
        if (least < INFINITY) longest = fmax(longest, least);
    }
    return (emp_time_ns)ceil(longest * (1.0 - 1e-9));
}
