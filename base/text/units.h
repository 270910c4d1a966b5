/** \file base/text/units.h
 * Numbers in files, names of collectives, and quantities as people write them in machine files: "12.8 GB/s", "5 us", "10.6 GiB",
 * "4.29 TFLOP/s", "745 MHz". 1 GB = 10^9 B, 1 GiB = 2^30 B.
 */
#ifndef EMP_BASE_TEXT_UNITS_H
#define EMP_BASE_TEXT_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/** Parses a number as strtod() does in the locale "C": files have a decimal point in every locale of
 * the program. */
double emp_number_parse(const char *text, char **end);

/** Writes a finite number so that the same number is read again. */
void emp_number_write(FILE *stream, double value);

typedef enum {
    EMP_UNIT_SECONDS,     /**< ns us ms s -> s */
    EMP_UNIT_BYTES,       /**< B kB MB GB TB KiB MiB GiB TiB -> B */
    EMP_UNIT_BYTES_PER_S, /**< the same with /s, and Mbit/s Gbit/s Tbit/s -> B/s */
    EMP_UNIT_FLOPS_PER_S, /**< FLOP/s with k M G T P -> FLOP/s */
    EMP_UNIT_HERTZ,       /**< Hz kHz MHz GHz -> Hz */
} emp_unit;

/** Parses a number followed by a unit of the given kind into base units.
 * \retval EMP_EFORMAT  No number, no unit, or a unit of another kind; the message names
 * the text, gives an example of what would be right and lists the units. */
emp_status emp_units_parse(const char *text, emp_unit unit, double *value,
                           emp_error *err);

/** Reads a whole number as people write it: 400, 10k, 2M, 3G (powers of 1000), 1e6, 1.5k.
 * \return false if it is none, or too large to be exact. */
bool emp_units_parse_count(const char *text, int64_t *value);

/** Reads a time as people write it: seconds without a unit, or ms, s, m or min, h, d.
 * \return false if it is none. */
bool emp_units_parse_duration(const char *text, double *seconds);

/* ---- what people read ----------------------------------------------------------------
 *
 * Every text that people read prints its numbers by these functions. They round to the digits
 * that are stated below, leave out zeros at the end, and never write an exponent. The prefix is
 * chosen after rounding: 999.6 ms is "1 s". A number that is not finite is "-".
 *
 * Sizes of memory and of tensors have binary prefixes: KiB, MiB, GiB. Rates and amounts of work
 * have decimal ones, as data sheets have them: GB/s, TFLOP/s. CSV and JSON have plain SI units
 * without a prefix: bytes, seconds, FLOP.
 *
 * Each writes into \a buffer, EMP_UNITS_TEXT_BYTES are enough, and returns it. */

enum { EMP_UNITS_TEXT_BYTES = 32 };

/** "10.49 GiB", "128 MiB", "96 B": four digits, two of them decimal places at most. */
const char *emp_units_format_bytes(int64_t bytes, char *buffer, size_t size);
/** "1.57 s", "149 ms", "12.3 us", "1234 s": three digits, and all digits of whole seconds. */
const char *emp_units_format_seconds(double seconds, char *buffer, size_t size);
/** "26 TFLOP", "12.8 GB/s": three digits. */
const char *emp_units_format_si(double value, const char *unit, char *buffer,
                                size_t size);
/** How long people wait: "45 s", "2 min 05 s", "1 h 05 min", "3 d 04 h". */
const char *emp_units_format_duration(double seconds, char *buffer, size_t size);
/** "12.3 %": one decimal place. */
const char *emp_units_format_percent(double frac, char *buffer, size_t size);
/** A growth: "+12.3 %", "-4.0 %". */
const char *emp_units_format_change(double frac, char *buffer, size_t size);
/** A number without a unit, of so many digits: "0.0123", "1.57", "12345". */
const char *emp_units_format_number(double value, int digits, char *buffer, size_t size);
/** The ending of a noun behind a number: "" for 1, otherwise "s". */
const char *emp_units_plural(int64_t count);

typedef enum {
    EMP_COLLECTIVE_ALL_REDUCE,     /**< all get the sum of all buffers */
    EMP_COLLECTIVE_ALL_GATHER,     /**< all get the parts of all */
    EMP_COLLECTIVE_REDUCE_SCATTER, /**< each gets its part of the sum */
    EMP_COLLECTIVE_ALL_TO_ALL,     /**< each sends each other a part of its buffer */
    EMP_COLLECTIVES
} emp_collective;

/** \retval EMP_EINVAL  The message has the known names. */
emp_status emp_collective_parse(emp_collective *op, const char *name, emp_error *err);

#endif /* EMP_BASE_TEXT_UNITS_H */
