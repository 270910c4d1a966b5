/** \file bench/report/timeline.h
 * When devices compute and copy in one simulated step: for each of them and each kind of
 * work the busy share of every one of EMP_TIMELINE_BINS equal parts of the step, so that
 * the picture of a step of 80,000 ops is as small as that of ten.
 */
#ifndef EMP_BENCH_REPORT_TIMELINE_H
#define EMP_BENCH_REPORT_TIMELINE_H

#include "bench/plots/drawing.h"
#include "sim/engine/sim.h"

enum { EMP_TIMELINE_BINS = 900 };

typedef enum {
    EMP_TRACK_COMPUTE, /**< of a CPU: any core */
    EMP_TRACK_COPY_IN,
    EMP_TRACK_COPY_OUT,
    EMP_TRACK_COUNT
} emp_track_kind;

typedef struct {
    emp_time_ns busy_ns; /**< union of its intervals: work that overlaps counts once */
    float       busy_frac[EMP_TIMELINE_BINS];
} emp_track;

/** Zero-initialise. */
typedef struct {
    emp_sim_result result;
    int32_t        device_count;
    emp_track     *track; /**< [device][kind]; owned */
} emp_timeline;

/** Simulates the step. O(events log events) time, O(ops + copies) memory.
 * \retval EMP_ENOMEM; else as emp_sim_create() and emp_sim_run_decision(). */
emp_status emp_timeline_create(emp_timeline *timeline, const emp_problem *problem,
                               const emp_decision *decision, emp_error *err);

const emp_track *emp_timeline_at(const emp_timeline *timeline, emp_device_id device,
                                 emp_track_kind kind);

void emp_timeline_clear(emp_timeline *timeline);

/** The timeline: a band a device, a track a kind of work that it has any of. */
void emp_picture_timeline(emp_drawing *drawing, const char *name,
                          const emp_timeline *timeline, const emp_machine *machine);

#endif /* EMP_BENCH_REPORT_TIMELINE_H */
