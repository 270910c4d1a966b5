/** \file bench/report/page.h
 * The whole page: tables, learning curves, quality, placement, timeline.
 */
#ifndef EMP_BENCH_REPORT_PAGE_H
#define EMP_BENCH_REPORT_PAGE_H

#include <signal.h>
#include <stdio.h>

#include "bench/plots/runs.h"
#include "sim/problem/problem.h"

typedef struct {
    /** Makes the problem of a record again; it stays valid until the next call. A failure
     * but EMP_ENOMEM leaves the two sections that need it with the message. */
    emp_status (*get_problem)(void *context, const emp_record *record,
                              const emp_problem **problem, emp_error *err);
    /** Told of each record whose two sections are left out, and why; or NULL. */
    void (*on_absence)(void *context, const emp_record *record, const char *why);
    void                        *context;
    const volatile sig_atomic_t *stop; /**< NULL = is never asked to */
    bool has_figures; /**< gnuplot is there; else a sentence says what to install */
} emp_report_params;

/** Writes the page of grouped runs.
 * \retval EMP_EINTERRUPTED  It was asked to stop.
 * \retval EMP_EEXTERNAL     gnuplot failed.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_report_write(FILE *file, const emp_report_runs *runs,
                            const emp_report_params *params, emp_error *err);

#endif /* EMP_BENCH_REPORT_PAGE_H */
