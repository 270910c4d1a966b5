// SPDX-License-Identifier: GPL-3.0-or-later
/* When a step starts, and what the host has done before. */
#include "base/mem.h"
#include "graphs/import/traces/kineto/step_internal.h"

/* When the first stream is free for what a call starts, and the call is done with it. */
static int64_t free_at(const emp_splitter *s, const int32_t *started, int32_t count,
                       int64_t issued_ns)
{
    int64_t first_ns = INT64_MAX;

    for (int32_t i = 0; i < count; i++) {
        int32_t before = s->activities.before[started[i]];
        int64_t end_ns = before < 0 ? 0 : s->trace->event[before].end_ns;
        if (end_ns < first_ns) first_ns = end_ns;
    }
    return first_ns > issued_ns ? first_ns : issued_ns;
}

void emp_splitter_find_start(emp_splitter *s)
{
    s->start_ns = INT64_MAX;
    for (int32_t call = 0; call < s->trace->event_count; call++) {
        int32_t count;
        if (!emp_splitter_is_in(s, &s->trace->event[call])) continue;
        const int32_t *started = emp_activities_of(&s->activities, call, &count);
        if (count == 0) continue;
        int64_t free_ns = free_at(s, started, count, emp_splitter_issue_end(s, call));
        if (free_ns < s->start_ns) s->start_ns = free_ns;
    }
    if (s->start_ns == INT64_MAX) s->start_ns = s->step->begin_ns;
}

/* ---- the nodes before the start, at the end ---- */

static bool is_ahead(const emp_splitter *s, const emp_traced_node *node)
{
    return node->kind == EMP_TRACED_HOST && node->end_ns <= s->start_ns;
}

/* [node] its new number: those that stay come first. Returns how many these are. */
static int32_t renumber(int32_t *number, const emp_splitter *s)
{
    const emp_traced_step *step = s->step;
    int32_t                stay = 0, ahead = 0;

    for (int32_t i = 0; i < step->node_count; i++) stay += !is_ahead(s, &step->node[i]);
    for (int32_t i = 0, next = 0; i < step->node_count; i++)
        number[i] = is_ahead(s, &step->node[i]) ? stay + ahead++ : next++;
    return stay;
}

/* What the host has done ahead binds nothing: it was done when the step started. */
static void move_edges(emp_traced_step *step, const int32_t *number, int32_t stay)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < step->edge_count; i++) {
        emp_traced_edge e = step->edge[i];
        e.from = number[e.from];
        e.to = number[e.to];
        if (e.from < e.to && (e.from >= stay) == (e.to >= stay)) step->edge[kept++] = e;
    }
    step->edge_count = kept;
}

/* What is done ahead, for the step after, begins after the main thread's last piece of this one. */
static emp_status follow(emp_splitter *s, const bool *has_cause, int32_t stay,
                         emp_error *err)
{
    emp_traced_step *step = s->step;
    int32_t          last = stay - 1;

    while (last >= 0 && (step->node[last].kind != EMP_TRACED_HOST ||
                         step->node[last].lane != step->main_lane))
        last--;
    for (int32_t i = stay; i < step->node_count; i++)
        if (!has_cause[i]) EMP_CHECK(emp_splitter_add_edge(step, last, i, false, err));
    return EMP_OK;
}

emp_status emp_splitter_run_ahead(emp_splitter *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_traced_step *step = s->step;
    size_t           count = (size_t)step->node_count;
    int32_t         *number = NULL;
    emp_traced_node *node = NULL;
    bool            *has_cause = NULL;

    EMP_TRY(EMP_ALLOC(number, count));
    EMP_TRY(EMP_ALLOC(node, count));
    EMP_TRY(EMP_ALLOC(has_cause, count));
    int32_t stay = renumber(number, s);
    for (size_t i = 0; i < count; i++) node[number[i]] = step->node[i];
    for (size_t i = 0; i < count; i++) step->node[i] = node[i];
    move_edges(step, number, stay);
    for (int32_t i = 0; i < step->edge_count; i++) has_cause[step->edge[i].to] = true;
    EMP_TRY(follow(s, has_cause, stay, err));

cleanup:
    emp_free(number);
    emp_free(node);
    emp_free(has_cause);
    return st;
}
