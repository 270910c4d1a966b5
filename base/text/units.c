// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* strtod_l */

#include "base/text/units.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc keeps this locale for good: to ask for it and to release it cost nothing. */
static locale_t plain_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double emp_number_parse(const char *text, char **end)
{
    locale_t plain = plain_locale();
    double   value = strtod_l(text, end, plain);

    freelocale(plain);
    return value;
}

void emp_number_write(FILE *stream, double value)
{
    locale_t plain = plain_locale();
    locale_t before = uselocale(plain);

    fprintf(stream, "%.17g", value);
    uselocale(before);
    freelocale(plain);
}

struct symbol {
    emp_unit    unit;
    const char *text;
    double      scale;
};

static const struct symbol symbols[] = {
    {EMP_UNIT_SECONDS, "ns", 1e-9},
    {EMP_UNIT_SECONDS, "us", 1e-6},
    {EMP_UNIT_SECONDS, "ms", 1e-3},
    {EMP_UNIT_SECONDS, "s", 1.0},
    {EMP_UNIT_BYTES, "B", 1.0},
    {EMP_UNIT_BYTES, "kB", 1e3},
    {EMP_UNIT_BYTES, "MB", 1e6},
    {EMP_UNIT_BYTES, "GB", 1e9},
    {EMP_UNIT_BYTES, "TB", 1e12},
    {EMP_UNIT_BYTES, "KiB", 0x1p10},
    {EMP_UNIT_BYTES, "MiB", 0x1p20},
    {EMP_UNIT_BYTES, "GiB", 0x1p30},
    {EMP_UNIT_BYTES, "TiB", 0x1p40},
    {EMP_UNIT_BYTES_PER_S, "B/s", 1.0},
    {EMP_UNIT_BYTES_PER_S, "kB/s", 1e3},
    {EMP_UNIT_BYTES_PER_S, "MB/s", 1e6},
    {EMP_UNIT_BYTES_PER_S, "GB/s", 1e9},
    {EMP_UNIT_BYTES_PER_S, "TB/s", 1e12},
    {EMP_UNIT_BYTES_PER_S, "KiB/s", 0x1p10},
    {EMP_UNIT_BYTES_PER_S, "MiB/s", 0x1p20},
    {EMP_UNIT_BYTES_PER_S, "GiB/s", 0x1p30},
    {EMP_UNIT_BYTES_PER_S, "TiB/s", 0x1p40},
    {EMP_UNIT_BYTES_PER_S, "Mbit/s", 1e6 / 8},
    {EMP_UNIT_BYTES_PER_S, "Gbit/s", 1e9 / 8},
    {EMP_UNIT_BYTES_PER_S, "Tbit/s", 1e12 / 8},
    {EMP_UNIT_FLOPS_PER_S, "FLOP/s", 1.0},
    {EMP_UNIT_FLOPS_PER_S, "kFLOP/s", 1e3},
    {EMP_UNIT_FLOPS_PER_S, "MFLOP/s", 1e6},
    {EMP_UNIT_FLOPS_PER_S, "GFLOP/s", 1e9},
    {EMP_UNIT_FLOPS_PER_S, "TFLOP/s", 1e12},
    {EMP_UNIT_FLOPS_PER_S, "PFLOP/s", 1e15},
    {EMP_UNIT_HERTZ, "Hz", 1.0},
    {EMP_UNIT_HERTZ, "kHz", 1e3},
    {EMP_UNIT_HERTZ, "MHz", 1e6},
    {EMP_UNIT_HERTZ, "GHz", 1e9},
};

static const char *example_of(emp_unit unit)
{
    switch (unit) {
    case EMP_UNIT_SECONDS: return "5 us";
    case EMP_UNIT_BYTES: return "10.6 GiB";
    case EMP_UNIT_BYTES_PER_S: return "12.8 GB/s";
    case EMP_UNIT_FLOPS_PER_S: return "4.29 TFLOP/s";
    case EMP_UNIT_HERTZ: return "745 MHz";
    }
    return "";
}

enum { SYMBOL_COUNT = sizeof symbols / sizeof *symbols, LIST_BYTES = 128 };

/* "ns, us, ms, s" */
static const char *list_symbols(emp_unit unit, char list[LIST_BYTES])
{
    size_t used = 0;

    for (size_t i = 0; i < SYMBOL_COUNT && used < LIST_BYTES; i++)
        if (symbols[i].unit == unit)
            used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s",
                                     used == 0 ? "" : ", ", symbols[i].text);
    return list;
}

static bool is_plain_number(const char *text)
{
    if (strpbrk(text, "xX") != NULL) return false; /* no hexadecimal ones */
    return (*text >= '0' && *text <= '9') || *text == '-' || *text == '+' || *text == '.';
}

emp_status emp_units_parse(const char *text, emp_unit unit, double *value, emp_error *err)
{
    char  *end = NULL, list[LIST_BYTES];
    double number = emp_number_parse(text, &end);

    if (end == text || !is_plain_number(text) || !isfinite(number)) {
        return EMP_ERROR(EMP_EFORMAT, "\"%s\" is not a quantity; write e.g. \"%s\"", text,
                         example_of(unit));
    }
    while (*end == ' ') end++;
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (symbols[i].unit == unit && strcmp(symbols[i].text, end) == 0) {
            *value = number * symbols[i].scale;
            return EMP_OK;
        }
    }
    return EMP_ERROR(
        EMP_EFORMAT,
        "\"%s\" has no unit of the right kind; write e.g. \"%s\" (units: %s)", text,
        example_of(unit), list_symbols(unit, list));
}

/* The scale of a suffix in a table of texts and scales; 0 = there is none of that name. */
static double find_scale(const struct symbol *table, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].text, text) == 0) return table[i].scale;
    return 0.0;
}

bool emp_units_parse_count(const char *text, int64_t *value)
{
    static const struct symbol suffixes[] = {{.text = "", .scale = 1.0},
                                             {.text = "k", .scale = 1e3},
                                             {.text = "K", .scale = 1e3},
                                             {.text = "M", .scale = 1e6},
                                             {.text = "G", .scale = 1e9}};
    const double most = 0x1p53; /* every whole number below it is a double */
    char        *end = NULL;

    if (!is_plain_number(text)) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end != text && *end == '\0') return errno == 0;
    double number = emp_number_parse(text, &end);
    number *= find_scale(suffixes, sizeof suffixes / sizeof *suffixes, end);
    if (fabs(number - round(number)) <= 2 * DBL_EPSILON * fabs(number))
        number = round(number); /* 1.1k */
    if (number == 0.0 || !(fabs(number) <= most) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

bool emp_units_parse_duration(const char *text, double *seconds)
{
    static const struct symbol units[] = {
        {.text = "", .scale = 1.0},     {.text = "ms", .scale = 1e-3},
        {.text = "s", .scale = 1.0},    {.text = "m", .scale = 60.0},
        {.text = "min", .scale = 60.0}, {.text = "h", .scale = 3600.0},
        {.text = "d", .scale = 86400.0}};
    char  *end = NULL;
    double number = emp_number_parse(text, &end);

    if (end == text || !is_plain_number(text)) return false;
    while (*end == ' ') end++;
    double scale = find_scale(units, sizeof units / sizeof *units, end);
    *seconds = number * scale;
    return scale > 0.0 && isfinite(*seconds);
}

/* ---- what people read ---------------------------------------------------------------- */

enum { MOST_PLACES = 9, DECIMAL_DIGITS = 3, BYTE_DIGITS = 4, BYTE_PLACES = 2 };

/* The power of ten of a value's first digit, once it is rounded to so many digits. */
static int exponent_of(double value, int digits)
{
    char text[40];

    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return atoi(strchr(text, 'e') + 1);
}

static void drop_last_zeros(char *text)
{
    char *end = text + strlen(text);

    if (strchr(text, '.') == NULL) return;
    while (end[-1] == '0') *--end = '\0';
    if (end[-1] == '.') end[-1] = '\0';
}

static void write_number(double value, int digits, int most_places, char *buffer,
                         size_t size)
{
    if (fabs(value) < 0.5 * pow(10.0, -most_places)) value = 0.0; /* no "-0" */
    int places = digits - 1 - exponent_of(value, digits);

    places = places < 0 ? 0 : places > most_places ? most_places : places;
    snprintf(buffer, size, "%.*f", places, value);
    drop_last_zeros(buffer);
}

const char *emp_units_format_number(double value, int digits, char *buffer, size_t size)
{
    if (!isfinite(value))
        snprintf(buffer, size, "-");
    else
        write_number(value, digits, MOST_PLACES, buffer, size);
    return buffer;
}

static double round_to(double value, int digits)
{
    char text[40];

    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return emp_number_parse(text, NULL);
}

/* Units of which each is \a base times the one before. */
struct ladder {
    const char *const *prefix;
    int                count;
    double             base;
    int                digits, places; /* shown: all in all, and decimal ones at most */
};

static const char *format_on(const struct ladder *l, double value, const char *unit,
                             char *buffer, size_t size)
{
    int step = 0;

    if (!isfinite(value)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    while (step + 1 < l->count && fabs(round_to(value, l->digits)) >= l->base)
        value /= l->base, step++;
    write_number(value, l->digits, l->places, buffer, size);
    size_t used = strlen(buffer);
    snprintf(buffer + used, size - used, " %s%s", l->prefix[step], unit);
    return buffer;
}

const char *emp_units_format_bytes(int64_t bytes, char *buffer, size_t size)
{
    static const char *const   prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    static const struct ladder binary = {prefixes, 7, 1024.0, BYTE_DIGITS, BYTE_PLACES};

    return format_on(&binary, (double)bytes, "B", buffer, size);
}

const char *emp_units_format_seconds(double seconds, char *buffer, size_t size)
{
    static const char *const   prefixes[] = {"n", "u", "m", ""};
    static const struct ladder decimal = {prefixes, 4, 1000.0, DECIMAL_DIGITS,
                                          DECIMAL_DIGITS};

    if (seconds != 0.0) return format_on(&decimal, seconds * 1e9, "s", buffer, size);
    snprintf(buffer, size, "0 s");
    return buffer;
}

const char *emp_units_format_si(double value, const char *unit, char *buffer, size_t size)
{
    static const char *const   prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    static const struct ladder decimal = {prefixes, 7, 1000.0, DECIMAL_DIGITS,
                                          DECIMAL_DIGITS};

    return format_on(&decimal, value, unit, buffer, size);
}

const char *emp_units_format_duration(double seconds, char *buffer, size_t size)
{
    static const struct {
        const char *large, *small;
        int64_t     large_s, small_s;
    } units[] = {{"d", "h", 86400, 3600}, {"h", "min", 3600, 60}, {"min", "s", 60, 1}};

    if (!(fabs(seconds) < 0x1p53)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    int64_t whole_s = llround(seconds);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int64_t large_s = units[i].large_s;
        if (whole_s < large_s) continue;
        snprintf(buffer, size, "%lld %s %02lld %s", (long long)(whole_s / large_s),
                 units[i].large, (long long)(whole_s % large_s / units[i].small_s),
                 units[i].small);
        return buffer;
    }
    snprintf(buffer, size, "%lld s", (long long)whole_s);
    return buffer;
}

/* In percent, and no "-0.0". */
static double percent_of(double frac) { return fabs(frac) < 0.0005 ? 0.0 : 100.0 * frac; }

const char *emp_units_format_percent(double frac, char *buffer, size_t size)
{
    snprintf(buffer, size, isfinite(frac) ? "%.1f %%" : "-", percent_of(frac));
    return buffer;
}

const char *emp_units_format_change(double frac, char *buffer, size_t size)
{
    snprintf(buffer, size, isfinite(frac) ? "%+.1f %%" : "-", percent_of(frac));
    return buffer;
}

const char *emp_units_plural(int64_t count) { return count == 1 ? "" : "s"; }

/* "all_reduce", "all_gather", "reduce_scatter", "alltoall"; static storage. */
static const char *emp_collective_name(emp_collective op)
{
    static const char *const names[EMP_COLLECTIVES] = {"all_reduce", "all_gather",
                                                       "reduce_scatter", "alltoall"};

    return names[op];
}

emp_status emp_collective_parse(emp_collective *op, const char *name, emp_error *err)
{
    for (int32_t c = 0; c < EMP_COLLECTIVES; c++) {
        if (strcmp(emp_collective_name((emp_collective)c), name) != 0) continue;
        *op = (emp_collective)c;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "\"%.40s\" is no collective; known: all_reduce, all_gather, "
                     "reduce_scatter, alltoall",
                     name);
}
