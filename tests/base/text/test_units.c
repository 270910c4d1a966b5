// SPDX-License-Identifier: GPL-3.0-or-later
/* Quantities as people write them. */
#include "base/text/units.h"
#include "tests/support/survive.h"

struct quantity_case {
    const char *text;
    emp_unit    unit;
    double      value; /* negative: must be refused */
};

static const struct quantity_case quantity_cases[] = {
    {"5 us", EMP_UNIT_SECONDS, 5e-6},
    {"1.5s", EMP_UNIT_SECONDS, 1.5},
    {"20  ns", EMP_UNIT_SECONDS, 20e-9},
    {"0 ms", EMP_UNIT_SECONDS, 0.0},
    {"10.6 GiB", EMP_UNIT_BYTES, 10.6 * 1024.0 * 1024.0 * 1024.0},
    {"1 GB", EMP_UNIT_BYTES, 1e9},
    {"256 B", EMP_UNIT_BYTES, 256.0},
    {"12.8 GB/s", EMP_UNIT_BYTES_PER_S, 12.8e9},
    {"1 KiB/s", EMP_UNIT_BYTES_PER_S, 1024.0},
    {"100 Gbit/s", EMP_UNIT_BYTES_PER_S, 12.5e9},
    {"40 Mbit/s", EMP_UNIT_BYTES_PER_S, 5e6},
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
    {"0x10 MiB", EMP_UNIT_BYTES, -1.0},
    {" 1 MB", EMP_UNIT_BYTES, -1.0},
    {"inf s", EMP_UNIT_SECONDS, -1.0},
    {"nan s", EMP_UNIT_SECONDS, -1.0},
    {"1e999 s", EMP_UNIT_SECONDS, -1.0},
    {"GB/s", EMP_UNIT_BYTES_PER_S, -1.0},
    {"5 GB", EMP_UNIT_BYTES_PER_S, -1.0}};

Test(units, parse)
{
    for (size_t i = 0; i < COUNT(quantity_cases); i++) {
        const struct quantity_case *c = &quantity_cases[i];
        emp_error                   err = {0};
        double                      value = -7.0;
        const emp_status            st = emp_units_parse(c->text, c->unit, &value, &err);
        if (c->value < 0.0) {
            cr_expect_eq(st, EMP_EFORMAT, "\"%s\" was taken for %g", c->text, value);
            cr_expect_eq(value, -7.0, "a refused text writes nothing");
            cr_expect_not_null(strstr(err.msg, c->text), "it names the text: %s",
                               err.msg);
        } else {
            cr_expect_eq(st, EMP_OK, "\"%s\": %s", c->text, err.msg);
            cr_expect_float_eq(value, c->value, 1e-12 * c->value, "\"%s\" gave %g",
                               c->text, value);
        }
    }
}

Test(units, a_wrong_unit_lists_those_that_are_right)
{
    double value;

    EXPECT_REFUSED(emp_units_parse("5 minutes", EMP_UNIT_SECONDS, &value, &err),
                   EMP_EFORMAT, "(units: ns, us, ms, s)");
    EXPECT_REFUSED(emp_units_parse("5 s", EMP_UNIT_BYTES_PER_S, &value, &err),
                   EMP_EFORMAT, ", Mbit/s, Gbit/s, Tbit/s)");
}

/* ---- what people read ---------------------------------------------------------------- */

struct shown_number {
    double      value;
    const char *text;
};

#define EXPECT_EACH(cases, call)                                                        \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) {                      \
        char   text[EMP_UNITS_TEXT_BYTES];                                              \
        double value = (cases)[i].value;                                                \
        cr_expect_str_eq(call, (cases)[i].text, "%.17g gave \"%s\", not \"%s\"", value, \
                         call, (cases)[i].text);                                        \
    }

Test(units, formats_bytes_with_binary_prefixes)
{
    static const struct shown_number cases[] = {{0.0, "0 B"},
                                                {999, "999 B"},
                                                {1000, "1000 B"},
                                                {1023, "1023 B"},
                                                {1024, "1 KiB"},
                                                {1029, "1 KiB"},
                                                {1030, "1.01 KiB"},
                                                {1536, "1.5 KiB"},
                                                {102393, "99.99 KiB"},
                                                {102396, "100 KiB"},
                                                {0x1p27, "128 MiB"},
                                                {2.048e8, "195.3 MiB"},
                                                {1.048534e9, "1000 MiB"},
                                                {1.07311e9, "1023 MiB"},
                                                {1.07332e9, "1 GiB"},
                                                {1.07374e9, "1 GiB"},
                                                {1.14e10, "10.62 GiB"},
                                                {0x1p50, "1 PiB"},
                                                {0x1p62, "4 EiB"},
                                                {-1536, "-1.5 KiB"}};
    EXPECT_EACH(cases, emp_units_format_bytes((int64_t)value, text, sizeof text));
}

Test(units, formats_seconds_with_the_fitting_prefix)
{
    static const struct shown_number cases[] = {
        {0, "0 s"},           {1e-30, "0 ns"},       {1e-9, "1 ns"},
        {150e-9, "150 ns"},   {999.4e-9, "999 ns"},  {999.6e-9, "1 us"},
        {1e-6, "1 us"},       {12.3e-6, "12.3 us"},  {999.4e-6, "999 us"},
        {999.6e-6, "1 ms"},   {9.994e-3, "9.99 ms"}, {9.996e-3, "10 ms"},
        {99.96e-3, "100 ms"}, {0.149, "149 ms"},     {0.9994, "999 ms"},
        {0.9996, "1 s"},      {0.99996, "1 s"},      {1.0, "1 s"},
        {1.57, "1.57 s"},     {9.996, "10 s"},       {59.94, "59.9 s"},
        {59.99, "60 s"},      {999.4, "999 s"},      {999.5001, "1000 s"},
        {999.96, "1000 s"},   {1234.4, "1234 s"},    {1e7, "10000000 s"},
        {-0.9996, "-1 s"},    {-0.149, "-149 ms"},   {NAN, "-"},
        {INFINITY, "-"}};
    EXPECT_EACH(cases, emp_units_format_seconds(value, text, sizeof text));
}

Test(units, formats_amounts_with_decimal_prefixes)
{
    static const struct shown_number cases[] = {
        {0, "0 B"},          {1e-12, "0 B"},      {0.5, "0.5 B"},      {99.94, "99.9 B"},
        {99.96, "100 B"},    {999.4, "999 B"},    {999.6, "1 kB"},     {999.96, "1 kB"},
        {9996, "10 kB"},     {999.4e3, "999 kB"}, {999.6e3, "1 MB"},   {999.6e6, "1 GB"},
        {12.8e9, "12.8 GB"}, {999.6e9, "1 TB"},   {26.03e12, "26 TB"}, {999.6e12, "1 PB"},
        {999.6e15, "1 EB"},  {5e23, "500000 EB"}, {-999.6, "-1 kB"},   {NAN, "-"},
        {INFINITY, "-"}};
    EXPECT_EACH(cases, emp_units_format_si(value, "B", text, sizeof text));
}

Test(units, formats_how_long_people_wait)
{
    static const struct shown_number cases[] = {{0, "0 s"},
                                                {0.4, "0 s"},
                                                {59.4, "59 s"},
                                                {59.99, "1 min 00 s"},
                                                {60, "1 min 00 s"},
                                                {125.4, "2 min 05 s"},
                                                {3599.4, "59 min 59 s"},
                                                {3599.6, "1 h 00 min"},
                                                {3900, "1 h 05 min"},
                                                {86369, "23 h 59 min"},
                                                {86399.4, "23 h 59 min"},
                                                {86399.6, "1 d 00 h"},
                                                {273600, "3 d 04 h"},
                                                {NAN, "-"},
                                                {1e300, "-"}};
    EXPECT_EACH(cases, emp_units_format_duration(value, text, sizeof text));
}

Test(units, formats_shares_and_growths_in_percent)
{
    static const struct shown_number shares[] = {
        {0, "0.0 %"},       {-0.0001, "0.0 %"},   {0.0004, "0.0 %"}, {0.12345, "12.3 %"},
        {0.9994, "99.9 %"}, {0.99996, "100.0 %"}, {73, "7300.0 %"},  {NAN, "-"}};
    static const struct shown_number growths[] = {{0, "+0.0 %"},
                                                  {-0.0004, "+0.0 %"},
                                                  {0.12345, "+12.3 %"},
                                                  {-0.04, "-4.0 %"},
                                                  {INFINITY, "-"}};
    EXPECT_EACH(shares, emp_units_format_percent(value, text, sizeof text));
    EXPECT_EACH(growths, emp_units_format_change(value, text, sizeof text));
}

Test(units, formats_numbers_without_an_exponent)
{
    static const struct shown_number cases[] = {{0, "0"},
                                                {0.5, "0.5"},
                                                {0.33333333, "0.333"},
                                                {9.994, "9.99"},
                                                {9.996, "10"},
                                                {59.99, "60"},
                                                {99.96, "100"},
                                                {999.5001, "1000"},
                                                {999.96, "1000"},
                                                {12345, "12345"},
                                                {1e15, "1000000000000000"},
                                                {0.0001234, "0.000123"},
                                                {-1e-12, "0"},
                                                {NAN, "-"}};
    EXPECT_EACH(cases, emp_units_format_number(value, 3, text, sizeof text));
}

/* Text that does not fit is cut off, as by snprintf(). */
Test(units, no_number_is_written_past_the_buffer)
{
    char text[8];

    cr_expect_str_eq(emp_units_format_si(1e300, "FLOP", text, sizeof text), "1000000");
    cr_expect_str_eq(emp_units_format_seconds(1e300, text, 1), "");
}

Test(units, one_thing_is_named_in_the_singular)
{
    cr_expect_str_eq(emp_units_plural(1), "");
    cr_expect_str_eq(emp_units_plural(0), "s");
    cr_expect_str_eq(emp_units_plural(2), "s");
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
    static const char *const bad[] = {"",
                                      "k",
                                      "many",
                                      " 4",
                                      "4 ",
                                      "1.5",
                                      "1e-3",
                                      "1e30",
                                      "nan",
                                      "inf",
                                      "10q",
                                      "0x10k",
                                      "--3",
                                      "-inf",
                                      "1.0005k",
                                      "1.2345678905G",
                                      "99999999999999999999",
                                      "1234567890.5"};
    int64_t                  count;

    for (size_t i = 0; i < COUNT(good); i++) {
        cr_expect(emp_units_parse_count(good[i].text, &count), "%s", good[i].text);
        cr_expect_eq(count, good[i].count, "%s is %lld", good[i].text, (long long)count);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
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

    for (size_t i = 0; i < COUNT(good); i++) {
        cr_expect(emp_units_parse_duration(good[i].text, &seconds), "%s", good[i].text);
        cr_expect_float_eq(seconds, good[i].seconds, 1e-12, "%s", good[i].text);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_not(emp_units_parse_duration(bad[i], &seconds), "\"%s\"", bad[i]);
}
