// SPDX-License-Identifier: GPL-3.0-or-later
/* Quantities as people write them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "base/text/units.h"

struct quantity_case {
    char     text[24];
    emp_unit unit;
    double   value; /* negative: must be refused */
};

static struct quantity_case quantity_cases[] = {
    {"5 us", EMP_UNIT_SECONDS, 5e-6},
    {"1.5s", EMP_UNIT_SECONDS, 1.5},
    {"20  ns", EMP_UNIT_SECONDS, 20e-9},
    {"0 ms", EMP_UNIT_SECONDS, 0.0},
    {"10.6 GiB", EMP_UNIT_BYTES, 10.6 * 1024.0 * 1024.0 * 1024.0},
    {"1 GB", EMP_UNIT_BYTES, 1e9},
    {"256 B", EMP_UNIT_BYTES, 256.0},
    {"12.8 GB/s", EMP_UNIT_BYTES_PER_S, 12.8e9},
    {"1 KiB/s", EMP_UNIT_BYTES_PER_S, 1024.0},
    {"7 B/s", EMP_UNIT_BYTES_PER_S, 7.0},
    {"4.29 TFLOP/s", EMP_UNIT_FLOPS_PER_S, 4.29e12},
    {"3 FLOP/s", EMP_UNIT_FLOPS_PER_S, 3.0},
    {"3 kFLOP/s", EMP_UNIT_FLOPS_PER_S, 3e3},
    {"745 MHz", EMP_UNIT_HERTZ, 745e6},
    {"", EMP_UNIT_SECONDS, -1.0},
    {"fast", EMP_UNIT_SECONDS, -1.0},
    {"5", EMP_UNIT_SECONDS, -1.0},
    {"5 GB", EMP_UNIT_SECONDS, -1.0},
    {"5 us later", EMP_UNIT_SECONDS, -1.0},
    {"5 US", EMP_UNIT_SECONDS, -1.0},
    {"inf s", EMP_UNIT_SECONDS, -1.0},
    {"nan s", EMP_UNIT_SECONDS, -1.0},
    {"1e999 s", EMP_UNIT_SECONDS, -1.0},
    {"GB/s", EMP_UNIT_BYTES_PER_S, -1.0},
    {"5 GB", EMP_UNIT_BYTES_PER_S, -1.0},
};

ParameterizedTestParameters(units, parse)
{
    return cr_make_param_array(struct quantity_case, quantity_cases,
                               sizeof quantity_cases / sizeof quantity_cases[0]);
}

ParameterizedTest(struct quantity_case *c, units, parse)
{
    emp_error  err = {0};
    double     value = -7.0;
    emp_status st = emp_units_parse(c->text, c->unit, &value, &err);

    if (c->value < 0.0) {
        cr_expect_eq(st, EMP_EFORMAT, "\"%s\" was taken for %g", c->text, value);
        cr_expect_eq(value, -7.0, "a refused text writes nothing");
        cr_expect_not_null(strstr(err.msg, c->text), "the message names the text: %s",
                           err.msg);
        cr_expect_not_null(strstr(err.msg, "write e.g."), "%s", err.msg);
    } else {
        cr_assert_eq(st, EMP_OK, "\"%s\": %s", c->text, err.msg);
        cr_expect_float_eq(value, c->value, 1e-12 * c->value, "\"%s\" gave %g", c->text,
                           value);
    }
}

Test(units, formats_bytes_with_binary_prefixes)
{
    char text[32];

    cr_expect_str_eq(emp_units_format_bytes(0, text, sizeof text), "0 B");
    cr_expect_str_eq(emp_units_format_bytes(1023, text, sizeof text), "1023 B");
    cr_expect_str_eq(emp_units_format_bytes(1536, text, sizeof text), "1.50 KiB");
    cr_expect_str_eq(emp_units_format_bytes(INT64_C(11400000000), text, sizeof text),
                     "10.62 GiB");
    cr_expect_str_eq(emp_units_format_bytes(INT64_C(1) << 50, text, sizeof text),
                     "1024.00 TiB");
}

Test(units, formats_seconds_with_the_fitting_prefix)
{
    char text[32];

    cr_expect_str_eq(emp_units_format_seconds(1.57, text, sizeof text), "1.57 s");
    cr_expect_str_eq(emp_units_format_seconds(0.149, text, sizeof text), "149 ms");
    cr_expect_str_eq(emp_units_format_seconds(12.3e-6, text, sizeof text), "12.3 us");
}

Test(units, formats_amounts_with_decimal_prefixes)
{
    char text[32];

    cr_expect_str_eq(emp_units_format_si(26.03e12, "FLOP", text, sizeof text),
                     "26 TFLOP");
    cr_expect_str_eq(emp_units_format_si(0, "FLOP", text, sizeof text), "0 FLOP");
    cr_expect_str_eq(emp_units_format_si(999.4, "B", text, sizeof text), "999 B");
    cr_expect_str_eq(emp_units_format_si(999.6, "B", text, sizeof text), "1 kB");
    cr_expect_str_eq(emp_units_format_si(12.8e9, "B/s", text, sizeof text), "12.8 GB/s");
    cr_expect_str_eq(emp_units_format_si(5e23, "B", text, sizeof text), "5e+05 EB");
}

Test(units, counts_are_read_as_people_write_them)
{
    static const struct {
        const char *text;
        int64_t     count;
    } good[] = {{"400", 400},
                {"0", 0},
                {"-3", -3},
                {"10k", 10000},
                {"1e6", 1000000},
                {"1.5k", 1500},
                {"1.1k", 1100},
                {"2M", 2000000},
                {"0.29k", 290},
                {"3G", INT64_C(3000000000)},
                {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {
        "",    "k",   "many", " 4",    "4 ",  "1.5",     "1e-3", "1e30",
        "nan", "inf", "10q",  "0x10k", "--3", "1.0005k", "-inf", "99999999999999999999"};
    int64_t count;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect(emp_units_parse_count(good[i].text, &count), "%s", good[i].text);
        cr_expect_eq(count, good[i].count, "%s is %lld", good[i].text, (long long)count);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(emp_units_parse_count(bad[i], &count), "\"%s\"", bad[i]);
}

Test(units, times_are_read_as_people_write_them)
{
    static const struct {
        const char *text;
        double      seconds;
    } good[] = {{"90", 90},   {"1.5s", 1.5}, {"2m", 120},     {"2 min", 120},
                {"1h", 3600}, {"1d", 86400}, {"250ms", 0.25}, {"1e3", 1000}};
    static const char *const bad[] = {"",    "s",   "ten",   "1y",
                                      "nan", "inf", "1 m s", "1e999"};
    double                   seconds;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect(emp_units_parse_duration(good[i].text, &seconds), "%s", good[i].text);
        cr_expect_float_eq(seconds, good[i].seconds, 1e-12, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(emp_units_parse_duration(bad[i], &seconds), "\"%s\"", bad[i]);
}
