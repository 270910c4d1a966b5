/** \file tests/support/store_samples.h
 * A small file of each kind that run/store reads, and how each is read: for what damages such files
 * and makes their seal anew.
 */
#ifndef EMP_TESTS_SUPPORT_STORE_SAMPLES_H
#define EMP_TESTS_SUPPORT_STORE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef enum {
    STORE_RECORD,
    STORE_CHECKPOINT,
    STORE_COLUMNS,
    STORE_WEIGHTS,
    STORE_KINDS
} store_kind;

enum { STORE_SEAL_BYTES = 512 };

/** Writes the sample to \a path. \return whether that worked. */
bool store_sample_save(store_kind kind, const char *path);

/** Reads what may be a sample, by every function that reads such files, and releases it.
 * \return of the first function that fails, what it returns; a record without names of its ops or
 * without its machine is none. */
emp_status store_sample_load(store_kind kind, const char *path, emp_error *err);

/** Makes the checksum in the seal of a file right; \a size is at least that of the seal. */
void store_seal_anew(unsigned char *file, size_t size);

#endif /* EMP_TESTS_SUPPORT_STORE_SAMPLES_H */
