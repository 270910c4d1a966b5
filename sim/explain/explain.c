// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/explain.h"

#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "sim/explain/explain_internal.h"

/* \retval EMP_EUNSUPPORTED  The readiness or the end of an op was not reported: the
 * rules are not events. */
static emp_status explain_check_complete(const emp_explain_schedule *s, emp_error *err)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        if (s->op[op].ready_ns < 0 || emp_explain_told_ns(s, op) < 0)
            EMP_CHECK(emp_explain_refuse(s->problem, err));
    }
    return EMP_OK;
}

emp_op_id emp_explain_find_fused(const emp_problem *problem, const emp_decision *decision)
{
    const int32_t ops = decision->leader_of_op == NULL ? 0 : problem->graph->op_count;

    for (emp_op_id op = 0; op < ops; op++)
        if (decision->leader_of_op[op] != op) return op;
    return -1;
}

/* Refuses what is not explained: other rules than events, and fused ops. */
static emp_status check_rules(const emp_problem *problem, const emp_decision *decision,
                              emp_error *err)
{
    if (problem->runtime.rules != EMP_RULES_EVENTS)
        EMP_CHECK(emp_explain_refuse(problem, err));
    const emp_op_id op = emp_explain_find_fused(problem, decision);
    if (op < 0) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "op %s is fused into %s, and a step with fused ops is not "
                     "explained; take a placement without leaders",
                     problem->graph->name[op],
                     problem->graph->name[decision->leader_of_op[op]]);
}

/* Makes an empty explanation, a simulator, and a view of the decision without leaders, if such a step can be
 * explained. */
static emp_status begin(emp_explanation **why, emp_sim **sim, emp_decision *unfused,
                        const emp_problem *problem, const emp_decision *decision,
                        emp_error *err)
{
    *unfused = (emp_decision){.device_of_op = decision->device_of_op,
                              .level_of_op = decision->level_of_op};
    EMP_CHECK(EMP_ALLOC(*why, 1));
    EMP_CHECK(check_rules(problem, decision, err));
    return emp_sim_create(sim, problem, err);
}

emp_status emp_explain_create(emp_explanation **out, const emp_problem *problem,
                              const emp_decision *decision, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_explain_schedule s = {.problem = problem,
                              .device_of_op = decision->device_of_op,
                              .level_of_op = decision->level_of_op};
    emp_decision         unfused;
    emp_explain_moments  moments = {0};
    emp_sim             *sim = NULL;
    emp_explanation     *why = NULL;

    *out = NULL;
    EMP_TRY(begin(&why, &sim, &unfused, problem, decision, err));
    EMP_TRY(emp_explain_moments_init(&moments, problem, sim, err));
    s.moments = &moments;
    EMP_TRY(emp_explain_record(&s, sim, err));
    EMP_TRY(explain_check_complete(&s, err));
    why->result = s.result;
    EMP_TRY(emp_explain_find_path(why, &s, err));
    EMP_TRY(emp_explain_find_worst(why, &s, err));
    EMP_TRY(emp_explain_find_idle(why, &s, err));
    EMP_TRY(emp_explain_find_tallies(why, &s, err));
    EMP_TRY(emp_explain_find_memory(why, &moments, &unfused, sim, err));
    *out = why;
    why = NULL;

cleanup:
    emp_explain_destroy(why);
    emp_explain_schedule_clear(&s);
    emp_explain_moments_clear(&moments);
    emp_sim_destroy(sim);
    return st;
}

static void note_part(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                      emp_time_ns start, emp_time_ns end)
{
    (void)lane;
    (void)start;
    (void)end;
    emp_explain_note_part(context, op, device);
}

static void note_change(void *context, emp_device_id device, emp_time_ns at,
                        int64_t bytes)
{
    (void)at;
    (void)bytes;
    emp_explain_note_change(context, device);
}

emp_status emp_explain_create_memory(emp_explanation **out, const emp_problem *problem,
                                     const emp_decision *decision, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_explain_moments moments = {0};
    const emp_sim_trace trace = {
        .context = &moments, .op = note_part, .memory = note_change};
    emp_decision     unfused;
    emp_sim         *sim = NULL;
    emp_explanation *why = NULL;

    *out = NULL;
    EMP_TRY(begin(&why, &sim, &unfused, problem, decision, err));
    EMP_TRY(emp_explain_moments_init(&moments, problem, sim, err));
    EMP_TRY(emp_sim_trace_decision(sim, &unfused, &trace, &why->result, err));
    EMP_TRY(emp_explain_find_memory(why, &moments, &unfused, sim, err));
    *out = why;
    why = NULL;

cleanup:
    emp_explain_destroy(why);
    emp_explain_moments_clear(&moments);
    emp_sim_destroy(sim);
    return st;
}

void emp_explain_destroy(emp_explanation *why)
{
    if (why == NULL) return;
    emp_scopes_clear(&why->scopes);
    emp_free(why->segment);
    emp_free(why);
}

const char *emp_explain_cause_key(emp_explain_cause cause)
{
    static const char *const keys[] = {EMP_EXPLAIN_CAUSE_LIST(EMP_LIST_SECOND)};

    return keys[cause];
}

const char *emp_explain_cause_words(emp_explain_cause cause)
{
    static const char *const all[] = {EMP_EXPLAIN_CAUSE_LIST(EMP_LIST_THIRD)};

    return all[cause];
}

const char *emp_explain_idle_key(emp_explain_idle idle)
{
    static const char *const keys[] = {EMP_EXPLAIN_IDLE_LIST(EMP_LIST_SECOND)};

    return keys[idle];
}

const char *emp_explain_kind_key(emp_explain_kind kind)
{
    static const char *const keys[] = {EMP_EXPLAIN_KIND_LIST(EMP_LIST_SECOND)};

    return keys[kind];
}

static emp_bottleneck_kind kind_of(emp_explain_cause cause)
{
    switch (emp_explain_cause_idle(cause)) {
    case EMP_IDLE_ISSUE: return EMP_BOTTLENECK_HOST;
    case EMP_IDLE_TRANSFER: return EMP_BOTTLENECK_COPIES;
    case EMP_IDLE_MESSAGE: return EMP_BOTTLENECK_MESSAGES;
    case EMP_IDLE_STEP: return EMP_BOTTLENECK_STEP;
    default: return EMP_BOTTLENECK_COMPUTE;
    }
}

static emp_bottleneck longest_kind(const emp_explanation *why)
{
    emp_time_ns    time_ns[EMP_BOTTLENECK_KINDS] = {0};
    emp_bottleneck longest = {.device = -1, .to = -1};

    for (int c = 0; c < EMP_CAUSE_COUNT; c++)
        time_ns[kind_of((emp_explain_cause)c)] += why->cause_ns[c];
    for (int k = 0; k < EMP_BOTTLENECK_KINDS; k++) {
        if (time_ns[k] <= longest.time_ns) continue;
        longest.kind = (emp_bottleneck_kind)k;
        longest.time_ns = time_ns[k];
    }
    return longest;
}

/* The device whose ops or whose host thread take the time of segment \a i. A copy waits for
 * the host thread at its end only just before it is received. */
static emp_device_id device_at(const emp_explanation *why, int32_t i)
{
    const emp_explain_segment *s = &why->segment[i];
    bool is_received = s->tensor >= 0 && i + 1 < why->segment_count &&
                       why->segment[i + 1].cause == EMP_CAUSE_RECEIVE;

    if (s->cause == EMP_CAUSE_HOST_WAIT && is_received) return s->to;
    return s->busy >= 0 ? s->busy : s->device;
}

/* Fills the device, or the two ends, with most time of the kind. */
static void find_device(emp_bottleneck *b, const emp_explanation *why)
{
    emp_time_ns time_ns[EMP_MAX_DEVICES][EMP_MAX_DEVICES] = {0};
    bool        has_ends =
        b->kind == EMP_BOTTLENECK_COPIES || b->kind == EMP_BOTTLENECK_MESSAGES;
    int32_t count = why->result.device_count;

    for (int32_t i = 0; i < why->segment_count; i++) {
        const emp_explain_segment *s = &why->segment[i];
        emp_device_id              device = device_at(why, i);
        if (kind_of(s->cause) != b->kind || device < 0) continue;
        time_ns[device][has_ends ? s->to : device] += s->end_ns - s->start_ns;
    }
    for (emp_device_id from = 0; from < count; from++) {
        for (emp_device_id to = 0; to < count; to++) {
            if (time_ns[from][to] <= b->device_ns) continue;
            b->device = from;
            b->to = has_ends ? to : -1;
            b->device_ns = time_ns[from][to];
        }
    }
}

emp_bottleneck emp_explain_bottleneck(const emp_explanation *why)
{
    emp_bottleneck b = longest_kind(why);

    find_device(&b, why);
    return b;
}

const char *emp_bottleneck_key(emp_bottleneck_kind kind)
{
    static const char *const keys[] = {EMP_BOTTLENECK_LIST(EMP_LIST_SECOND)};

    return keys[kind];
}

static double seconds(emp_time_ns ns) { return (double)ns * 1e-9; }

static void give(double *blame_s, emp_op_id op, double time_s)
{
    if (op >= 0) blame_s[op] += time_s;
}

/* To the ops of the segments themselves, from the last to the first. */
static void share_segments(double *blame_s, const emp_explanation *why)
{
    emp_op_id next = -1; /* the op with which the path goes on */

    for (int32_t i = why->segment_count - 1; i >= 0; i--) {
        const emp_explain_segment *s = &why->segment[i];
        double                     time_s = seconds(s->end_ns - s->start_ns);
        bool                       is_on_the_way = s->to >= 0;
        bool                       is_shared = is_on_the_way || s->busy >= 0;
        give(blame_s, s->op, is_shared ? time_s / 2 : time_s);
        if (is_on_the_way && s->busy < 0) give(blame_s, next, time_s / 2);
        if (!is_on_the_way) next = s->op;
    }
}

/* The first segment that ends after \a at. */
static int32_t find_segment(const emp_explanation *why, emp_time_ns at)
{
    int32_t low;

    EMP_COUNT_FIRST(low, why->segment_count, i, why->segment[i].end_ns <= at);
    return low;
}

/* To the ops that keep a device busy for which the path waits. */
static void share_waits(double *blame_s, const emp_explanation *why,
                        const emp_explain_schedule *s)
{
    for (int32_t i = 0; i < s->run_count; i++) {
        const emp_explain_run *run = &s->run[i];
        for (int32_t k = find_segment(why, run->start_ns);
             k < why->segment_count && why->segment[k].start_ns < run->end_ns; k++) {
            const emp_explain_segment *wait = &why->segment[k];
            emp_time_ns                start = wait->start_ns, end = wait->end_ns;
            if (wait->busy != run->device) continue;
            if (start < run->start_ns) start = run->start_ns;
            if (end > run->end_ns) end = run->end_ns;
            give(blame_s, run->op, seconds(end - start) / 2);
        }
    }
}

/* An op may come in several runs; the last to end counts. */
static void find_ends(double *end_frac, const emp_explain_schedule *s)
{
    const double step_ns = fmax((double)s->result.step_time_ns, 1.0);
    const size_t ops = (size_t)s->problem->graph->op_count;

    memset(end_frac, 0, ops * sizeof *end_frac);
    for (int32_t i = 0; i < s->run_count; i++) {
        double *end = &end_frac[s->run[i].op];
        *end = fmax(*end, (double)s->run[i].end_ns / step_ns);
    }
}

struct emp_blamer {
    emp_sim             *sim; /* borrowed */
    emp_explain_schedule schedule;
};

emp_status emp_blamer_create(emp_blamer **out, const emp_problem *problem, emp_sim *sim,
                             emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(*out, 1));
    (*out)->sim = sim;
    (*out)->schedule.problem = problem;
    return EMP_OK;
}

void emp_blamer_destroy(emp_blamer *b)
{
    if (b == NULL) return;
    emp_explain_schedule_clear(&b->schedule);
    emp_free(b);
}

emp_status emp_blamer_run(emp_blamer *b, double *blame_s, double *end_frac,
                          const emp_decision *decision, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_explain_schedule *s = &b->schedule;
    emp_explanation       why = {0};

    s->device_of_op = decision->device_of_op;
    s->level_of_op = decision->level_of_op;
    EMP_TRY(check_rules(s->problem, decision, err));
    EMP_TRY(emp_explain_record(s, b->sim, err));
    EMP_TRY(explain_check_complete(s, err));
    EMP_TRY(emp_explain_find_path(&why, s, err));
    memset(blame_s, 0, (size_t)s->problem->graph->op_count * sizeof *blame_s);
    share_segments(blame_s, &why);
    share_waits(blame_s, &why, s);
    if (end_frac != NULL) find_ends(end_frac, s);

cleanup:
    emp_free(why.segment);
    return st;
}

emp_status emp_explain_blame(double *blame_s, const emp_problem *problem, emp_sim *sim,
                             const emp_decision *decision, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_blamer *b = NULL;

    EMP_TRY(emp_blamer_create(&b, problem, sim, err));
    EMP_TRY(emp_blamer_run(b, blame_s, NULL, decision, err));

cleanup:
    emp_blamer_destroy(b);
    return st;
}

/* ---- name scopes ---- */

static emp_status add_scope(emp_scopes *s, emp_strmap *map, const emp_scope *scope,
                            int32_t *number, emp_error *err)
{
    EMP_CHECK(EMP_GROW(s->scope, s->count + 1, s->limit_));
    EMP_CHECK(emp_strmap_set(map, scope->name, (size_t)scope->length, s->count, err));
    *number = s->count;
    s->scope[s->count++] = *scope;
    return EMP_OK;
}

/* The scope of a name, whose outer scopes are added where they are new. */
static emp_status find_scope(emp_scopes *s, emp_strmap *map, const char *name,
                             size_t length, int32_t *found, emp_error *err)
{
    *found = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] != '/') continue;
        int32_t scope = emp_strmap_get(map, name, i);
        if (scope < 0)
            EMP_CHECK(add_scope(
                s, map,
                &(emp_scope){.name = name, .length = (int32_t)i, .parent = *found},
                &scope, err));
        *found = scope;
    }
    return EMP_OK;
}

static emp_status place_ops(emp_scopes *s, emp_strmap *map, const emp_graph *g,
                            emp_error *err)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name = g->name[op];
        size_t      length = emp_forward_of_gradient(g->name[op], &name);
        if (length == 0) name = g->name[op], length = strlen(name);
        s->of_op[op] = -1;
        if (g->op[op].is_folded) continue;
        EMP_CHECK(find_scope(s, map, name, length, &s->of_op[op], err));
        s->scope[s->of_op[op]].op_count++;
    }
    for (int32_t i = s->count - 1; i > 0; i--)
        s->scope[s->scope[i].parent].op_count += s->scope[i].op_count;
    return EMP_OK;
}

emp_status emp_scopes_init(emp_scopes *s, const emp_graph *graph, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap map = {0};
    int32_t    root;

    EMP_TRY(EMP_ALLOC(s->of_op, (size_t)graph->op_count));
    EMP_TRY(add_scope(s, &map, &(emp_scope){.name = "", .parent = -1}, &root, err));
    EMP_TRY(place_ops(s, &map, graph, err));

cleanup:
    emp_strmap_clear(&map);
    return st;
}

void emp_scopes_clear(emp_scopes *s)
{
    emp_free(s->scope);
    emp_free(s->of_op);
    *s = (emp_scopes){0};
}

bool emp_scopes_is_in(const emp_scopes *s, int32_t scope, int32_t outer)
{
    while (scope > outer) scope = s->scope[scope].parent;
    return scope == outer;
}
