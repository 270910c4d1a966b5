// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/execute.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "replay/cpu/cores.h"
#include "replay/cpu/gemm.h"
#include "replay/cpu/kernels.h"
#include "replay/execute_internal.h"

static int32_t place_count(const emp_replay_plan *p)
{
    return p->tensor_count + p->copy_count;
}

static emp_status allocate_ops(emp_replay *r, emp_error *err)
{
    const emp_replay_plan *p = r->plan;
    size_t                 ops = (size_t)p->op_count, places = (size_t)place_count(p);
    emp_replay_timeline   *t = &r->timeline;

    r->place = EMP_ADD_ARRAY(&r->arrays, emp_tensor_place, places);
    r->op = EMP_ADD_ARRAY(&r->arrays, emp_op_state, ops);
    r->input_operand = EMP_ADD_ARRAY(&r->arrays, emp_operand, (size_t)p->input_count);
    r->output_operand = EMP_ADD_ARRAY(&r->arrays, emp_operand, (size_t)p->tensor_count);
    r->reader_offset = EMP_ADD_ARRAY(&r->arrays, int32_t, places + 1);
    r->reader = EMP_ADD_ARRAY(&r->arrays, int32_t, (size_t)p->input_count);
    r->follower_offset = EMP_ADD_ARRAY(&r->arrays, int32_t, ops + 1);
    r->follower = EMP_ADD_ARRAY(&r->arrays, int32_t, (size_t)p->control_count);
    t->times.op_start_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, ops);
    t->times.op_end_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, ops);
    t->times.copy_start_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, (size_t)p->copy_count);
    t->times.copy_end_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, (size_t)p->copy_count);
    t->issue_start_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, ops);
    t->issue_end_ns = EMP_ADD_ARRAY(&r->arrays, int64_t, ops);
    if (r->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "executor of %d ops", p->op_count);
    return EMP_OK;
}

static bool is_early(const emp_replay *r, int32_t op, int32_t input)
{
    const emp_replay_fault *fault = &r->options->fault;

    return op == fault->early_op &&
           r->plan->input[r->plan->input_offset[op] + fault->early_input].place ==
               r->plan->input[input].place;
}

/* Who reads what: rows are counted, turned into ends, and filled from their ends. */
static void connect(emp_replay *r)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t i = 0; i < p->input_count; i++) {
        if (p->input[i].place >= 0) r->reader_offset[p->input[i].place]++;
    }
    for (int32_t i = 0; i < p->control_count; i++) r->follower_offset[p->control[i]]++;
    for (int32_t i = 1; i <= place_count(p); i++)
        r->reader_offset[i] += r->reader_offset[i - 1];
    for (int32_t i = 1; i <= p->op_count; i++)
        r->follower_offset[i] += r->follower_offset[i - 1];
    for (int32_t op = p->op_count - 1; op >= 0; op--) {
        emp_op_state *o = &r->op[op];
        o->workspace_part = o->persistent_part = -1;
        for (int32_t i = p->input_offset[op + 1] - 1; i >= p->input_offset[op]; i--) {
            if (p->input[i].place < 0) continue;
            r->reader[--r->reader_offset[p->input[i].place]] = op;
            if (!is_early(r, op, i)) o->wait_count++;
        }
        for (int32_t i = p->control_offset[op + 1] - 1; i >= p->control_offset[op]; i--) {
            r->follower[--r->follower_offset[p->control[i]]] = op;
            o->wait_count++;
        }
    }
}

static void describe_places(emp_replay *r)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t i = 0; i < place_count(p); i++) {
        emp_tensor_place *at = &r->place[i];
        bool              is_copy = i >= p->tensor_count;
        at->memory = emp_replay_memory_of_place(p, i);
        at->bytes =
            is_copy ? p->copy[i - p->tensor_count].bytes : p->tensor[i].buffer_bytes;
        at->users = r->reader_offset[i + 1] - r->reader_offset[i];
        if (!is_copy) at->users += p->copy_offset[i + 1] - p->copy_offset[i];
        if (at->users == 0) at->users = 1; /* its op, until it is done */
    }
}

/* The first op of each kernel that is compared with a reference. O(V) expected. */
static emp_status choose_samples(emp_replay *r, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_replay_plan *p = r->plan;
    size_t                 room = 2 * (size_t)p->op_count + 1;
    uint64_t              *seen = EMP_NEW_ARRAY(uint64_t, room);

    if (seen == NULL) EMP_FAIL(EMP_ENOMEM, "samples of %d ops", p->op_count);
    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_kernel *k = &p->op[op].kernel;
        uint64_t          hash = emp_hash_bytes(EMP_HASH_SEED, k->size, sizeof k->size);
        hash = emp_hash_u64(hash, (uint64_t)k->kind << 32 | (uint32_t)k->variant) | 1u;
        size_t at = hash % room;
        while (seen[at] != 0 && seen[at] != hash) at = (at + 1) % room;
        r->op[op].is_sample = seen[at] == 0;
        seen[at] = hash;
    }
cleanup:
    emp_free(seen);
    return st;
}

static emp_status create_servers(emp_replay *r, emp_error *err)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t d = 0; d < p->device_count; d++) {
        size_t      ops = 0;
        emp_server *s = &r->server[d];
        for (int32_t op = 0; op < p->op_count; op++) ops += p->op[op].device == d;
        s->ready = EMP_NEW_ARRAY(int32_t, ops);
        s->line = EMP_NEW_ARRAY(int32_t, ops);
        if (!s->ready || !s->line)
            return EMP_ERROR(EMP_ENOMEM, "queue of %s", p->device[d].name);
    }
    return EMP_OK;
}

/* A worker for each core of each device, one for each queue device. */
static emp_status create_workers(emp_replay *r, emp_error *err)
{
    const emp_replay_plan *p = r->plan;
    bool                   is_wanted[EMP_REPLAY_MAX_DEVICES];
    emp_cpu_cores          cores;

    for (int32_t d = 0; d < p->device_count; d++) {
        r->server[d].is_queue = r->backend->is_queue(r->backend_state, d);
        is_wanted[d] = !r->server[d].is_queue;
    }
    EMP_CHECK(emp_cpu_cores_choose(&cores, p, r->options, is_wanted, err));
    for (int32_t d = 0; d < p->device_count; d++) {
        r->server[d].core_count = is_wanted[d] ? cores.count[d] : 1;
        r->timeline.is_queue[d] = r->server[d].is_queue;
        r->worker_count += r->server[d].core_count;
    }
    EMP_CHECK(emp_gemm_init(err));
    r->worker = EMP_NEW_ARRAY(emp_worker, (size_t)r->worker_count);
    r->timeline.lane = EMP_NEW_ARRAY(emp_replay_lane, (size_t)r->worker_count);
    if (!r->worker || !r->timeline.lane)
        return EMP_ERROR(EMP_ENOMEM, "%d threads", r->worker_count);
    int32_t at = 0;
    for (int32_t d = 0; d < p->device_count; d++) {
        for (int32_t c = 0; c < r->server[d].core_count; c++) {
            emp_worker *w = &r->worker[at++];
            w->replay = r;
            w->lane = (emp_replay_lane){.device = d, .core = c};
            w->core = is_wanted[d] ? cores.core[d][c] : -1;
            w->scratch = EMP_NEW_ARRAY(float, EMP_CPU_SCRATCH_BYTES / sizeof(float));
            if (w->scratch == NULL) return EMP_ERROR(EMP_ENOMEM, "memory of a thread");
        }
    }
    return EMP_OK;
}

static void init_locks(emp_replay *r)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->verify_lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        pthread_mutex_init(&r->memory[d].lock, NULL);
        pthread_mutex_init(&r->server[d].lock, NULL);
        pthread_cond_init(&r->server[d].more, NULL);
    }
}

static emp_status check_fault(const emp_replay *r, emp_error *err)
{
    const emp_replay_fault *f = &r->options->fault;
    const emp_replay_plan  *p = r->plan;

    if (f->early_op < 0 && f->lost_tensor < 0) return EMP_OK;
    if (!r->options->is_checked)
        return EMP_ERROR(EMP_EINVAL, "a fault is for checked runs, which see it");
    if (f->lost_tensor >= p->tensor_count || f->early_op >= p->op_count ||
        (f->early_op >= 0 && f->early_input >= p->input_offset[f->early_op + 1] -
                                                   p->input_offset[f->early_op]))
        return EMP_ERROR(EMP_EINVAL, "a fault is of no op of the plan");
    return EMP_OK;
}

emp_status emp_replay_create(emp_replay **out, const emp_replay_plan *plan,
                             const emp_replay_backend *backend,
                             const emp_replay_options *options, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_replay *r = EMP_NEW(emp_replay);

    *out = NULL;
    if (r == NULL) EMP_FAIL(EMP_ENOMEM, "executor of %d ops", plan->op_count);
    r->plan = plan;
    r->backend = backend;
    r->options = options;
    r->hooks = (emp_replay_hooks){r, emp_replay_copied, emp_replay_failed};
    r->budget_bytes = options->host_bytes > 0 ? options->host_bytes
                                              : emp_cpu_available_bytes() / 10 * 9;
    init_locks(r);
    EMP_TRY(check_fault(r, err));
    EMP_TRY(allocate_ops(r, err));
    connect(r);
    describe_places(r);
    EMP_TRY(choose_samples(r, err));
    EMP_TRY(create_servers(r, err));
    EMP_TRY(backend->open(&r->backend_state, plan, options, &r->hooks, err));
    EMP_TRY(create_workers(r, err));
    EMP_TRY(emp_replay_memory_create(r, err));
    *out = r;
    r = NULL;

cleanup:
    emp_replay_destroy(r);
    return st;
}

void emp_replay_destroy(emp_replay *r)
{
    if (r == NULL) return;
    if (r->worker != NULL) emp_replay_stop_threads(r);
    if (r->backend_state != NULL) r->backend->close(r->backend_state);
    for (int32_t i = 0; r->worker != NULL && i < r->worker_count; i++) {
        emp_free(r->worker[i].scratch);
        emp_free(r->worker[i].lane.slice);
    }
    emp_replay_memory_destroy(r);
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        emp_free(r->server[d].ready);
        emp_free(r->server[d].line);
        pthread_mutex_destroy(&r->memory[d].lock);
        pthread_mutex_destroy(&r->server[d].lock);
        pthread_cond_destroy(&r->server[d].more);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->verify_lock);
    pthread_cond_destroy(&r->changed);
    emp_free(r->worker);
    emp_arrays_clear(&r->arrays);
    emp_free(r->timeline.lane);
    emp_free(r);
}

static void describe_run(const emp_replay *r, emp_replay_result *to)
{
    const emp_replay_plan *p = r->plan;

    to->origin = p->origin;
    to->plan_hash = emp_replay_plan_hash(p);
    snprintf(to->backend, sizeof to->backend, "%s", r->backend->name);
    snprintf(to->products, sizeof to->products, "%s", emp_gemm_name());
    to->device_count = p->device_count;
    to->warmup = r->options->warmup;
    to->transfer_count = p->copy_count;
    for (int32_t c = 0; c < p->copy_count; c++) to->traffic_bytes += p->copy[c].bytes;
    for (int32_t d = 0; d < p->device_count; d++) {
        emp_replay_device_result *v = &to->device[d];
        memcpy(v->name, p->device[d].name, sizeof v->name);
        r->backend->describe(r->backend_state, d, v->runs_on, sizeof v->runs_on);
    }
}

static void describe_memory(emp_replay *r, emp_replay_result *to)
{
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        emp_memory *m = &r->memory[d];
        pthread_mutex_lock(&m->lock); /* copies may yet arrive after a step that failed */
        to->device[d].peak_bytes = emp_pool_peak(m->pool);
        to->device[d].reach_bytes = emp_pool_reach(m->pool);
        pthread_mutex_unlock(&m->lock);
        to->device[d].memory_bytes = m->capacity_bytes;
    }
    if (!r->is_out_of_memory) return;
    to->is_feasible = false;
    to->oom_device = r->oom_memory;
    to->oom_bytes = r->oom_bytes;
    to->oom_in_use = r->oom_in_use;
    snprintf(to->oom_op, sizeof to->oom_op, "%.255s", r->plan->op[r->oom_op].name);
}

/* Durations of ops and copies, and how busy devices were, of one step. */
struct samples {
    float  *op, *copy; /* [step * count + i] */
    double  busy_s[EMP_REPLAY_MAX_DEVICES];
    int32_t count; /* steps */
};

static void take_sample(emp_replay *r, struct samples *to)
{
    const emp_replay_plan  *p = r->plan;
    const emp_replay_times *t = &r->timeline.times;
    size_t                  step = (size_t)to->count++;

    for (int32_t op = 0; op < p->op_count; op++) {
        int64_t ns = r->server[p->op[op].device].is_queue
                         ? t->op_end_ns[op] - t->op_start_ns[op]
                         : r->op[op].span_ns;
        to->op[step * (size_t)p->op_count + (size_t)op] = (float)((double)ns * 1e-9);
        if (r->server[p->op[op].device].is_queue)
            to->busy_s[p->op[op].device] += (double)ns * 1e-9;
    }
    for (int32_t c = 0; c < p->copy_count; c++)
        to->copy[step * (size_t)p->copy_count + (size_t)c] =
            (float)((double)(t->copy_end_ns[c] - t->copy_start_ns[c]) * 1e-9);
    for (int32_t i = 0; i < r->worker_count; i++) {
        const emp_worker *w = &r->worker[i];
        const emp_server *s = &r->server[w->lane.device];
        if (!s->is_queue)
            to->busy_s[w->lane.device] += (double)w->busy_ns * 1e-9 / s->core_count;
    }
}

static emp_status take_medians(float *to, const float *samples, int32_t count,
                               int32_t steps, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *values = EMP_NEW_ARRAY(double, (size_t)steps + 1);

    if (values == NULL) EMP_FAIL(EMP_ENOMEM, "%d steps", steps);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t s = 0; s < steps; s++)
            values[s] = (double)samples[(size_t)s * (size_t)count + (size_t)i];
        to[i] = steps > 0 ? (float)emp_replay_quantile(values, steps, 0.5) : -1.0f;
    }
cleanup:
    emp_free(values);
    return st;
}

static bool has_queues(const emp_replay *r)
{
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        if (r->server[d].is_queue) return true;
    }
    return false;
}

static void tell_progress(const emp_replay *r, int32_t done)
{
    const emp_replay_options *o = r->options;

    if (o->progress != NULL)
        o->progress(o->progress_context, done,
                    o->warmup + o->steps + (o->is_timed || has_queues(r)));
}

/* One step, and where it fails the reason; false: memory does not suffice. */
static emp_status run_step(emp_replay *r, int64_t *step_ns, bool *is_done, emp_error *err)
{
    *is_done = false;
    if (r->is_out_of_memory) return EMP_OK;
    EMP_CHECK(emp_replay_step(r, err));
    if (r->is_out_of_memory) return EMP_OK;
    EMP_CHECK(r->backend->times(r->backend_state, &r->timeline.times, err));
    *step_ns = r->timeline.step_ns;
    *is_done = true;
    return EMP_OK;
}

/* A further step in which everything is logged. */
static emp_status run_timed(emp_replay *r, emp_error *err)
{
    emp_replay_timeline *t = &r->timeline;
    int64_t              step_ns;
    bool                 is_done;

    memset(t->issue_end_ns, 0, (size_t)r->plan->op_count * sizeof *t->issue_end_ns);
    r->is_timed = true;
    EMP_CHECK(run_step(r, &step_ns, &is_done, err));
    r->is_timed = false;
    t->lane_count = r->worker_count;
    for (int32_t i = 0; i < r->worker_count; i++) t->lane[i] = r->worker[i].lane;
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        pthread_mutex_lock(&r->memory[d].lock);
        t->levels[d] = r->memory[d].levels;
        pthread_mutex_unlock(&r->memory[d].lock);
    }
    return EMP_OK;
}

static emp_status run_steps(emp_replay *r, emp_replay_result *result,
                            struct samples *samples, emp_error *err)
{
    const emp_replay_options *o = r->options;
    int64_t                   step_ns = 0;
    bool                      is_done = true;

    for (int32_t i = 0; i < o->warmup + o->steps && is_done; i++) {
        tell_progress(r, i);
        EMP_CHECK(run_step(r, &step_ns, &is_done, err));
        if (!is_done || i < o->warmup) continue;
        result->step_s[result->step_count++] = (double)step_ns * 1e-9;
        if (!has_queues(r)) take_sample(r, samples);
    }
    if (is_done && (o->is_timed || has_queues(r))) {
        tell_progress(r, o->warmup + o->steps);
        EMP_CHECK(run_timed(r, err));
        if (has_queues(r)) take_sample(r, samples);
    }
    return EMP_OK;
}

static emp_status fill_result(emp_replay *r, emp_replay_result *result,
                              const struct samples *samples, emp_error *err)
{
    const emp_replay_plan *p = r->plan;

    describe_run(r, result);
    describe_memory(r, result);
    if (!result->is_feasible) result->step_count = 0; /* a later step asked for more */
    const int32_t sample_count = result->is_feasible ? samples->count : 0;
    EMP_CHECK(emp_replay_result_summarize(result, err));
    EMP_CHECK(take_medians(result->op_s, samples->op, p->op_count, sample_count, err));
    EMP_CHECK(
        take_medians(result->copy_s, samples->copy, p->copy_count, sample_count, err));
    for (int32_t d = 0; d < p->device_count && sample_count > 0; d++)
        result->device[d].busy_s = samples->busy_s[d] / sample_count;
    result->keeps_rates = r->options->keeps_rates;
    result->is_checked = r->options->is_checked;
    result->checked_reads = (int64_t)atomic_load(&r->checked_reads);
    result->verified_ops = r->verified_ops;
    result->verified_error = r->verified_error;
    return EMP_OK;
}

emp_status emp_replay_run(emp_replay *r, emp_replay_result *result, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_replay_plan *p = r->plan;
    struct samples         samples = {0};
    size_t                 steps = (size_t)r->options->steps + 1;

    EMP_TRY(emp_replay_result_init(result, r->options->steps, p->op_count, p->copy_count,
                                   err));
    samples.op = EMP_NEW_ARRAY(float, steps *(size_t)p->op_count);
    samples.copy = EMP_NEW_ARRAY(float, steps *(size_t)p->copy_count);
    if (!samples.op || !samples.copy)
        EMP_FAIL(EMP_ENOMEM, "times of %d steps", r->options->steps);
    if (!r->is_out_of_memory) {
        EMP_TRY(emp_replay_start_threads(r, err));
        EMP_TRY(run_steps(r, result, &samples, err));
    }
    EMP_TRY(fill_result(r, result, &samples, err));

cleanup:
    if (st != EMP_OK) emp_replay_result_clear(result);
    emp_free(samples.op);
    emp_free(samples.copy);
    return st;
}

const emp_replay_timeline *emp_replay_get_timeline(const emp_replay *r)
{
    return &r->timeline;
}
