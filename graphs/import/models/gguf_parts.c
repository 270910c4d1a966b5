// SPDX-License-Identifier: GPL-3.0-or-later
/* GGUF files in parts, as llama.cpp's llama-gguf-split writes them: NAME-00001-of-00003.gguf has all facts, and each part
 * has some of the tensors. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/models/gguf.h"

enum { ENDING_BYTES = 20, PATH_BYTES = 4096, PARTS_MAX = 99999 };

/* "-00001-of-00003.gguf" */
static bool ends_as_part(const char *path, int32_t part, int32_t parts)
{
    char   ending[48];
    size_t length = strlen(path);

    snprintf(ending, sizeof ending, "-%05d-of-%05d.gguf", part, parts);
    return length >= strlen(ending) &&
           strcmp(path + length - strlen(ending), ending) == 0;
}

/* Of a file that is no part: 1 of 1. */
static void read_place(const emp_gguf *h, int32_t *part, int32_t *parts)
{
    *part = *parts = 0;
    (void)emp_gguf_integer(emp_gguf_find(h, "split.no"), 0, part);
    (void)emp_gguf_integer(emp_gguf_find(h, "split.count"), 0, parts);
    ++*part;
}

static emp_status move_tensors(emp_gguf *to, const emp_gguf *from, emp_error *err)
{
    int32_t          count = to->tensor_count + from->tensor_count;
    emp_gguf_tensor *joined = NULL;

    EMP_CHECK(EMP_ALLOC(joined, (size_t)count));
    if (to->tensor_count > 0)
        memcpy(joined, to->tensor, (size_t)to->tensor_count * sizeof *joined);
    emp_free(to->tensor);
    to->tensor = joined;
    for (int32_t i = 0; i < from->tensor_count; i++) {
        emp_gguf_tensor t = from->tensor[i];
        t.name = emp_arena_strndup(&to->names, t.name, strlen(t.name));
        if (t.name == NULL) return EMP_ERROR(EMP_ENOMEM, "names of a header");
        if (emp_gguf_tensor_of(to, t.name) != NULL)
            return EMP_ERROR(EMP_EFORMAT, "there are two tensors \"%.80s\"", t.name);
        to->tensor[to->tensor_count] = t;
        EMP_CHECK(emp_strmap_set(&to->tensor_of_name, t.name, strlen(t.name),
                                 to->tensor_count++, err));
    }
    if (from->bytes > INT64_MAX / 4 - to->bytes)
        return EMP_ERROR(EMP_EFORMAT, "its tensors are larger than any file");
    to->bytes += from->bytes;
    return EMP_OK;
}

static emp_status read_part(emp_gguf *to, const char *path, int32_t part, int32_t parts,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    emp_file   file = {0};
    emp_gguf   h = {0};
    int32_t    own = 0, all = 0;

    EMP_TRY(emp_file_open(&file, path, err));
    EMP_TRY(emp_gguf_header_read(&h, &file, err));
    read_place(&h, &own, &all);
    if (own != part || all != parts)
        EMP_FAIL(EMP_EFORMAT, "it says that it is part %d of %d", own, all);
    EMP_TRY(move_tensors(to, &h, err));

cleanup:
    emp_gguf_clear(&h);
    emp_file_close(&file);
    return st;
}

static emp_status check_count(const emp_gguf *h, int32_t parts, emp_error *err)
{
    int32_t tensors = 0;

    if (!emp_gguf_integer(emp_gguf_find(h, "split.tensors.count"), 0, &tensors) ||
        tensors == h->tensor_count)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "its %d parts have %d tensors, and the first says that they are %d",
                     parts, h->tensor_count, tensors);
}

emp_status emp_gguf_parts_read(emp_gguf *h, const char *path, emp_error *err)
{
    int32_t part = 0, parts = 0;
    char    other[PATH_BYTES];
    size_t  length = strlen(path);

    read_place(h, &part, &parts);
    if (parts <= 1) return EMP_OK;
    if (part != 1)
        return EMP_ERROR(EMP_EFORMAT,
                         "part %d of %d of a model; name the first part, whose name ends "
                         "with -00001-of-%05d.gguf",
                         part, parts, parts);
    if (parts > PARTS_MAX || !ends_as_part(path, 1, parts) || length >= sizeof other)
        return EMP_ERROR(EMP_EFORMAT,
                         "part 1 of %d of a model; the others are found beside it if its "
                         "name ends with -00001-of-%05d.gguf",
                         parts, parts);
    for (int32_t k = 2; k <= parts; k++) {
        emp_error reason = {0};
        snprintf(other, sizeof other, "%.*s-%05d-of-%05d.gguf",
                 (int)(length - ENDING_BYTES), path, k, parts);
        emp_status st = read_part(h, other, k, parts, &reason);
        if (st == EMP_EIO)
            return EMP_ERROR(st, "part 1 of %d, and part %d is not found at %s", parts, k,
                             other);
        if (st != EMP_OK)
            return EMP_ERROR(st, "part %d of %d, %s: %s", k, parts, other, reason.msg);
    }
    return check_count(h, parts, err);
}
