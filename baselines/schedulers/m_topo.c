// SPDX-License-Identifier: GPL-3.0-or-later
/* m-TOPO of Baechi (Jeon et al., SoCC 2020). Pins in the topological order of their first
 * tasks fill the GPUs in turn, each up to the same cap:
 *
 *     cap = all memory / GPUs + memory of the largest pin
 *
 * where a pin's memory is all that its tasks hold, outputs, workspaces and variables, as if
 * nothing were given back. The cap lets each GPU but the last take its share before the
 * next one's turn, so that the last has room for the rest. It is no device's memory: the
 * placement may run out of it. Pins without GPU kernels go to their first device and do not
 * count; without a GPU so do all. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

/* Bytes of each pin. */
static void weigh_pins(const emp_task_graph *t, int64_t *bytes)
{
    for (int32_t pin = 0; pin < t->pin_count; pin++)
        bytes[pin] = t->persistent_bytes[pin];
    for (int32_t task = 0; task < t->task_count; task++)
        bytes[t->pin_of_task[task]] += t->workspace_bytes[task];
    for (int32_t k = 0; k < t->tensor_count; k++)
        bytes[t->pin_of_task[t->tensor[k].producer]] += t->tensor[k].home_bytes;
}

static bool is_on_gpus(const emp_task_graph *t, int32_t pin)
{
    emp_device_id d = 0;

    while ((t->devices_of_pin[pin] >> d & 1) == 0) d++;
    return t->machine->device[d].kind == EMP_DEVICE_GPU;
}

static emp_device_id next_device(const emp_task_graph *t, int32_t pin,
                                 emp_device_id after)
{
    emp_device_id d = after + 1;

    while (d < t->machine->device_count && (t->devices_of_pin[pin] >> d & 1) == 0) d++;
    return d < t->machine->device_count ? d : after;
}

static int64_t find_cap(const emp_task_graph *t, const int64_t *bytes)
{
    int32_t gpus = emp_machine_count(t->machine, EMP_DEVICE_GPU);
    int64_t total = 0, largest = 0;

    for (int32_t pin = 0; pin < t->pin_count; pin++) {
        if (!is_on_gpus(t, pin)) continue;
        total += bytes[pin];
        if (bytes[pin] > largest) largest = bytes[pin];
    }
    return gpus > 0 ? total / gpus + largest : 0;
}

emp_status emp_schedule_m_topo(emp_list_schedule *s, emp_error *err)
{
    emp_status            st = EMP_OK;
    const emp_task_graph *t = s->graph;
    int64_t              *bytes = EMP_NEW_ARRAY(int64_t, (size_t)t->pin_count);
    int64_t               used = 0, cap = 0;
    emp_device_id         gpu = -1; /* that is being filled */

    if (bytes == NULL) EMP_FAIL(EMP_ENOMEM, "memory of %d groups", t->pin_count);
    weigh_pins(t, bytes);
    cap = find_cap(t, bytes);
    for (int32_t task = 0; task < t->task_count; task++) {
        int32_t       pin = t->pin_of_task[task];
        emp_device_id device = s->device_of_pin[pin];
        if (device < 0 && is_on_gpus(t, pin)) {
            if (gpu < 0 || used + bytes[pin] > cap) {
                gpu = next_device(t, pin, gpu);
                used = 0;
            }
            used += bytes[pin];
            device = gpu;
        } else if (device < 0) {
            device = next_device(t, pin, -1);
        }
        if (s->may_overflow && !emp_list_may_go(s, task, device))
            EMP_TRY(emp_list_fall_back(s, task, &device, err));
        emp_time_ns start = emp_list_arrival_ns(s, task, device);
        if (start < s->free_ns[device]) start = s->free_ns[device];
        EMP_TRY(emp_list_book(s, task, device, start, err));
    }

cleanup:
    emp_free(bytes);
    return st;
}

const emp_method emp_method_m_topo = {
    .name = "m-topo",
    .description =
        "m-TOPO, GPUs filled with equal memory in topological order (Baechi 2020)",
    .advice = "short memory: equal shares in topological order",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_FUSED, emp_schedule_m_topo},
};
