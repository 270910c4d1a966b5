// SPDX-License-Identifier: GPL-3.0-or-later
/* Packs the tensors of a plan: which device runs which node, and where each tensor lies in the buffer there. */
#include "sim/engine/plan.h"

#include <string.h>

enum { ALIGNMENT = 128 };

static bool is_gpu(const emp_plan *p, emp_device_id device)
{
    return p->problem->machine->device[device].kind == EMP_DEVICE_GPU;
}

static emp_plan_place *place_of(const emp_plan *p, int32_t tensor, emp_device_id device)
{
    return &p->place[(size_t)tensor * (size_t)p->problem->machine->device_count +
                     (size_t)device];
}

/* ---- buffers ---- */

static void remove_hole(emp_plan_buffer *b, int32_t at)
{
    memmove(&b->hole[at], &b->hole[at + 1],
            (size_t)(--b->hole_count - at) * sizeof *b->hole);
}

/* The smallest hole that is large enough, of several the last; behind all others if there is none. */
static int64_t reserve(emp_plan *p, emp_device_id device, int64_t bytes, emp_op_id op)
{
    emp_plan_buffer *b = &p->buffer[device];
    int32_t          best = b->hole_count - 1;

    if (bytes == 0) return 0;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (int32_t i = 0; i + 1 < b->hole_count; i++) {
        const int64_t room = b->hole[i].bytes;
        if (room >= bytes && (best + 1 == b->hole_count || room <= b->hole[best].bytes))
            best = i;
    }
    const int64_t offset = b->hole[best].offset;
    b->hole[best].offset += bytes;
    b->hole[best].bytes -= bytes;
    if (b->hole[best].bytes == 0) remove_hole(b, best);
    if (offset + bytes > b->end) {
        b->end = offset + bytes;
        b->peak_op = op;
    }
    return offset;
}

static void join(emp_plan_buffer *b, int32_t at)
{
    if (at < 0 || at + 1 >= b->hole_count ||
        b->hole[at].offset + b->hole[at].bytes != b->hole[at + 1].offset)
        return;
    b->hole[at].bytes += b->hole[at + 1].bytes;
    remove_hole(b, at + 1);
}

static void give_back(emp_plan_buffer *b, int64_t offset, int64_t bytes)
{
    int32_t at = 0;

    if (bytes == 0 || b->hole_count == EMP_PLAN_HOLES) return;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    while (at < b->hole_count && b->hole[at].offset < offset) at++;
    memmove(&b->hole[at + 1], &b->hole[at],
            (size_t)(b->hole_count++ - at) * sizeof *b->hole);
    b->hole[at] = (emp_plan_hole){offset, bytes};
    join(b, at);
    join(b, at - 1);
}

static void clear_buffers(emp_plan *p)
{
    for (int32_t d = 0; d < p->problem->machine->device_count; d++) {
        emp_plan_buffer *b = &p->buffer[d];
        b->hole[0] = (emp_plan_hole){0, INT64_MAX / 2};
        b->hole_count = 1;
        b->end = 0;
        b->peak_op = -1;
    }
}

/* ---- devices ---- */

/* Rows of a table, which the host looks up: it has a copy even of a table that is the head, too. */
static bool is_look_up(const emp_plan *p, emp_op_id op)
{
    return (p->problem->graph->op[op].flags & EMP_OP_LOOKUP) != 0;
}

/* Whether all layers are on GPUs: a CPU runs no more than look-ups. */
static bool is_on_gpus(const emp_plan *p, const emp_device_id *device_of_op)
{
    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_plan_node *n = &p->node[i];
        if ((n->flags & EMP_PLAN_IS_LOOSE) == 0 && !is_gpu(p, device_of_op[n->op]) &&
            !is_look_up(p, n->op))
            return false;
    }
    return true;
}

/* Gives nodes without a device that of the node before, or behind, in the order of the walk. CPUs give theirs if
 * \a takes_cpus. */
static void expand(emp_plan *p, int32_t step, bool takes_cpus)
{
    emp_device_id current = -1;

    for (int32_t k = 0; k < p->node_count; k++) {
        const int32_t i = step > 0 ? k : p->node_count - 1 - k;
        if (p->device[i] >= 0)
            current = takes_cpus || is_gpu(p, p->device[i]) ? p->device[i] : -1;
        else
            p->device[i] = current;
    }
}

static void place_nodes(emp_plan *p, const emp_device_id *device_of_op, bool is_whole)
{
    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_plan_node *n = &p->node[i];
        const bool           is_loose = (n->flags & EMP_PLAN_IS_LOOSE) != 0 &&
                              !(is_whole && (n->flags & EMP_PLAN_IS_NORM) != 0);
        p->device[i] = is_loose               ? -1
                       : is_look_up(p, n->op) ? p->host
                                              : device_of_op[n->op];
    }
    expand(p, 1, false);
    expand(p, -1, false);
    expand(p, 1, true);
    expand(p, -1, true);
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->device[i] < 0) p->device[i] = device_of_op[p->node[i].op];
}

/* Several micro-batches are on their way at once if all layers are on several GPUs, one part after the other. */
static bool is_pipeline(const emp_plan *p)
{
    bool    is_used[EMP_MAX_DEVICES] = {false};
    int32_t parts = 0, gpus = 0, used = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_device_id d = p->device[i];
        parts += i == 0 || p->device[i - 1] != d;
        gpus += !is_used[d] && is_gpu(p, d);
        used += !is_used[d];
        is_used[d] = true;
    }
    return gpus > 1 && parts == used;
}

/* ---- tensors ---- */

static void count_readers(emp_plan *p)
{
    for (int32_t t = 0; t < p->leaf_count; t++) p->home[t] = p->host;
    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_plan_node *n = &p->node[i];
        const emp_device_id  d = p->device[i];
        for (int32_t t = n->output; t < n->output_end; t++) p->home[t] = d;
        for (int32_t k = n->input; k < n->input_end; k++) {
            const int32_t   t = p->input[k];
            emp_plan_place *there = place_of(p, t, d);
            if (p->home[t] != d && there->readers == 0)
                place_of(p, t, p->home[t])->readers++;
            there->readers++;
        }
    }
}

static void put(emp_plan *p, int32_t tensor, emp_device_id device, int32_t copies,
                emp_op_id op)
{
    emp_plan_place *place = place_of(p, tensor, device);

    for (int32_t c = 0; c < copies; c++)
        place->offset = reserve(p, device, p->bytes[tensor], op);
    place->is_there = true;
    place->is_pinned = copies > 1;
}

static void drop(emp_plan *p, int32_t tensor, emp_device_id device)
{
    emp_plan_place *place = place_of(p, tensor, device);

    if (--place->readers > 0 || place->is_pinned || !place->is_there) return;
    give_back(&p->buffer[device], place->offset, p->bytes[tensor]);
    place->is_there = false;
}

/* Inputs of the graph, and if micro-batches overlap what devices get from each other, are there from the start. */
static void put_inputs(emp_plan *p)
{
    const emp_op_id first = p->node_count > 0 ? p->node[0].op : -1;

    for (int32_t t = 0; t < p->leaf_count; t++) put(p, t, p->host, p->copies, first);
    for (int32_t i = 0; i < p->node_count && p->copies > 1; i++) {
        for (int32_t k = p->node[i].input; k < p->node[i].input_end; k++) {
            const int32_t t = p->input[k];
            if (p->home[t] != p->device[i] && !place_of(p, t, p->device[i])->is_there)
                put(p, t, p->device[i], p->copies, p->node[i].op);
        }
    }
}

/* A part of the graph that a device runs begins with copies of what it reads. */
static void begin_part(emp_plan *p, int32_t first)
{
    const emp_device_id d = p->device[first];

    for (int32_t i = first; i < p->node_count && p->device[i] == d; i++) {
        for (int32_t k = p->node[i].input; k < p->node[i].input_end; k++) {
            const int32_t   t = p->input[k];
            emp_plan_place *place = place_of(p, t, d);
            if (p->home[t] == d || place->is_sent) continue;
            place->is_sent = true;
            drop(p, t, p->home[t]);
            if (!place->is_pinned) put(p, t, d, 1, p->node[i].op);
        }
    }
}

/* The input whose buffer becomes the output's, or -1: it is as large, and this op is its last user. */
static int32_t find_reusable(const emp_plan *p, const emp_plan_node *n, emp_device_id d)
{
    for (int32_t k = n->input; k < n->input_end; k++) {
        const emp_plan_place *place = place_of(p, p->input[k], d);
        if ((n->flags & EMP_PLAN_IN_PLACE) != 0 && place->readers == 1 &&
            place->is_there && !place->is_pinned &&
            p->bytes[p->input[k]] == p->bytes[n->output])
            return k;
    }
    return -1;
}

static void run_node(emp_plan *p, int32_t i)
{
    const emp_plan_node *n = &p->node[i];
    const emp_device_id  d = p->device[i];
    int32_t              input_end = n->input_end, taken = -1;

    while ((n->flags & EMP_PLAN_FREES_REST) != 0 && input_end > n->input + 1)
        drop(p, p->input[--input_end], d);
    if (n->output < n->output_end) taken = find_reusable(p, n, d);
    for (int32_t t = n->output; t < n->output_end; t++) {
        if (t > n->output || taken < 0) {
            put(p, t, d, 1, n->op);
            continue;
        }
        emp_plan_place *from = place_of(p, p->input[taken], d), *to = place_of(p, t, d);
        to->offset = from->offset;
        to->is_there = true;
        from->readers = 0;
        from->is_there = false;
    }
    for (int32_t k = n->input + ((n->flags & EMP_PLAN_KEEPS_INPUT) != 0); k < input_end;
         k++)
        if (k != taken) drop(p, p->input[k], d);
}

void emp_plan_run(emp_plan *p, const emp_device_id *device_of_op)
{
    const size_t places =
        (size_t)p->tensor_count * (size_t)p->problem->machine->device_count;
    const bool is_whole = is_on_gpus(p, device_of_op);

    memset(p->place, 0, places * sizeof *p->place);
    clear_buffers(p);
    place_nodes(p, device_of_op, is_whole);
    p->copies = is_whole && is_pipeline(p) ? p->problem->runtime.events.plan_copies : 1;
    count_readers(p);
    put_inputs(p);
    for (int32_t i = 0; i < p->node_count; i++) {
        if (i == 0 || p->device[i] != p->device[i - 1]) begin_part(p, i);
        run_node(p, i);
    }
}
