// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/sequence.h"

#include <string.h>

#include "base/mem.h"

/* The devices that have units, in the order in which they are to have them. */
typedef struct {
    int32_t       count;
    emp_device_id device[EMP_MAX_DEVICES];
} device_order;

emp_status emp_problem_set_sequence(emp_problem *problem, const int32_t *class_of_unit,
                                    int32_t unit_count, const int32_t *home_of_class,
                                    emp_error *err)
{
    emp_status           st = EMP_OK;
    const size_t         classes = (size_t)problem->graph->class_count;
    struct emp_sequence *s = NULL;

    if (unit_count > EMP_SEQUENCE_UNITS_MAX)
        EMP_FAIL(EMP_EINVAL, "a pipeline has at most %d units, not %d",
                 EMP_SEQUENCE_UNITS_MAX, unit_count);
    EMP_TRY(EMP_ALLOC(s, (size_t)1));
    EMP_TRY(EMP_ALLOC(s->class_of_unit, (size_t)unit_count));
    EMP_TRY(EMP_ALLOC(s->unit_of_class, classes));
    EMP_TRY(EMP_ALLOC(s->home_of_class, classes));
    s->unit_count = unit_count;
    for (size_t c = 0; c < classes; c++) s->unit_of_class[c] = -1;
    for (int32_t u = 0; u < unit_count; u++) {
        s->class_of_unit[u] = class_of_unit[u];
        s->unit_of_class[class_of_unit[u]] = u;
    }
    memcpy(s->home_of_class, home_of_class, classes * sizeof *home_of_class);
    for (emp_device_id d = 0; d < EMP_MAX_DEVICES; d++) s->stand_in[d] = d;
    emp_sequence_destroy(problem->sequence);
    problem->sequence = s;
    s = NULL;

cleanup:
    emp_sequence_destroy(s);
    return st;
}

void emp_sequence_withhold(emp_problem *problem, emp_device_id device,
                           emp_device_id stand_in)
{
    problem->sequence->stand_in[device] = stand_in;
}

void emp_sequence_destroy(struct emp_sequence *s)
{
    if (s == NULL) return;
    emp_free(s->class_of_unit);
    emp_free(s->unit_of_class);
    emp_free(s->home_of_class);
    emp_free(s);
}

/* CPUs first, then GPUs by the mean position of their units. */
static void order_devices(device_order *order, const emp_machine *m,
                          const emp_device_id *device_of_unit, int32_t units)
{
    double  mean[EMP_MAX_DEVICES] = {0};
    int32_t count[EMP_MAX_DEVICES] = {0};

    order->count = 0;
    for (int32_t u = 0; u < units; u++) {
        mean[device_of_unit[u]] += u;
        count[device_of_unit[u]]++;
    }
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (count[d] == 0) continue;
        mean[d] = m->device[d].kind == EMP_DEVICE_CPU ? -1.0 : mean[d] / count[d];
        int32_t at = order->count++;
        for (; at > 0 && mean[order->device[at - 1]] > mean[d]; at--)
            order->device[at] = order->device[at - 1];
        order->device[at] = d;
    }
}

/* Parts the units among the devices in their order, some of which may get none, so that the fewest change: by
 * dynamic programming over units and devices. */
static void split_units(emp_device_id *device_of_unit, int32_t units,
                        const device_order *order)
{
    uint8_t from[EMP_SEQUENCE_UNITS_MAX][EMP_MAX_DEVICES];
    int32_t cost[EMP_MAX_DEVICES] = {0};
    int32_t last = 0;

    for (int32_t u = 0; u < units; u++) {
        int32_t best = 0; /* of the devices up to k, for the unit before */
        int32_t before[EMP_MAX_DEVICES];
        memcpy(before, cost, sizeof before);
        for (int32_t k = 0; k < order->count; k++) {
            if (before[k] < before[best]) best = k;
            from[u][k] = (uint8_t)best;
            cost[k] = before[best] + (device_of_unit[u] != order->device[k]);
        }
    }
    for (int32_t k = 1; k < order->count; k++)
        if (cost[k] < cost[last]) last = k;
    for (int32_t u = units - 1; u >= 0; u--) {
        device_of_unit[u] = order->device[last];
        last = from[u][last];
    }
}

static bool is_split(const emp_device_id *device_of_unit, int32_t units,
                     const device_order *order)
{
    int32_t k = 0;

    for (int32_t u = 0; u < units; u++) {
        while (k < order->count && order->device[k] != device_of_unit[u]) k++;
        if (k == order->count) return false;
    }
    return true;
}

void emp_sequence_project(const emp_problem *p, emp_device_id *device_of_op)
{
    const struct emp_sequence *s = p->sequence;
    emp_device_id              old[EMP_SEQUENCE_UNITS_MAX], new[EMP_SEQUENCE_UNITS_MAX];
    device_order               order;

    for (int32_t u = 0; u < s->unit_count; u++) {
        old[u] = device_of_op[p->leader_of_class[s->class_of_unit[u]]];
        if (old[u] < 0 || old[u] >= p->machine->device_count) return;
    }
    order_devices(&order, p->machine, old, s->unit_count);
    if (is_split(old, s->unit_count, &order)) return;
    memcpy(new, old, (size_t)s->unit_count * sizeof *new);
    split_units(new, s->unit_count, &order);
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t c = p->class_of_op[op];
        if (c < 0) continue;
        const int32_t unit = s->unit_of_class[c], home = s->home_of_class[c];
        if (unit >= 0)
            device_of_op[op] = new[unit];
        else if (home >= 0 && device_of_op[op] == old[home])
            device_of_op[op] = new[home];
    }
}
