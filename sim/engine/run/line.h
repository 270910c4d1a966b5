/** \file sim/engine/run/line.h
 * What waits for a device: a list, or one for each level, of which the least that is not empty
 * is served. An op waits at its level, a copy to send at its producer's, one to receive at that
 * of its first reader: the caller of emp_run_serve() passes it.
 */
#ifndef EMP_SIM_ENGINE_RUN_LINE_H
#define EMP_SIM_ENGINE_RUN_LINE_H

#include "sim/engine/run/events.h"
#include "sim/engine/run/trace.h"

/** The op's level, if there are levels. */
static inline int32_t emp_run_level_of_op(const emp_engine *sim, int32_t op)
{
    return EMP_RULES.has_levels ? sim->level[op] : 0;
}

/** The list whose first item the device serves next. If nothing waits, it is the list of the last
 * level, which is then empty. */
EMP_SIM_INLINE emp_sim_link *emp_run_line(const emp_engine *sim, emp_sim_device *d)
{
    (void)sim; /* where rules are constants */
    if (!EMP_RULES.has_levels) return &d->line;
    return d->line_of_level +
           __builtin_ctzll(d->waiting | UINT64_C(1) << (EMP_LEVELS - 1));
}

/** \a level: emp_run_level_of_op() of the op that decides. \a time_ns is for who takes the item. */
EMP_SIM_INLINE void emp_run_wait(emp_engine *sim, emp_sim_device *d, int32_t item,
                                 int32_t level, emp_time_ns time_ns)
{
    emp_sim_link *line = &d->line;

    if (EMP_RULES.has_levels) {
        d->waiting |= UINT64_C(1) << level;
        line = d->line_of_level + level;
    }
    emp_run_append(sim, line, item, time_ns);
}

/** Takes the first item of \a line, which is emp_run_line() and not empty. */
EMP_SIM_INLINE int32_t emp_run_take_from_line(emp_engine *sim, emp_sim_device *d,
                                              emp_sim_link *line)
{
    int32_t item = emp_run_take(sim, line);

    /* The lowest bit is that of `line`. */
    if (EMP_RULES.has_levels) d->waiting &= d->waiting - (uint64_t)emp_run_is_empty(line);
    return item;
}

#endif /* EMP_SIM_ENGINE_RUN_LINE_H */
