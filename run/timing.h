/** \file run/timing.h
 * How long a run took, and how far it was after how many CPU seconds. Both differ from run to run,
 * so that they stand beside a record (docs/formats.md), never in it.
 */
#ifndef EMP_RUN_TIMING_H
#define EMP_RUN_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** CPU seconds when the scores of so many placements were passed on. */
typedef struct {
    int64_t evaluations;
    double  cpu_s;
} emp_timing_point;

/** Zero-initialise; emp_timing_clear() releases it. */
typedef struct {
    double            elapsed_s; /**< by the wall clock; of a resumed run, all of it */
    double            cpu_s;     /**< of the run's one thread; NaN: it had several */
    int32_t           threads;
    int32_t           point_count;
    emp_timing_point *point; /**< rising; owned */
    /* Private. */
    double  best_s, kept_s;
    int32_t room;
    bool    is_last_kept, is_short;
} emp_timing;

/** Notes a batch. Every batch that improves the best gets a point; of the others, few do: one for
 * each percent of CPU seconds, and the last. CPU seconds are rounded up to microseconds, as the
 * file has them. Allocation failures show in emp_timing_check().
 * \param best_s  Of the run so far; NaN = nothing fits yet. */
void emp_timing_note(emp_timing *timing, int64_t evaluations, double elapsed_s,
                     double cpu_s, double best_s);

/** \retval EMP_ENOMEM  A point was lost. */
emp_status emp_timing_check(const emp_timing *timing, emp_error *err);

/** The last point within that many CPU seconds; NULL = none. O(log points). */
const emp_timing_point *emp_timing_within(const emp_timing *timing, double cpu_s);

/** Writes the file. \param evaluations  Of the run. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_timing_save(const emp_timing *timing, const char *path,
                           int64_t evaluations, emp_error *err);

/** Reads a file; a field that it lacks is not known. Clear \a timing also after a failure.
 * \retval EMP_EFORMAT  It is no timing file, or its curve does not rise.
 * \retval EMP_ENOMEM */
emp_status emp_timing_load(emp_timing *timing, const char *path, emp_error *err);

/** Releases the points and zeroes the rest. */
void emp_timing_clear(emp_timing *timing);

#endif /* EMP_RUN_TIMING_H */
