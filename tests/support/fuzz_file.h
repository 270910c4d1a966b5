/** \file tests/support/fuzz_file.h
 * The function, the files and the texts that drivers of libFuzzer share.
 */
#ifndef EMP_TESTS_SUPPORT_FUZZ_FILE_H
#define EMP_TESTS_SUPPORT_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/** The function that libFuzzer calls. It must be deterministic and leave no memory behind. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/** Writes the bytes to a file of this process, in place of those before.
 * \return its path; static storage. Ends the process if it cannot be written. */
const char *fuzz_file(const uint8_t *bytes, size_t size);

/** \return a copy with a zero behind, as files are read; release with free(). */
char *fuzz_text(const uint8_t *bytes, size_t size);

#endif /* EMP_TESTS_SUPPORT_FUZZ_FILE_H */
