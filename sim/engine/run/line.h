/** \file sim/engine/run/line.h
 * What waits for a device: a list, or one for each level, of which the least that is not empty
 * is served. An op waits at its level, a copy to send at its producer's, one to receive at that
 * of its first reader.
 */
#ifndef EMP_SIM_ENGINE_RUN_LINE_H
#define EMP_SIM_ENGINE_RUN_LINE_H

#include "sim/engine/run/events.h"
#include "sim/engine/run/trace.h"

static inline int32_t emp_run_level_of(const emp_engine *sim, int32_t item)
{
    if (item < sim->op_count) return sim->level[item];
    if (emp_run_is_received(sim, item))
        return sim->level[sim->instance[emp_run_copy_of_received(sim, item)].first_op];
    int32_t tensor = emp_run_tensor_of_copy(sim, emp_run_copy_of_item(sim, item));
    return sim->level[sim->payload[tensor].producer];
}

/** The least level at which something waits; the last one, whose list is empty, if nothing does. */
static inline int32_t emp_run_least_level(const emp_sim_lines *lines)
{
    return __builtin_ctzll(lines->waiting | UINT64_C(1) << (EMP_LEVELS - 1));
}

/** The list whose first item the device serves next; it is empty if nothing waits. */
EMP_SIM_INLINE emp_sim_link *emp_run_line(emp_engine *sim, int32_t device)
{
    if (!EMP_RULES.has_levels) return &sim->device[device].line;
    emp_sim_lines *lines = &sim->lines[device];
    return &lines->line[emp_run_least_level(lines)];
}

/** \a d: the device. \a time_ns is for who takes the item. */
EMP_SIM_INLINE void emp_run_wait(emp_engine *sim, int32_t device, emp_sim_device *d,
                                 int32_t item, emp_time_ns time_ns)
{
    emp_sim_link *line = &d->line;

    if (EMP_RULES.has_levels) {
        int32_t level = emp_run_level_of(sim, item);
        sim->lines[device].waiting |= UINT64_C(1) << level;
        line = &sim->lines[device].line[level];
    }
    emp_run_append(sim, line, item, time_ns);
}

/** Takes the first item of \a line, which is emp_run_line() and not empty. */
EMP_SIM_INLINE int32_t emp_run_take_from_line(emp_engine *sim, int32_t device,
                                              emp_sim_link *line)
{
    int32_t item = emp_run_take(sim, line);

    if (EMP_RULES.has_levels) {
        emp_sim_lines *lines = &sim->lines[device];
        lines->waiting &= ~((uint64_t)emp_run_is_empty(line) << (line - lines->line));
    }
    return item;
}

#endif /* EMP_SIM_ENGINE_RUN_LINE_H */
