/** \file policy/placeto/options.h
 * Every constant of Placeto by name. README.md says where each value comes from.
 */
#ifndef EMP_POLICY_PLACETO_OPTIONS_H
#define EMP_POLICY_PLACETO_OPTIONS_H

#include "base/text/options.h"

/** Where episodes begin. */
typedef enum {
    EMP_PLACETO_START_ONCE,  /**< at one random placement */
    EMP_PLACETO_START_FIRST, /**< with all on the first device */
    EMP_PLACETO_START_EACH,  /**< each at a random placement of its own */
    EMP_PLACETO_START_BEST /**< at the best placement so far; the first at a random one */
} emp_placeto_start;

/** In what the time of a step counts. */
typedef enum { EMP_PLACETO_SECONDS, EMP_PLACETO_STARTS } emp_placeto_units;

/** What counts as missing memory. */
typedef enum {
    EMP_PLACETO_PEAK,    /**< GB above a limit on the fullest device */
    EMP_PLACETO_OVERFLOW /**< the share of a device's memory, summed over devices */
} emp_placeto_memory;

/** Meaning, range and presets of each: the table in placeto.c. */
typedef struct {
    int32_t            max_nodes, rollouts, passes, window, greedy_every, updates;
    bool               cpu;
    double             lr, lr_last, epsilon, clip, entropy, entropy_last, gamma;
    double             penalty, limit_gb, cap;
    emp_placeto_start  start;
    emp_placeto_units  units;
    emp_placeto_memory memory;
} emp_placeto_options;

#endif /* EMP_POLICY_PLACETO_OPTIONS_H */
