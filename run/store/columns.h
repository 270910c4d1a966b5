/** \file run/store/columns.h
 * A table as an HDF5 file (docs/formats.md): what it is about as texts, and a dataset a
 * column. What the columns mean is the caller's affair.
 */
#ifndef EMP_RUN_STORE_COLUMNS_H
#define EMP_RUN_STORE_COLUMNS_H

#include "run/store/store.h"

enum {
    EMP_COLUMNS_MOST = 32,
    EMP_COLUMNS_TEXTS = 32,
    EMP_COLUMN_TEXT_BYTES = 32 /* of a value in a column of texts */
};

typedef enum {
    EMP_COLUMN_TEXT, /**< char[EMP_COLUMN_TEXT_BYTES] */
    EMP_COLUMN_INT64,
    EMP_COLUMN_DOUBLE
} emp_column_type;

typedef struct {
    const char     *name;
    emp_column_type type;
    void           *values; /**< [row]; borrowed */
} emp_column;

typedef struct {
    char key[EMP_RECORD_NAME_BYTES];
    char value[EMP_RECORD_TEXT_BYTES];
} emp_columns_text;

typedef struct {
    int32_t          text_count, column_count;
    int64_t          row_count;
    emp_columns_text text[EMP_COLUMNS_TEXTS]; /**< keys differ */
    emp_column       column[EMP_COLUMNS_MOST];
} emp_columns;

/** Writes the table by a temporary file and a rename. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_columns_save(const char *path, const emp_columns *columns, emp_error *err);

/** Reads the columns that \a columns lists, each of row_count values, and the texts of the keys
 * that it lists; a file may hold more.
 * \retval EMP_EIO      No such file, or it cannot be read.
 * \retval EMP_EFORMAT  No such table, torn, or without one of them. */
emp_status emp_columns_load(emp_columns *columns, const char *path, emp_error *err);

#endif /* EMP_RUN_STORE_COLUMNS_H */
