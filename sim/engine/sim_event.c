// SPDX-License-Identifier: GPL-3.0-or-later
/* Every source of events (a host thread, a copy stream, a CPU batch, ...) finishes its
 * work in the order in which it gets it, so it is a list, and only its earliest event is
 * in the heap. Keys are unique: one per source. */
#include "sim/engine/sim_internal.h"

static uint64_t key_of(emp_time_ns at, int32_t source)
{
    return (uint64_t)at << EMP_SIM_SOURCE_BITS | (uint64_t)source;
}

static void heap_push(emp_sim *sim, uint64_t key)
{
    int32_t at = sim->heap_count++;

    while (at > 0 && sim->heap[(at - 1) / 2] > key) {
        sim->heap[at] = sim->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sim->heap[at] = key;
}

static void heap_replace_top(emp_sim *sim, uint64_t key)
{
    int32_t at = 0, child = 1;

    while (child < sim->heap_count) {
        if (child + 1 < sim->heap_count && sim->heap[child + 1] < sim->heap[child])
            child++;
        if (sim->heap[child] >= key) break;
        sim->heap[at] = sim->heap[child];
        at = child;
        child = 2 * at + 1;
    }
    sim->heap[at] = key;
}

/* The next event of a source that has none in the heap. The source whose event is being
 * handled owns the top of the heap and takes its place when the handling ends. */
void emp_sim_schedule(emp_sim *sim, int32_t source, emp_time_ns at)
{
    if (source == sim->active) {
        sim->active_next = key_of(at, source);
    } else {
        heap_push(sim, key_of(at, source));
    }
}

void emp_sim_begin_event(emp_sim *sim)
{
    uint64_t key = sim->heap[0];

    sim->active = (int32_t)(key & ((1u << EMP_SIM_SOURCE_BITS) - 1));
    sim->now = (emp_time_ns)(key >> EMP_SIM_SOURCE_BITS);
    sim->active_next = EMP_SIM_NO_EVENT;
    sim->heap[0] = 0; /* nothing that is pushed meanwhile can rise above it */
}

void emp_sim_end_event(emp_sim *sim)
{
    if (sim->active_next == EMP_SIM_NO_EVENT) {
        sim->heap_count--;
        sim->active_next = sim->heap[sim->heap_count];
    }
    if (sim->heap_count > 0) heap_replace_top(sim, sim->active_next);
    sim->active = -1;
}

void emp_sim_append(emp_sim *sim, emp_sim_queue *queue, int32_t item)
{
    sim->item[item].next = -1;
    if (queue->head < 0) {
        queue->head = item;
    } else {
        sim->item[queue->tail].next = item;
    }
    queue->tail = item;
}

int32_t emp_sim_take(emp_sim *sim, emp_sim_queue *queue)
{
    int32_t item = queue->head;

    queue->head = sim->item[item].next;
    return item;
}

/* Lets \a item happen at a source at a time not before that of the items in it. */
void emp_sim_delay(emp_sim *sim, int32_t source, int32_t item, emp_time_ns until)
{
    emp_sim_queue *queue = &sim->queue[source];

    sim->item[item].time_ns = until;
    if (queue->head < 0) emp_sim_schedule(sim, source, until);
    emp_sim_append(sim, queue, item);
}

/* The item whose event is being handled; the one behind it is scheduled. */
int32_t emp_sim_take_delayed(emp_sim *sim)
{
    emp_sim_queue *queue = &sim->queue[sim->active];
    int32_t        item = emp_sim_take(sim, queue);

    if (queue->head >= 0)
        emp_sim_schedule(sim, sim->active, sim->item[queue->head].time_ns);
    return item;
}

int32_t emp_sim_device_source(int32_t device, int32_t kind)
{
    return EMP_SIM_DEVICE + device * EMP_SIM_DEVICE_SOURCES + kind;
}
