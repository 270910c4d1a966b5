// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/list_schedule.h"

#include <glpk.h>
#include <string.h>

#include "base/lp/guard.h"
#include "base/mem.h"
#include "base/work.h"
#include "baselines/baselines.h"

/* ---- the linear program of m-SCT ---- */

/* The linear program of small communication times (Hanen and Munier 1995), by GLPK. On
 * unlimited devices, tasks i with times p, edges i -> j with costs c:
 *
 *     min w   0 <= x_ij <= 1,  s_i >= 0
 *             s_i + p_i + c_ij x_ij <= s_j    each edge
 *             sum of x_ij over readers j of i  >=  their number - 1
 *             sum of x_ij over producers i of j  >=  their number - 1
 *             s_i + p_i <= w                  each task
 *
 * x_ij = 0 means that j is i's favourite child: it follows on the same device at once. An
 * edge between tasks that have no device in common has x_ij = 1.
 *
 * p is the mean time of a task on its devices, c the mean cost of a transfer between two of
 * both tasks' devices.
 *
 * Several solutions may be best; the one that comes out is GLPK's choice, the same each time.
 *
 * Threads. GLPK has an environment for each thread, and this ends it; nothing is printed. */

/* Rows and columns, from 1 on as GLPK counts. A column for each task (s), each edge (x),
 * and w; a row for each edge, then for each task three, of which some stay free. */
typedef struct {
    const emp_task_graph *graph;
    emp_sct_solution     *solution;
    double                unit_ns; /**< of times in the program: the longest of all */
    double               *time;    /**< [task] in units */
    int                  *row, *column; /**< [1 ..] of entries */
    double               *value;
    int                   entry_count;
    int32_t              *reader_count, *producer_count; /**< [task] */
    glp_prob             *lp;
    emp_arrays            arrays;
} program;

static int start_column(int32_t task) { return 1 + task; }
static int edge_column(const program *p, int32_t edge)
{
    return 1 + p->graph->task_count + edge;
}
static int end_column(const program *p)
{
    return 1 + p->graph->task_count + p->solution->edge_count;
}
static int edge_row(int32_t edge) { return 1 + edge; }
static int readers_row(const program *p, int32_t task)
{
    return 1 + p->solution->edge_count + 3 * task;
}
static int producers_row(const program *p, int32_t task)
{
    return readers_row(p, task) + 1;
}
static int end_row(const program *p, int32_t task) { return readers_row(p, task) + 2; }

/* ---- edges ---- */

static void list_edges(emp_sct_solution *solution, const emp_task_graph *t)
{
    for (int32_t task = 0; task < t->task_count; task++) {
        int32_t row_end = t->input_offset[task + 1];
        for (int32_t i = t->input_offset[task]; i < row_end;) {
            emp_task_edge     edge = emp_task_edge_at(t, i, row_end);
            uint64_t          from = t->devices_of_pin[t->pin_of_task[edge.producer]];
            uint64_t          to = t->devices_of_pin[t->pin_of_task[task]];
            emp_mean_transfer mean = emp_task_mean_transfer(t, from | to);
            solution->edge[solution->edge_count++] = (emp_sct_edge){
                edge.producer, task, emp_mean_transfer_ns(mean, edge), (from & to) == 0};
            i = edge.end;
        }
    }
}

static emp_status allocate(program *p, emp_error *err)
{
    const emp_task_graph *t = p->graph;
    emp_sct_solution     *s = p->solution;
    size_t                tasks = (size_t)t->task_count;
    size_t                inputs = (size_t)t->input_offset[t->task_count];

    s->edge = EMP_ADD_ARRAY(&s->arrays, emp_sct_edge, inputs);
    s->apart = EMP_ADD_ARRAY(&s->arrays, double, inputs);
    s->start_ns = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->edge_dual = EMP_ADD_ARRAY(&s->arrays, double, inputs);
    s->readers_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->producers_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    s->end_dual = EMP_ADD_ARRAY(&s->arrays, double, tasks);
    p->time = EMP_ADD_ARRAY(&p->arrays, double, tasks);
    p->reader_count = EMP_ADD_ARRAY(&p->arrays, int32_t, tasks);
    p->producer_count = EMP_ADD_ARRAY(&p->arrays, int32_t, tasks);
    p->row = EMP_ADD_ARRAY(&p->arrays, int, 5 * inputs + 2 * tasks + 1);
    p->column = EMP_ADD_ARRAY(&p->arrays, int, 5 * inputs + 2 * tasks + 1);
    p->value = EMP_ADD_ARRAY(&p->arrays, double, 5 * inputs + 2 * tasks + 1);
    if (s->arrays.is_short || p->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "linear program of %d tasks", t->task_count);
    return EMP_OK;
}

static void measure(program *p)
{
    const emp_task_graph *t = p->graph;
    emp_sct_solution     *s = p->solution;

    list_edges(s, t);
    p->unit_ns = 1.0;
    for (int32_t i = 0; i < t->task_count; i++) {
        p->time[i] = emp_task_mean_time_ns(t, i);
        if (p->time[i] > p->unit_ns) p->unit_ns = p->time[i];
    }
    for (int32_t e = 0; e < s->edge_count; e++) {
        p->reader_count[s->edge[e].from]++;
        p->producer_count[s->edge[e].to]++;
        if (s->edge[e].cost_ns > p->unit_ns) p->unit_ns = s->edge[e].cost_ns;
    }
    for (int32_t i = 0; i < t->task_count; i++) p->time[i] /= p->unit_ns;
}

/* ---- the program ---- */

static void enter(program *p, int row, int column, double value)
{
    p->entry_count++;
    p->row[p->entry_count] = row;
    p->column[p->entry_count] = column;
    p->value[p->entry_count] = value;
}

static void add_edge(program *p, int32_t e)
{
    const emp_sct_edge *edge = &p->solution->edge[e];
    int                 x = edge_column(p, e);

    glp_set_col_bnds(p->lp, x, edge->is_apart ? GLP_FX : GLP_DB,
                     edge->is_apart ? 1.0 : 0.0, 1.0);
    glp_set_row_bnds(p->lp, edge_row(e), GLP_LO, p->time[edge->from], 0.0);
    enter(p, edge_row(e), start_column(edge->to), 1.0);
    enter(p, edge_row(e), start_column(edge->from), -1.0);
    if (edge->cost_ns > 0.0) enter(p, edge_row(e), x, -edge->cost_ns / p->unit_ns);
    if (p->reader_count[edge->from] > 1) enter(p, readers_row(p, edge->from), x, 1.0);
    if (p->producer_count[edge->to] > 1) enter(p, producers_row(p, edge->to), x, 1.0);
}

static void add_task(program *p, int32_t task)
{
    int32_t readers = p->reader_count[task], producers = p->producer_count[task];

    glp_set_col_bnds(p->lp, start_column(task), GLP_LO, 0.0, 0.0);
    glp_set_row_bnds(p->lp, readers_row(p, task), readers > 1 ? GLP_LO : GLP_FR,
                     readers - 1.0, 0.0);
    glp_set_row_bnds(p->lp, producers_row(p, task), producers > 1 ? GLP_LO : GLP_FR,
                     producers - 1.0, 0.0);
    /* Readers start later, so that it says nothing of other tasks. */
    glp_set_row_bnds(p->lp, end_row(p, task), readers == 0 ? GLP_LO : GLP_FR,
                     p->time[task], 0.0);
    if (readers > 0) return;
    enter(p, end_row(p, task), end_column(p), 1.0);
    enter(p, end_row(p, task), start_column(task), -1.0);
}

static void state_program(program *p)
{
    const emp_sct_solution *s = p->solution;
    int32_t                 tasks = p->graph->task_count;

    p->lp = glp_create_prob();
    glp_set_obj_dir(p->lp, GLP_MIN);
    glp_add_rows(p->lp, s->edge_count + 3 * tasks);
    glp_add_cols(p->lp, end_column(p));
    glp_set_col_bnds(p->lp, end_column(p), GLP_LO, 0.0, 0.0);
    glp_set_obj_coef(p->lp, end_column(p), 1.0);
    for (int32_t e = 0; e < s->edge_count; e++) add_edge(p, e);
    for (int32_t i = 0; i < tasks; i++) add_task(p, i);
    glp_load_matrix(p->lp, p->entry_count, p->row, p->column, p->value);
}

static void read_solution(program *p)
{
    emp_sct_solution *s = p->solution;

    s->makespan_ns = glp_get_col_prim(p->lp, end_column(p)) * p->unit_ns;
    for (int32_t e = 0; e < s->edge_count; e++) {
        s->apart[e] = glp_get_col_prim(p->lp, edge_column(p, e));
        s->edge_dual[e] = glp_get_row_dual(p->lp, edge_row(e));
    }
    for (int32_t i = 0; i < p->graph->task_count; i++) {
        s->start_ns[i] = glp_get_col_prim(p->lp, start_column(i)) * p->unit_ns;
        s->readers_dual[i] = glp_get_row_dual(p->lp, readers_row(p, i)) * p->unit_ns;
        s->producers_dual[i] = glp_get_row_dual(p->lp, producers_row(p, i)) * p->unit_ns;
        s->end_dual[i] = glp_get_row_dual(p->lp, end_row(p, i));
    }
}

/* 0, or why GLPK gave up. */
static int solve(void *context)
{
    program *p = (program *)context;
    glp_smcp how;

    state_program(p);
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = GLP_ON;
    how.meth = GLP_DUALP;     /* all at 0 is dual feasible */
    how.r_test = GLP_RT_FLIP; /* many columns have two bounds */
    int failure = glp_simplex(p->lp, &how);
    if (failure == 0 && glp_get_status(p->lp) != GLP_OPT) failure = GLP_EFAIL;
    if (failure == 0) read_solution(p);
    return failure;
}

emp_status emp_sct_solve(emp_sct_solution *solution, const emp_task_graph *graph,
                         emp_error *err)
{
    emp_status st = EMP_OK;
    program    p = {.graph = graph, .solution = solution};

    *solution = (emp_sct_solution){0};
    EMP_TRY(allocate(&p, err));
    measure(&p);
    const char *before = emp_stage_set("solving the linear program");
    int         failure = graph->task_count > 0 ? emp_lp_guarded(solve, &p) : 0;
    (void)emp_stage_set(before);
    if (failure != 0) {
        EMP_FAIL(EMP_EEXTERNAL,
                 "GLPK cannot solve the linear program of %d edges: code %d",
                 solution->edge_count, failure);
    }

cleanup:
    emp_arrays_clear(&p.arrays);
    return st;
}

void emp_sct_solution_clear(emp_sct_solution *s)
{
    emp_arrays_clear(&s->arrays);
    *s = (emp_sct_solution){0};
}

/* ---- the event loop ---- */

/* The event loop of Baechi (Jeon et al., SoCC 2020), which m-ETF and m-SCT share, after its
 * program.
 *
 * A device runs one task at a time and has one channel for all that it sends and receives.
 * A transfer begins at the sender when its task has ended and the channel is free, at the
 * receiver when that one's channel is free as well, and holds each of them for as long as it
 * takes. A device keeps the tensors that it has received; a task's other inputs from one producer come
 * in one transfer. A transfer is booked with the task that reads it, producers in ascending
 * order, and what a choice is judged by is exactly what booking would give.
 *
 * At each moment, of all ready tasks and devices on which they fit and could start by now,
 * the earliest such pair is booked, until there is none; then time goes on to the next
 * moment at which a task could start or a device is free. A task that did not fit may do so
 * later, when others have given memory back. Ties go to the lower task, then device.
 *
 * Favourites (Hanen and Munier 1995). When a task has ended and its favourite child, all of
 * whose producers have ended, could start nowhere earlier than on this device, then the
 * device is awake: it runs that child, or meanwhile a task that is urgent, one that by now
 * could start on any device that it may use, and nothing else. */

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
