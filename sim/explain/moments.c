// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/moments.h"

static void on_ready(void *context, emp_op_id op, emp_device_id device, emp_time_ns at_ns)
{
    emp_op_moment *moment = context;

    (void)device;
    moment[op].ready_ns = at_ns;
}

/* The tasks of an op on a CPU overlap, and begin in the order of time. */
static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start_ns, emp_time_ns end_ns)
{
    emp_op_moment *m = (emp_op_moment *)context + op;

    (void)device;
    (void)lane;
    if (m->start_ns < 0 || start_ns < m->start_ns) m->start_ns = start_ns;
    if (end_ns > m->end_ns) {
        m->run_ns += end_ns - (start_ns > m->end_ns ? start_ns : m->end_ns);
        m->end_ns = end_ns;
    }
}

emp_status emp_op_moments(emp_op_moment *moment, emp_sim *sim, const emp_problem *problem,
                          const emp_decision *decision, emp_sim_result *result,
                          emp_error *err)
{
    const emp_sim_trace trace = {.context = moment, .op = on_op, .ready = on_ready};

    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        moment[op] = (emp_op_moment){-1, -1, -1, 0};
    return emp_sim_trace_decision(sim, decision, &trace, result, err);
}

emp_time_ns emp_op_wait_ns(const emp_op_moment *m)
{
    return m->ready_ns >= 0 && m->start_ns > m->ready_ns ? m->start_ns - m->ready_ns : 0;
}
