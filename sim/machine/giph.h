/** \file sim/machine/giph.h
 * The random device networks of GiPH (Hu et al., MLSys 2023) as machines: devices of unlike
 * speeds, each pair joined by a link of its own.
 *
 * A spec is "giph" or "giph:devices=20,seed=1". The numbers are those that the released program
 * draws for that seed (env/utils.py, generate_network). It also draws which devices may run
 * which ops; a machine cannot say that, so here all may run all.
 *
 * A unit of time is a millisecond, and what GiPH calls a byte is a megabyte, as in the graphs of
 * graphs/workloads/giph.c.
 */
#ifndef EMP_SIM_MACHINE_GIPH_H
#define EMP_SIM_MACHINE_GIPH_H

#include <emplace/machine.h>
#include <stdbool.h>

#include "base/error.h"

/** Whether a machine's name is such a spec. */
bool emp_giph_machine_is(const char *spec);

/** \retval EMP_EINVAL  An unknown key, or a value out of range; the message lists what would be
 *                      right. \retval EMP_ENOMEM */
emp_status emp_giph_machine_create(emp_machine **out, const char *spec, emp_error *err);

#endif /* EMP_SIM_MACHINE_GIPH_H */
