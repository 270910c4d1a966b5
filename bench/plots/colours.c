// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/colours.h"

#include <stdlib.h>
#include <string.h>

#include "bench/plots/drawing.h"

static const char *const line_colours[EMP_LINE_STYLES] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#882255", "#332288", "#662200", "#7755ee", "#117733", "#ee6677"};
/* For lines of two pixels. */
static const double dashes[EMP_LINE_STYLES][EMP_DRAWING_DASHES + 1] = {
    {0},
    {9, 4},
    {2.5, 3},
    {9, 3, 2.5, 3},
    {16, 4},
    {5, 3},
    {9, 3, 2.5, 3, 2.5, 3},
    {16, 3, 2.5, 3},
    {5, 3, 2, 3},
    {1.5, 5},
    {16, 3, 5, 3},
    {5, 7}};
static const char *const device_colours[EMP_DEVICE_COLOURS] = {
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7",
    "#0072b2", "#f0e442", "#d55e00", "#882255"};
static const char cpu_colour[] = "#a3a3a3";

emp_line_style emp_report_line_style(int32_t number)
{
    int32_t       colour = number % EMP_LINE_STYLES;
    const double *dash = dashes[(colour + number / EMP_LINE_STYLES) % EMP_LINE_STYLES];

    return (emp_line_style){line_colours[colour], dash[0] > 0 ? dash : NULL};
}

const char *emp_report_device_colour(const emp_machine *machine, emp_device_id device)
{
    int32_t before = 0; /* GPUs */

    if (machine->device[device].kind == EMP_DEVICE_CPU) return cpu_colour;
    for (emp_device_id d = 0; d < device; d++)
        before += machine->device[d].kind != EMP_DEVICE_CPU;
    return device_colours[before % EMP_DEVICE_COLOURS];
}

char emp_report_device_letter(emp_device_id device)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return device < (emp_device_id)strlen(letters) ? letters[device] : '+';
}

bool emp_report_device_is_dark(const emp_machine *machine, emp_device_id device)
{
    long rgb = strtol(emp_report_device_colour(machine, device) + 1, NULL, 16);
    long r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;

    return 299 * r + 587 * g + 114 * b < 110000; /* weights of ITU-R BT.601 */
}
