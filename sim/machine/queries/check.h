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

/** Reports all implausible values, in the order of models, links and
 * fabrics. \return their number. O(models x points of tables + devices^2). */
int32_t emp_machine_check(const emp_machine *machine, emp_machine_complaint *tell,
                          void *context);

/* TensorFlow's names of devices, as nodes of graphs have them: "/job:worker/task:1/device:GPU:0",
 * "/device:GPU:1", "/gpu:1", "/cpu:0". Task n is host n of the machine, whatever the job is; a name
 * without a task counts the devices of the whole machine. */

enum { EMP_DEVICE_NAME_BYTES = 64 };

/** The device of the name of \a length bytes; -1 = the machine has none that fits. A task without a
 * device is the first GPU of its host, or its CPU; a name without either, such as "", belongs to host 0. */
emp_device_id emp_device_name_find(const emp_machine *machine, const char *name,
                                   size_t length);

/** The name of a device, with job and task if the machine has several hosts. Returns \a name. */
const char *emp_device_name_write(char               name[EMP_DEVICE_NAME_BYTES],
                                  const emp_machine *machine, emp_device_id device);

#endif /* EMP_SIM_MACHINE_QUERIES_CHECK_H */
