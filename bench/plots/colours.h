/** \file bench/plots/colours.h
 * Colours that people with any colour vision tell apart (Okabe and Ito, "Color Universal
 * Design", 2008, with two more), each with a letter.
 */
#ifndef EMP_BENCH_PLOTS_COLOURS_H
#define EMP_BENCH_PLOTS_COLOURS_H

#include "sim/machine/machine.h"

enum { EMP_REPORT_COLOURS = 8 /* then they begin anew */ };

/** Of a method's curve, "#0072b2"; static storage. */
const char *emp_report_series_colour(int32_t series);

/** Of a device: grey for CPUs. */
const char *emp_report_device_colour(const emp_machine *machine, emp_device_id device);

/** "A" for device 0, ...; after 52 devices "+". */
char emp_report_device_letter(emp_device_id device);

/** Whether white letters are readable on the device's colour; else black ones are. */
bool emp_report_device_is_dark(const emp_machine *machine, emp_device_id device);

#endif /* EMP_BENCH_PLOTS_COLOURS_H */
