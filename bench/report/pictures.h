/** \file bench/report/pictures.h
 * Placements beside each other, and the timeline of a step, as drawings.
 */
#ifndef EMP_BENCH_REPORT_PICTURES_H
#define EMP_BENCH_REPORT_PICTURES_H

#include "bench/plots/drawing.h"
#include "bench/report/cells.h"
#include "bench/report/timeline.h"

/** A placement of the problem that all in a drawing have. Borrowed. */
typedef struct {
    const emp_cells *cells;
    const char      *label;   /**< who found it; may be of a record */
    const char      *verdict; /**< "0.84 s", "does not fit" */
} emp_picture_placement;

/** The placements as grids side by side: the same rows, the same widths, one legend. Each has
 * panels for forward, backward and update. */
void emp_picture_placements(emp_drawing *drawing, const char *name,
                            const emp_picture_placement *placement, int32_t count,
                            const emp_machine *machine);

/** The timeline: a band a device, a track a kind of work that it has any of. */
void emp_picture_timeline(emp_drawing *drawing, const char *name,
                          const emp_timeline *timeline, const emp_machine *machine);

#endif /* EMP_BENCH_REPORT_PICTURES_H */
