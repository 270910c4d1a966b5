/** \file baselines/searches/ce.h
 * The elite of a search: the best placements so far, best first. A placement is an array of
 * choices, such as a device for each group, whose meaning only the owner knows.
 */
#ifndef EMP_BASELINES_SEARCHES_CE_H
#define EMP_BASELINES_SEARCHES_CE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** A checkpoint keeps count, choice and step_time_s, and width where it changes. */
typedef struct {
    int32_t  capacity, max_width;
    int32_t  width;       /**< choices of a placement, at most max_width */
    int64_t  count;       /**< placements held */
    int32_t *choice;      /**< [elite][width]; room for capacity x max_width */
    double  *step_time_s; /**< [elite], ascending; all differ */
} emp_elites;

/** Room for \a capacity placements of at most \a max_width choices; both at least 1.
 * \retval EMP_ENOMEM */
emp_status emp_elites_init(emp_elites *elites, int32_t capacity, int32_t max_width,
                           emp_error *err);
void       emp_elites_clear(emp_elites *elites); /**< legal after a failed init */

/** Forgets all; the next have \a width choices, at most max_width. */
void emp_elites_restart(emp_elites *elites, int32_t width);

/** Keeps a copy of \a choice if it is among the best. The first of several placements of one
 * step time stays: they are hardly ever two. Returns whether it was kept.
 * O(capacity x width). */
bool emp_elites_keep(emp_elites *elites, const int32_t *choice, double step_time_s);

/** The choices of an elite, of which 0 is the best; valid until another is kept. */
const int32_t *emp_elites_at(const emp_elites *elites, int64_t index);

/** Whether count and width are in range and all choices are in 0 .. \a choices - 1: a
 * restored state may come from anywhere. */
bool emp_elites_are_valid(const emp_elites *elites, int32_t choices);

#endif /* EMP_BASELINES_SEARCHES_CE_H */
