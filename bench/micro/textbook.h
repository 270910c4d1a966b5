/** \file bench/micro/textbook.h
 * The yardstick: the profile `ideal` as a textbook would program it. One binary heap of
 * events, one heap of ready ops per device, a reference count per tensor and memory. No
 * allocation in a run, no other trick. Same step times and peaks as the engine's.
 *
 * Threads. An emp_textbook is confined to one thread.
 */
#ifndef EMP_BENCH_MICRO_TEXTBOOK_H
#define EMP_BENCH_MICRO_TEXTBOOK_H

#include "sim/problem/problem.h"

typedef struct {
    emp_time_ns step_time_ns;
    int64_t     peak_bytes[EMP_MAX_DEVICES];
} emp_textbook_result;

typedef struct emp_textbook emp_textbook;

/** O(V devices + E) memory. Nothing of \a problem is kept.
 * \retval EMP_EUNSUPPORTED  The problem's runtime is not the ideal one. */
emp_status emp_textbook_create(emp_textbook **out, const emp_problem *problem,
                               emp_error *err);

/** One step; \a device_of_op is legal. O((V + E devices) log(V)). */
void emp_textbook_run(emp_textbook *book, const emp_device_id *device_of_op,
                      emp_textbook_result *result);

void emp_textbook_destroy(emp_textbook *book);

#endif /* EMP_BENCH_MICRO_TEXTBOOK_H */
