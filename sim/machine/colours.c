// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/colours.h"

#include <stdlib.h>
#include <string.h>

enum { COLOURS = 8 }; /* then they begin anew */

/* Seven colours of Okabe and Ito, and a purple. */
static const char *const device_colours[COLOURS] = {"#56b4e9", "#e69f00", "#009e73",
                                                    "#cc79a7", "#0072b2", "#f0e442",
                                                    "#d55e00", "#882255"};
static const char        cpu_colour[] = "#a3a3a3";

const char *emp_device_colour(const emp_machine *machine, emp_device_id device)
{
    int32_t before = 0; /* GPUs */

    if (machine->device[device].kind == EMP_DEVICE_CPU) return cpu_colour;
    for (emp_device_id d = 0; d < device; d++)
        before += machine->device[d].kind != EMP_DEVICE_CPU;
    return device_colours[before % COLOURS];
}

char emp_device_letter(emp_device_id device)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return device < (emp_device_id)strlen(letters) ? letters[device] : '+';
}

bool emp_device_is_dark(const emp_machine *machine, emp_device_id device)
{
    long rgb = strtol(emp_device_colour(machine, device) + 1, NULL, 16);
    long r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;

    return 299 * r + 587 * g + 114 * b < 110000; /* weights of ITU-R BT.601 */
}
