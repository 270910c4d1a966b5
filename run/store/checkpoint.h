/** \file run/store/checkpoint.h
 * HDF5 files beside records (docs/formats.md): checkpoints, with the state of a method as named
 * arrays; weights (search/method.h); tables, with texts and a dataset a column.
 */
#ifndef EMP_RUN_STORE_CHECKPOINT_H
#define EMP_RUN_STORE_CHECKPOINT_H

#include "base/collections.h"
#include "run/store/store.h"
#include "search/method.h"

typedef struct {
    emp_record *record; /**< borrowed; so far, with feasible_s */
    double      elapsed_s;
    double      cpu_s; /**< of the run's one thread; NaN = not known */
    char        code[EMP_RECORD_TEXT_BYTES];    /**< compiler and flags (emp_manifest) */
    char        kernels[EMP_RECORD_NAME_BYTES]; /**< of OpenBLAS; "" = none are loaded */
    int32_t     array_count;
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
} emp_checkpoint;

/** Writes a checkpoint in place of the one at \a path, which stays until the new one is
 * whole and on the disk. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_checkpoint_save(const char *path, const emp_checkpoint *checkpoint,
                               emp_error *err);

/** Reads a checkpoint into the other members of \a checkpoint and into the arrays that it lists.
 * Its record, as it is when the run begins, is replaced by the one so far; clear it
 * afterwards, also after a failure.
 *
 * \retval EMP_EIO      No such file, or it cannot be read.
 * \retval EMP_EFORMAT  No checkpoint, of another version, or torn; the message says so.
 * \retval EMP_EINVAL   Of another run: the message names the first thing that differs, be
 *                      it an input, a setting or the program's version, commit or dirty
 *                      flag. Or another compiler, or other flags, have built the program that wrote it:
 *                      \a code is given for this program.
 * \retval EMP_ENOMEM */
emp_status emp_checkpoint_load(emp_checkpoint *checkpoint, const char *path,
                               emp_error *err);

/** Writes them by a temporary file and a rename. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_weights_save(const char *path, const emp_weights *weights, emp_error *err);

/** Reads them; clear them afterwards, also after a failure.
 * \retval EMP_EIO      No such file, or it cannot be read.
 * \retval EMP_EFORMAT  No weights, of another version, torn or damaged; the message says so.
 * \retval EMP_ENOMEM */
emp_status emp_weights_load(emp_weights *weights, const char *path, emp_error *err);

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

#endif /* EMP_RUN_STORE_CHECKPOINT_H */
