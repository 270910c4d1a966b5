/** \file base/text/csv.h
 * A CSV file as a table of texts: what emp_sheet_print() writes can be read again.
 *
 *     EMP_TRY(emp_csv_load(&csv, "times.csv", err));
 *     EMP_TRY(emp_csv_find(&column, &csv, "step_s", err));
 *     for (int32_t row = 0; row < csv.row_count; row++)
 *         EMP_TRY(emp_csv_real(&step_s, &csv, row, column, err));
 *     emp_csv_clear(&csv);
 *
 * Fields are parted by tabs if the first record has one, else by commas.
 * The first record names the columns, each once. Lines that begin with # and empty lines are skipped. Every
 * record has as many fields as the first. A field may stand in quotes, which double within it.
 */
#ifndef EMP_BASE_TEXT_CSV_H
#define EMP_BASE_TEXT_CSV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum { EMP_CSV_PATH_BYTES = 256, EMP_CSV_BYTES_MAX = 1 << 28 };

/** Zero-initialise; emp_csv_clear() releases it, also after a failure. */
typedef struct {
    int32_t column_count, row_count;

    /* private */
    char   *text; /* fields, each with its end */
    size_t *cell; /* [(row_count + 1) * column_count] where each begins; names first */
    char    path[EMP_CSV_PATH_BYTES];
} emp_csv;

/** Reads a file. O(size).
 * \retval EMP_EIO      It cannot be read.
 * \retval EMP_EFORMAT  No CSV; the message names the file and the line. */
emp_status emp_csv_load(emp_csv *csv, const char *path, emp_error *err);

/** Likewise all that is left of an open file; \a path is for messages. */
emp_status emp_csv_read(emp_csv *csv, FILE *file, const char *path, emp_error *err);

/** Likewise from memory; \a path is for messages. */
emp_status emp_csv_parse(emp_csv *csv, const char *bytes, size_t size, const char *path,
                         emp_error *err);

void emp_csv_clear(emp_csv *csv);

/** The column of that name. \retval EMP_EFORMAT  There is none; the message says which. */
emp_status emp_csv_find(int32_t *column, const emp_csv *csv, const char *name,
                        emp_error *err);

/** Likewise the columns of \a count names. */
emp_status emp_csv_find_all(int32_t *columns, const emp_csv *csv,
                            const char *const *names, int32_t count, emp_error *err);

/** A field; valid until the table is cleared. Rows count from 0. */
const char *emp_csv_text(const emp_csv *csv, int32_t row, int32_t column);

/** A field as a finite decimal number. \retval EMP_EFORMAT  It is none; the message says where. */
emp_status emp_csv_real(double *value, const emp_csv *csv, int32_t row, int32_t column,
                        emp_error *err);

/** A field as a whole number. \retval EMP_EFORMAT  Likewise. */
emp_status emp_csv_count(int64_t *value, const emp_csv *csv, int32_t row, int32_t column,
                         emp_error *err);

/** A field as 16 hexadecimal digits. \retval EMP_EFORMAT  Likewise. */
emp_status emp_csv_hash(uint64_t *value, const emp_csv *csv, int32_t row, int32_t column,
                        emp_error *err);

#endif /* EMP_BASE_TEXT_CSV_H */
