// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/colours.h"

#include <stddef.h>

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
emp_line_style emp_report_line_style(int32_t number)
{
    int32_t       colour = number % EMP_LINE_STYLES;
    const double *dash = dashes[(colour + number / EMP_LINE_STYLES) % EMP_LINE_STYLES];

    return (emp_line_style){line_colours[colour], dash[0] > 0 ? dash : NULL};
}
