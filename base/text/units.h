/** \file base/text/units.h
 * Quantities as people write them in machine files: "12.8 GB/s", "5 us", "10.6 GiB",
 * "4.29 TFLOP/s", "745 MHz". 1 GB = 10^9 B, 1 GiB = 2^30 B.
 */
#ifndef EMP_BASE_TEXT_UNITS_H
#define EMP_BASE_TEXT_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum {
    EMP_UNIT_SECONDS,     /**< ns us ms s -> s */
    EMP_UNIT_BYTES,       /**< B kB MB GB TB KiB MiB GiB TiB -> B */
    EMP_UNIT_BYTES_PER_S, /**< the same with /s -> B/s */
    EMP_UNIT_FLOPS_PER_S, /**< FLOP/s with k M G T P -> FLOP/s */
    EMP_UNIT_HERTZ,       /**< Hz kHz MHz GHz -> Hz */
} emp_unit;

/** Parses a number followed by a unit of the given kind into base units.
 * \retval EMP_EFORMAT  No number, no unit, or a unit of another kind; the message names
 * the text and gives an example of what would be right. */
emp_status emp_units_parse(const char *text, emp_unit unit, double *value,
                           emp_error *err);

/** Reads a whole number as people write it: 400, 10k, 2M, 3G (powers of 1000), 1e6, 1.5k.
 * \return false if it is none, or too large to be exact. */
bool emp_units_parse_count(const char *text, int64_t *value);

/** Reads a time as people write it: seconds without a unit, or ms, s, m or min, h, d.
 * \return false if it is none. */
bool emp_units_parse_duration(const char *text, double *seconds);

/** Writes e.g. "10.6 GiB" (binary prefixes) into \a buffer and returns it. */
const char *emp_units_format_bytes(int64_t bytes, char *buffer, size_t size);
/** Writes e.g. "1.57 s", "149 ms", "12.3 us" into \a buffer and returns it. */
const char *emp_units_format_seconds(double seconds, char *buffer, size_t size);
/** Writes three digits with a prefix that people read: "26 TFLOP", "12.8 GB/s". Returns \a buffer. */
const char *emp_units_format_si(double value, const char *unit, char *buffer,
                                size_t size);

#endif /* EMP_BASE_TEXT_UNITS_H */
