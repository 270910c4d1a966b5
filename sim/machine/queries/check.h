/** \file sim/machine/queries/check.h
 * What is implausible of a machine that loads: mistyped units and figures that contradict each
 * other.
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
