// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A comparison in the making. */
typedef struct {
    const emp_problem  *problem;
    const emp_decision *decision[2];
    emp_difference     *d;
    emp_sim            *sim;
    emp_device_id      *trial;  /* [op] */
    int32_t *own_count, *count; /* [scope] different ops in it, and with inner scopes */
} study;

static bool differs(const study *s, emp_op_id op)
{
    return s->problem->class_of_op[op] >= 0 &&
           s->decision[0]->device_of_op[op] != s->decision[1]->device_of_op[op];
}

/* ---- the two steps ---- */

static void add_busy(emp_difference_side *side, const study *s, int32_t which,
                     const emp_sim_times *times)
{
    const double bin_ns = (double)s->d->span_ns / EMP_DIFFERENCE_BINS;

    for (emp_op_id op = 0; op < s->problem->graph->op_count; op++) {
        const emp_device_id device = s->decision[which]->device_of_op[op];
        const double start = (double)times->start_ns[op], end = (double)times->end_ns[op];
        if (s->problem->class_of_op[op] < 0 || end <= start) continue;
        for (int b = (int)(start / bin_ns); b < EMP_DIFFERENCE_BINS && b * bin_ns < end;
             b++) {
            const double from = start > b * bin_ns ? start : b * bin_ns;
            const double to = end < (b + 1) * bin_ns ? end : (b + 1) * bin_ns;
            double      *share = &side->busy_frac[device][b];
            *share += (to - from) / bin_ns;
            if (*share > 1.0) *share = 1.0;
        }
    }
}

static emp_status fill_timeline(study *s, emp_error *err)
{
    emp_status    st = EMP_OK;
    const size_t  ops = (size_t)s->problem->graph->op_count;
    emp_sim_times times = {0};

    EMP_TRY(EMP_ALLOC(times.start_ns, ops));
    EMP_TRY(EMP_ALLOC(times.end_ns, ops));
    for (int i = 0; i < 2; i++) {
        emp_sim_result result;
        EMP_TRY(emp_sim_run_timed(s->sim, s->decision[i], &times, &result, err));
        add_busy(&s->d->side[i], s, i, &times);
    }

cleanup:
    emp_free(times.start_ns);
    emp_free(times.end_ns);
    return st;
}

static emp_status explain_side(study *s, int32_t which, emp_error *err)
{
    emp_difference_side *side = &s->d->side[which];
    emp_error            why = {0};

    EMP_CHECK(emp_sim_run_decision(s->sim, s->decision[which], &side->result, err));
    for (emp_op_id op = 0; op < s->problem->graph->op_count; op++)
        if (s->problem->class_of_op[op] >= 0)
            side->op_count[s->decision[which]->device_of_op[op]]++;
    const emp_status st =
        emp_explain_create(&side->why, s->problem, s->decision[which], &why);
    if (st == EMP_OK || st == EMP_EUNSUPPORTED) return EMP_OK;
    return EMP_ERROR(st, "%s", why.msg);
}

static emp_status compare_steps(study *s, emp_error *err)
{
    emp_difference       *d = s->d;
    const emp_sim_result *a = &d->side[0].result, *b = &d->side[1].result;

    EMP_CHECK(explain_side(s, 0, err));
    EMP_CHECK(explain_side(s, 1, err));
    d->faster = a->is_feasible != b->is_feasible ? b->is_feasible
                                                 : b->step_time_ns < a->step_time_ns;
    d->span_ns = a->step_time_ns > b->step_time_ns ? a->step_time_ns : b->step_time_ns;
    if (d->span_ns == 0) d->span_ns = 1;
    for (emp_op_id op = 0; op < s->problem->graph->op_count; op++)
        d->different_count += differs(s, op);
    return fill_timeline(s, err);
}

/* ---- parts ---- */

static bool has_op(const study *s, const emp_difference_part *part, emp_op_id op)
{
    const int32_t scope = s->d->scopes.of_op[op];

    if (part->op >= 0)
        return s->problem->class_of_op[op] == s->problem->class_of_op[part->op];
    if (scope < 0) return false;
    return part->is_own ? scope == part->scope
                        : emp_scopes_is_in(&s->d->scopes, scope, part->scope);
}

static emp_status count_by_scope(study *s, emp_error *err)
{
    const emp_scopes *scopes = &s->d->scopes;

    EMP_CHECK(EMP_ALLOC(s->own_count, (size_t)scopes->count));
    EMP_CHECK(EMP_ALLOC(s->count, (size_t)scopes->count));
    for (emp_op_id op = 0; op < s->problem->graph->op_count; op++)
        if (differs(s, op) && scopes->of_op[op] >= 0) s->own_count[scopes->of_op[op]]++;
    for (int32_t i = scopes->count - 1; i >= 0; i--) {
        s->count[i] += s->own_count[i];
        if (i > 0) s->count[scopes->scope[i].parent] += s->count[i];
    }
    return EMP_OK;
}

static void add_part(emp_difference *d, int32_t scope, bool is_own)
{
    d->part[d->part_count++] =
        (emp_difference_part){.scope = scope, .is_own = is_own, .op = -1};
}

/* Puts the inner scopes of a part in its place, and what is directly in it; false: there is no room, or it has
 * none. */
static bool split(study *s, int32_t part)
{
    emp_difference   *d = s->d;
    const emp_scopes *scopes = &d->scopes;
    const int32_t     scope = d->part[part].scope;
    int32_t           inner = 0;

    for (int32_t i = scope + 1; i < scopes->count; i++)
        inner += scopes->scope[i].parent == scope && s->count[i] > 0;
    if (inner == 0 ||
        d->part_count - 1 + inner + (s->own_count[scope] > 0) > EMP_DIFFERENCE_PARTS)
        return false;
    d->part[part] = d->part[--d->part_count];
    for (int32_t i = scope + 1; i < scopes->count; i++)
        if (scopes->scope[i].parent == scope && s->count[i] > 0) add_part(d, i, false);
    if (s->own_count[scope] > 0) add_part(d, scope, true);
    return true;
}

/* Splits the part with the most different ops as long as there is room. */
static void divide_by_scope(study *s)
{
    emp_difference *d = s->d;
    bool            is_whole[EMP_DIFFERENCE_PARTS] = {false};

    add_part(d, 0, false);
    for (;;) {
        int32_t most = -1;
        for (int32_t i = 0; i < d->part_count; i++) {
            if (d->part[i].is_own || is_whole[i]) continue;
            if (most < 0 || s->count[d->part[i].scope] > s->count[d->part[most].scope])
                most = i;
        }
        if (most < 0) return;
        if (split(s, most))
            memset(is_whole, 0, sizeof is_whole);
        else
            is_whole[most] = true;
    }
}

/* The ops that take longest on the device where they are in the slower step, one of each class. */
static void divide_by_op(study *s)
{
    const emp_device_id *slow = s->decision[1 - s->d->faster]->device_of_op;
    emp_difference      *d = s->d;

    d->part_count = 0;
    while (d->part_count < EMP_DIFFERENCE_PARTS) {
        emp_op_id   longest = -1;
        emp_time_ns longest_ns = -1;
        for (emp_op_id op = 0; op < s->problem->graph->op_count; op++) {
            bool is_new = differs(s, op);
            for (int32_t i = 0; i < d->part_count && is_new; i++)
                is_new = !has_op(s, &d->part[i], op);
            if (!is_new) continue;
            const emp_time_ns time_ns = emp_problem_op_time_ns(s->problem, op, slow[op]);
            if (time_ns > longest_ns) longest = op, longest_ns = time_ns;
        }
        if (longest < 0) return;
        d->part[d->part_count++] = (emp_difference_part){.scope = -1, .op = longest};
    }
}

/* ---- what they are worth ---- */

/* Simulates a placement with the devices of the other one for the part. */
static emp_status exchange(study *s, const emp_difference_part *part, int32_t which,
                           emp_time_ns *time_ns, bool *fits, emp_error *err)
{
    const int32_t        ops = s->problem->graph->op_count;
    const emp_device_id *other = s->decision[1 - which]->device_of_op;
    emp_decision         decision = *s->decision[which];
    emp_sim_result       result;

    memcpy(s->trial, decision.device_of_op, (size_t)ops * sizeof *s->trial);
    for (emp_op_id op = 0; op < ops; op++)
        if (differs(s, op) && has_op(s, part, op)) s->trial[op] = other[op];
    emp_problem_legalize(s->problem, s->trial);
    decision.device_of_op = s->trial;
    EMP_CHECK(emp_sim_run_decision(s->sim, &decision, &result, err));
    *time_ns = result.step_time_ns;
    *fits = result.is_feasible;
    return EMP_OK;
}

/* By what the faster step loses, then by what the slower one gains. */
static int compare_parts(const void *a, const void *b)
{
    const emp_difference_part *x = a, *y = b;

    if (x->without_fits != y->without_fits) return x->without_fits ? 1 : -1;
    if (x->without_ns != y->without_ns) return x->without_ns > y->without_ns ? -1 : 1;
    if (x->alone_ns != y->alone_ns) return x->alone_ns < y->alone_ns ? -1 : 1;
    return x->scope != y->scope ? (x->scope > y->scope) - (x->scope < y->scope)
                                : (x->op > y->op) - (x->op < y->op);
}

static emp_status value_parts(study *s, emp_error *err)
{
    emp_difference *d = s->d;

    for (int32_t i = 0; i < d->part_count; i++) {
        emp_difference_part *part = &d->part[i];
        for (emp_op_id op = 0; op < s->problem->graph->op_count; op++)
            part->op_count += differs(s, op) && has_op(s, part, op);
        EMP_CHECK(
            exchange(s, part, 1 - d->faster, &part->alone_ns, &part->alone_fits, err));
        EMP_CHECK(
            exchange(s, part, d->faster, &part->without_ns, &part->without_fits, err));
    }
    qsort(d->part, (size_t)d->part_count, sizeof *d->part, compare_parts);
    return EMP_OK;
}

static emp_status find_parts(study *s, emp_error *err)
{
    if (s->d->different_count == 0) return EMP_OK;
    EMP_CHECK(count_by_scope(s, err));
    divide_by_scope(s);
    if (s->d->part_count == 1) divide_by_op(s);
    EMP_CHECK(EMP_ALLOC(s->trial, (size_t)s->problem->graph->op_count));
    return value_parts(s, err);
}

emp_status emp_difference_create(emp_difference **out, const emp_problem *problem,
                                 const emp_decision *a, const emp_decision *b,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    study      s = {.problem = problem, .decision = {a, b}};

    *out = NULL;
    if (a->leader_of_op != NULL || b->leader_of_op != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "a placement has fused ops, whose steps are not explained; "
                         "compare placements without leaders");
    EMP_TRY(EMP_ALLOC(s.d, 1));
    EMP_TRY(emp_scopes_init(&s.d->scopes, problem->graph, err));
    EMP_TRY(emp_sim_create(&s.sim, problem, err));
    EMP_TRY(compare_steps(&s, err));
    EMP_TRY(find_parts(&s, err));
    *out = s.d;
    s.d = NULL;

cleanup:
    emp_sim_destroy(s.sim);
    emp_free(s.trial);
    emp_free(s.own_count);
    emp_free(s.count);
    emp_difference_destroy(s.d);
    return st;
}

void emp_difference_destroy(emp_difference *d)
{
    if (d == NULL) return;
    emp_explain_destroy(d->side[0].why);
    emp_explain_destroy(d->side[1].why);
    emp_scopes_clear(&d->scopes);
    emp_free(d);
}
