// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/brief.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "sim/explain/explain.h"
#include "sim/graph/op.h"
#include "sim/problem/problem.h"

#define ENDLESS_BYTES_PER_S 1e18

enum {
    LEAST_SHARE = 200
}; /* a change that takes off less than 1 / LEAST_SHARE is not listed */

struct study {
    const emp_problem     *problem;
    const emp_device_id   *device_of_op;
    const uint8_t         *level_of_op;
    const emp_explanation *why;
    emp_what_if           *out;
};

const char *emp_what_if_key(emp_what_if_kind kind)
{
    static const char *const keys[] = {EMP_WHAT_IF_LIST(EMP_LIST_SECOND)};

    return keys[kind];
}

static bool helps(const struct study *s, const emp_what_if_change *change)
{
    emp_time_ns old = s->why->result.step_time_ns;

    if (change->is_feasible && !s->why->result.is_feasible) return true;
    return change->step_time_ns < old && old - change->step_time_ns >= old / LEAST_SHARE;
}

static emp_status simulate(emp_what_if_change *change, struct study *s, emp_sim *sim,
                           const emp_device_id *device_of_op, emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(emp_sim_run_decision(
        sim, &(emp_decision){.device_of_op = device_of_op, .level_of_op = s->level_of_op},
        &result, err));
    change->step_time_ns = result.step_time_ns;
    change->is_feasible = result.is_feasible;
    s->out->trial_count++;
    return EMP_OK;
}

/* ---- another machine ---- */

/* Tells of the change, which \a variant has made, if it helps. */
static emp_status try_variant(struct study *s, emp_problem_variant *variant,
                              emp_what_if_kind kind, int32_t link, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_sim           *sim = NULL;
    emp_what_if_change change = {
        .kind = kind, .link = link, .scope = -1, .op = -1, .to = -1};

    EMP_TRY(emp_sim_create(&sim, &variant->problem, err));
    EMP_TRY(simulate(&change, s, sim, s->device_of_op, err));
    if (helps(s, &change)) s->out->change[s->out->count++] = change;
    emp_problem_variant_restore(variant);

cleanup:
    emp_sim_destroy(sim);
    return st;
}

static void leave_out_link(emp_route *route, int32_t link)
{
    int32_t count = 0;

    for (int32_t i = 0; i < route->link_count; i++)
        if (route->link[i] != link) route->link[count++] = route->link[i];
    route->link_count = count;
}

static void leave_out_queue(emp_machine *m, int32_t link)
{
    for (int32_t from = 0; from < m->device_count; from++)
        for (int32_t to = 0; to < m->device_count; to++)
            leave_out_link(&m->route[from][to], link);
}

/* The time that copies on the critical path wait for each link, or cross it. */
static void blame_links(emp_time_ns link_ns[EMP_MAX_LINKS], const struct study *s)
{
    for (int32_t i = 0; i < s->why->segment_count; i++) {
        const emp_explain_segment *segment = &s->why->segment[i];
        if (segment->cause != EMP_CAUSE_COPY_STREAM_WAIT &&
            segment->cause != EMP_CAUSE_LINK_WAIT && segment->cause != EMP_CAUSE_TRANSFER)
            continue;
        const emp_route *route =
            &s->problem->machine->route[segment->device][segment->to];
        for (int32_t k = 0; k < route->link_count; k++)
            link_ns[route->link[k]] += segment->end_ns - segment->start_ns;
    }
}

/* An infinitely fast link is reported beside one without a queue if it is worth more. */
static void drop_if_no_better(struct study *s)
{
    if (s->out->count < 2) return;
    const emp_what_if_change *last = &s->out->change[s->out->count - 1];
    if (last->kind != EMP_WHAT_IF_LINK || last[-1].kind != EMP_WHAT_IF_LINK_QUEUE ||
        last[-1].link != last->link)
        return;
    if (last[-1].step_time_ns - last->step_time_ns <
        s->why->result.step_time_ns / LEAST_SHARE)
        s->out->count--;
}

static emp_status try_link(struct study *s, emp_problem_variant *v, int32_t link,
                           emp_error *err)
{
    leave_out_queue(v->machine, link);
    EMP_CHECK(try_variant(s, v, EMP_WHAT_IF_LINK_QUEUE, link, err));
    v->machine->link[link].bytes_per_s = ENDLESS_BYTES_PER_S;
    v->machine->link[link].latency_s = 0.0;
    EMP_CHECK(emp_problem_time_routes(s->problem, v->machine, err));
    leave_out_queue(v->machine, link);
    EMP_CHECK(try_variant(s, v, EMP_WHAT_IF_LINK, link, err));
    drop_if_no_better(s);
    return EMP_OK;
}

static emp_status try_links(struct study *s, emp_problem_variant *v, emp_error *err)
{
    emp_time_ns link_ns[EMP_MAX_LINKS] = {0};

    blame_links(link_ns, s);
    for (int k = 0; k < EMP_WHAT_IF_LINKS; k++) {
        int32_t worst = 0;
        for (int32_t i = 1; i < s->problem->machine->link_count; i++)
            if (link_ns[i] > link_ns[worst]) worst = i;
        if (link_ns[worst] == 0) return EMP_OK;
        EMP_CHECK(try_link(s, v, worst, err));
        link_ns[worst] = 0;
    }
    return EMP_OK;
}

static emp_status try_gpu(struct study *s, emp_problem_variant *v, emp_error *err)
{
    for (int32_t row = 0; row < emp_cost_row_count(&v->costs, EMP_DEVICE_GPU); row++)
        v->costs.gpu[row].compute_ns /= 2;
    for (emp_op_id op = 0; op < v->costs.op_count && v->costs.gpu_beside_ns != NULL; op++)
        v->costs.gpu_beside_ns[op] /= 2;
    return try_variant(s, v, EMP_WHAT_IF_GPU, -1, err);
}

static emp_status try_host(struct study *s, emp_problem_variant *v, emp_error *err)
{
    for (int32_t row = 0; row < emp_cost_row_count(&v->costs, EMP_DEVICE_GPU); row++)
        v->costs.gpu[row].issue_ns /= 2;
    v->problem.runtime.events.send_s /= 2;
    v->problem.runtime.events.receive_s /= 2;
    return try_variant(s, v, EMP_WHAT_IF_HOST, -1, err);
}

static emp_status try_cpu(struct study *s, emp_problem_variant *v, emp_error *err)
{
    const int32_t rows = emp_cost_row_count(&v->costs, EMP_DEVICE_CPU);

    for (int32_t row = 0; row < rows; row++) v->costs.cpu[row].compute_ns /= 2;
    for (int32_t i = 0; i < v->costs.cpu_offset[rows]; i++) v->costs.task_ns[i] /= 2;
    return try_variant(s, v, EMP_WHAT_IF_CPU, -1, err);
}

static emp_status try_memory(struct study *s, emp_problem_variant *v, emp_error *err)
{
    for (int32_t d = 0; d < v->machine->device_count; d++)
        v->machine->device[d].memory_bytes *= 2;
    return try_variant(s, v, EMP_WHAT_IF_MEMORY, -1, err);
}

static emp_status try_machines(struct study *s, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_problem_variant v = {0};

    EMP_TRY(emp_problem_variant_init(&v, s->problem, err));
    EMP_TRY(try_links(s, &v, err));
    EMP_TRY(try_gpu(s, &v, err));
    if (s->problem->runtime.events.serial_issue) EMP_TRY(try_host(s, &v, err));
    EMP_TRY(try_cpu(s, &v, err));
    if (!s->why->result.is_feasible) EMP_TRY(try_memory(s, &v, err));

cleanup:
    emp_problem_variant_clear(&v);
    return st;
}

/* ---- another placement ---- */

struct moves {
    struct study       *s;
    emp_sim            *sim;
    emp_keyed          *candidate;    /* scopes or ops by their blame in s */
    double             *blame_s;      /* [op] */
    emp_device_id      *device_of_op; /* that is tried */
    int32_t             count;
    emp_what_if_change *trial; /* [EMP_WHAT_IF_TRIALS] */
};

/* The scopes that are most to blame first; of scopes with the same ops the outermost. */
static emp_status rank_scopes(struct moves *m, emp_error *err)
{
    struct study     *s = m->s;
    const emp_scopes *scopes = &s->why->scopes;

    EMP_CHECK(emp_explain_blame(
        m->blame_s, s->problem, m->sim,
        &(emp_decision){.device_of_op = s->device_of_op, .level_of_op = s->level_of_op},
        err));
    for (int32_t i = 0; i < scopes->count; i++) m->candidate[i].number = i;
    for (emp_op_id op = 0; op < s->problem->graph->op_count; op++)
        if (scopes->of_op[op] >= 0) m->candidate[scopes->of_op[op]].key += m->blame_s[op];
    for (int32_t i = scopes->count - 1; i > 0; i--)
        m->candidate[scopes->scope[i].parent].key += m->candidate[i].key;
    for (int32_t i = 1; i < scopes->count; i++) {
        const emp_scope *parent = &scopes->scope[scopes->scope[i].parent];
        if (parent->parent >= 0 && parent->op_count == scopes->scope[i].op_count)
            m->candidate[i].key = 0.0;
    }
    m->candidate[0].key = 0.0; /* the root is no scope to move */
    emp_keyed_sort_falling(m->candidate, (size_t)scopes->count);
    return EMP_OK;
}

/* Whether a change moves the op: by the scope that it is in, or with another op of its class. */
static bool moves_op(const struct study *s, const emp_what_if_change *change,
                     emp_op_id op)
{
    if (change->kind == EMP_WHAT_IF_MOVE)
        return emp_scopes_is_in(&s->why->scopes, s->why->scopes.of_op[op], change->scope);
    return s->problem->class_of_op[op] == s->problem->class_of_op[change->op];
}

/* Makes a change; the number of ops that are elsewhere then. */
static int32_t move(struct moves *m, const emp_what_if_change *change)
{
    const struct study *s = m->s;
    const emp_graph    *g = s->problem->graph;
    int32_t             count = 0;

    memcpy(m->device_of_op, s->device_of_op, (size_t)g->op_count * sizeof change->to);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (moves_op(s, change, op)) m->device_of_op[op] = change->to;
    emp_problem_legalize(s->problem, m->device_of_op);
    for (emp_op_id op = 0; op < g->op_count; op++)
        count += !g->op[op].is_folded && m->device_of_op[op] != s->device_of_op[op];
    return count;
}

/* Tries the candidates, which are scopes or ops, on all devices while they are to blame. */
static emp_status try_moves(struct moves *m, emp_what_if_kind kind, int32_t candidates,
                            emp_error *err)
{
    for (int32_t i = 0; i < candidates; i++) {
        const emp_keyed *moved = &m->candidate[i];
        if (moved->number < 0 || moved->key <= 0.0) return EMP_OK;
        for (emp_device_id to = 0; to < m->s->problem->machine->device_count; to++) {
            emp_what_if_change change = {
                .kind = kind, .link = -1, .scope = -1, .op = -1, .to = to};
            *(kind == EMP_WHAT_IF_MOVE ? &change.scope : &change.op) = moved->number;
            change.op_count = move(m, &change);
            if (change.op_count == 0) continue;
            if (m->count == EMP_WHAT_IF_TRIALS) return EMP_OK;
            EMP_CHECK(simulate(&change, m->s, m->sim, m->device_of_op, err));
            m->trial[m->count++] = change;
        }
    }
    return EMP_OK;
}

/* Whether a change before this one moves the scope, a part of it, or what it is a part of. */
static bool is_told(const struct study *s, const emp_what_if_change *change)
{
    const emp_scopes *scopes = &s->why->scopes;

    for (int32_t i = 0; i < s->out->count; i++) {
        const emp_what_if_change *told = &s->out->change[i];
        if (told->kind != EMP_WHAT_IF_MOVE) continue;
        if (emp_scopes_is_in(scopes, told->scope, change->scope) ||
            emp_scopes_is_in(scopes, change->scope, told->scope))
            return true;
    }
    return false;
}

/* The best of the trials that (do not) fit and are not listed yet; NULL = none. */
static const emp_what_if_change *best_of(const struct moves *m, bool is_feasible)
{
    const emp_what_if_change *best = NULL;

    for (int32_t i = 0; i < m->count; i++) {
        const emp_what_if_change *trial = &m->trial[i];
        if (trial->is_feasible != is_feasible || !helps(m->s, trial) ||
            is_told(m->s, trial))
            continue;
        if (best == NULL || trial->step_time_ns < best->step_time_ns) best = trial;
    }
    return best;
}

static void tell_moves(struct moves *m)
{
    emp_what_if              *out = m->s->out;
    const emp_what_if_change *best = best_of(m, true), *misfit = best_of(m, false);
    bool                      is_faster =
        misfit != NULL && (best == NULL || misfit->step_time_ns < best->step_time_ns);

    for (int k = 1; best != NULL && k < EMP_WHAT_IF_MOVES; k++) {
        out->change[out->count++] = *best;
        best = best_of(m, true);
    }
    if (is_faster) out->change[out->count++] = *misfit;
}

/* ---- one op, with its class ---- */

/* Counts the listed moves of scopes that fit. */
static int32_t count_told(const struct study *s)
{
    int32_t told = 0;

    for (int32_t i = 0; i < s->out->count; i++)
        told +=
            s->out->change[i].kind == EMP_WHAT_IF_MOVE && s->out->change[i].is_feasible;
    return told;
}

/* The op of the most blame of each class, the ops of most blame first; ops of listed moves are left out. */
static void rank_ops(struct moves *m)
{
    const struct study *s = m->s;
    const emp_graph    *g = s->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) m->candidate[c] = (emp_keyed){0.0, -1};
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const int32_t class = s->problem->class_of_op[op];
        bool is_moved = class < 0;
        for (int32_t i = 0; i < s->out->count && !is_moved; i++)
            is_moved = s->out->change[i].kind == EMP_WHAT_IF_MOVE &&
                       emp_scopes_is_in(&s->why->scopes, s->why->scopes.of_op[op],
                                        s->out->change[i].scope);
        if (is_moved) continue;
        emp_keyed *of_class = &m->candidate[class];
        if (of_class->number < 0 || m->blame_s[op] > m->blame_s[of_class->number])
            of_class->number = op;
        of_class->key += m->blame_s[op];
    }
    emp_keyed_sort_falling(m->candidate, (size_t)g->class_count);
}

/* The best moves of ops, each op once, in front of a move that does not fit. */
static void tell_ops(struct moves *m, int32_t most)
{
    emp_what_if *out = m->s->out;

    for (int32_t k = 0; k < most; k++) {
        const emp_what_if_change *best = NULL;
        for (int32_t i = 0; i < m->count; i++) {
            const emp_what_if_change *trial = &m->trial[i];
            bool                      is_new = trial->is_feasible && helps(m->s, trial);
            for (int32_t t = 0; t < out->count && is_new; t++)
                is_new = out->change[t].kind != EMP_WHAT_IF_OP ||
                         out->change[t].op != trial->op;
            if (is_new && (best == NULL || trial->step_time_ns < best->step_time_ns))
                best = trial;
        }
        if (best == NULL || out->count == EMP_WHAT_IF_CHANGES) return;
        int32_t at = out->count++;
        for (; at > 0 && out->change[at - 1].kind == EMP_WHAT_IF_MOVE &&
               !out->change[at - 1].is_feasible;
             at--)
            out->change[at] = out->change[at - 1];
        out->change[at] = *best;
    }
}

static emp_status find_op_moves(struct moves *m, emp_error *err)
{
    const int32_t told = count_told(m->s);

    if (told >= EMP_WHAT_IF_TOLD_MOVES) return EMP_OK;
    rank_ops(m);
    m->count = 0;
    EMP_CHECK(try_moves(m, EMP_WHAT_IF_OP, m->s->problem->graph->class_count, err));
    tell_ops(m, EMP_WHAT_IF_TOLD_MOVES - told);
    return EMP_OK;
}

static emp_status find_moves(struct study *s, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct moves m = {.s = s};
    size_t       ops = (size_t)s->problem->graph->op_count;

    const int32_t scopes = s->why->scopes.count, classes = s->problem->graph->class_count;
    EMP_TRY(EMP_ALLOC(m.candidate, (size_t)(scopes > classes ? scopes : classes)));
    EMP_TRY(EMP_ALLOC(m.blame_s, ops));
    EMP_TRY(EMP_ALLOC(m.device_of_op, ops));
    EMP_TRY(EMP_ALLOC(m.trial, EMP_WHAT_IF_TRIALS));
    EMP_TRY(emp_sim_create(&m.sim, s->problem, err));
    EMP_TRY(rank_scopes(&m, err));
    EMP_TRY(try_moves(&m, EMP_WHAT_IF_MOVE, s->why->scopes.count, err));
    tell_moves(&m);
    EMP_TRY(find_op_moves(&m, err));

cleanup:
    emp_sim_destroy(m.sim);
    emp_free(m.candidate);
    emp_free(m.blame_s);
    emp_free(m.device_of_op);
    emp_free(m.trial);
    return st;
}

emp_status emp_what_if_find(emp_what_if *out, const emp_problem *problem,
                            const emp_decision *decision, const emp_explanation *why,
                            emp_error *err)
{
    emp_what_if  found = {0};
    struct study s = {problem, decision->device_of_op, decision->level_of_op, why,
                      &found};

    EMP_CHECK(try_machines(&s, err));
    EMP_CHECK(find_moves(&s, err));
    *out = found;
    return EMP_OK;
}
