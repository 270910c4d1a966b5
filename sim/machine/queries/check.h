/** \file sim/machine/queries/check.h
 * Finds implausible values of a machine that loads: mistyped units, figures that contradict each other,
 * and those far from what is published of a known product. Each sentence names a value that would be right.
 */
#ifndef EMP_SIM_MACHINE_QUERIES_CHECK_H
#define EMP_SIM_MACHINE_QUERIES_CHECK_H

#include "sim/machine/machine.h"

enum { EMP_COMPLAINT_BYTES = 256 };

/** Hears one sentence that names the device, link or fabric. */
typedef void emp_machine_complaint(void *context, const char *sentence);

/** Tells all that is implausible, in the order of models, links and fabrics.
 * \return how often it told. O(models x points of tables + devices^2). */
int32_t emp_machine_check(const emp_machine *machine, emp_machine_complaint *tell,
                          void *context);

#endif /* EMP_SIM_MACHINE_QUERIES_CHECK_H */
