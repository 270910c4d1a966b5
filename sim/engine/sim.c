// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/engine/sim.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/problem/fusion.h"

/* The engine, or a simulator under another rule set. */
struct emp_sim {
    emp_engine    *engine; /**< of the rules `events` */
    emp_rules_sim *ruled;  /**< of others; one of the two is NULL */
};

/* A run numbers the words of ops and of further inputs, items (ops, messages, copies and received copies)
 * with their lists, inputs (EMP_SIM_INPUTS of each op at least), and chunks (two of each variable, workspace,
 * tensor and copy, and of each device). A copy is of an input. */
static emp_status check_counts(const emp_graph *g, emp_error *err)
{
    const int64_t inputs = g->input_offset[g->op_count];
    const int64_t controls = g->control_offset[g->op_count];
    const int64_t most = EMP_SIM_OP_WORDS * ((int64_t)g->op_count + 1) +
                         2 * (int64_t)g->tensor_count + 2 * inputs + controls +
                         ((1 << EMP_SIM_SOURCE_BITS) - 1);

    if (most > INT32_MAX) {
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "a graph of %d ops, %d tensors, %lld inputs and %lld control inputs takes "
            "up to %lld numbers; at most %d",
            g->op_count, g->tensor_count, (long long)inputs, (long long)controls,
            (long long)most, INT32_MAX);
    }
    return EMP_OK;
}

emp_status emp_sim_create(emp_sim **out, const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_sim   *sim = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(problem);
    EMP_TRY(EMP_ALLOC(sim, 1));
    EMP_TRY(check_counts(problem->graph, err));
    if (problem->runtime.rules == EMP_RULES_EVENTS) {
        EMP_TRY(emp_engine_create(&sim->engine, problem, err));
    } else {
        EMP_TRY(emp_rules_sim_create(&sim->ruled, problem, err));
    }
    *out = sim;
    sim = NULL;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

void emp_sim_destroy(emp_sim *sim)
{
    if (sim == NULL) return;
    emp_engine_destroy(sim->engine);
    emp_rules_sim_destroy(sim->ruled);
    emp_free(sim);
}

static emp_status run(emp_sim *sim, const emp_decision *decision,
                      const emp_sim_watch *watch, emp_sim_result *result, emp_error *err)
{
    if (sim->engine != NULL)
        return emp_engine_run(sim->engine, decision, watch, result, err);
    if (decision->level_of_op != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the rules of this runtime order ops by themselves; leave the "
                         "levels out");
    if (decision->leader_of_op != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the rules of this runtime run every op by itself; leave the "
                         "leaders out");
    return emp_rules_sim_run(sim->ruled, decision->device_of_op, watch, result, err);
}

emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                       emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(device_of_op);
    EMP_NEED(result);
    return run(sim, &(emp_decision){.device_of_op = device_of_op}, &(emp_sim_watch){0},
               result, err);
}

emp_status emp_sim_run_decision(emp_sim *sim, const emp_decision *decision,
                                emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(decision);
    EMP_NEED(decision->device_of_op);
    EMP_NEED(result);
    return run(sim, decision, &(emp_sim_watch){0}, result, err);
}

emp_status emp_sim_run_timed(emp_sim *sim, const emp_decision *decision,
                             const emp_sim_times *times, emp_sim_result *result,
                             emp_error *err)
{
    return run(sim, decision, &(emp_sim_watch){.times = times}, result, err);
}

emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err)
{
    return emp_sim_trace_decision(sim, &(emp_decision){.device_of_op = device_of_op},
                                  trace, result, err);
}

emp_status emp_sim_trace_decision(emp_sim *sim, const emp_decision *decision,
                                  const emp_sim_trace *trace, emp_sim_result *result,
                                  emp_error *err)
{
    return run(sim, decision, &(emp_sim_watch){.is_traced = true, .trace = trace}, result,
               err);
}

const emp_plan_buffer *emp_sim_planned(const emp_sim *sim, emp_device_id device)
{
    return sim->engine != NULL && sim->engine->plan != NULL
               ? &sim->engine->plan->buffer[device]
               : NULL;
}

/* A home that is its own root, and a copy, owns a buffer while it is needed. Runs leave
 * instances that the next has not reached yet as they were, hence the reset. */
void emp_sim_live_reset(emp_sim *sim)
{
    emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->first_copy + e->copy_limit; i++)
        e->instance[i].pending = 0;
}

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device)
{
    if (sim->engine == NULL) return emp_rules_sim_memory(sim->ruled, device);
    const emp_sim_memory *m = &sim->engine->device[device].memory;
    return (emp_sim_live_memory){m->used, m->peak, sim->engine->result.oom_device >= 0};
}

void emp_sim_live_each(const emp_sim *sim, emp_device_id device,
                       emp_sim_live_visit *visit, void *context)
{
    const emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->instance_count; i++) {
        const emp_sim_instance *instance = &e->instance[i];
        bool                    is_copy = i >= e->first_copy;
        bool                    is_root = is_copy || instance->root == i;
        if (!is_root || instance->pending == 0 || instance->bytes <= 0 ||
            instance->space != device)
            continue;
        int32_t tensor = is_copy ? e->instance[i].tensor : i;
        visit(context, e->payload[tensor].id, is_copy, instance->bytes);
    }
}

/* ---- teams ---- */

struct emp_sim_team {
    const emp_problem *problem; /* borrowed */
    int32_t            threads;
    emp_sim    **sim; /* [thread] the first; others are NULL until a batch needs them */
    emp_fusion **fusion; /* [thread] NULL until a batch has leaders */
};

emp_status emp_sim_team_create(emp_sim_team **out, const emp_problem *problem,
                               int32_t threads, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_sim_team *team = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(problem);
    if (threads < 1 || threads > EMP_SIM_TEAM_THREADS_MAX)
        return EMP_ERROR(EMP_EINVAL, "%d threads; from 1 to %d can be", threads,
                         EMP_SIM_TEAM_THREADS_MAX);
    EMP_TRY(EMP_ALLOC(team, 1));
    team->problem = problem;
    EMP_TRY(EMP_ALLOC(team->sim, (size_t)threads));
    EMP_TRY(EMP_ALLOC(team->fusion, (size_t)threads));
    team->threads = threads;
    EMP_TRY(emp_sim_create(&team->sim[0], problem, err));
    *out = team;
    team = NULL;

cleanup:
    emp_sim_team_destroy(team);
    return st;
}

/* A batch of few placements needs no more threads than that, nor their simulators. */
static emp_status engage(emp_sim_team *team, int32_t threads, emp_error *err)
{
    for (int32_t i = 0; i < threads; i++)
        if (team->sim[i] == NULL)
            EMP_CHECK(emp_sim_create(&team->sim[i], team->problem, err));
    return EMP_OK;
}

static void keep_least(_Atomic int32_t *least, int32_t value)
{
    int32_t before = atomic_load(least);

    while (value < before && !atomic_compare_exchange_weak(least, &before, value))
        continue;
}

static emp_status learn_to_fuse(emp_sim_team *team, emp_error *err)
{
    for (int32_t i = 0; i < team->threads; i++)
        if (team->fusion[i] == NULL)
            EMP_CHECK(emp_fusion_create(&team->fusion[i], team->problem, err));
    return EMP_OK;
}

/* By the thread's own means. */
static void legalize(emp_sim_team *team, const emp_owned_decision *d, int32_t thread)
{
    emp_problem_legalize(team->problem, d->device_of_op);
    if (d->leader_of_op != NULL)
        emp_fusion_legalize(team->fusion[thread], d->device_of_op, d->leader_of_op);
}

static emp_status run_one(emp_sim *sim, const emp_sim_team_batch *batch, int32_t i,
                          emp_sim_result *result, emp_error *err)
{
    const emp_decision decision = emp_decision_view(&batch->decision[i]);

    if (batch->times == NULL) return emp_sim_run_decision(sim, &decision, result, err);
    return emp_sim_run_timed(sim, &decision, &batch->times[i], result, err);
}

/* A batch under way. */
typedef struct {
    emp_sim_team             *team;
    const emp_sim_team_batch *batch;
    int32_t                   count, threads;
    emp_sim_result *const    *results;
    _Atomic int32_t           failed; /* the first placement that did; count: none */
    atomic_bool               is_cut;
} batch_run;

static void run_all(batch_run *run)
{
    emp_sim_team             *team = run->team;
    const emp_sim_team_batch *batch = run->batch;

#pragma omp parallel for schedule(dynamic, 1) num_threads(run->threads)
    for (int32_t i = 0; i < run->count; i++) {
        const int32_t thread = omp_get_thread_num();
        if (emp_stop_is_set(batch->stop)) {
            atomic_store(&run->is_cut, true);
            continue;
        }
        legalize(team, &batch->decision[i], thread);
        if (run_one(team->sim[thread], batch, i, run->results[i], NULL) != EMP_OK)
            keep_least(&run->failed, i);
    }
}

static void *run_all_apart(void *run)
{
    run_all(run);
    return NULL;
}

/* The process that has loaded the library. */
static pid_t home;

__attribute__((constructor)) static void note_home(void) { home = getpid(); }

/* OpenMP keeps the threads of a parallel region for the next one that the same thread begins. A fork has
 * none of them, and GCC's library would wait for them for ever. So a thread of its own begins the region
 * there: it has no threads yet. */
static emp_status run_anywhere(batch_run *run, emp_error *err)
{
    pthread_t thread;

    if (run->threads == 1 || getpid() == home) {
        run_all(run);
        return EMP_OK;
    }
    const int cause = pthread_create(&thread, NULL, run_all_apart, run);
    if (cause != 0)
        return EMP_ERROR(EMP_EEXTERNAL, "a forked process gets no thread for a team: %s",
                         strerror(cause));
    pthread_join(thread, NULL);
    return EMP_OK;
}

emp_status emp_sim_team_run_batch(emp_sim_team *team, const emp_sim_team_batch *batch,
                                  int32_t count, emp_sim_result *const *results,
                                  emp_error *err)
{
    const int32_t threads = count < team->threads ? count : team->threads;
    batch_run     run = {team, batch, count, threads, results, count, false};

    if (count == 0) return EMP_OK;
    EMP_CHECK(engage(team, threads, err));

    if (batch->decision[0].leader_of_op != NULL) EMP_CHECK(learn_to_fuse(team, err));
    EMP_CHECK(run_anywhere(&run, err));
    const int32_t first = atomic_load(&run.failed);
    if (first == count) return atomic_load(&run.is_cut) ? EMP_EINTERRUPTED : EMP_OK;
    return run_one(team->sim[0], batch, first, results[first], err); /* says why */
}

emp_status emp_sim_team_run(emp_sim_team *team, emp_device_id *const *device_of_op,
                            int32_t count, emp_sim_result *const *results, emp_error *err)
{
    EMP_NEED(team);
    EMP_NEED(device_of_op);
    EMP_NEED(results);
    if (count < 0) return EMP_ERROR(EMP_EINVAL, "%d placements", count);
    emp_owned_decision *decision = NULL;
    EMP_CHECK(EMP_ALLOC(decision, (size_t)count));
    for (int32_t i = 0; i < count; i++) decision[i].device_of_op = device_of_op[i];
    const emp_status st = emp_sim_team_run_batch(
        team, &(emp_sim_team_batch){.decision = decision}, count, results, err);
    emp_free(decision);
    return st;
}

emp_sim *emp_sim_team_first(emp_sim_team *team) { return team->sim[0]; }

void emp_sim_team_destroy(emp_sim_team *team)
{
    if (team == NULL) return;
    for (int32_t i = 0; i < team->threads; i++) emp_sim_destroy(team->sim[i]);
    for (int32_t i = 0; team->fusion != NULL && i < team->threads; i++)
        emp_fusion_destroy(team->fusion[i]);
    emp_free(team->sim);
    emp_free(team->fusion);
    emp_free(team);
}
