// SPDX-License-Identifier: GPL-3.0-or-later
/* The longest segments of the critical path, and what those that wait for a device wait
 * behind. */
#include <string.h>

#include "base/mem.h"
#include "sim/explain/explain_internal.h"

static emp_time_ns length_of(const emp_explain *why, int32_t segment)
{
    return why->segment[segment].end_ns - why->segment[segment].start_ns;
}

static void list_worst(emp_explain *why)
{
    for (int32_t i = 0; i < why->segment_count; i++) {
        int32_t at = why->worst_count;
        while (at > 0 && length_of(why, why->worst[at - 1].segment) < length_of(why, i))
            at--;
        if (at == EMP_EXPLAIN_WORST) continue;
        if (why->worst_count < EMP_EXPLAIN_WORST) why->worst_count++;
        memmove(&why->worst[at + 1], &why->worst[at],
                (size_t)(why->worst_count - 1 - at) * sizeof *why->worst);
        why->worst[at] = (emp_explain_item){.segment = i};
    }
}

/* What the device that \a segment waits for does meanwhile; type_ns[type] is all zeros. */
static void find_work(emp_explain_work *work, const emp_explain_schedule *s,
                      const emp_explain_segment *segment, emp_time_ns *type_ns)
{
    const emp_graph *g = s->problem->graph;

    for (int32_t i = 0; i < s->run_count; i++) {
        const emp_explain_run *run = &s->run[i];
        emp_time_ns            start = run->start_ns, end = run->end_ns;
        if (start < segment->start_ns) start = segment->start_ns;
        if (end > segment->end_ns) end = segment->end_ns;
        if (run->device != segment->busy || end <= start) continue;
        type_ns[g->type[run->op]] += end - start;
        work->time_ns += end - start;
        work->op_count++;
    }
    for (int32_t t = 0; t < g->type_count; t++) {
        if (type_ns[t] <= work->type_ns) continue;
        work->type = t;
        work->type_ns = type_ns[t];
    }
}

emp_status emp_explain_find_worst(emp_explain *why, const emp_explain_schedule *s,
                                  emp_error *err)
{
    emp_status   st = EMP_OK;
    size_t       types = (size_t)s->problem->graph->type_count;
    emp_time_ns *type_ns = EMP_NEW_ARRAY(emp_time_ns, types);

    if (type_ns == NULL) EMP_FAIL(EMP_ENOMEM, "%zu op types", types);
    list_worst(why);
    for (int32_t i = 0; i < why->worst_count; i++) {
        const emp_explain_segment *segment = &why->segment[why->worst[i].segment];
        if (segment->busy < 0) continue;
        memset(type_ns, 0, types * sizeof *type_ns);
        find_work(&why->worst[i].behind, s, segment, type_ns);
    }
cleanup:
    emp_free(type_ns);
    return st;
}
