/** \file run/store/checkpoint.h
 * A run under way as an HDF5 file (docs/formats.md): its record so far, the seconds it has
 * spent, and the state of its method as named arrays, of which this module knows no more.
 */
#ifndef EMP_RUN_STORE_CHECKPOINT_H
#define EMP_RUN_STORE_CHECKPOINT_H

#include "base/named_array.h"
#include "run/store/store.h"

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
 *                      \a code is given as that of this program.
 * \retval EMP_ENOMEM */
emp_status emp_checkpoint_load(emp_checkpoint *checkpoint, const char *path,
                               emp_error *err);

#endif /* EMP_RUN_STORE_CHECKPOINT_H */
