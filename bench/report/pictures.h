/** \file bench/report/pictures.h
 * The pictures that this program draws itself, as svg elements, with what they need around
 * them: the grid of a placement, the timeline of a step.
 */
#ifndef EMP_BENCH_REPORT_PICTURES_H
#define EMP_BENCH_REPORT_PICTURES_H

#include <stdio.h>

#include "bench/report/cells.h"
#include "bench/report/timeline.h"

/** Which colour and letter is which device, and each device's share of ops and
 * arithmetic. */
void emp_picture_devices(FILE *file, const emp_problem *problem,
                         const emp_device_id *device_of_op);

/** The grid: a panel each for forward, backward and update. */
void emp_picture_cells(FILE *file, const emp_cells *cells, const emp_machine *machine);

/** The timeline: a band a device, a track a kind of work that it has any of. */
void emp_picture_timeline(FILE *file, const emp_timeline *timeline,
                          const emp_machine *machine);

#endif /* EMP_BENCH_REPORT_PICTURES_H */
