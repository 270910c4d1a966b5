// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/baselines/schedulers/hand_tasks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

void hand_tasks_init(hand_tasks *h, int32_t tasks, int32_t devices, const int *time)
{
    assert(tasks <= HAND_TASKS && devices <= HAND_DEVICES);
    memset(h, 0, sizeof *h);
    h->machine.device_count = devices;
    for (int32_t d = 0; d < devices; d++) {
        emp_device *device = &h->machine.device[d];
        device->kind = d == 0 ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
        device->memory_bytes = INT64_C(1) << 40;
        snprintf(device->name, sizeof device->name, "%s:%d", d == 0 ? "cpu" : "gpu",
                 d == 0 ? 0 : d - 1);
    }
    h->byte_ns = 1;
    for (int32_t i = 0; i < tasks; i++) {
        h->pin[i] = i;
        h->devices[i] = (UINT64_C(1) << devices) - 1;
        h->name[i] = "task";
        for (int32_t d = 0; d < devices; d++)
            h->time[i * devices + d] = time != NULL ? time[i * devices + d] : 0;
    }
    h->graph = (emp_task_graph){.machine = &h->machine,
                                .task_count = tasks,
                                .pin_count = tasks,
                                .time_ns = h->time,
                                .pin_of_task = h->pin,
                                .workspace_bytes = h->workspace,
                                .persistent_bytes = h->persistent,
                                .devices_of_pin = h->devices,
                                .output_offset = h->output_offset,
                                .tensor = h->tensor,
                                .reader = h->reader,
                                .input_offset = h->input_offset,
                                .input = h->input,
                                .name = h->name};
}

void hand_tasks_tensor(hand_tasks *h, int32_t producer, int64_t bytes, uint32_t readers)
{
    int32_t k = h->graph.tensor_count++;

    assert(k < HAND_TENSORS && readers >> (producer + 1) << (producer + 1) == readers);
    h->tensor[k] = (emp_task_tensor){
        .producer = producer, .home_bytes = bytes, .copy_bytes = bytes, .stated_ns = -1};
    for (int32_t i = 0; i < h->graph.task_count; i++) h->reads[k][i] = readers >> i & 1;
}

void hand_tasks_finish(hand_tasks *h)
{
    emp_task_graph *t = &h->graph;
    int32_t         readers = 0, inputs = 0;

    for (int32_t k = 0; k < t->tensor_count; k++) {
        t->tensor[k].reader = readers;
        t->output_offset[t->tensor[k].producer + 1] = k + 1;
        for (int32_t i = 0; i < t->task_count; i++) {
            if (h->reads[k][i]) t->reader[readers++] = i;
        }
    }
    t->tensor[t->tensor_count].reader = readers;
    for (int32_t i = 0; i < t->task_count; i++) {
        if (t->output_offset[i + 1] < t->output_offset[i])
            t->output_offset[i + 1] = t->output_offset[i];
        t->input_offset[i] = inputs;
        for (int32_t k = 0; k < t->tensor_count; k++) {
            if (h->reads[k][i]) t->input[inputs++] = k;
        }
    }
    t->input_offset[t->task_count] = inputs;
    for (int32_t a = 0; a < h->machine.device_count; a++) {
        for (int32_t b = 0; b < h->machine.device_count; b++)
            h->machine.route[a][b] = (emp_route){.latency_s = h->latency_ns * 1e-9,
                                                 .bytes_per_s = 1e9 / h->byte_ns};
    }
}

static int32_t below(emp_rng *rng, uint32_t bound)
{
    return (int32_t)emp_rng_below(rng, bound);
}

static void draw_pins(hand_tasks *h, emp_rng *rng)
{
    int32_t  n = h->graph.task_count, pins = 1 + below(rng, (uint32_t)n);
    uint64_t all = (UINT64_C(1) << h->machine.device_count) - 1;

    h->graph.pin_count = pins;
    for (int32_t i = 0; i < n; i++) h->pin[i] = below(rng, (uint32_t)pins);
    for (int32_t p = 0; p < pins; p++) {
        int32_t kind = below(rng, 6);
        h->devices[p] = kind == 0 ? 1 : kind < 3 && all > 1 ? all & ~UINT64_C(1) : all;
        h->persistent[p] = below(rng, 30);
    }
}

void hand_tasks_draw(hand_tasks *h, uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    int32_t n = 1 + below(&rng, 12), devices = 1 + below(&rng, HAND_DEVICES);
    int32_t longest = 1 + below(&rng, 9);
    hand_tasks_init(h, n, devices, NULL);
    for (int32_t i = 0; i < n * devices; i++)
        h->time[i] = below(&rng, (uint32_t)longest + 1);
    for (int32_t i = 0; i < n; i++) h->workspace[i] = below(&rng, 6);
    for (int32_t i = 0; i + 1 < n; i++) {
        for (int32_t outputs = below(&rng, 3); outputs > 0; outputs--) {
            uint32_t later = ((UINT32_C(1) << n) - 1) >> (i + 1) << (i + 1);
            uint32_t readers = emp_rng_u32(&rng) & emp_rng_u32(&rng) & later;
            if (readers == 0) readers = UINT32_C(1) << (i + 1);
            hand_tasks_tensor(h, i, below(&rng, 8), readers);
            h->tensor[h->graph.tensor_count - 1].home_bytes = below(&rng, 8);
        }
    }
    draw_pins(h, &rng);
    h->latency_ns = below(&rng, 4);
    h->byte_ns = 1 + below(&rng, 2);
    bool is_tight = below(&rng, 3) == 0;
    for (int32_t d = 0; d < devices && is_tight; d++)
        h->machine.device[d].memory_bytes = 10 + below(&rng, 120);
    hand_tasks_finish(h);
}
