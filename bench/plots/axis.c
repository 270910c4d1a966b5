// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"

/* Fewer marks say too little. */
enum { LEAST_MARKS = 3 };

emp_axis emp_axis_empty(void) { return (emp_axis){.low = INFINITY, .high = -INFINITY}; }

void emp_axis_stretch(emp_axis *axis, double value)
{
    if (!isfinite(value)) return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void emp_axis_widen(emp_axis *axis, double share)
{
    double by = axis->high - axis->low;

    if (axis->is_log) {
        double factor = by > 0 ? pow(axis->high / axis->low, share) : 1.1;
        axis->low /= factor;
        axis->high *= factor;
        return;
    }
    by = by > 0 ? share * by : axis->high != 0 ? fabs(axis->high) / 10 : 1;
    axis->low -= by;
    axis->high += by;
}

double emp_axis_place(const emp_axis *axis, double value)
{
    double inside = fmin(fmax(value, axis->low), axis->high);
    double frac = axis->is_log ? log(inside / axis->low) / log(axis->high / axis->low)
                               : (inside - axis->low) / (axis->high - axis->low);

    return axis->from + (isfinite(frac) ? frac : 0) * (axis->to - axis->from);
}

/* The next of 1, 2, 5, 10, ... */
static double nice_step(double least)
{
    double unit = pow(10.0, floor(log10(least)));

    return least <= unit       ? unit
           : least <= 2 * unit ? 2 * unit
           : least <= 5 * unit ? 5 * unit
                               : 10 * unit;
}

static int32_t mark_evenly(const emp_axis *axis, int32_t most, double *mark)
{
    double  step = nice_step((axis->high - axis->low) / most);
    int64_t first = (int64_t)ceil(axis->low / step - 1e-9);
    int32_t count = 0;

    for (int64_t i = first; count <= most; i++) {
        double value = (double)i * step;
        if (value > axis->high + 1e-9 * step) break;
        mark[count++] = value;
    }
    return count;
}

/* The given multiples of every so many powers of ten. -1 = there are too many. */
static int32_t mark_decades(const emp_axis *axis, int32_t most, const double *multiple,
                            int multiples, int every, double *mark)
{
    int32_t count = 0;
    int     last = (int)floor(log10(axis->high) + 1e-9);

    for (int power = (int)floor(log10(axis->low)); power <= last; power++) {
        if (power % every != 0) continue;
        for (int i = 0; i < multiples; i++) {
            double value = multiple[i] * pow(10, power);
            if (value < axis->low * (1 - 1e-9) || value > axis->high * (1 + 1e-9))
                continue;
            if (count == most) return -1;
            mark[count++] = value;
        }
    }
    return count;
}

int32_t emp_axis_marks(const emp_axis *axis, int32_t most, double mark[EMP_AXIS_MARKS])
{
    static const double multiple[] = {1, 2, 5};

    if (most >= EMP_AXIS_MARKS) most = EMP_AXIS_MARKS - 1;
    if (!(axis->high > axis->low)) return 0;
    if (!axis->is_log) return mark_evenly(axis, most, mark);
    int32_t fine = mark_decades(axis, most, multiple, 3, 1, mark);
    if (fine >= LEAST_MARKS) return fine;
    if (fine >= 0) return mark_evenly(axis, most, mark);
    for (int every = 1;; every++) {
        int32_t count = mark_decades(axis, most, multiple, 1, every, mark);
        if (count >= 0) return count;
    }
}

const char *emp_axis_number(double value, char *text, size_t size)
{
    enum { DIGITS = 6 };
    double      size_of = fabs(value);
    const char *prefix = size_of >= 1e6 && size_of < 1e9   ? "M"
                         : size_of >= 1e4 && size_of < 1e6 ? "k"
                                                           : "";
    double      scale = *prefix == 'M' ? 1e6 : *prefix == 'k' ? 1e3 : 1.0;

    emp_units_format_number(value / scale, DIGITS, text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", prefix);
    return text;
}
