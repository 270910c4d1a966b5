// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/list_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "base/work.h"
#include "baselines/partitioners/memory_repair.h"
#include "search/order.h"

static void make_ready(emp_list_schedule *s, int32_t task)
{
    s->ready_index[task] = s->ready_count;
    s->ready[s->ready_count++] = task;
}

emp_status emp_list_schedule_init(emp_list_schedule *s, const emp_task_graph *t,
                                  emp_error *err)
{
    size_t tasks = (size_t)t->task_count, tensors = (size_t)t->tensor_count;

    *s = (emp_list_schedule){.graph = t};
    s->device_of_task = EMP_ADD_ARRAY(&s->arrays, emp_device_id, tasks);
    s->start_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, tasks);
    s->end_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, tasks);
    s->ready = EMP_ADD_ARRAY(&s->arrays, int32_t, tasks);
    s->ready_index = EMP_ADD_ARRAY(&s->arrays, int32_t, tasks);
    s->missing = EMP_ADD_ARRAY(&s->arrays, int32_t, tasks);
    s->device_of_pin = EMP_ADD_ARRAY(&s->arrays, emp_device_id, (size_t)t->pin_count);
    s->unread = EMP_ADD_ARRAY(&s->arrays, int32_t, tensors);
    s->devices_of_tensor = EMP_ADD_ARRAY(&s->arrays, uint64_t, tensors);
    if (s->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "schedule of %d tasks", t->task_count);
    for (emp_device_id d = 0; d < t->machine->device_count; d++)
        s->free_bytes[d] = t->has_unlimited_memory ? EMP_SIM_ENDLESS
                                                   : t->machine->device[d].memory_bytes;
    for (int32_t pin = 0; pin < t->pin_count; pin++) s->device_of_pin[pin] = -1;
    for (int32_t k = 0; k < t->tensor_count; k++)
        s->unread[k] = t->tensor[k + 1].reader - t->tensor[k].reader;
    for (int32_t task = 0; task < t->task_count; task++) {
        s->device_of_task[task] = -1;
        s->missing[task] = t->input_offset[task + 1] - t->input_offset[task];
        if (s->missing[task] == 0) make_ready(s, task);
    }
    return EMP_OK;
}

void emp_list_schedule_clear(emp_list_schedule *s)
{
    emp_arrays_clear(&s->arrays);
    for (emp_device_id d = 0; d < EMP_MAX_DEVICES; d++) emp_free(s->slots[d].slot);
}

/* ---- memory ---- */

static bool has_tensor(const emp_list_schedule *s, emp_device_id device, int32_t tensor)
{
    return (s->devices_of_tensor[tensor] >> device & 1) != 0;
}

/* The memory that the task takes on the device until it has run. */
static int64_t bytes_needed(const emp_list_schedule *s, int32_t task,
                            emp_device_id device)
{
    const emp_task_graph *t = s->graph;
    int32_t               pin = t->pin_of_task[task];
    int64_t               bytes = t->workspace_bytes[task];

    if (s->device_of_pin[pin] < 0) bytes += t->persistent_bytes[pin];
    for (int32_t k = t->output_offset[task]; k < t->output_offset[task + 1]; k++)
        bytes += t->tensor[k].home_bytes;
    for (int32_t i = t->input_offset[task]; i < t->input_offset[task + 1]; i++) {
        if (!has_tensor(s, device, t->input[i]))
            bytes += t->tensor[t->input[i]].copy_bytes;
    }
    return bytes;
}

static void hold(emp_list_schedule *s, int32_t tensor, emp_device_id device,
                 int64_t bytes)
{
    s->free_bytes[device] -= bytes;
    s->devices_of_tensor[tensor] |= UINT64_C(1) << device;
}

static void release(emp_list_schedule *s, int32_t tensor)
{
    const emp_task_tensor *k = &s->graph->tensor[tensor];

    for (emp_device_id d = 0; d < s->graph->machine->device_count; d++) {
        if (!has_tensor(s, d, tensor)) continue;
        bool is_home = s->device_of_task[k->producer] == d;
        s->free_bytes[d] += is_home ? k->home_bytes : k->copy_bytes;
    }
}

static void book_memory(emp_list_schedule *s, int32_t task, emp_device_id device)
{
    const emp_task_graph *t = s->graph;
    int32_t               pin = t->pin_of_task[task];

    if (s->device_of_pin[pin] < 0) {
        s->device_of_pin[pin] = device;
        s->free_bytes[device] -= t->persistent_bytes[pin];
    }
    for (int32_t k = t->output_offset[task]; k < t->output_offset[task + 1]; k++)
        hold(s, k, device, t->tensor[k].home_bytes);
    for (int32_t i = t->input_offset[task]; i < t->input_offset[task + 1]; i++) {
        int32_t k = t->input[i];
        if (!has_tensor(s, device, k)) hold(s, k, device, t->tensor[k].copy_bytes);
        if (--s->unread[k] == 0) release(s, k);
    }
}

bool emp_list_may_go(const emp_list_schedule *s, int32_t task, emp_device_id device)
{
    emp_device_id pinned = s->device_of_pin[s->graph->pin_of_task[task]];

    return emp_task_may_use(s->graph, task, device) && (pinned < 0 || pinned == device) &&
           bytes_needed(s, task, device) <= s->free_bytes[device];
}

static emp_status fail_without_room(const emp_list_schedule *s, int32_t task,
                                    emp_error *err)
{
    const emp_machine *m = s->graph->machine;
    emp_device_id      pinned = s->device_of_pin[s->graph->pin_of_task[task]], best = -1;
    char               needed[32], left[32];

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (!emp_task_may_use(s->graph, task, d) || (pinned >= 0 && pinned != d))
            continue;
        if (best < 0 || s->free_bytes[d] > s->free_bytes[best]) best = d;
    }
    return EMP_ERROR(
        EMP_EINFEASIBLE,
        "%s needs %s and %s%s has %s left after %s; it takes more memory or more "
        "devices, or a method that looks further",
        s->graph->name[task],
        emp_units_format_bytes(bytes_needed(s, task, best), needed, sizeof needed),
        pinned < 0 ? "even " : "", m->device[best].name,
        emp_units_format_bytes(s->free_bytes[best], left, sizeof left),
        pinned < 0 ? "all that was placed before" : "what its group and others hold");
}

emp_status emp_list_fall_back(const emp_list_schedule *s, int32_t task,
                              emp_device_id *device, emp_error *err)
{
    const int32_t pin = s->graph->pin_of_task[task];

    if (!s->may_overflow) return fail_without_room(s, task, err);
    *device = s->device_of_pin[pin];
    for (emp_device_id d = 0;
         s->device_of_pin[pin] < 0 && d < s->graph->machine->device_count; d++) {
        if ((s->graph->all_devices_of_pin[pin] >> d & 1) == 0) continue;
        if (*device < 0 || s->free_bytes[d] > s->free_bytes[*device]) *device = d;
    }
    return EMP_OK;
}

/* ---- time ---- */

emp_time_ns emp_list_arrival_ns(const emp_list_schedule *s, int32_t task,
                                emp_device_id device)
{
    const emp_task_graph *t = s->graph;
    int32_t               row_end = t->input_offset[task + 1];
    emp_time_ns           arrival = 0;

    for (int32_t i = t->input_offset[task]; i < row_end;) {
        emp_task_edge edge = emp_task_edge_at(t, i, row_end);
        emp_time_ns   at =
            s->end_ns[edge.producer] +
            emp_task_transfer_ns(t, s->device_of_task[edge.producer], device, &edge);
        if (at > arrival) arrival = at;
        i = edge.end;
    }
    return arrival;
}

/* The first slot that ends after a time; slots->count if none does. */
static int32_t first_slot_after(const emp_slots *slots, emp_time_ns time)
{
    int32_t low;

    EMP_COUNT_FIRST(low, slots->count, i, slots->slot[i].end <= time);
    return low;
}

/* The start of the first gap of a device that begins or goes on after \a after_ns and holds
 * \a time_ns. O(log slots + slots passed). */
static emp_time_ns list_first_gap(const emp_list_schedule *s, emp_device_id device,
                                  emp_time_ns after_ns, emp_time_ns time_ns)
{
    const emp_slots *slots = &s->slots[device];
    emp_time_ns      start = after_ns;

    for (int32_t i = first_slot_after(slots, start); i < slots->count; i++) {
        if (start + time_ns <= slots->slot[i].start) return start;
        start = slots->slot[i].end;
    }
    return start;
}

static emp_status insert_slot(emp_slots *slots, emp_slot slot, emp_error *err)
{
    int32_t at = first_slot_after(slots, slot.start);

    EMP_CHECK(EMP_GROW(slots->slot, slots->count + 1, slots->capacity));
    memmove(slots->slot + at + 1, slots->slot + at,
            (size_t)(slots->count - at) * sizeof slot);
    slots->slot[at] = slot;
    slots->count++;
    return EMP_OK;
}

static void unready(emp_list_schedule *s, int32_t task)
{
    int32_t index = s->ready_index[task], moved = s->ready[--s->ready_count];

    s->ready[index] = moved;
    s->ready_index[moved] = index;
}

emp_status emp_list_book(emp_list_schedule *s, int32_t task, emp_device_id device,
                         emp_time_ns start_ns, emp_error *err)
{
    const emp_task_graph *t = s->graph;
    emp_slot              slot = {start_ns, start_ns + emp_list_time_ns(s, task, device)};

    if (emp_stop_is_set(s->stop)) return EMP_EINTERRUPTED;
    if (slot.end > slot.start) EMP_CHECK(insert_slot(&s->slots[device], slot, err));
    s->device_of_task[task] = device;
    s->start_ns[task] = slot.start;
    s->end_ns[task] = slot.end;
    if (slot.end > s->free_ns[device]) s->free_ns[device] = slot.end;
    if (slot.end > s->makespan_ns) s->makespan_ns = slot.end;
    book_memory(s, task, device);
    unready(s, task);
    int32_t from = t->output_offset[task], to = t->output_offset[task + 1];
    for (int32_t i = t->tensor[from].reader; i < t->tensor[to].reader; i++) {
        if (--s->missing[t->reader[i]] == 0) make_ready(s, t->reader[i]);
    }
    return EMP_OK;
}

emp_status emp_list_book_first_end(emp_list_schedule *s, int32_t task,
                                   const double *after_ns, emp_error *err)
{
    emp_device_id best = -1;
    emp_time_ns   best_start = 0;
    double        best_end = 0.0;

    for (emp_device_id d = 0; d < s->graph->machine->device_count; d++) {
        if (!emp_list_may_go(s, task, d)) continue;
        emp_time_ns time = emp_list_time_ns(s, task, d);
        emp_time_ns start = list_first_gap(s, d, emp_list_arrival_ns(s, task, d), time);
        double      end = (double)(start + time) + (after_ns != NULL ? after_ns[d] : 0.0);
        if (best >= 0 && end >= best_end) continue;
        best = d;
        best_start = start;
        best_end = end;
    }
    if (best < 0) {
        EMP_CHECK(emp_list_fall_back(s, task, &best, err));
        best_start = list_first_gap(s, best, emp_list_arrival_ns(s, task, best),
                                    emp_list_time_ns(s, task, best));
    }
    return emp_list_book(s, task, best, best_start, err);
}

void emp_list_levels(const emp_task_graph *t, bool with_transfers, double *level)
{
    uint64_t devices = 0;

    for (int32_t pin = 0; pin < t->pin_count; pin++) devices |= t->devices_of_pin[pin];
    emp_mean_transfer mean = emp_task_mean_transfer(t, devices);
    for (int32_t task = 0; task < t->task_count; task++) level[task] = 0.0;
    for (int32_t task = t->task_count - 1; task >= 0; task--) {
        int32_t row_end = t->input_offset[task + 1];
        level[task] += emp_task_mean_time_ns(t, task); /* readers have told theirs */
        for (int32_t i = t->input_offset[task]; i < row_end;) {
            emp_task_edge edge = emp_task_edge_at(t, i, row_end);
            double        below = level[task];
            if (with_transfers) below += emp_mean_transfer_ns(mean, edge);
            if (below > level[edge.producer]) level[edge.producer] = below;
            i = edge.end;
        }
    }
}

typedef struct {
    double  level;
    int32_t task;
} levelled;

static int by_level(const void *left, const void *right)
{
    const levelled *l = left, *r = right;

    if (l->level != r->level) return l->level > r->level ? -1 : 1;
    return (l->task > r->task) - (l->task < r->task);
}

emp_status emp_list_order(const emp_task_graph *graph, bool with_transfers,
                          int32_t *order, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     count = (size_t)graph->task_count;
    emp_arrays arrays = {0};
    double    *level = EMP_ADD_ARRAY(&arrays, double, count);
    levelled  *sorted = EMP_ADD_ARRAY(&arrays, levelled, count);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "order of %zu tasks", count);
    emp_list_levels(graph, with_transfers, level);
    for (int32_t task = 0; task < graph->task_count; task++)
        sorted[task] = (levelled){level[task], task};
    qsort(sorted, count, sizeof *sorted, by_level);
    for (size_t i = 0; i < count; i++) order[i] = sorted[i].task;

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

/* ---- placers ---- */

/* The order that the scheduler had in mind: by the start of each op's task. */
static emp_status order_by_start(const emp_list_schedule *s, uint8_t *level_of_op,
                                 emp_error *err)
{
    emp_status    st = EMP_OK;
    const int32_t ops = s->graph->op_count;
    double       *start_ns = NULL;

    EMP_TRY(EMP_ALLOC(start_ns, (size_t)ops));
    for (emp_op_id op = 0; op < ops; op++) {
        int32_t task = s->graph->task_of_op[op];
        if (task >= 0) start_ns[op] = (double)s->start_ns[task];
    }
    EMP_TRY(emp_order_of_keys(level_of_op, start_ns, ops, err));

cleanup:
    emp_free(start_ns);
    return st;
}

static emp_status schedule_once(emp_list_schedule *s, const emp_method *type,
                                const emp_task_graph    *graph,
                                const emp_method_params *params, bool may_overflow,
                                emp_error *err)
{
    const emp_list_method *method = type->own;

    EMP_CHECK(emp_list_schedule_init(s, graph, err));
    EMP_CHECK(emp_method_options_parse(&s->options, type, params, err));
    s->may_overflow = may_overflow;
    s->stop = params->stop;
    emp_rng_init(&s->rng, params->seed, 0, 0);
    const char      *before = emp_stage_set("scheduling");
    const emp_status st = method->schedule(s, err);
    (void)emp_stage_set(before);
    return st;
}

static void take_devices(const emp_owned_decision *proposal, const emp_list_schedule *s)
{
    for (emp_op_id op = 0; op < s->graph->op_count; op++) {
        int32_t task = s->graph->task_of_op[op];
        proposal->device_of_op[op] = task < 0 ? 0 : s->device_of_task[task];
    }
}

/* A scheduler need not ask whether a task fits. */
static bool is_overfull(const emp_list_schedule *s)
{
    for (emp_device_id d = 0; d < s->graph->machine->device_count; d++)
        if (s->free_bytes[d] < 0) return true;
    return false;
}

/* A task that fits nowhere goes to a CPU, or where its pin is. Bytes beyond a memory are then moved elsewhere; where
 * that is not possible either, the oracle has the last word. */
static emp_status schedule_beyond_memory(emp_list_schedule *s, const emp_method *type,
                                         const emp_task_graph     *graph,
                                         const emp_problem        *problem,
                                         const emp_method_params  *params,
                                         const emp_owned_decision *proposal,
                                         emp_error                *err)
{
    const uint64_t seed = type->uses_seed ? params->seed : 1;
    emp_error      unsaid = {0};

    emp_list_schedule_clear(s);
    EMP_CHECK(schedule_once(s, type, graph, params, true, err));
    take_devices(proposal, s);
    const emp_status st = emp_memory_repair(problem, type->name, seed, params->stop,
                                            proposal->device_of_op, &unsaid);
    if (st == EMP_OK || st == EMP_EINFEASIBLE) return EMP_OK;
    return EMP_ERROR(st, "%s", unsaid.msg);
}

emp_status emp_list_place(const emp_method *type, const emp_problem *problem,
                          const emp_method_params  *params,
                          const emp_owned_decision *proposal, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_list_method *method = type->own;
    emp_task_graph        *graph = NULL;
    emp_list_schedule      schedule = {0};
    emp_error              unsaid = {0};

    EMP_TRY(emp_task_graph_create(&graph, problem, method->units, err));
    st = schedule_once(&schedule, type, graph, params, false, &unsaid);
    if (st == EMP_OK && !is_overfull(&schedule))
        take_devices(proposal, &schedule);
    else if (st == EMP_OK || st == EMP_EINFEASIBLE)
        EMP_TRY(schedule_beyond_memory(&schedule, type, graph, problem, params, proposal,
                                       err));
    else
        EMP_FAIL(st, "%s", unsaid.msg);
    st = EMP_OK;
    if (proposal->level_of_op != NULL)
        EMP_TRY(order_by_start(&schedule, proposal->level_of_op, err));

cleanup:
    emp_list_schedule_clear(&schedule);
    emp_task_graph_destroy(graph);
    return st;
}
