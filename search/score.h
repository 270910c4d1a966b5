/** \file search/score.h
 * The score of one candidate, and the two orders of scores that methods use.
 */
#ifndef EMP_SEARCH_SCORE_H
#define EMP_SEARCH_SCORE_H

#include "sim/rules/step.h"

/** What the oracle said of one candidate. */
typedef struct {
    double step_time_s; /**< also set when out of memory: the time it would have taken */
    bool   is_feasible; /**< false: out of memory */
    double overflow_frac; /**< memory that was missing, over a device's own, summed over
                               devices; 0 when it fits, or unknown */
    /* Known of the method's own candidates, until tell() returns; NULL of other ranks'. */
    const emp_sim_result *result;         /**< peaks and busy times of devices */
    const emp_time_ns *start_ns, *end_ns; /**< [op] NULL unless the method needs them; 0
                                               of what is folded away */
} emp_score;

/** What fits in memory before what does not, then the shorter step; false for equals. */
static inline bool emp_score_is_better(const emp_score *score, const emp_score *than)
{
    if (score->is_feasible != than->is_feasible) return score->is_feasible;
    return score->step_time_s < than->step_time_s;
}

/** Step time, and more for what does not fit: twice the time, and as much again for every
 * tenth of a device's memory that is missing. So a walk that begins where nothing fits
 * finds the way out. */
static inline double emp_penalized_s(const emp_score *score)
{
    return score->is_feasible ? score->step_time_s
                              : score->step_time_s * (2.0 + 10.0 * score->overflow_frac);
}

#endif /* EMP_SEARCH_SCORE_H */
