// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/notes/readers.h"

/* The header is at most that long (its library's own limit), and no tensor larger than the other.
 */
enum { LENGTH_BYTES = 8, HEADER_BYTES_MAX = 100 * 1000 * 1000, PATH_BYTES = 4096 };

static uint64_t read_length(const char *bytes)
{
    uint64_t length = 0;

    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | (unsigned char)bytes[i];
    return length;
}

static emp_status check_length(uint64_t length, uint64_t file_bytes, emp_error *err)
{
    if (length <= HEADER_BYTES_MAX && length + LENGTH_BYTES <= file_bytes && length >= 2)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "no safetensors file: its header would be %" PRIu64
                     " bytes long in a file of %" PRIu64,
                     length, file_bytes);
}

/* ---- tensors ---- */

/* safetensors' enum Dtype. Types of one byte that have no number are counted as bytes. */
static const struct {
    const char *name;
    emp_dtype   dtype;
    int32_t     bits;
} types[] = {
    {"F64", EMP_DTYPE_DOUBLE, 64},
    {"F32", EMP_DTYPE_FLOAT, 32},
    {"F16", EMP_DTYPE_HALF, 16},
    {"BF16", EMP_DTYPE_BFLOAT16, 16},
    {"I64", EMP_DTYPE_INT64, 64},
    {"I32", EMP_DTYPE_INT32, 32},
    {"I16", EMP_DTYPE_INT16, 16},
    {"I8", EMP_DTYPE_INT8, 8},
    {"U8", EMP_DTYPE_UINT8, 8},
    {"BOOL", EMP_DTYPE_BOOL, 8},
    {"U16", EMP_DTYPE_UINT16, 16},
    {"U32", EMP_DTYPE_UINT32, 32},
    {"U64", EMP_DTYPE_UINT64, 64},
    {"F8_E4M3", EMP_DTYPE_FLOAT8_E4M3, 8},
    {"F8_E5M2", EMP_DTYPE_FLOAT8_E5M2, 8},
    {"F8_E8M0", EMP_DTYPE_FLOAT8_E8M0, 8},
    {"F4", EMP_DTYPE_FLOAT4_E2M1, 4},
    {"F6_E2M3", EMP_DTYPE_FLOAT6_E2M3, 6},
    {"F6_E3M2", EMP_DTYPE_FLOAT6_E3M2, 6},
    {"C64", EMP_DTYPE_COMPLEX64, 64},
};

static emp_status read_type(emp_safetensor *t, int32_t *bits, const emp_json *value,
                            emp_error *err)
{
    const char *name = emp_json_string(value);

    for (size_t i = 0; name != NULL && i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        t->dtype = types[i].dtype;
        *bits = types[i].bits;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EFORMAT, "tensor \"%.80s\" has no \"dtype\" that is known",
                     t->name);
}

static emp_status read_shape(emp_safetensor *t, const emp_json *value, emp_error *err)
{
    int32_t rank = emp_json_count(value);

    if (!emp_json_is(value, EMP_JSON_ARRAY) || rank > EMP_MAX_RANK)
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor \"%.80s\" has no \"shape\" of up to %d sizes", t->name,
                         EMP_MAX_RANK);
    t->shape.rank = rank;
    const emp_json *size = emp_json_first(value);
    for (int32_t d = 0; d < rank; d++, size = emp_json_next(size)) {
        t->shape.dim[d] = emp_json_integer(size);
        if (!emp_json_is(size, EMP_JSON_INTEGER) || t->shape.dim[d] < 0)
            return EMP_ERROR(EMP_EFORMAT, "size %d of tensor \"%.80s\" is no number", d,
                             t->name);
    }
    return EMP_OK;
}

static emp_status read_bytes(emp_safetensor *t, const emp_json *value, int32_t bits,
                             uint64_t data_bytes, emp_error *err)
{
    const emp_json *first = emp_json_first(value);
    const emp_json *second = first != NULL ? emp_json_next(first) : NULL;
    int64_t         begin = emp_json_integer(first), end = emp_json_integer(second);
    int64_t         elements = emp_shape_elements(&t->shape);

    if (emp_json_count(value) != 2 || !emp_json_is(first, EMP_JSON_INTEGER) ||
        !emp_json_is(second, EMP_JSON_INTEGER) || begin < 0 || end < begin ||
        (uint64_t)end > data_bytes)
        return EMP_ERROR(EMP_EFORMAT,
                         "\"data_offsets\" of tensor \"%.80s\" are no part of the file",
                         t->name);
    t->bytes = end - begin;
    if (elements > INT64_MAX / bits || (elements * bits + 7) / 8 != t->bytes)
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor \"%.80s\" takes %" PRId64 " bytes, its shape and type "
                         "do not",
                         t->name, t->bytes);
    return EMP_OK;
}

static emp_status read_tensor(emp_safetensors *h, const emp_json *value,
                              uint64_t data_bytes, emp_error *err)
{
    emp_safetensor *t = &h->tensor[h->count];
    const char     *key = emp_json_key(value);
    int32_t         bits = 8;

    *t = (emp_safetensor){.name = emp_arena_strndup(&h->names, key, strlen(key))};
    if (t->name == NULL) return EMP_ERROR(EMP_ENOMEM, "names of tensors");
    if (emp_strmap_get(&h->of_name, key, strlen(key)) >= 0)
        return EMP_ERROR(EMP_EFORMAT, "tensor \"%.80s\" is there twice", key);
    EMP_CHECK(read_type(t, &bits, emp_json_get(value, "dtype"), err));
    EMP_CHECK(read_shape(t, emp_json_get(value, "shape"), err));
    EMP_CHECK(read_bytes(t, emp_json_get(value, "data_offsets"), bits, data_bytes, err));
    h->bytes += t->bytes; /* each lies in the file, and a header has at most 10^8 bytes */
    h->elements += emp_shape_elements(&t->shape);
    return emp_strmap_set(&h->of_name, t->name, strlen(t->name), h->count++, err);
}

static emp_status read_tensors(emp_safetensors *h, const emp_json *root,
                               uint64_t data_bytes, emp_error *err)
{
    if (!emp_json_is(root, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT,
                         "no safetensors file: its header is no JSON object");
    EMP_CHECK(EMP_GROW(h->tensor, h->count + emp_json_count(root), h->capacity));
    for (const emp_json *m = emp_json_first(root); m != NULL; m = emp_json_next(m)) {
        if (strcmp(emp_json_key(m), "__metadata__") == 0) continue;
        EMP_CHECK(read_tensor(h, m, data_bytes, err));
        if (h->bytes > INT64_MAX / 4 || h->elements > INT64_MAX / 4)
            return EMP_ERROR(EMP_EFORMAT, "its tensors are larger than any file");
    }
    return EMP_OK;
}

emp_status emp_safetensors_parse(emp_safetensors *h, const char *bytes, size_t size,
                                 uint64_t file_bytes, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};

    if (size < LENGTH_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "no safetensors file: it has %zu bytes", size);
    uint64_t length = read_length(bytes);
    EMP_CHECK(check_length(length, file_bytes, err));
    if (length > size - LENGTH_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "the header ends in its middle");
    EMP_TRY(emp_json_parse(&d, bytes + LENGTH_BYTES, (size_t)length, err));
    EMP_TRY(read_tensors(h, d.root, file_bytes - LENGTH_BYTES - length, err));

cleanup:
    emp_json_clear(&d);
    return st;
}

/* ---- files ---- */

/* A length of up to 100 MB, and the brace of its JSON. */
bool emp_safetensors_is(emp_slice file)
{
    return file.size > LENGTH_BYTES && file.data[LENGTH_BYTES] == '{' &&
           memcmp(file.data + 4, "\0\0\0\0", 4) == 0;
}

static emp_status read_header(emp_safetensors *h, emp_file *file, emp_error *err)
{
    if (file->size < LENGTH_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "no safetensors file: it has fewer than 8 bytes");
    const uint64_t length = read_length(file->bytes);
    EMP_CHECK(check_length(length, file->disk_bytes, err));
    EMP_CHECK(emp_file_read(file, (size_t)length + LENGTH_BYTES, err));
    return emp_safetensors_parse(h, file->bytes, file->size, file->disk_bytes, err);
}

/* ---- indices ---- */

/* An index is JSON and has the shard of each tensor: {"weight_map": {"name": "FILE", ...}}. */
static bool is_index(const emp_file *file)
{
    size_t at = 0;

    if (emp_safetensors_is((emp_slice){file->bytes, file->size})) return false;
    while (at < file->size && strchr(" \t\r\n", file->bytes[at]) != NULL) at++;
    return at < file->size && file->bytes[at] == '{';
}

/* Reads the header of a shard that lies beside the index. */
static emp_status read_shard(emp_safetensors *h, const char *index, const char *name,
                             emp_error *err)
{
    const char *slash = strrchr(index, '/');
    const int   folder = slash != NULL ? (int)(slash + 1 - index) : 0;
    emp_error   reason = {0};
    emp_file    file;
    char        path[PATH_BYTES];

    if (strchr(name, '/') != NULL || name[0] == '\0')
        return EMP_ERROR(EMP_EFORMAT,
                         "the shard \"%.80s\" is no name of a file beside it", name);
    if (snprintf(path, sizeof path, "%.*s%s", folder, index, name) >= PATH_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "the path of the shard \"%.80s\" is too long",
                         name);
    emp_status st = emp_file_open(&file, path, &reason);
    if (st == EMP_OK) st = read_header(h, &file, &reason);
    emp_file_close(&file);
    if (st == EMP_OK) return EMP_OK;
    return emp_error_set(err, st, reason.file, reason.line, "its shard \"%.80s\": %s",
                         name, reason.msg);
}

/* Reads each shard of the map once, and checks that it has the tensors which the map says. */
static emp_status read_shards(emp_safetensors *h, const char *index, const emp_json *map,
                              emp_strmap *read, emp_error *err)
{
    if (emp_json_count(map) == 0 || !emp_json_is(map, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT,
                         "neither a safetensors file nor an index of some: it has no "
                         "\"weight_map\" with names of tensors");
    for (const emp_json *m = emp_json_first(map); m != NULL; m = emp_json_next(m)) {
        const char *key = emp_json_key(m), *shard = emp_json_string(m);
        if (shard == NULL)
            return EMP_ERROR(EMP_EFORMAT,
                             "\"%.80s\" in \"weight_map\" is no name of a file", key);
        if (emp_strmap_get(read, shard, strlen(shard)) < 0) {
            EMP_CHECK(read_shard(h, index, shard, err));
            EMP_CHECK(emp_strmap_set(read, shard, strlen(shard), 0, err));
        }
        if (emp_strmap_get(&h->of_name, key, strlen(key)) < 0)
            return EMP_ERROR(
                EMP_EFORMAT,
                "\"weight_map\" has the tensor \"%.80s\" in \"%.80s\", which "
                "has none of that name",
                key, shard);
    }
    return EMP_OK;
}

static emp_status read_index(emp_safetensors *h, emp_file *file, const char *path,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    emp_strmap        read = {0};

    EMP_TRY(emp_file_read(file, EMP_FILE_ALL, err));
    EMP_TRY(emp_json_parse(&d, file->bytes, file->size, err));
    EMP_TRY(read_shards(h, path, emp_json_get(d.root, "weight_map"), &read, err));

cleanup:
    emp_strmap_clear(&read);
    emp_json_clear(&d);
    return st;
}

emp_status emp_safetensors_load(emp_safetensors *h, const char *path, emp_error *err)
{
    emp_error  reason = {0};
    emp_file   file;
    emp_status st = emp_file_open(&file, path, &reason);

    *h = (emp_safetensors){0};
    if (st == EMP_OK)
        st = is_index(&file) ? read_index(h, &file, path, &reason)
                             : read_header(h, &file, &reason);
    emp_file_close(&file);
    if (st == EMP_OK) return EMP_OK;
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}

void emp_safetensors_clear(emp_safetensors *h)
{
    emp_free(h->tensor);
    emp_strmap_clear(&h->of_name);
    emp_arena_clear(&h->names);
    *h = (emp_safetensors){0};
}

/* ---- queries ---- */

const emp_safetensor *emp_safetensors_find(const emp_safetensors *h, const char *name)
{
    int32_t     i = emp_strmap_get(&h->of_name, name, strlen(name));
    const char *dot = strchr(name, '.');

    if (i < 0 && dot != NULL) i = emp_strmap_get(&h->of_name, dot + 1, strlen(dot + 1));
    return i < 0 ? NULL : &h->tensor[i];
}

emp_status emp_safetensors_find_type(const void *context, const char *name,
                                     const emp_shape *shape, emp_dtype *dtype,
                                     emp_error *err)
{
    const emp_safetensors *h = context;
    const emp_safetensor  *t = emp_safetensors_find(h, name);

    if (t == NULL) return EMP_OK;
    if (emp_shape_elements(&t->shape) != emp_shape_elements(shape))
        return EMP_ERROR(EMP_EFORMAT,
                         "the weights have %" PRId64 " elements in \"%.80s\", the config "
                         "%" PRId64,
                         emp_shape_elements(&t->shape), name, emp_shape_elements(shape));
    if (t->dtype != EMP_DTYPE_NONE) *dtype = t->dtype;
    return EMP_OK;
}
