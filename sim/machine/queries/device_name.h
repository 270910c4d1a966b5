/** \file sim/machine/queries/device_name.h
 * TensorFlow's names of devices, as nodes of graphs have them: "/job:worker/task:1/device:GPU:0",
 * "/device:GPU:1", "/gpu:1", "/cpu:0". Task n is host n of the machine, whatever the job is; a name
 * without a task counts the devices of the whole machine.
 */
#ifndef EMP_SIM_MACHINE_QUERIES_DEVICE_NAME_H
#define EMP_SIM_MACHINE_QUERIES_DEVICE_NAME_H

#include "sim/machine/machine.h"

enum { EMP_DEVICE_NAME_BYTES = 64 };

/** The device of the name of \a length bytes; -1 = the machine has none that fits. A task without a
 * device is the first GPU of its host, or its CPU; a name that says neither, as "", that of host 0. */
emp_device_id emp_device_name_find(const emp_machine *machine, const char *name,
                                   size_t length);

/** The name of a device, with job and task if the machine has several hosts. Returns \a name. */
const char *emp_device_name_write(char               name[EMP_DEVICE_NAME_BYTES],
                                  const emp_machine *machine, emp_device_id device);

#endif /* EMP_SIM_MACHINE_QUERIES_DEVICE_NAME_H */
