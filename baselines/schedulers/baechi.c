// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/baechi.h"

#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

enum { NOT_THERE = -1 };

typedef struct {
    emp_list_schedule *schedule;
    const int32_t     *favourite_child; /**< or NULL */
    int32_t            device_count;
    emp_time_ns        now;
    emp_time_ns        channel_ns[EMP_MAX_DEVICES];
    emp_time_ns       *received_ns;            /**< [tensor][device]; NOT_THERE */
    int32_t            last[EMP_MAX_DEVICES];  /**< task that a device ran last; -1 */
    int32_t            child[EMP_MAX_DEVICES]; /**< that it is awake for; -1 */
} loop;

/* A ready task where it could start. */
typedef struct {
    emp_time_ns   start_ns;
    int32_t       task;
    emp_device_id device; /**< -1: there is none */
} choice;

static emp_time_ns *received_of(const loop *l, int32_t tensor)
{
    return l->received_ns + (size_t)tensor * (size_t)l->device_count;
}

/* Sends over two channels; when it is there. */
static emp_time_ns send(emp_time_ns *channel_ns, emp_device_id from, emp_device_id to,
                        emp_time_ns end, emp_time_ns lasts)
{
    emp_time_ns sent = emp_time_later(end, channel_ns[from]);

    channel_ns[from] = sent + lasts;
    emp_time_ns received = emp_time_later(sent, channel_ns[to]);
    channel_ns[to] = received + lasts;
    return received + lasts;
}

/* When all that the edge carries is on a device, and what that does to channels. Transfers are
 * recorded where \a is_booked. */
static emp_time_ns deliver(loop *l, int32_t at, int32_t row_end, emp_device_id to,
                           emp_time_ns *channel_ns, bool is_booked, int32_t *next)
{
    const emp_list_schedule *s = l->schedule;
    const emp_task_graph    *t = s->graph;
    emp_task_edge            edge = emp_task_edge_at(t, at, row_end);
    emp_device_id            from = s->device_of_task[edge.producer];
    emp_time_ns              there = s->end_ns[edge.producer];
    emp_task_edge            missing = {.stated_ns = -1};
    bool                     is_missing = false;

    *next = edge.end;
    if (from == to) return there;
    for (int32_t i = at; i < edge.end; i++) {
        emp_time_ns received = received_of(l, t->input[i])[to];
        if (received == NOT_THERE) {
            is_missing = true;
            missing.bytes += t->tensor[t->input[i]].copy_bytes;
            missing.stated_ns =
                emp_time_later(missing.stated_ns, t->tensor[t->input[i]].stated_ns);
        }
        there = emp_time_later(there, received);
    }
    if (!is_missing) return there;
    emp_time_ns sent = send(channel_ns, from, to, s->end_ns[edge.producer],
                            emp_task_transfer_ns(t, from, to, &missing));
    for (int32_t i = at; i < edge.end && is_booked; i++) {
        emp_time_ns *received = &received_of(l, t->input[i])[to];
        if (*received == NOT_THERE) *received = sent;
    }
    return emp_time_later(there, sent);
}

/* The earliest start of a ready task on a device. */
static emp_time_ns start_on(loop *l, int32_t task, emp_device_id device,
                            emp_time_ns *channel_ns, bool is_booked)
{
    const emp_task_graph *t = l->schedule->graph;
    int32_t               row_end = t->input_offset[task + 1];
    emp_time_ns           start = l->schedule->free_ns[device];

    for (int32_t i = t->input_offset[task]; i < row_end;) {
        emp_time_ns there = deliver(l, i, row_end, device, channel_ns, is_booked, &i);
        start = emp_time_later(start, there);
    }
    return start;
}

static emp_time_ns preview(loop *l, int32_t task, emp_device_id device)
{
    emp_time_ns channel_ns[EMP_MAX_DEVICES];

    memcpy(channel_ns, l->channel_ns, (size_t)l->device_count * sizeof *channel_ns);
    return start_on(l, task, device, channel_ns, false);
}

static bool is_ready_now(const loop *l, int32_t task)
{
    const emp_list_schedule *s = l->schedule;
    const emp_task_graph    *t = s->graph;

    if (s->device_of_task[task] >= 0 || s->missing[task] > 0) return false;
    for (int32_t i = t->input_offset[task]; i < t->input_offset[task + 1]; i++) {
        if (s->end_ns[t->tensor[t->input[i]].producer] > l->now) return false;
    }
    return true;
}

/* The child that a device waits for, or -1. */
static int32_t find_child(loop *l, emp_device_id device)
{
    const emp_list_schedule *s = l->schedule;
    int32_t                  child = -1;

    if (l->last[device] >= 0 && s->free_ns[device] <= l->now)
        child = l->favourite_child[l->last[device]];
    if (child < 0 || !is_ready_now(l, child) || !emp_list_may_go(s, child, device))
        return -1;
    emp_time_ns here = preview(l, child, device);
    for (emp_device_id d = 0; d < l->device_count; d++) {
        if (emp_list_may_go(s, child, d) && preview(l, child, d) < here) return -1;
    }
    return child;
}

static bool is_before(choice a, choice b)
{
    if (b.device < 0 || a.start_ns != b.start_ns)
        return b.device < 0 || a.start_ns < b.start_ns;
    return a.task != b.task ? a.task < b.task : a.device < b.device;
}

/* Starts of a task on all devices that it may go to: the best that are possible now into
 * *best, the least that lies ahead into *next. */
static void look_at(loop *l, int32_t task, choice *best, emp_time_ns *next)
{
    emp_time_ns start[EMP_MAX_DEVICES], latest = 0;
    bool        may_go[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < l->device_count; d++) {
        may_go[d] = emp_list_may_go(l->schedule, task, d);
        if (!may_go[d]) continue;
        start[d] = preview(l, task, d);
        latest = emp_time_later(latest, start[d]);
    }
    for (emp_device_id d = 0; d < l->device_count; d++) {
        if (!may_go[d]) continue;
        if (start[d] > l->now) {
            if (start[d] < *next) *next = start[d];
            continue;
        }
        bool   is_urgent = latest <= l->now;
        choice now = {start[d], task, d};
        if (l->child[d] >= 0 && l->child[d] != task && !is_urgent) continue;
        if (is_before(now, *best)) *best = now;
    }
}

static emp_status book(loop *l, choice c, emp_error *err)
{
    emp_time_ns start = start_on(l, c.task, c.device, l->channel_ns, true);

    EMP_CHECK(
        emp_list_book(l->schedule, c.task, c.device, emp_time_later(start, l->now), err));
    l->last[c.device] = c.task;
    return EMP_OK;
}

/* No ready task fits anywhere, whatever ends. */
static emp_status fall_back(loop *l, emp_error *err)
{
    choice c = {.task = l->schedule->ready[0], .device = -1};

    EMP_CHECK(emp_list_fall_back(l->schedule, c.task, &c.device, err));
    return book(l, c, err);
}

/* One booking, or one step ahead in time. */
static emp_status advance(loop *l, emp_error *err)
{
    const emp_list_schedule *s = l->schedule;
    choice                   best = {.device = -1};
    emp_time_ns              next = INT64_MAX;

    for (emp_device_id d = 0; d < l->device_count; d++) {
        l->child[d] = l->favourite_child != NULL ? find_child(l, d) : -1;
        if (s->free_ns[d] > l->now && s->free_ns[d] < next) next = s->free_ns[d];
    }
    for (int32_t i = 0; i < s->ready_count; i++) look_at(l, s->ready[i], &best, &next);
    if (best.device >= 0)
        EMP_CHECK(book(l, best, err));
    else if (next < INT64_MAX)
        l->now = next;
    else
        EMP_CHECK(fall_back(l, err));
    return EMP_OK;
}

emp_status emp_baechi_schedule(emp_list_schedule *s, const int32_t *favourite_child,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    loop       l = {.schedule = s,
                    .favourite_child = favourite_child,
                    .device_count = s->graph->machine->device_count};
    size_t     places = (size_t)s->graph->tensor_count * (size_t)l.device_count;

    EMP_TRY(EMP_ALLOC(l.received_ns, places));
    for (size_t i = 0; i < places; i++) l.received_ns[i] = NOT_THERE;
    for (emp_device_id d = 0; d < l.device_count; d++) l.last[d] = -1;
    while (s->ready_count > 0) EMP_TRY(advance(&l, err));

cleanup:
    emp_free(l.received_ns);
    return st;
}

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

/* m-ETF of Baechi (Jeon et al., SoCC 2020): ETF on fused groups, with memory and channels. */

emp_status emp_schedule_m_etf(emp_list_schedule *s, emp_error *err)
{
    return emp_baechi_schedule(s, NULL, err);
}

const emp_method emp_method_m_etf = {
    .name = "m-etf",
    .description = "m-ETF, earliest task first on groups, within memory (Baechi 2020)",
    .advice = "short memory: a quick schedule within it",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_FUSED, emp_schedule_m_etf},
};

/* m-SCT of Baechi (Jeon et al., SoCC 2020): m-ETF that knows each task's favourite child, by
 * the linear program of small communication times, rounded. */

/* A child whose variable is below a half is its parent's favourite. If several parents claim one child, the last of
 * them by (parent, child) keeps it, and the others have no favourite. */
static void round_favourites(const emp_sct_solution *lp, int32_t task_count,
                             int32_t *parent, int32_t *child)
{
    for (int32_t i = 0; i < task_count; i++) parent[i] = child[i] = -1;
    for (int32_t e = 0; e < lp->edge_count; e++) { /* by (child, parent) */
        if (lp->apart[e] < 0.5) parent[lp->edge[e].to] = lp->edge[e].from;
    }
    for (int32_t j = 0; j < task_count; j++) {
        if (parent[j] >= 0) child[parent[j]] = j;
    }
}

emp_status emp_schedule_m_sct(emp_list_schedule *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    int32_t          count = s->graph->task_count;
    emp_sct_solution lp = {0};
    emp_arrays       arrays = {0};
    int32_t         *parent = EMP_ADD_ARRAY(&arrays, int32_t, (size_t)count);
    int32_t         *child = EMP_ADD_ARRAY(&arrays, int32_t, (size_t)count);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "favourites of %d tasks", count);
    EMP_TRY(emp_sct_solve(&lp, s->graph, err));
    round_favourites(&lp, count, parent, child);
    EMP_TRY(emp_baechi_schedule(s, child, err));

cleanup:
    emp_sct_solution_clear(&lp);
    emp_arrays_clear(&arrays);
    return st;
}

const emp_method emp_method_m_sct = {
    .name = "m-sct",
    .description =
        "m-SCT, m-ETF with favourite children by a linear program (Baechi 2020)",
    .advice = "short memory: slower than m-etf, and at times better",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_FUSED, emp_schedule_m_sct},
};
