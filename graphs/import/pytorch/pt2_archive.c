// SPDX-License-Identifier: GPL-3.0-or-later
// Zip archives as far as PyTorch writes them: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3. libzip would be one more
// library that programs which link ours have to have.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/pytorch/program.h"

/* torch.export stores without packing; what is packed unpacks to little more than the archive has. */
enum { GROWTH_MAX = 3, SPARE_BYTES = 1 << 20 };
enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT_MAX = 65535 };
enum { STORED = 0, DEFLATED = 8 };

typedef struct {
    const unsigned char *bytes;
    size_t               size;
} archive;

/* An entry of the central directory. */
typedef struct {
    emp_slice name;
    size_t    packed, size, offset;
    unsigned  method, flags;
} entry;

static uint64_t number(const unsigned char *at, int count)
{
    uint64_t value = 0;

    for (int i = count - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

/* The place of the record that ends the archive, behind which only a comment is. */
static bool find_end(const archive *a, size_t *end)
{
    if (a->size < END_BYTES) return false;
    for (size_t back = END_BYTES; back <= a->size && back <= END_BYTES + COMMENT_MAX;
         back++) {
        *end = a->size - back;
        if (memcmp(a->bytes + *end, "PK\5\6", 4) == 0) return true;
    }
    return false;
}

/* Sizes that 32 bits do not hold stand in an extra field, in the order of the header. */
static void read_zip64(entry *e, const unsigned char *extra, size_t length)
{
    size_t *const values[] = {&e->size, &e->packed, &e->offset};

    while (length >= 4) {
        size_t id = number(extra, 2), own = number(extra + 2, 2);
        if (own > length - 4) return;
        const unsigned char *at = extra + 4, *end = at + own;
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*values[i] != UINT32_MAX || end - at < 8) continue;
            *values[i] = number(at, 8);
            at += 8;
        }
        extra += 4 + own;
        length -= 4 + own;
    }
}

/* Reads the entry at *at and moves it behind. */
static bool next_entry(const archive *a, size_t *at, entry *e)
{
    if (a->size - *at < ENTRY_BYTES || memcmp(a->bytes + *at, "PK\1\2", 4) != 0)
        return false;
    const unsigned char *head = a->bytes + *at;
    size_t               extra = number(head + 30, 2), comment = number(head + 32, 2);
    size_t               rest = a->size - *at - ENTRY_BYTES;
    *e = (entry){.name = {(const char *)head + ENTRY_BYTES, number(head + 28, 2)},
                 .packed = number(head + 20, 4),
                 .size = number(head + 24, 4),
                 .offset = number(head + 42, 4),
                 .method = (unsigned)number(head + 10, 2),
                 .flags = (unsigned)number(head + 8, 2)};
    if (e->name.size + extra + comment > rest) return false;
    read_zip64(e, head + ENTRY_BYTES + e->name.size, extra);
    *at += ENTRY_BYTES + e->name.size + extra + comment;
    return true;
}

/* "NAME/models/model.json" of new archives, "serialized_exported_program.json" of old ones. */
static bool is_graph(const entry *e)
{
    return emp_slice_ends(e->name, "serialized_exported_program.json") ||
           (emp_slice_ends(e->name, ".json") &&
            (emp_slice_starts(e->name, "models/") || emp_slice_has(e->name, "/models/")));
}

/* The list of weights of new archives, which says where each of them is. */
static bool is_weights_list(const entry *e)
{
    return emp_slice_ends(e->name, "_weights_config.json");
}

static bool find_entry(const archive *a, bool (*is_wanted)(const entry *), entry *e)
{
    size_t end, at;

    if (!find_end(a, &end)) return false;
    at = number(a->bytes + end + 16, 4);
    while (at <= a->size && next_entry(a, &at, e))
        if (is_wanted(e)) return true;
    return false;
}

bool emp_pt2_is(emp_slice file) { return emp_slice_starts(file, "PK\3\4"); }

static bool is_code(const entry *e) { return emp_slice_ends(e->name, "/constants.pkl"); }

static bool is_pickle(const entry *e) { return emp_slice_ends(e->name, "data.pkl"); }

static bool has_entry(emp_slice file, bool (*is_wanted)(const entry *))
{
    const archive a = {(const unsigned char *)file.data, file.size};
    entry         e;

    return emp_pt2_is(file) && find_entry(&a, is_wanted, &e);
}

bool emp_torchscript_is(emp_slice file)
{
    return has_entry(file, is_code) && !has_entry(file, is_graph);
}

bool emp_torch_weights_is(emp_slice file)
{
    return has_entry(file, is_pickle) && !has_entry(file, is_graph);
}

static bool is_compiled(const entry *e)
{
    return emp_slice_has(e->name, "data/aotinductor/");
}

bool emp_aoti_is(emp_slice file)
{
    return has_entry(file, is_compiled) && !has_entry(file, is_graph);
}

static bool is_keras_weights(const entry *e)
{
    return emp_slice_is(e->name, "model.weights.h5");
}

bool emp_keras_is(emp_slice file) { return has_entry(file, is_keras_weights); }

/* Where the packed bytes of an entry begin. */
static emp_status find_packed(const archive *a, const entry *e,
                              const unsigned char **packed, emp_error *err)
{
    if (e->offset > a->size || a->size - e->offset < LOCAL_BYTES ||
        memcmp(a->bytes + e->offset, "PK\3\4", 4) != 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "a damaged zip archive: its graph is not where it should be");
    size_t begin = e->offset + LOCAL_BYTES + number(a->bytes + e->offset + 26, 2) +
                   number(a->bytes + e->offset + 28, 2);
    if (begin > a->size || e->packed > a->size - begin)
        return EMP_ERROR(EMP_EFORMAT, "a damaged zip archive: its graph is cut off");
    *packed = a->bytes + begin;
    return EMP_OK;
}

static emp_status check_entry(const archive *a, const entry *e, emp_error *err)
{
    if (e->flags & 1) return EMP_ERROR(EMP_EFORMAT, "a zip archive that is encrypted");
    if (e->method != STORED && e->method != DEFLATED)
        return EMP_ERROR(EMP_EFORMAT,
                         "a zip archive packed by method %u; 0 and 8 can be read",
                         e->method);
    if (e->method == STORED && e->size != e->packed)
        return EMP_ERROR(EMP_EFORMAT, "a damaged zip archive: its graph has two sizes");
    if (e->size / GROWTH_MAX > a->size + SPARE_BYTES / GROWTH_MAX)
        return EMP_ERROR(
            EMP_EFORMAT,
            "an archive of %zu bytes whose graph unpacks to %zu, which no export has",
            a->size, e->size);
    return EMP_OK;
}

static emp_status inflate_entry(const entry *e, const unsigned char *packed, char *out,
                                emp_error *err)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)packed,
                  .avail_in = (uInt)e->packed,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)e->size};

    if (e->packed > UINT32_MAX || e->size > UINT32_MAX)
        return EMP_ERROR(EMP_EFORMAT, "a graph of %zu bytes, which no export has",
                         e->size);
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return EMP_ERROR(EMP_ENOMEM, "unpacking a graph of %zu bytes", e->size);
    int code = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    if (code != Z_STREAM_END || z.avail_out != 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "a damaged zip archive: its graph cannot be unpacked");
    return EMP_OK;
}

static emp_status unpack(const archive *a, const entry *e, char **json, size_t *json_size,
                         emp_error *err)
{
    emp_status           st = EMP_OK;
    const unsigned char *packed = NULL;

    EMP_TRY(find_packed(a, e, &packed, err));
    EMP_TRY(check_entry(a, e, err));
    *json_size = e->size;
    *json = emp_realloc(NULL, e->size + 1, 1);
    if (*json == NULL) EMP_FAIL(EMP_ENOMEM, "%zu bytes of a graph", e->size);
    if (e->method == STORED)
        memcpy(*json, packed, e->size);
    else
        EMP_TRY(inflate_entry(e, packed, *json, err));

cleanup:
    if (st != EMP_OK) {
        emp_free(*json);
        *json = NULL;
    }
    return st;
}

emp_status emp_pt2_unpack(const char *bytes, size_t size, char **json, size_t *json_size,
                          emp_error *err)
{
    archive a = {(const unsigned char *)bytes, size};
    entry   e = {0};
    size_t  end;

    *json = NULL;
    if (!find_end(&a, &end)) return EMP_ERROR(EMP_EFORMAT, "a truncated zip archive");
    if (!find_entry(&a, is_graph, &e))
        return EMP_ERROR(EMP_EFORMAT,
                         "a zip archive without the graph of torch.export "
                         "(serialized_exported_program.json or models/NAME.json)");
    return unpack(&a, &e, json, json_size, err);
}

/* The list of weights, "NAME_weights_config.json", as emp_pt2_unpack() gives the graph; \a *json is NULL if there is
 * none, as in older archives. */
static emp_status pt2_unpack_weights(const char *bytes, size_t size, char **json,
                                     size_t *json_size, emp_error *err)
{
    archive a = {(const unsigned char *)bytes, size};
    entry   e = {0};

    *json = NULL;
    if (!find_entry(&a, is_weights_list, &e)) return EMP_OK;
    return unpack(&a, &e, json, json_size, err);
}

/* Bytes of the file that the list of weights names; 0: there is none. O(entries). */
static size_t pt2_weight_bytes(const char *bytes, size_t size, const char *file)
{
    archive a = {(const unsigned char *)bytes, size};
    entry   e = {0};
    size_t  end, at;

    if (!find_end(&a, &end)) return 0;
    at = number(a.bytes + end + 16, 4);
    while (at <= a.size && next_entry(&a, &at, &e))
        if (emp_slice_ends(e.name, file) &&
            emp_slice_ends((emp_slice){e.name.data, e.name.size - strlen(file)},
                           "weights/"))
            return e.size;
    return 0;
}

// Names of fields: PyTorch's torch/_export/serde/schema.py (PayloadConfig, TensorMeta).

enum { PLACE_BYTES = 512 };

/* Appends numbers such as [{"as_int": 4}, {"as_int": 3}]; false: others, or too many. */
static bool add_numbers(char *place, size_t *used, const emp_json *list)
{
    if (!emp_json_is(list, EMP_JSON_ARRAY)) return false;
    *used += (size_t)snprintf(place + *used, PLACE_BYTES - *used, "|");
    for (const emp_json *v = emp_json_first(list); v != NULL; v = emp_json_next(v)) {
        const emp_json *number = emp_json_get(v, "as_int");
        if (!emp_json_is(number, EMP_JSON_INTEGER) || *used > PLACE_BYTES - 32)
            return false;
        *used += (size_t)snprintf(place + *used, PLACE_BYTES - *used, "%" PRId64 ",",
                                  emp_json_integer(number));
    }
    return true;
}

/* The values that only names of one tensor share: file, sizes, strides, offset and element type. */
static bool describe(char place[PLACE_BYTES], const emp_json *weight)
{
    const emp_json *meta = emp_json_get(weight, "tensor_meta");
    const emp_json *offset = emp_json_get(emp_json_get(meta, "storage_offset"), "as_int");
    const emp_json *dtype = emp_json_get(meta, "dtype");
    const char     *file = emp_json_string(emp_json_get(weight, "path_name"));

    if (file == NULL || strlen(file) > PLACE_BYTES / 4 ||
        !emp_json_is(offset, EMP_JSON_INTEGER) || !emp_json_is(dtype, EMP_JSON_INTEGER))
        return false;
    size_t used = (size_t)snprintf(place, PLACE_BYTES, "%s|%" PRId64 "|%" PRId64, file,
                                   emp_json_integer(offset), emp_json_integer(dtype));
    return add_numbers(place, &used, emp_json_get(meta, "sizes")) &&
           add_numbers(place, &used, emp_json_get(meta, "strides"));
}

typedef struct {
    emp_pt2_weights *w;
    const char      *bytes; /* the archive */
    size_t           size;
    emp_strmap       tensor_of_place;
} reader;

static emp_status set(reader *r, emp_strmap *map, const char *text, int32_t tensor,
                      emp_error *err)
{
    size_t      length = strlen(text);
    const char *own = emp_arena_strndup(&r->w->texts, text, length);

    if (own == NULL) return EMP_ERROR(EMP_ENOMEM, "the name of a weight");
    return emp_strmap_set(map, own, length, tensor, err);
}

static emp_status read_weight(reader *r, const emp_json *weight, emp_error *err)
{
    char        place[PLACE_BYTES];
    const char *file = emp_json_string(emp_json_get(weight, "path_name"));

    if (!describe(place, weight)) return EMP_OK;
    int32_t tensor = emp_strmap_get(&r->tensor_of_place, place, strlen(place));
    if (tensor >= 0 && pt2_weight_bytes(r->bytes, r->size, file) == 0) {
        r->w->is_silent = true;
        tensor = -1;
    }
    if (tensor < 0) {
        tensor = r->w->tensor_count++;
        EMP_CHECK(set(r, &r->tensor_of_place, place, tensor, err));
    }
    return set(r, &r->w->tensor_of_name, emp_json_key(weight), tensor, err);
}

emp_status emp_pt2_weights_read(emp_pt2_weights *weights, const char *bytes, size_t size,
                                emp_error *err)
{
    emp_status        st = EMP_OK;
    reader            r = {.w = weights, .bytes = bytes, .size = size};
    emp_json_document d = {0};
    const emp_json   *list = NULL;
    char             *json = NULL;
    size_t            json_size = 0;

    EMP_TRY(pt2_unpack_weights(bytes, size, &json, &json_size, err));
    if (json == NULL) goto cleanup;
    EMP_TRY(emp_json_parse(&d, json, json_size, err));
    list = emp_json_get(d.root, "config");
    if (!emp_json_is(list, EMP_JSON_OBJECT))
        EMP_FAIL(EMP_EFORMAT, "the archive's list of weights has no object \"config\"");
    for (const emp_json *v = emp_json_first(list); v != NULL; v = emp_json_next(v))
        EMP_TRY(read_weight(&r, v, err));

cleanup:
    emp_strmap_clear(&r.tensor_of_place);
    emp_json_clear(&d);
    emp_free(json);
    return st;
}

void emp_pt2_weights_clear(emp_pt2_weights *weights)
{
    emp_strmap_clear(&weights->tensor_of_name);
    emp_arena_clear(&weights->texts);
}

int32_t emp_pt2_weights_tensor(const emp_pt2_weights *weights, const char *name)
{
    return emp_strmap_get(&weights->tensor_of_name, name, strlen(name));
}
