/** \file bench/plots/colours.h
 * How curves and devices are told apart, by colour and otherwise: curves by their dashes, too,
 * devices by a letter. Any two colours of curves differ by 16 and more in CIELAB for people with
 * full colour vision and for those without red or green receptors. The first six are of Okabe
 * and Ito, "Color Universal Design", 2008.
 */
#ifndef EMP_BENCH_PLOTS_COLOURS_H
#define EMP_BENCH_PLOTS_COLOURS_H

#include "sim/machine/machine.h"

enum {
    EMP_LINE_STYLES = 12,   /**< of distinct colours and dashes */
    EMP_DEVICE_COLOURS = 8, /**< then they begin anew */
};

/** Static storage. */
typedef struct {
    const char   *colour; /**< "#0072b2" */
    const double *dash;   /**< as of emp_paint; NULL = solid */
} emp_line_style;

/** The colour of the curve with that number; the first EMP_LINE_STYLES^2 differ in colour or dashes. */
emp_line_style emp_report_line_style(int32_t number);

/** The colour of a device: grey for CPUs. Static storage. */
const char *emp_report_device_colour(const emp_machine *machine, emp_device_id device);

/** "A" for device 0, ...; after 52 devices "+". */
char emp_report_device_letter(emp_device_id device);

/** Whether white letters are readable on the device's colour; else black ones are. */
bool emp_report_device_is_dark(const emp_machine *machine, emp_device_id device);

#endif /* EMP_BENCH_PLOTS_COLOURS_H */
