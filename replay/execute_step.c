// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* clocks */
/* Ops and copies on their way through a step, and the threads that serve devices. */
#include <string.h>
#include <time.h>

#include "base/work.h"
#include "replay/cpu/cores.h"
#include "replay/cpu/kernels.h"
#include "replay/execute_internal.h"

enum { TASKS_PER_CORE = 4, STOP_POLL_NS = 100 * 1000 * 1000 };

void emp_replay_failed(void *replay, const emp_error *why)
{
    emp_replay_fail((emp_replay *)replay, why);
}

static void count_done(emp_replay *r)
{
    if (atomic_fetch_sub(&r->remaining, 1) != 1) return;
    pthread_mutex_lock(&r->lock);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static void make_ready(emp_replay *r, int32_t op)
{
    emp_server *s = &r->server[r->plan->op[op].device];

    pthread_mutex_lock(&s->lock);
    s->ready[s->ready_end++] = op;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

/* One thing less to wait for. */
static void tell(emp_replay *r, int32_t op)
{
    if (atomic_fetch_sub(&r->op[op].waits, 1) == 1) make_ready(r, op);
}

static void tell_readers(emp_replay *r, int32_t place)
{
    const emp_replay_plan  *p = r->plan;
    const emp_replay_fault *fault = &r->options->fault;

    for (int32_t i = r->reader_offset[place]; i < r->reader_offset[place + 1]; i++) {
        int32_t op = r->reader[i];
        if (op == fault->early_op &&
            p->input[p->input_offset[op] + fault->early_input].place == place)
            continue; /* it never waited */
        tell(r, op);
    }
}

static void request_copy(emp_replay *r, int32_t copy)
{
    const emp_replay_plan *p = r->plan;
    emp_error              err = {0};

    if (atomic_load(&r->is_over) || !emp_replay_begin_copy(r, copy)) return;
    emp_status st =
        r->backend->copy(r->backend_state, copy, r->place[p->copy[copy].tensor].data,
                         r->place[p->tensor_count + copy].data, &err);
    if (st != EMP_OK) emp_replay_fail(r, &err);
}

void emp_replay_copied(void *replay, int32_t copy)
{
    emp_replay            *r = (emp_replay *)replay;
    const emp_replay_plan *p = r->plan;
    int32_t                place = p->tensor_count + copy;
    emp_error              err = {0};

    if (atomic_load(&r->is_over)) return;
    if (r->options->is_checked && emp_replay_check_copy(r, copy, &err) != EMP_OK) {
        emp_replay_fail(r, &err);
        return;
    }
    atomic_store(&r->place[place].written_in, atomic_load(&r->step));
    emp_replay_release_place(r, p->copy[copy].tensor);
    tell_readers(r, place);
    count_done(r);
}

/* The op has run, or is enqueued: its inputs are released, and the ops that wait are notified. */
static void finish_op(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    emp_error              err = {0};
    int32_t                step = atomic_load(&r->step);

    if (r->options->is_checked && emp_replay_check_outputs(r, op, &err) != EMP_OK) {
        emp_replay_fail(r, &err);
        return;
    }
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++)
        atomic_store(&r->place[t].written_in, step);
    emp_replay_release_op(r, op);
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        tell_readers(r, t);
        for (int32_t c = p->copy_offset[t]; c < p->copy_offset[t + 1]; c++)
            request_copy(r, c);
    }
    for (int32_t i = r->follower_offset[op]; i < r->follower_offset[op + 1]; i++)
        tell(r, r->follower[i]);
    count_done(r);
}

static void log_slice(emp_worker *w, int32_t op, int64_t start, int64_t end)
{
    emp_replay *r = w->replay;

    w->busy_ns += end - start;
    if (!r->is_timed) return;
    if (w->lane.count == w->slice_room) { /* else the lane ends, the step does not */
        emp_replay_slice *more = (emp_replay_slice *)emp_replay_grow(
            w->lane.slice, &w->slice_room, sizeof *more);
        if (more == NULL) return;
        w->lane.slice = more;
    }
    w->lane.slice[w->lane.count++] =
        (emp_replay_slice){op, start - r->start_ns, end - r->start_ns};
}

/* Returns its end. */
static int64_t run_part(emp_worker *w, int32_t op, int32_t part)
{
    emp_op_state *o = &w->replay->op[op];
    int64_t       start = emp_replay_now_ns();

    if (o->parts == 1) o->start_ns = start;
    emp_cpu_kernel_run(&o->call, part, o->parts, w->scratch);
    int64_t end = emp_replay_now_ns();
    log_slice(w, op, start, end);
    return end;
}

/* Into how many tasks: the cores' share of an op among those that run or are ready, but a
 * quarter of what it can use at least; four tasks a core, so that nothing waits for a
 * straggler. */
static int32_t count_parts(const emp_replay *r, const emp_server *s, int32_t op)
{
    int32_t rivals = s->running + s->ready_end - s->ready_first;
    int32_t lanes = emp_cpu_kernel_lanes(&r->op[op].call, s->core_count);
    int32_t cores = s->core_count / (rivals > 0 ? rivals : 1);

    if (cores < (lanes + 3) / 4) cores = (lanes + 3) / 4;
    if (cores > lanes) cores = lanes;
    return cores > 1 ? TASKS_PER_CORE * cores : 1;
}

static void end_op(emp_replay *r, emp_server *s, int32_t op)
{
    finish_op(r, op);
    pthread_mutex_lock(&s->lock);
    s->running--;
    pthread_mutex_unlock(&s->lock);
}

static void run_task(emp_worker *w, emp_server *s, int32_t op, int32_t part)
{
    emp_op_state *o = &w->replay->op[op];
    int64_t       end = run_part(w, op, part);

    if (atomic_fetch_sub(&o->open_parts, 1) != 1) return;
    if (o->parts > 1) end = emp_replay_now_ns(); /* another task may have ended later */
    o->span_ns = end - o->start_ns;
    end_op(w->replay, s, op);
}

/* Begins an op and runs it, or puts its tasks into the line. */
static void begin_op(emp_worker *w, emp_server *s, int32_t op)
{
    emp_replay   *r = w->replay;
    emp_op_state *o = &r->op[op];

    if (!emp_replay_begin_op(r, op)) return;
    if (r->plan->op[op].kernel.kind == EMP_KERNEL_NOTHING) {
        end_op(r, s, op);
        return;
    }
    pthread_mutex_lock(&s->lock);
    o->parts = s->core_count > 1 ? count_parts(r, s, op) : 1;
    o->next_part = 1;
    atomic_store(&o->open_parts, o->parts);
    if (o->parts > 1) {
        o->start_ns = emp_replay_now_ns();
        s->line[s->line_end++] = op;
        pthread_cond_broadcast(&s->more);
    }
    pthread_mutex_unlock(&s->lock);
    run_task(w, s, op, 0);
}

/* An op with a result in host memory works there, on the thread that would enqueue it;
 * what it takes from the device's memory is sizes. */
static bool is_on_host(const emp_replay_plan *p, int32_t op)
{
    int32_t t = p->output_offset[op];

    return p->op[op].kernel.kind == EMP_KERNEL_HOST ||
           (t < p->output_offset[op + 1] && p->tensor[t].on_host);
}

/* Inputs in the other kind of memory are sizes and axes, which kernels have already: they
 * get constants in its place. */
static void replace_operands(emp_replay *r, int32_t op, bool on_host, int32_t memory)
{
    const emp_replay_plan *p = r->plan;
    const emp_memory      *m = &r->memory[memory];

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        emp_operand *in = &r->input_operand[i];
        if (p->input[i].on_host != on_host) continue;
        in->data = m->constants;
        if (in->bytes > m->constants_bytes) in->bytes = m->constants_bytes;
    }
}

static void run_on_host(emp_worker *w, int32_t op)
{
    emp_replay *r = w->replay;

    replace_operands(r, op, false, r->plan->device[r->plan->op[op].device].host);
    r->op[op].parts = 1;
    emp_cpu_kernel_run(&r->op[op].call, 0, 1, w->scratch);
}

static emp_status launch(emp_worker *w, int32_t op, emp_error *err)
{
    emp_replay *r = w->replay;
    int32_t     device = w->lane.device;

    if (r->plan->op[op].kernel.kind == EMP_KERNEL_NOTHING) return EMP_OK;
    if (is_on_host(r->plan, op)) {
        run_on_host(w, op);
        return EMP_OK;
    }
    replace_operands(r, op, true, device);
    EMP_CHECK(r->backend->enqueue(r->backend_state, device, op, &r->op[op].call, err));
    if (r->options->is_checked)
        EMP_CHECK(r->backend->drain(r->backend_state, device, err));
    return EMP_OK;
}

static void enqueue_op(emp_worker *w, int32_t op)
{
    emp_replay *r = w->replay;
    emp_error   err = {0};
    int64_t     start = emp_replay_now_ns();

    if (!emp_replay_begin_op(r, op)) return;
    if (launch(w, op, &err) != EMP_OK) {
        emp_replay_fail(r, &err);
        return;
    }
    if (r->is_timed) {
        r->timeline.issue_start_ns[op] = start - r->start_ns;
        r->timeline.issue_end_ns[op] = emp_replay_now_ns() - r->start_ns;
    }
    finish_op(r, op);
}

/* Tasks of ops that have begun come first; a queue has none. */
static void *serve(void *argument)
{
    emp_worker *w = (emp_worker *)argument;
    emp_replay *r = w->replay;
    emp_server *s = &r->server[w->lane.device];

    emp_cpu_flush_denormals();
    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&r->is_over)) {
        if (s->line_first < s->line_end) {
            int32_t op = s->line[s->line_first], part = r->op[op].next_part++;
            if (r->op[op].next_part == r->op[op].parts) s->line_first++;
            pthread_mutex_unlock(&s->lock);
            run_task(w, s, op, part);
            pthread_mutex_lock(&s->lock);
        } else if (s->ready_first < s->ready_end) {
            int32_t op = s->ready[s->ready_first++];
            s->running += !s->is_queue;
            pthread_mutex_unlock(&s->lock);
            if (s->is_queue)
                enqueue_op(w, op);
            else
                begin_op(w, s, op);
            pthread_mutex_lock(&s->lock);
        } else {
            pthread_cond_wait(&s->more, &s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

emp_status emp_replay_start_threads(emp_replay *r, emp_error *err)
{
    for (int32_t i = 0; i < r->worker_count; i++) {
        emp_worker *w = &r->worker[i];
        int         code = pthread_create(&w->thread, NULL, serve, w);
        if (code != 0)
            return EMP_ERROR(EMP_ENOMEM, "no thread for %s: %s",
                             r->plan->device[w->lane.device].name, strerror(code));
        w->is_started = true;
        if (w->core >= 0) EMP_CHECK(emp_cpu_pin(w->thread, &w->core, 1, err));
    }
    return EMP_OK;
}

void emp_replay_stop_threads(emp_replay *r)
{
    emp_replay_fail(r, NULL);
    for (int32_t i = 0; i < r->worker_count; i++) {
        if (r->worker[i].is_started) pthread_join(r->worker[i].thread, NULL);
        r->worker[i].is_started = false;
    }
}

static void reset(emp_replay *r)
{
    const emp_replay_plan *p = r->plan;

    emp_replay_memory_reset(r);
    for (int32_t op = 0; op < p->op_count; op++) {
        atomic_store(&r->op[op].waits, r->op[op].wait_count);
        r->op[op].span_ns = 0;
    }
    for (int32_t d = 0; d < p->device_count; d++) {
        emp_server *s = &r->server[d];
        pthread_mutex_lock(&s->lock);
        s->ready_first = s->ready_end = s->line_first = s->line_end = 0;
        pthread_mutex_unlock(&s->lock);
    }
    for (int32_t i = 0; i < r->worker_count; i++) {
        r->worker[i].busy_ns = 0;
        r->worker[i].lane.count = 0;
    }
    atomic_store(&r->remaining, p->op_count + p->copy_count);
    atomic_fetch_add(&r->step, 1);
}

/* In their order; but an op that a test lets come too early comes before all. */
static void begin_first(emp_replay *r)
{
    int32_t early = r->options->fault.early_op;

    if (early >= 0 && r->op[early].wait_count == 0) make_ready(r, early);
    for (int32_t op = 0; op < r->plan->op_count; op++) {
        if (r->op[op].wait_count == 0 && op != early) make_ready(r, op);
    }
}

static bool is_stopped(const emp_replay *r) { return emp_stop_is_set(r->options->stop); }

/* Until all is done, or something fails, or the user stops it. */
static void wait_for_end(emp_replay *r)
{
    pthread_mutex_lock(&r->lock);
    while (atomic_load(&r->remaining) > 0 && !atomic_load(&r->is_over) &&
           !is_stopped(r)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += STOP_POLL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&r->changed, &r->lock, &until);
    }
    pthread_mutex_unlock(&r->lock);
}

emp_status emp_replay_step(emp_replay *r, emp_error *err)
{
    reset(r);
    r->start_ns = emp_replay_now_ns();
    EMP_CHECK(r->backend->begin_step(r->backend_state, r->start_ns, r->is_timed, err));
    begin_first(r);
    wait_for_end(r);
    if (is_stopped(r)) {
        emp_error why = {0};
        emp_error_set(&why, EMP_EINTERRUPTED, __FILE__, __LINE__, "interrupted");
        emp_replay_fail(r, &why);
    }
    if (atomic_load(&r->is_over)) {
        emp_replay_stop_threads(r);
        pthread_mutex_lock(&r->lock); /* the backend's threads live on */
        emp_error why = r->error;
        pthread_mutex_unlock(&r->lock);
        if (why.status != EMP_OK) return EMP_ERROR(why.status, "%s", why.msg);
        return EMP_OK; /* out of memory */
    }
    EMP_CHECK(r->backend->end_step(r->backend_state, err));
    r->timeline.step_ns = emp_replay_now_ns() - r->start_ns;
    return EMP_OK;
}
