// SPDX-License-Identifier: GPL-3.0-or-later
// Zip archives as far as PyTorch writes them: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3. libzip would be one more
// library that programs which link ours have to have.
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/pytorch/pt2.h"

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

emp_status emp_pt2_unpack_weights(const char *bytes, size_t size, char **json,
                                  size_t *json_size, emp_error *err)
{
    archive a = {(const unsigned char *)bytes, size};
    entry   e = {0};

    *json = NULL;
    if (!find_entry(&a, is_weights_list, &e)) return EMP_OK;
    return unpack(&a, &e, json, json_size, err);
}

size_t emp_pt2_weight_bytes(const char *bytes, size_t size, const char *file)
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
