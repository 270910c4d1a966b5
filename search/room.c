// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/room.h"

#include <string.h>

#include "base/mem.h"
#include "sim/rules/rules.h"

enum { NOWHERE = -1 };

/* The content of a memory until a position of the order. */
typedef struct emp_room_buffer {
    int64_t       bytes;
    emp_device_id space;
    int32_t       next; /* that is freed at the same time, plus 1 */
} buffer;

/* One placement's sweep. */
typedef struct {
    emp_room            *room;
    const emp_graph     *graph;
    const emp_machine   *machine;
    const emp_device_id *device_of_op;
    int32_t              held_count;
} sweep;

emp_status emp_room_init(emp_room *r, const emp_problem *problem, emp_error *err)
{
    const emp_graph *g = problem->graph;
    const size_t     ops = (size_t)g->op_count, tensors = (size_t)g->tensor_count;
    const size_t     devices = (size_t)problem->machine->device_count;

    *r = (emp_room){.problem = problem};
    r->position = EMP_ADD_ARRAY(&r->arrays, int32_t, ops);
    r->peak_bytes = EMP_ADD_ARRAY(&r->arrays, int64_t, devices);
    r->used_bytes = EMP_ADD_ARRAY(&r->arrays, int64_t, devices);
    r->root = EMP_ADD_ARRAY(&r->arrays, emp_tensor_id, tensors);
    r->last = EMP_ADD_ARRAY(&r->arrays, int32_t, tensors);
    r->first_held = EMP_ADD_ARRAY(&r->arrays, int32_t, ops);
    /* a home for each tensor, and a copy for each edge at most */
    r->held = EMP_ADD_ARRAY(&r->arrays, buffer, tensors + (size_t)g->edge_count);
    if (r->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "memory of %zu ops", ops);
    for (int32_t i = 0; i < g->op_count; i++) r->position[g->topo[i]] = i;
    return EMP_OK;
}

void emp_room_clear(emp_room *r)
{
    emp_arrays_clear(&r->arrays);
    *r = (emp_room){0};
}

/* ---- where tensors are, and for how long ---- */

static emp_device_id home_of(const sweep *s, emp_tensor_id tensor)
{
    const emp_tensor   *t = &s->graph->tensor[tensor];
    const emp_device_id device = s->device_of_op[t->producer];

    return t->on_host ? s->machine->device[device].host : device;
}

/* The memory in which the op reads the tensor: by the first of its inputs that is this one. */
static emp_device_id read_in(const sweep *s, emp_op_id op, emp_tensor_id tensor)
{
    const emp_graph    *g = s->graph;
    const emp_device_id device = s->device_of_op[op];
    int32_t             i = g->input_offset[op];

    if (g->op[op].host_input_mask == 0) return device;
    while (g->input[i] != tensor) i++;
    return emp_op_reads_on_host(&g->op[op], i - g->input_offset[op])
               ? s->machine->device[device].host
               : device;
}

/* Aliases come after what they share, so that roots of inputs are known. */
static emp_tensor_id find_root(const sweep *s, emp_tensor_id tensor)
{
    const emp_graph *g = s->graph;
    const emp_op_id  op = g->tensor[tensor].producer;

    if (!g->op[op].is_alias || tensor != g->output_offset[op]) return tensor;
    const emp_tensor_id input = g->input[g->input_offset[op]];
    const bool          is_folded = g->op[g->tensor[input].producer].is_folded;
    return !is_folded && home_of(s, input) == home_of(s, tensor) ? s->room->root[input]
                                                                 : tensor;
}

static void note_last(const sweep *s, emp_tensor_id tensor)
{
    const emp_graph    *g = s->graph;
    const emp_room     *r = s->room;
    const emp_device_id home = home_of(s, tensor);
    int32_t             last = r->position[g->tensor[tensor].producer];

    r->root[tensor] = find_root(s, tensor);
    for (int32_t c = g->consumer_offset[tensor]; c < g->consumer_offset[tensor + 1];
         c++) {
        const emp_op_id op = g->consumer[c];
        if (!g->op[op].is_folded && r->position[op] > last &&
            read_in(s, op, tensor) == home)
            last = r->position[op];
    }
    if (r->root[tensor] == tensor)
        r->last[tensor] = last;
    else if (r->last[r->root[tensor]] < last)
        r->last[r->root[tensor]] = last;
}

/* ---- the sweep ---- */

static void use(const sweep *s, emp_device_id space, int64_t bytes)
{
    emp_room *r = s->room;

    r->used_bytes[space] += bytes;
    if (r->used_bytes[space] > r->peak_bytes[space])
        r->peak_bytes[space] = r->used_bytes[space];
}

static void hold(sweep *s, emp_device_id space, int64_t bytes, int32_t until)
{
    emp_room *r = s->room;

    if (bytes <= 0) return;
    use(s, space, bytes);
    r->held[s->held_count] = (buffer){bytes, space, r->first_held[until]};
    r->first_held[until] = ++s->held_count;
}

static void hold_copies(sweep *s, emp_tensor_id tensor)
{
    const emp_graph    *g = s->graph;
    const emp_device_id home = home_of(s, tensor);
    const int64_t       bytes = emp_sim_round_up(g->tensor[tensor].copy_bytes);
    int32_t             last[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < s->machine->device_count; d++) last[d] = NOWHERE;
    for (int32_t c = g->consumer_offset[tensor]; c < g->consumer_offset[tensor + 1];
         c++) {
        const emp_op_id op = g->consumer[c];
        if (g->op[op].is_folded) continue;
        const emp_device_id there = read_in(s, op, tensor);
        if (s->room->position[op] > last[there]) last[there] = s->room->position[op];
    }
    last[home] = NOWHERE;
    for (emp_device_id d = 0; d < s->machine->device_count; d++)
        if (last[d] != NOWHERE) hold(s, d, bytes, last[d]);
}

static void run_op(sweep *s, int32_t position)
{
    const emp_graph *g = s->graph;
    emp_room        *r = s->room;
    const emp_op_id  op = g->topo[position];

    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        if (r->root[t] == t)
            hold(s, home_of(s, t), emp_sim_round_up(g->tensor[t].bytes), r->last[t]);
        hold_copies(s, t);
    }
    for (int32_t i = r->first_held[position]; i > 0; i = r->held[i - 1].next)
        r->used_bytes[r->held[i - 1].space] -= r->held[i - 1].bytes;
}

static void start(sweep *s)
{
    const emp_graph *g = s->graph;
    emp_room        *r = s->room;
    const size_t     devices = (size_t)s->machine->device_count;

    memset(r->used_bytes, 0, devices * sizeof *r->used_bytes);
    memset(r->peak_bytes, 0, devices * sizeof *r->peak_bytes);
    memset(r->first_held, 0, (size_t)g->op_count * sizeof *r->first_held);
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        use(s, s->device_of_op[op], emp_sim_round_up(g->op[op].persistent_bytes));
        for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            note_last(s, t);
    }
}

double emp_room_missing(emp_room *r, const emp_device_id *device_of_op)
{
    const emp_machine *m = r->problem->machine;
    sweep              s = {r, r->problem->graph, m, device_of_op, 0};
    double             missing = 0.0;

    start(&s);
    for (int32_t i = 0; i < s.graph->op_count; i++)
        if (!s.graph->op[s.graph->topo[i]].is_folded) run_op(&s, i);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        const int64_t bytes = emp_problem_memory_bytes(r->problem, d);
        const double  over = (double)(r->peak_bytes[d] - bytes);
        if (over > 0) missing += over / (double)bytes;
    }
    return missing;
}
