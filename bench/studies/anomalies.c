// SPDX-License-Identifier: GPL-3.0-or-later
/* A copy of the problem in which one kind of cost is shorter, and the step times of both. */
#include "bench/studies/anomalies.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/trials/trials.h"

enum {
    FASTER_OPS_PERCENT = 10,
    FASTER_OP_PERCENT = 20,
    FASTER_GPU_PERCENT = 10,
    MOVED_CLASSES_PERCENT = 1
};

/* Random streams of a seed. */
enum { STREAM_SHORTEN, STREAM_RANDOM, STREAM_EXPERT };

static const struct {
    const char *name, *text;
    bool        is_drawn; /* anew for each placement */
} shortenings[EMP_SHORTENINGS] = {
    [EMP_SHORTEN_OPS] = {"ops", "10 % of the ops, by 20 %", true},
    [EMP_SHORTEN_GPU] = {"gpu", "kernels of one GPU, by 10 %", true},
    [EMP_SHORTEN_ISSUE] = {"issue", "no issue of kernel-less ops", false},
    [EMP_SHORTEN_SEND] = {"send", "no send", false},
    [EMP_SHORTEN_RECEIVE] = {"receive", "no receive", false},
    [EMP_SHORTEN_POLL] = {"poll", "no poll", false},
    [EMP_SHORTEN_LATENCY] = {"latency", "no latency of routes", false},
};

const char *emp_shortening_name(emp_shortening kind) { return shortenings[kind].name; }

const char *emp_shortening_text(emp_shortening kind) { return shortenings[kind].text; }

/* ---- the shorter problem ---- */

static bool chance(emp_rng *rng, uint32_t percent)
{
    return emp_rng_below(rng, 100) < percent;
}

static emp_time_ns less(emp_time_ns time_ns, int percent)
{
    return time_ns - time_ns / 100 * percent - time_ns % 100 * percent / 100;
}

static void shorten_ops(emp_cost_table *c, emp_rng *rng)
{
    for (emp_op_id op = 0; op < c->op_count; op++) {
        if (!chance(rng, FASTER_OPS_PERCENT)) continue;
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_GPU]; i++) {
            emp_time_ns *ns = &c->gpu[i * c->op_count + op].compute_ns;
            *ns = less(*ns, FASTER_OP_PERCENT);
        }
        if (c->gpu_beside_ns != NULL)
            c->gpu_beside_ns[op] = less(c->gpu_beside_ns[op], FASTER_OP_PERCENT);
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_CPU]; i++) {
            int32_t row = i * c->op_count + op;
            c->cpu[row].compute_ns = less(c->cpu[row].compute_ns, FASTER_OP_PERCENT);
            for (int32_t p = c->cpu_offset[row]; p < c->cpu_offset[row + 1]; p++)
                c->task_ns[p] = less(c->task_ns[p], FASTER_OP_PERCENT);
        }
    }
}

/* The table has one time for all GPUs of a model; this placement looks up only the time on the
 * op's own device. */
static void shorten_gpu(emp_problem_variant *v, const emp_device_id *device_of_op,
                        emp_rng *rng)
{
    emp_device_id gpu[EMP_MAX_DEVICES];
    int32_t       count = emp_machine_list(v->machine, EMP_DEVICE_GPU, gpu);
    emp_device_id faster = gpu[emp_rng_below(rng, (uint32_t)count)];

    for (emp_op_id op = 0; op < v->costs.op_count; op++) {
        emp_time_ns *compute_ns =
            &v->costs.gpu[emp_cost_row(&v->costs, faster, op)].compute_ns;
        emp_time_ns *beside_ns = v->costs.gpu_beside_ns;
        if (device_of_op[op] != faster) continue;
        *compute_ns = less(*compute_ns, FASTER_GPU_PERCENT);
        if (beside_ns != NULL) beside_ns[op] = less(beside_ns[op], FASTER_GPU_PERCENT);
    }
}

static void drop_issue(emp_problem_variant *v)
{
    for (emp_op_id op = 0; op < v->costs.op_count; op++) {
        if (v->problem.graph->op[op].cost->kernels > 0) continue;
        for (int32_t i = 0; i < v->costs.column_count[EMP_DEVICE_GPU]; i++)
            v->costs.gpu[i * v->costs.op_count + op].issue_ns = 0;
    }
}

static void shorten(emp_problem_variant *v, emp_shortening kind,
                    const emp_device_id *device_of_op, emp_rng *rng)
{
    emp_problem_variant_restore(v);
    switch (kind) {
    case EMP_SHORTEN_OPS: shorten_ops(&v->costs, rng); break;
    case EMP_SHORTEN_GPU: shorten_gpu(v, device_of_op, rng); break;
    case EMP_SHORTEN_ISSUE: drop_issue(v); break;
    case EMP_SHORTEN_SEND: v->problem.runtime.events.send_s = 0; break;
    case EMP_SHORTEN_RECEIVE: v->problem.runtime.events.receive_s = 0; break;
    case EMP_SHORTEN_POLL: v->problem.runtime.events.poll_s = 0; break;
    case EMP_SHORTEN_LATENCY:
        emp_problem_scale_latencies(&v->problem, v->machine, 0.0);
        break;
    case EMP_SHORTENINGS: break;
    }
}

static bool has_issue(const emp_problem *p)
{
    if (!p->runtime.events.serial_issue ||
        emp_machine_count(p->machine, EMP_DEVICE_GPU) == 0)
        return false;
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const emp_op *o = &p->graph->op[op];
        if (!o->is_folded && o->cost->kernels == 0 && p->costs->gpu[op].issue_ns > 0)
            return true;
    }
    return false;
}

static bool has_latency(const emp_problem *p)
{
    const emp_machine *m = p->machine;

    for (int32_t from = 0; from < m->device_count; from++) {
        for (int32_t to = 0; to < m->device_count; to++)
            if (from != to &&
                m->route[from][to].latency_s > emp_problem_hop_s(p, from, to))
                return true;
    }
    return false;
}

static bool is_there(const emp_problem *p, emp_shortening kind)
{
    switch (kind) {
    case EMP_SHORTEN_GPU: return emp_machine_count(p->machine, EMP_DEVICE_GPU) > 0;
    case EMP_SHORTEN_ISSUE: return has_issue(p);
    case EMP_SHORTEN_SEND: return p->runtime.events.send_s > 0;
    case EMP_SHORTEN_RECEIVE: return p->runtime.events.receive_s > 0;
    case EMP_SHORTEN_POLL: return p->runtime.events.poll_s > 0;
    case EMP_SHORTEN_LATENCY: return has_latency(p);
    case EMP_SHORTEN_OPS:
    case EMP_SHORTENINGS: break;
    }
    return true;
}

/* ---- measuring ---- */

typedef struct {
    const emp_anomalies_params *params;
    const emp_problem          *problem;
    emp_device_id *const       *placements;
    int32_t                     count;
    emp_time_ns                *before_ns; /* [count] */
    double                     *growth;    /* [count] of those that took longer */
    double                     *change;    /* [count] */
    int64_t                     runs_done, run_count;
} stand;

static emp_status run(stand *s, emp_sim *sim, int32_t number, emp_time_ns *step_ns,
                      emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(emp_sim_run(sim, s->placements[number], &result, err));
    *step_ns = result.step_time_ns;
    s->runs_done++;
    if (s->params->on_progress != NULL) {
        s->params->on_progress(s->params->context,
                               (double)s->runs_done / (double)s->run_count);
    }
    return EMP_OK;
}

static emp_status run_originals(stand *s, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_sim   *sim = NULL;

    EMP_TRY(emp_sim_create(&sim, s->problem, err));
    for (int32_t i = 0; i < s->count; i++) EMP_TRY(run(s, sim, i, &s->before_ns[i], err));
cleanup:
    emp_sim_destroy(sim);
    return st;
}

static emp_status measure(stand *s, emp_problem_variant *v, emp_shortening kind,
                          emp_anomaly_count *c, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_sim   *sim = NULL;

    *c = (emp_anomaly_count){.is_there = true, .cases = s->count};
    for (int32_t i = 0; i < s->count; i++) {
        emp_time_ns after_ns;
        emp_rng     rng;
        if (i == 0 || shortenings[kind].is_drawn) {
            emp_rng_init(&rng, s->params->seed, STREAM_SHORTEN,
                         (uint32_t)i * EMP_SHORTENINGS + (uint32_t)kind);
            shorten(v, kind, s->placements[i], &rng);
            emp_sim_destroy(sim);
            EMP_TRY(emp_sim_create(&sim, &v->problem, err));
        }
        EMP_TRY(run(s, sim, i, &after_ns, err));
        s->change[i] =
            s->before_ns[i] > 0 ? (double)after_ns / (double)s->before_ns[i] - 1.0 : 0.0;
        if (after_ns > s->before_ns[i]) s->growth[c->longer++] = s->change[i];
        c->shorter += after_ns < s->before_ns[i];
    }
    c->median_change = emp_summary_of(s->change, (size_t)s->count).median;
    if (c->longer > 0) {
        emp_summary growth = emp_summary_of(s->growth, (size_t)c->longer);
        c->median_growth = growth.median;
        c->worst_growth = growth.max;
    }
cleanup:
    emp_sim_destroy(sim);
    return st;
}

emp_status emp_anomalies_measure(emp_anomaly_count     counts[EMP_SHORTENINGS],
                                 const emp_problem    *problem,
                                 emp_device_id *const *placements, int32_t count,
                                 const emp_anomalies_params *params, emp_error *err)
{
    emp_status          st = EMP_OK;
    stand               s = {.params = params,
                             .problem = problem,
                             .placements = placements,
                             .count = count,
                             .run_count = count};
    emp_problem_variant v = {0};

    if (count < 1) EMP_FAIL(EMP_EINVAL, "%d placements; at least 1 is needed", count);
    if (problem->runtime.rules != EMP_RULES_EVENTS) {
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "%s has other rules; what can be shortened are costs of the "
                 "rules \"events\"",
                 problem->runtime.name);
    }
    EMP_TRY(EMP_ALLOC(s.before_ns, (size_t)count));
    EMP_TRY(EMP_ALLOC(s.growth, (size_t)count));
    EMP_TRY(EMP_ALLOC(s.change, (size_t)count));
    for (int k = 0; k < EMP_SHORTENINGS; k++)
        if (is_there(problem, (emp_shortening)k)) s.run_count += count;
    EMP_TRY(emp_problem_variant_init(&v, problem, err));
    EMP_TRY(run_originals(&s, err));
    for (int k = 0; k < EMP_SHORTENINGS; k++) {
        counts[k] = (emp_anomaly_count){0};
        if (!is_there(problem, (emp_shortening)k)) continue;
        EMP_TRY(measure(&s, &v, (emp_shortening)k, &counts[k], err));
    }

cleanup:
    emp_problem_variant_clear(&v);
    emp_free(s.before_ns);
    emp_free(s.growth);
    emp_free(s.change);
    return st;
}

/* ---- placements ---- */

const char *emp_anomalies_family_name(emp_anomalies_family family)
{
    return family == EMP_ANOMALIES_RANDOM ? "random" : "expert";
}

emp_status emp_anomalies_place(const emp_problem *problem, emp_anomalies_family family,
                               uint64_t seed, int32_t number, emp_device_id *device_of_op,
                               emp_error *err)
{
    const emp_graph *g = problem->graph;
    const bool       is_random = family == EMP_ANOMALIES_RANDOM;
    const uint32_t   moved_percent = is_random     ? 100
                                     : number == 0 ? 0
                                                   : MOVED_CLASSES_PERCENT;
    emp_rng          rng;

    emp_rng_init(&rng, seed, is_random ? STREAM_RANDOM : STREAM_EXPERT, (uint32_t)number);
    if (is_random)
        memset(device_of_op, 0, (size_t)g->op_count * sizeof *device_of_op);
    else
        EMP_CHECK(emp_trials_propose(problem, "expert", NULL, 0, device_of_op, err));
    for (int32_t c = 0; c < g->class_count; c++) {
        emp_op_id leader = problem->leader_of_class[c]; /* the class will follow it */
        if (!chance(&rng, moved_percent)) continue;
        device_of_op[leader] =
            (emp_device_id)emp_rng_below(&rng, (uint32_t)problem->machine->device_count);
    }
    emp_problem_legalize(problem, device_of_op);
    return EMP_OK;
}
