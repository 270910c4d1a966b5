// SPDX-License-Identifier: GPL-3.0-or-later
// Names of fields: PyTorch's torch/_export/serde/schema.py (PayloadConfig, TensorMeta).

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/pytorch/pt2.h"

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

/* What only names of one tensor have in common: file, sizes, strides, offset and element type. */
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
    if (tensor >= 0 && emp_pt2_weight_bytes(r->bytes, r->size, file) == 0) {
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

    EMP_TRY(emp_pt2_unpack_weights(bytes, size, &json, &json_size, err));
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
