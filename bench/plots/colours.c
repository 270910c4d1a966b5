// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/colours.h"

#include <stdbool.h>
#include <stddef.h>
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
/* The position is the style. Methods that figures show together most have colours of their own. */
static const char *const method_of_style[] = {"refine",
                                              "hdp",
                                              "anneal",
                                              "post",
                                              "expert",
                                              "local",
                                              "mcmc",
                                              "metis",
                                              "mincut",
                                              "dyna",
                                              "ce",
                                              "random",
                                              "colocrl",
                                              "go",
                                              "placeto",
                                              "giph",
                                              "hsdag",
                                              "doppler",
                                              "heft",
                                              "scotch",
                                              "gpu",
                                              "cpu",
                                              "brkga",
                                              "portfolio",
                                              "etf",
                                              "peft",
                                              "m-topo",
                                              "m-etf",
                                              "m-sct",
                                              "acyclic",
                                              "dp-contiguous",
                                              "critical-path",
                                              "memory-split",
                                              "first-fit",
                                              "experts-on-cpu"};
enum { METHODS = sizeof method_of_style / sizeof *method_of_style };

int32_t emp_report_method_style(const char *label)
{
    int32_t style = -1;
    size_t  longest = 0;

    for (int32_t i = 0; i < METHODS; i++) {
        const size_t length = strlen(method_of_style[i]);
        if (length <= longest || strncmp(label, method_of_style[i], length) != 0 ||
            strchr(" ,-:(", label[length]) == NULL) /* or the end */
            continue;
        style = i;
        longest = length;
    }
    return style;
}

/* True if a series has the style, or its colour. */
static bool is_taken(const int32_t *style, int32_t count, int32_t wanted, bool by_colour)
{
    for (int32_t i = 0; i < count; i++)
        if (style[i] == wanted ||
            (by_colour && style[i] >= 0 &&
             style[i] % EMP_LINE_STYLES == wanted % EMP_LINE_STYLES))
            return true;
    return false;
}

static int32_t first_left(const int32_t *style, int32_t count)
{
    for (int32_t i = 0; i < EMP_LINE_STYLES; i++)
        if (!is_taken(style, count, i, true)) return i;
    for (int32_t i = 0;; i++)
        if (!is_taken(style, count, i, false)) return i;
}

void emp_report_series_styles(int32_t *style, const char *const *label, int32_t count)
{
    for (int32_t i = 0; i < count; i++) style[i] = -1;
    for (int32_t i = 0; i < count; i++) {
        const int32_t own = emp_report_method_style(label[i]);
        if (own >= 0 && !is_taken(style, count, own, true)) style[i] = own;
    }
    for (int32_t i = 0; i < count; i++)
        if (style[i] < 0) style[i] = first_left(style, count);
}

emp_line_style emp_report_line_style(int32_t number)
{
    int32_t       colour = number % EMP_LINE_STYLES;
    const double *dash = dashes[(colour + number / EMP_LINE_STYLES) % EMP_LINE_STYLES];

    return (emp_line_style){line_colours[colour], dash[0] > 0 ? dash : NULL};
}
