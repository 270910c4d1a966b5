// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for GGUF files in two parts. The driver writes magic, version and the numbers of the parts, so that
// inputs get as far as the tensors; all else is the input's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/import/models/gguf.h"
#include "tests/support/fuzz_file.h"

enum { PART_BYTES = 1 << 17, PATH_BYTES = 256 };

typedef struct {
    char   bytes[PART_BYTES];
    size_t size;
} part;

static void put(part *p, const void *bytes, size_t size)
{
    if (p->size + size > sizeof p->bytes) return;
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
}

static void put_number(part *p, uint64_t value, size_t size)
{
    put(p, &value, size); /* little-endian, as the computers that fuzz are */
}

/* A key of the type uint16. */
static void put_fact(part *p, const char *key, uint64_t value)
{
    enum { UINT16 = 2 };

    put_number(p, strlen(key), 8);
    put(p, key, strlen(key));
    put_number(p, UINT16, 4);
    put_number(p, value, 2);
}

static void make_part(part *p, uint64_t number, uint64_t parts, const uint8_t *bytes,
                      size_t size)
{
    p->size = 0;
    put(p, "GGUF", 4);
    put_number(p, 3, 4);
    put_number(p, size > 0 ? bytes[0] % 8 : 0, 8);       /* tensors */
    put_number(p, 2 + (size > 1 ? bytes[1] % 4 : 0), 8); /* facts */
    put_fact(p, "split.no", number);
    put_fact(p, "split.count", parts);
    if (size > 2) put(p, bytes + 2, size - 2);
}

static void write_part(const char *path, const part *p)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || fwrite(p->bytes, 1, p->size, file) != p->size ||
        fclose(file) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static part first, second;
    char        path[2][PATH_BYTES];
    emp_gguf    h = {0};
    size_t      cut = size > 2 ? (bytes[0] | (size_t)bytes[1] << 8) % (size - 1) : 0;

    if (size < 4) return 0;
    make_part(&first, 0, 2, bytes + 2, cut < size - 2 ? cut : 0);
    make_part(&second, 1 + bytes[2] % 32 / 31, 2 + bytes[3] % 32 / 31, bytes + 2 + cut,
              cut < size - 2 ? size - 2 - cut : 0);
    const char *name = fuzz_file(bytes, size);
    for (int i = 0; i < 2; i++)
        snprintf(path[i], PATH_BYTES, "%s-%05d-of-00002.gguf", name, i + 1);
    write_part(path[1], &second);
    if (emp_gguf_parse(&h, first.bytes, first.size, NULL) == EMP_OK &&
        emp_gguf_parts_read(&h, path[0], NULL) == EMP_OK)
        (void)emp_gguf_tensor_of(&h, "token_embd.weight");
    emp_gguf_clear(&h);
    remove(path[1]);
    return 0;
}
