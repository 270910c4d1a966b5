// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers of records, checkpoints, tables and weights. An input is the
// kind of file and what follows its seal; the seal is made anew, so that the readers look at it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/store/store.h"
#include "tests/support/fuzz_file.h"
#include "tests/support/store_samples.h"

enum { MOST_SAMPLE_BYTES = 1 << 16 };

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t limit);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t limit,
                               unsigned int seed);

static long    inputs[STORE_KINDS]; /* that were read */
static uint8_t sample[STORE_KINDS][MOST_SAMPLE_BYTES];
static size_t  sample_size[STORE_KINDS];

static void tell_inputs(void)
{
    fprintf(stderr, "records %ld, checkpoints %ld, tables %ld, weights %ld\n",
            inputs[STORE_RECORD], inputs[STORE_CHECKPOINT], inputs[STORE_COLUMNS],
            inputs[STORE_WEIGHTS]);
}

static void make_samples(void)
{
    for (store_kind kind = STORE_RECORD; kind < STORE_KINDS; kind++) {
        const char *path = fuzz_file(NULL, 0);
        if (!store_sample_save(kind, path)) abort();
        FILE *file = fopen(path, "rb");
        if (file == NULL) abort();
        sample_size[kind] = fread(sample[kind], 1, MOST_SAMPLE_BYTES, file);
        fclose(file);
    }
    atexit(tell_inputs);
}

/* An input that is too short for a file becomes a right one: there are no seeds on the disk. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t limit,
                               unsigned int seed)
{
    const store_kind kind = (store_kind)(seed % STORE_KINDS);

    if (sample_size[0] == 0) make_samples();
    const size_t content = sample_size[kind] - STORE_SEAL_BYTES;
    if (size > STORE_SEAL_BYTES || limit <= content)
        return LLVMFuzzerMutate(bytes, size, limit);
    bytes[0] = (uint8_t)kind;
    memcpy(bytes + 1, sample[kind] + STORE_SEAL_BYTES, content);
    return content + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_store_silence();
    if (sample_size[0] == 0) make_samples();
    if (size < 1) return 0;
    const store_kind kind = (store_kind)(bytes[0] % STORE_KINDS);
    inputs[kind]++;
    uint8_t *file = malloc(STORE_SEAL_BYTES + size - 1);
    if (file == NULL) abort();
    memcpy(file, sample[kind], STORE_SEAL_BYTES);
    memcpy(file + STORE_SEAL_BYTES, bytes + 1, size - 1);
    store_seal_anew(file, STORE_SEAL_BYTES + size - 1);
    (void)store_sample_load(kind, fuzz_file(file, STORE_SEAL_BYTES + size - 1), NULL);
    free(file);
    return 0;
}
