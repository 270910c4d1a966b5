/** \file sim/machine/colours.h
 * The colour and the letter of each device, the same in all pictures: reports, Graphviz files, Model Explorer and the
 * page to explore.
 */
#ifndef EMP_SIM_MACHINE_COLOURS_H
#define EMP_SIM_MACHINE_COLOURS_H

#include "sim/machine/machine.h"

/** "#56b4e9"; grey for CPUs, and 8 colours for GPUs in turn. Static storage. */
const char *emp_device_colour(const emp_machine *machine, emp_device_id device);

/** "A" for device 0, ...; after 52 devices "+". */
char emp_device_letter(emp_device_id device);

/** Whether white letters are readable on the device's colour; else black ones are. */
bool emp_device_is_dark(const emp_machine *machine, emp_device_id device);

#endif /* EMP_SIM_MACHINE_COLOURS_H */
