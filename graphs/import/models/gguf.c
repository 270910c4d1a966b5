// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum {
    KEY_BYTES_MAX = 1 << 16,
    FACT_BYTES_MIN = 8 + 4 + 1,
    TENSOR_BYTES_MIN = 8 + 4 + 4 + 8,
    RANK_MAX = 4,
    FIRST_READ = 1 << 20,
    HEADER_BYTES_MAX = 1 << 29
};

/* Types of facts. */
enum { FACT_STRING = 8, FACT_ARRAY = 9, FACT_TYPES = 13 };

static const int32_t fact_bytes[FACT_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* The remaining bytes. */
typedef struct {
    const char *at;
    size_t      left;
    emp_gguf   *header;
    emp_error  *err;
} reader;

static emp_status cut_short(reader *r)
{
    emp_error *err = r->err;

    r->header->is_cut = true;
    return EMP_ERROR(EMP_EFORMAT, "the header ends too early");
}

static emp_status take(reader *r, uint64_t size, const char **bytes)
{
    if (size > r->left) return cut_short(r);
    *bytes = r->at;
    r->at += size;
    r->left -= (size_t)size;
    return EMP_OK;
}

/* A number of up to 8 bytes. */
static uint64_t number_of(const char *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = size; i > 0; i--) number = number << 8 | (unsigned char)bytes[i - 1];
    return number;
}

static emp_status take_number(reader *r, size_t size, uint64_t *number)
{
    const char *bytes = NULL;

    EMP_CHECK(take(r, size, &bytes));
    *number = number_of(bytes, size);
    return EMP_OK;
}

static emp_status take_string(reader *r, const char **bytes, uint64_t *length)
{
    EMP_CHECK(take_number(r, 8, length));
    return take(r, *length, bytes);
}

/* A name, kept with an end behind it. */
static emp_status take_name(reader *r, const char **name)
{
    emp_error  *err = r->err;
    const char *bytes = NULL;
    uint64_t    length;

    EMP_CHECK(take_string(r, &bytes, &length));
    if (length > KEY_BYTES_MAX || memchr(bytes, '\0', (size_t)length) != NULL)
        return EMP_ERROR(EMP_EFORMAT, "a name of %" PRIu64 " bytes, or with a zero in it",
                         length);
    *name = emp_arena_strndup(&r->header->names, bytes, (size_t)length);
    return *name != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "names of a header");
}

/* ---- facts ---- */

/* The bytes of a value of a type that is no array. */
static emp_status take_value(reader *r, uint64_t type, const char **bytes, size_t *size)
{
    emp_error *err = r->err;
    uint64_t   length;

    if (type == FACT_STRING) {
        EMP_CHECK(take_string(r, bytes, &length));
        *size = (size_t)length;
        return EMP_OK;
    }
    if (type >= FACT_TYPES || type == FACT_ARRAY)
        return EMP_ERROR(EMP_EFORMAT, "a value of type %" PRIu64 ", which there is not",
                         type);
    *size = (size_t)fact_bytes[type];
    return take(r, *size, bytes);
}

/* Goes past all items; of numbers at once. */
static emp_status take_array(reader *r, emp_gguf_fact *fact)
{
    uint64_t    type = 0;
    const char *bytes = NULL;
    size_t      size = 0;

    EMP_CHECK(take_number(r, 4, &type));
    EMP_CHECK(take_number(r, 8, &fact->item_count));
    fact->item_type = (uint32_t)type;
    fact->bytes = r->at;
    if (type < FACT_TYPES && fact_bytes[type] > 0) {
        if (fact->item_count > r->left / (size_t)fact_bytes[type]) return cut_short(r);
        EMP_CHECK(take(r, fact->item_count * (uint64_t)fact_bytes[type], &bytes));
    } else {
        for (uint64_t i = 0; i < fact->item_count; i++)
            EMP_CHECK(take_value(r, type, &bytes, &size));
    }
    fact->size = (size_t)(r->at - fact->bytes);
    return EMP_OK;
}

static emp_status take_fact(reader *r, emp_gguf_fact *fact)
{
    uint64_t type = 0;

    EMP_CHECK(take_name(r, &fact->key));
    EMP_CHECK(take_number(r, 4, &type));
    fact->type = (uint32_t)type;
    fact->item_type = fact->type;
    fact->item_count = 1;
    if (type == FACT_ARRAY) return take_array(r, fact);
    return take_value(r, type, &fact->bytes, &fact->size);
}

static emp_status take_facts(reader *r, uint64_t count)
{
    emp_gguf  *h = r->header;
    emp_error *err = r->err;

    if (count > r->left / FACT_BYTES_MIN) return cut_short(r);
    EMP_CHECK(EMP_ALLOC(h->fact, (size_t)count));
    for (uint64_t i = 0; i < count; i++) {
        emp_gguf_fact *fact = &h->fact[h->fact_count];
        EMP_CHECK(take_fact(r, fact));
        EMP_CHECK(emp_strmap_set(&h->fact_of_key, fact->key, strlen(fact->key),
                                 h->fact_count++, err));
    }
    return EMP_OK;
}

/* ---- tensors ---- */

static emp_status take_shape(reader *r, emp_gguf_tensor *t)
{
    emp_error *err = r->err;
    uint64_t   rank = 0, size = 0;

    EMP_CHECK(take_number(r, 4, &rank));
    if (rank > RANK_MAX)
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor \"%.80s\" has %" PRIu64 " sizes, at most %d", t->name,
                         rank, RANK_MAX);
    t->shape.rank = (int32_t)rank;
    for (int32_t d = t->shape.rank - 1; d >= 0; d--) {
        EMP_CHECK(take_number(r, 8, &size));
        if (size > INT64_MAX)
            return EMP_ERROR(EMP_EFORMAT, "tensor \"%.80s\" has a size of %" PRIu64,
                             t->name, size);
        t->shape.dim[d] = (int64_t)size;
    }
    return EMP_OK;
}

static emp_status take_tensor(reader *r, emp_gguf_tensor *t)
{
    emp_error *err = r->err;
    uint64_t   type = 0, offset = 0;

    EMP_CHECK(take_name(r, &t->name));
    EMP_CHECK(take_shape(r, t));
    EMP_CHECK(take_number(r, 4, &type));
    EMP_CHECK(take_number(r, 8, &offset));
    t->dtype = emp_dtype_of_ggml((uint32_t)type);
    if (t->dtype == EMP_DTYPE_NONE)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "tensor \"%.80s\" is of ggml's type %" PRIu64
                         ", which is not known",
                         t->name, type);
    int64_t row = t->shape.rank > 0 ? t->shape.dim[t->shape.rank - 1] : 1;
    if (row % emp_dtype_block(t->dtype) != 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "rows of tensor \"%.80s\" have %" PRId64
                         " elements, no multiple of %d, a block of %s",
                         t->name, row, emp_dtype_block(t->dtype),
                         emp_dtype_name(t->dtype));
    t->bytes = emp_dtype_size_bytes(t->dtype, emp_shape_elements(&t->shape));
    if (t->bytes > INT64_MAX / 4)
        return EMP_ERROR(EMP_EFORMAT, "tensor \"%.80s\" is larger than any file",
                         t->name);
    return EMP_OK;
}

static emp_status take_tensors(reader *r, uint64_t count)
{
    emp_gguf  *h = r->header;
    emp_error *err = r->err;

    if (count > r->left / TENSOR_BYTES_MIN) return cut_short(r);
    EMP_CHECK(EMP_ALLOC(h->tensor, (size_t)count));
    for (uint64_t i = 0; i < count; i++) {
        emp_gguf_tensor *t = &h->tensor[h->tensor_count];
        EMP_CHECK(take_tensor(r, t));
        if (emp_gguf_tensor_of(h, t->name) != NULL)
            return EMP_ERROR(EMP_EFORMAT, "there are two tensors \"%.80s\"", t->name);
        EMP_CHECK(emp_strmap_set(&h->tensor_of_name, t->name, strlen(t->name),
                                 h->tensor_count++, err));
        h->bytes += t->bytes;
        if (h->bytes > INT64_MAX / 4)
            return EMP_ERROR(EMP_EFORMAT, "its tensors are larger than any file");
    }
    return EMP_OK;
}

/* ---- files ---- */

bool emp_gguf_is(emp_slice file) { return emp_slice_starts(file, "GGUF"); }

emp_status emp_gguf_parse(emp_gguf *h, const char *bytes, size_t size, emp_error *err)
{
    reader   r = {bytes + 4, size >= 4 ? size - 4 : 0, h, err};
    uint64_t version = 0, tensors = 0, facts = 0;

    if (!emp_gguf_is((emp_slice){bytes, size}))
        return EMP_ERROR(EMP_EFORMAT, "no GGUF file");
    EMP_CHECK(take_number(&r, 4, &version));
    if (version != 2 && version != 3)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "version %" PRIu64 " of GGUF; 2 and 3 are known", version);
    EMP_CHECK(take_number(&r, 8, &tensors));
    EMP_CHECK(take_number(&r, 8, &facts));
    EMP_CHECK(take_facts(&r, facts));
    return take_tensors(&r, tensors);
}

emp_status emp_gguf_header_read(emp_gguf *h, emp_file *file, emp_error *err)
{
    for (size_t wanted = FIRST_READ; wanted <= HEADER_BYTES_MAX; wanted *= 2) {
        emp_error reason = {0};
        emp_gguf_clear(h);
        EMP_CHECK(emp_file_read(file, wanted, err));
        emp_status st = emp_gguf_parse(h, file->bytes, file->size, &reason);
        if (st == EMP_OK) return EMP_OK;
        if (!h->is_cut || file->is_whole)
            return emp_error_set(err, st, reason.file, reason.line, "%s", reason.msg);
    }
    return EMP_ERROR(EMP_EFORMAT, "a header of more than %d bytes", HEADER_BYTES_MAX);
}

void emp_gguf_clear(emp_gguf *h)
{
    emp_free(h->fact);
    emp_free(h->tensor);
    emp_strmap_clear(&h->fact_of_key);
    emp_strmap_clear(&h->tensor_of_name);
    emp_arena_clear(&h->names);
    *h = (emp_gguf){0};
}

/* ---- queries ---- */

const emp_gguf_fact *emp_gguf_find(const emp_gguf *h, const char *key)
{
    int32_t i = emp_strmap_get(&h->fact_of_key, key, strlen(key));

    return i < 0 ? NULL : &h->fact[i];
}

bool emp_gguf_integer(const emp_gguf_fact *fact, uint64_t i, int32_t *value)
{
    static const bool is_integer[FACT_TYPES] = {
        [0] = true, [1] = true, [2] = true,  [3] = true,
        [4] = true, [5] = true, [10] = true, [11] = true};

    if (fact == NULL || fact->item_type >= FACT_TYPES || !is_integer[fact->item_type])
        return false;
    size_t   size = (size_t)fact_bytes[fact->item_type];
    uint64_t at = fact->type == FACT_ARRAY ? i : 0; /* one value stands for all layers */
    if (at >= fact->item_count) return false;
    uint64_t number = number_of(fact->bytes + at * size, size);
    if (number > INT32_MAX) return false; /* negative ones of up to 4 bytes, too */
    *value = (int32_t)number;
    return true;
}

const char *emp_gguf_text(const emp_gguf_fact *fact, size_t *length)
{
    if (fact == NULL || fact->type != FACT_STRING) return NULL;
    *length = fact->size;
    return fact->bytes;
}

emp_gguf_tensor *emp_gguf_tensor_of(const emp_gguf *h, const char *name)
{
    int32_t i = emp_strmap_get(&h->tensor_of_name, name, strlen(name));

    return i < 0 ? NULL : &h->tensor[i];
}

/* GGUF files in parts, as llama.cpp's llama-gguf-split writes them: NAME-00001-of-00003.gguf has all facts, and each part
 * has some of the tensors. */

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

/* For a file that is not a part: 1 of 1. */
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
