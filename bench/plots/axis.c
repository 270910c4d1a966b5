// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "bench/plots/html.h"

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
    if (most < 1 || !(axis->high > axis->low)) return 0;
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

/* ---- labels ---- */

enum { EM = 2048, FIRST = ' ', LAST = '~', MOST_LABELS = 64 };

static const char ELLIPSIS[] = "\xe2\x80\xa6"; /* U+2026 */

/* Advance widths of DejaVu Sans from ' ' to '~', in parts of an em. */
static const uint16_t width_of[LAST - FIRST + 1] = {
    651,  821,  942,  1716, 1303, 1946, 1597, 563,  799,  799,  1024, 1716, 651,  739,
    651,  690,  1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690,  690,
    1716, 1716, 1716, 1087, 2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604,
    604,  1343, 1141, 1767, 1532, 1612, 1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025,
    1403, 1251, 1403, 799,  690,  799,  1716, 1024, 1024, 1255, 1300, 1126, 1300, 1260,
    721,  1300, 1298, 569,  569,  1186, 569,  1995, 1298, 1253, 1300, 1300, 842,  1067,
    803,  1298, 1212, 1675, 1212, 1212, 1075, 1303, 690,  1303, 1716};

/* The width of the character of one to four bytes. */
static double em_width(const char *character)
{
    unsigned char c = (unsigned char)character[0];

    return c >= FIRST && c <= LAST ? (double)width_of[c - FIRST] / EM : 1.0;
}

double emp_label_width(const char *text, double font_size)
{
    char   character[EMP_CHARACTER_BYTES];
    double width = 0;

    while (*text != '\0') {
        text = emp_html_next(text, character);
        width += em_width(character);
    }
    return width * font_size;
}

/* The longest beginning of a text within a width; returns the text behind it. */
static const char *take_within(const char *text, double width, double font_size)
{
    char character[EMP_CHARACTER_BYTES];

    while (*text != '\0') {
        const char *behind = emp_html_next(text, character);
        width -= em_width(character) * font_size;
        if (width < 0) return text;
        text = behind;
    }
    return text;
}

/* The longest end of a text within a width. */
static const char *end_within(const char *text, double width, double font_size)
{
    char character[EMP_CHARACTER_BYTES];

    while (emp_label_width(text, font_size) > width)
        text = emp_html_next(text, character);
    return text;
}

void emp_label_shorten(char *label, size_t size, const char *text, double width,
                       double font_size)
{
    double half = fmax(0, (width - font_size) / 2); /* an ellipsis is square */

    if (emp_label_width(text, font_size) <= width && strlen(text) < size) {
        strcpy(label, text);
        return;
    }
    const char *middle = take_within(text, half, font_size);
    const char *tail = end_within(middle, half, font_size);
    size_t      begin_bytes = (size_t)(middle - text), tail_bytes = strlen(tail);
    if (begin_bytes + sizeof ELLIPSIS + tail_bytes > size) {
        label[0] = '\0';
        return;
    }
    memcpy(label, text, begin_bytes);
    strcpy(label + begin_bytes, ELLIPSIS);
    strcat(label, tail);
}

/* Neighbours that touch. */
struct block {
    double  sum; /* of where their members would be at best, without the ones between */
    int32_t count;
};

static double mean_of(const struct block *b) { return b->sum / b->count; }

/* Without the room that those before it take, labels must only not pass each other: the best
 * such places are an isotonic regression, which pooling neighbours that do finds (Ayer et al.,
 * Annals of Mathematical Statistics 26, 1955), and of which cutting off the ends is the best
 * within them. */
void emp_labels_spread(double *place, int32_t count, double apart, double low,
                       double high)
{
    struct block block[MOST_LABELS];
    int32_t      blocks = 0, label = 0;

    if (count > MOST_LABELS) count = MOST_LABELS;
    if (count > 1) apart = fmin(apart, (high - low) / (count - 1));
    for (int32_t i = 0; i < count; i++) {
        block[blocks++] = (struct block){place[i] - i * apart, 1};
        while (blocks > 1 && mean_of(&block[blocks - 2]) > mean_of(&block[blocks - 1])) {
            block[blocks - 2].sum += block[blocks - 1].sum;
            block[blocks - 2].count += block[blocks - 1].count;
            blocks--;
        }
    }
    high -= (count - 1) * apart;
    for (int32_t b = 0; b < blocks; b++) {
        double at = fmin(fmax(mean_of(&block[b]), low), high);
        for (int32_t i = 0; i < block[b].count; i++, label++)
            place[label] = at + label * apart;
    }
}
