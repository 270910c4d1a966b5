// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/blame.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/explain/explain_internal.h"

static double seconds(emp_time_ns ns) { return (double)ns * 1e-9; }

static void give(double *blame_s, emp_op_id op, double time_s)
{
    if (op >= 0) blame_s[op] += time_s;
}

/* To the ops of the segments themselves, from the last to the first. */
static void share_segments(double *blame_s, const emp_explain *why)
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
static int32_t find_segment(const emp_explain *why, emp_time_ns at)
{
    int32_t low = 0, high = why->segment_count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (why->segment[middle].end_ns > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* To the ops that keep a device busy for which the path waits. */
static void share_waits(double *blame_s, const emp_explain *why,
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
                          const emp_device_id *device_of_op, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_explain_schedule *s = &b->schedule;
    emp_explain           why = {0};

    s->device_of_op = device_of_op;
    if (s->problem->runtime.rules != EMP_RULES_EVENTS)
        EMP_TRY(emp_explain_refuse(s->problem, err));
    EMP_TRY(emp_explain_record(s, b->sim, err));
    EMP_TRY(emp_explain_check_complete(s, err));
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
                             const emp_device_id *device_of_op, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_blamer *b = NULL;

    EMP_TRY(emp_blamer_create(&b, problem, sim, err));
    EMP_TRY(emp_blamer_run(b, blame_s, NULL, device_of_op, err));

cleanup:
    emp_blamer_destroy(b);
    return st;
}
