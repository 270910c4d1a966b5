// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: onnx.proto.
#include "graphs/import/onnx/model.h"

#include <math.h>
#include <string.h>

#include "graphs/import/notes/readers.h"

enum {
    MODEL_PRODUCER = 2,
    MODEL_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_TRAINING = 20,
    MODEL_FUNCTION = 25,
    MODEL_LAST = 26
};
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11 };
enum { GRAPH_OUTPUT = 12, GRAPH_INFO = 13, GRAPH_SPARSE = 15, GRAPH_METADATA = 16 };
enum { FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT = 5, FUNCTION_NODE = 7 };
enum { FUNCTION_DOMAIN = 10 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTR = 5 };
enum { NODE_DOMAIN = 7 };
enum {
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_TENSOR = 5,
    ATTR_GRAPH = 6
};
enum { ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_REFERENCE = 21, ATTR_SPARSE = 22 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5 };
enum { TENSOR_INT64S = 7, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_DOUBLES = 10 };
enum { TENSOR_UINT64S = 11, TENSOR_EXTERNAL = 13 };
enum { SPARSE_VALUES = 1, SPARSE_DIMS = 3 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { INFO_METADATA = 4, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { TYPE_HALF = 10, TYPE_COMPLEX64 = 14, TYPE_BFLOAT16 = 16 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

/* Reads the next field; false at the end or at damage, which is in *st. */
static bool next(emp_cursor *cursor, emp_wire_field *field, emp_status *st,
                 emp_error *err)
{
    if (cursor->at >= cursor->end) return false;
    *st = emp_wire_next(cursor, field, err);
    return *st == EMP_OK;
}

static emp_cursor cursor_of(emp_slice body)
{
    return (emp_cursor){body.data, body.data, body.data + body.size};
}

static bool is_bytes(const emp_wire_field *field, int32_t number)
{
    return field->number == number && field->type == EMP_WIRE_BYTES;
}

static double float_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float    value;

    memcpy(&value, &word, sizeof value);
    return (double)value;
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The last bytes field of that number in a message, as far as it is not damaged. */
static emp_slice part(emp_slice body, int32_t number)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    emp_slice      found = {"", 0};

    while (next(&cursor, &field, &st, NULL))
        if (is_bytes(&field, number)) found = field.bytes;
    return found;
}

/* ---- models ---- */

bool emp_onnx_is(emp_slice bytes)
{
    emp_cursor     cursor = cursor_of(bytes);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    bool           has_version = false, has_graph = false;

    while (next(&cursor, &field, &st, NULL)) {
        bool is_version = field.number == 1 && field.type == EMP_WIRE_VARINT;
        if (field.number > MODEL_LAST || (field.number == 1 && !is_version)) return false;
        has_version = has_version || (is_version && field.bits > 0 && field.bits < 1000);
        has_graph = has_graph || is_bytes(&field, MODEL_GRAPH);
        if (has_version && has_graph) return true;
    }
    return false;
}

static emp_status read_opset(emp_onnx_model *model, emp_slice body, emp_error *err)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    emp_onnx_opset opset = {.domain = {"", 0}};

    while (next(&cursor, &field, &st, err)) {
        if (is_bytes(&field, 1)) opset.domain = field.bytes;
        if (field.number == 2 && field.type == EMP_WIRE_VARINT)
            opset.version = (int64_t)field.bits;
    }
    EMP_CHECK(st);
    if (emp_slice_is(opset.domain, "ai.onnx")) opset.domain.size = 0;
    if (model->opset_count == EMP_ONNX_MAX_DOMAINS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d domains of operators",
                         EMP_ONNX_MAX_DOMAINS);
    model->opset[model->opset_count++] = opset;
    return EMP_OK;
}

emp_status emp_onnx_model_read(emp_onnx_model *model, emp_slice bytes, emp_error *err)
{
    emp_cursor     cursor = cursor_of(bytes);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    *model = (emp_onnx_model){
        .bytes = bytes, .producer = {"", 0}, .producer_version = {"", 0}};
    while (next(&cursor, &field, &st, err)) {
        if (is_bytes(&field, MODEL_PRODUCER)) model->producer = field.bytes;
        if (is_bytes(&field, MODEL_VERSION)) model->producer_version = field.bytes;
        if (is_bytes(&field, MODEL_GRAPH)) model->graph = field.bytes;
        if (is_bytes(&field, MODEL_OPSET)) EMP_CHECK(read_opset(model, field.bytes, err));
        model->function_count += is_bytes(&field, MODEL_FUNCTION);
        model->has_training = model->has_training || is_bytes(&field, MODEL_TRAINING);
    }
    EMP_CHECK(st);
    if (model->graph.data == NULL)
        return EMP_ERROR(EMP_EFORMAT, "an ONNX model without a graph");
    return EMP_OK;
}

int64_t emp_onnx_model_opset(const emp_onnx_model *model, emp_slice domain)
{
    for (int32_t i = 0; i < model->opset_count; i++)
        if (emp_slice_same(model->opset[i].domain, domain))
            return model->opset[i].version;
    return 0;
}

bool emp_onnx_model_function(const emp_onnx_model *model, emp_slice domain,
                             emp_slice name, emp_slice *body)
{
    emp_cursor     cursor = cursor_of(model->bytes);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    if (model->function_count == 0) return false;
    while (next(&cursor, &field, &st, NULL)) {
        if (!is_bytes(&field, MODEL_FUNCTION) ||
            !emp_slice_same(part(field.bytes, FUNCTION_NAME), name) ||
            !emp_slice_same(part(field.bytes, FUNCTION_DOMAIN), domain))
            continue;
        *body = field.bytes;
        return true;
    }
    return false;
}

/* ---- graphs ---- */

/* The lists of a message: numbers of fields; the last list is NULL. */
typedef struct {
    int32_t        number;
    emp_onnx_list *list;
} part_list;

static emp_status fill_lists(emp_slice body, const part_list *lists, emp_arena *arena,
                             emp_error *err)
{
    emp_wire_field field;
    emp_status     st = EMP_OK;

    for (int pass = 0; pass < 2; pass++) {
        emp_cursor cursor = cursor_of(body);
        while (next(&cursor, &field, &st, err)) {
            for (const part_list *l = lists; l->list != NULL; l++) {
                if (!is_bytes(&field, l->number)) continue;
                if (pass == 1) l->list->item[l->list->count] = field.bytes;
                l->list->count++;
            }
        }
        EMP_CHECK(st);
        for (const part_list *l = lists; pass == 0 && l->list != NULL; l++) {
            size_t count = (size_t)l->list->count;
            l->list->item = emp_arena_alloc(arena, (count + 1) * sizeof(emp_slice));
            if (l->list->item == NULL)
                return EMP_ERROR(EMP_ENOMEM, "%zu parts of a graph", count);
            l->list->count = 0;
        }
    }
    return EMP_OK;
}

emp_status emp_onnx_graph_read(emp_onnx_graph *graph, emp_slice body, emp_arena *arena,
                               emp_error *err)
{
    *graph = (emp_onnx_graph){.name = part(body, GRAPH_NAME)};
    const part_list lists[] = {{GRAPH_NODE, &graph->nodes},
                               {GRAPH_INITIALIZER, &graph->initializers},
                               {GRAPH_SPARSE, &graph->sparse_initializers},
                               {GRAPH_INPUT, &graph->inputs},
                               {GRAPH_OUTPUT, &graph->outputs},
                               {GRAPH_INFO, &graph->infos},
                               {0, NULL}};
    return fill_lists(body, lists, arena, err);
}

emp_status emp_onnx_function_read(emp_onnx_graph *graph, emp_slice body, emp_arena *arena,
                                  emp_error *err)
{
    *graph = (emp_onnx_graph){.name = part(body, FUNCTION_NAME)};
    const part_list lists[] = {{FUNCTION_NODE, &graph->nodes},
                               {FUNCTION_INPUT, &graph->inputs},
                               {FUNCTION_OUTPUT, &graph->outputs},
                               {0, NULL}};
    return fill_lists(body, lists, arena, err);
}

emp_status emp_onnx_node_read(emp_onnx_node *node, emp_slice body, emp_arena *arena,
                              emp_error *err)
{
    emp_onnx_list inputs = {0}, outputs = {0};

    *node = (emp_onnx_node){.type = part(body, NODE_TYPE),
                            .domain = part(body, NODE_DOMAIN),
                            .name = part(body, NODE_NAME),
                            .body = body};
    if (emp_slice_is(node->domain, "ai.onnx")) node->domain.size = 0;
    const part_list lists[] = {{NODE_INPUT, &inputs}, {NODE_OUTPUT, &outputs}, {0, NULL}};
    EMP_CHECK(fill_lists(body, lists, arena, err));
    node->input = inputs.item;
    node->input_count = inputs.count;
    node->output = outputs.item;
    node->output_count = outputs.count;
    return EMP_OK;
}

/* ---- attributes ---- */

static void read_attr(emp_onnx_attr *attr, emp_slice body)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    *attr = (emp_onnx_attr){.body = body, .name = {"", 0}};
    while (next(&cursor, &field, &st, NULL)) {
        if (field.number == ATTR_I && field.type == EMP_WIRE_VARINT)
            attr->i = (int64_t)field.bits;
        if (field.number == ATTR_F && field.type == EMP_WIRE_FIXED32)
            attr->f = float_of(field.bits);
        if (is_bytes(&field, ATTR_NAME)) attr->name = field.bytes;
        if (is_bytes(&field, ATTR_S)) attr->s = field.bytes;
        if (is_bytes(&field, ATTR_TENSOR)) attr->tensor = field.bytes;
        if (is_bytes(&field, ATTR_SPARSE)) attr->sparse_tensor = field.bytes;
        if (is_bytes(&field, ATTR_GRAPH)) attr->graph = field.bytes;
        if (is_bytes(&field, ATTR_REFERENCE)) attr->reference = field.bytes;
    }
}

bool emp_onnx_attr_find(const emp_onnx_node *node, const char *name, emp_onnx_attr *attr)
{
    emp_cursor     cursor = cursor_of(node->body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    *attr = (emp_onnx_attr){0};
    while (next(&cursor, &field, &st, NULL)) {
        if (!is_bytes(&field, NODE_ATTR) ||
            !emp_slice_is(part(field.bytes, ATTR_NAME), name))
            continue;
        read_attr(attr, field.bytes);
        return true;
    }
    return false;
}

/* How the numbers of a field lie. */
typedef enum { AS_VARINT, AS_FLOAT, AS_DOUBLE } layout;

static double number_of(uint64_t bits, layout as)
{
    return as == AS_FLOAT    ? float_of(bits)
           : as == AS_DOUBLE ? double_of(bits)
                             : (double)(int64_t)bits;
}

/* Adds the numbers of one field, packed or not, up to `room`; returns the new count. */
static int64_t take_numbers(const emp_wire_field *field, layout as, double *number,
                            int64_t count, int64_t room)
{
    uint64_t bits = 0;

    if (field->type != EMP_WIRE_BYTES) {
        if (count < room) number[count] = number_of(field->bits, as);
        return count + 1;
    }
    emp_cursor cursor = cursor_of(field->bytes);
    while (cursor.at < cursor.end) {
        emp_status st = as == AS_VARINT ? emp_wire_varint(&cursor, &bits, NULL)
                                        : emp_wire_fixed(&cursor, as == AS_FLOAT ? 4 : 8,
                                                         &bits, NULL);
        if (st != EMP_OK) break;
        if (count < room) number[count] = number_of(bits, as);
        count++;
    }
    return count;
}

int32_t emp_onnx_attr_numbers(const emp_onnx_attr *attr, double *number, int32_t room)
{
    emp_cursor     cursor = cursor_of(attr->body);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    int64_t        count = -1;

    if (attr->body.data == NULL) return -1;
    while (next(&cursor, &field, &st, NULL)) {
        if (field.number != ATTR_INTS && field.number != ATTR_FLOATS) continue;
        count = take_numbers(&field, field.number == ATTR_INTS ? AS_VARINT : AS_FLOAT,
                             number, count < 0 ? 0 : count, room);
    }
    return count < room ? (int32_t)count : room;
}

/* ---- tensors ---- */

emp_dtype emp_onnx_dtype(int64_t type)
{
    static const emp_dtype types[] = {
        EMP_DTYPE_NONE,        EMP_DTYPE_FLOAT,       EMP_DTYPE_UINT8,
        EMP_DTYPE_INT8,        EMP_DTYPE_UINT16,      EMP_DTYPE_INT16,
        EMP_DTYPE_INT32,       EMP_DTYPE_INT64,       EMP_DTYPE_STRING,
        EMP_DTYPE_BOOL,        EMP_DTYPE_HALF,        EMP_DTYPE_DOUBLE,
        EMP_DTYPE_UINT32,      EMP_DTYPE_UINT64,      EMP_DTYPE_COMPLEX64,
        EMP_DTYPE_COMPLEX128,  EMP_DTYPE_BFLOAT16,    EMP_DTYPE_FLOAT8_E4M3,
        EMP_DTYPE_FLOAT8_E4M3, EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_FLOAT8_E5M2,
        EMP_DTYPE_UINT4,       EMP_DTYPE_INT4,        EMP_DTYPE_FLOAT4_E2M1,
        EMP_DTYPE_FLOAT8_E8M0, EMP_DTYPE_UINT2,       EMP_DTYPE_INT2,
        EMP_DTYPE_FLOAT6_E2M3, EMP_DTYPE_FLOAT6_E3M2};

    return type >= 0 && type < (int64_t)(sizeof types / sizeof types[0]) ? types[type]
                                                                         : EMP_DTYPE_NONE;
}

/* Appends the sizes of one field; false where the shape is none that we can hold. */
static bool add_dims(emp_onnx_tensor *tensor, const emp_wire_field *field)
{
    double  sizes[EMP_MAX_RANK + 1];
    int64_t count = take_numbers(field, AS_VARINT, sizes, 0, EMP_MAX_RANK + 1);

    for (int64_t i = 0; i < count; i++) {
        if (tensor->shape.rank == EMP_MAX_RANK || !(sizes[i] >= 0)) return false;
        tensor->shape.dim[tensor->shape.rank++] = emp_truncate(sizes[i]);
    }
    return true;
}

static emp_status refuse_dims(const emp_onnx_tensor *tensor, emp_error *err)
{
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "tensor \"%.*s\" has more than %d dims, or one below 0",
                     EMP_SLICE_ARG(tensor->name), EMP_MAX_RANK);
}

emp_status emp_onnx_tensor_read(emp_onnx_tensor *tensor, emp_slice body, emp_error *err)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    *tensor = (emp_onnx_tensor){
        .name = part(body, TENSOR_NAME), .body = body, .has_numbers = true};
    while (next(&cursor, &field, &st, err)) {
        if (field.number == TENSOR_DIMS && !add_dims(tensor, &field))
            return refuse_dims(tensor, err);
        if (field.number == TENSOR_TYPE && field.type == EMP_WIRE_VARINT)
            tensor->type = (int64_t)field.bits;
        if (is_bytes(&field, TENSOR_EXTERNAL)) tensor->has_numbers = false;
    }
    tensor->dtype = emp_onnx_dtype(tensor->type);
    return st;
}

emp_status emp_onnx_sparse_tensor_read(emp_onnx_tensor *tensor, emp_slice body,
                                       emp_error *err)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    EMP_CHECK(emp_onnx_tensor_read(tensor, part(body, SPARSE_VALUES), err));
    tensor->shape = (emp_shape){0};
    tensor->has_numbers = false;
    while (next(&cursor, &field, &st, err))
        if (field.number == SPARSE_DIMS && !add_dims(tensor, &field))
            return refuse_dims(tensor, err);
    return st;
}

int32_t emp_onnx_initializer_count(const emp_onnx_graph *graph)
{
    return graph->initializers.count + graph->sparse_initializers.count;
}

emp_status emp_onnx_initializer_read(emp_onnx_tensor *tensor, const emp_onnx_graph *graph,
                                     int32_t i, emp_error *err)
{
    const int32_t dense = graph->initializers.count;

    if (i < dense) return emp_onnx_tensor_read(tensor, graph->initializers.item[i], err);
    return emp_onnx_sparse_tensor_read(tensor, graph->sparse_initializers.item[i - dense],
                                       err);
}

static double half_of(uint32_t bits)
{
    double   sign = bits >> 15 & 1 ? -1.0 : 1.0;
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double   value = (exponent == 0 ? fraction : 1024.0 + fraction) / 16777216.0;

    if (exponent == 31) return fraction == 0 ? sign * INFINITY : (double)NAN;
    for (uint32_t e = 1; e < exponent; e++) value *= 2.0;
    return sign * value;
}

/* One element of raw data, least significant byte first. */
static double raw_number(int64_t type, const char *data, size_t size)
{
    uint64_t bits = 0;

    memcpy(&bits, data, size);
    switch (type) {
    case 1: return float_of(bits);
    case 3: return (double)(int8_t)bits;
    case 5: return (double)(int16_t)bits;
    case 6: return (double)(int32_t)bits;
    case 7: return (double)(int64_t)bits;
    case 10: return half_of((uint32_t)bits);
    case 11: return double_of(bits);
    case 16: return float_of(bits << 16);
    default: return (double)bits;
    }
}

/* Small types have an int32 for each element; an int32 has the bits of a float. */
static double number_of_word(int64_t type, double word)
{
    const uint16_t bits = (uint16_t)emp_truncate(word);

    return type == TYPE_HALF       ? half_of(bits)
           : type == TYPE_BFLOAT16 ? float_of((uint64_t)bits << 16)
                                   : word;
}

static bool raw_numbers(const emp_onnx_tensor *tensor, emp_slice raw, double *number,
                        int64_t count)
{
    size_t size = (size_t)emp_dtype_bytes(tensor->dtype);

    if (size < 1 || size > 8 || raw.size / size < (size_t)count) return false;
    for (size_t i = 0; i < (size_t)count; i++)
        number[i] = raw_number(tensor->type, raw.data + i * size, size);
    return true;
}

bool emp_onnx_tensor_numbers(const emp_onnx_tensor *tensor, double *number, int64_t count)
{
    emp_cursor     cursor = cursor_of(tensor->body);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    int64_t        taken = 0;
    bool           are_words = false;
    bool is_number = tensor->type < TYPE_COMPLEX64 || tensor->type == TYPE_BFLOAT16;

    if (!tensor->has_numbers || !is_number) return false;
    while (taken < count && next(&cursor, &field, &st, NULL)) {
        switch (field.number) {
        case TENSOR_RAW:
            return field.type == EMP_WIRE_BYTES &&
                   raw_numbers(tensor, field.bytes, number, count);
        case TENSOR_FLOATS:
            taken = take_numbers(&field, AS_FLOAT, number, taken, count);
            break;
        case TENSOR_DOUBLES:
            taken = take_numbers(&field, AS_DOUBLE, number, taken, count);
            break;
        case TENSOR_INT32S:
            are_words = true;
            taken = take_numbers(&field, AS_VARINT, number, taken, count);
            break;
        case TENSOR_INT64S:
        case TENSOR_UINT64S:
            taken = take_numbers(&field, AS_VARINT, number, taken, count);
            break;
        default: break;
        }
    }
    for (int64_t i = 0; are_words && i < count && i < taken; i++)
        number[i] = number_of_word(tensor->type, number[i]);
    return taken >= count;
}

/* ---- types of values ---- */

static void read_dim(emp_onnx_info *info, emp_slice body)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;
    int64_t        size = -1;

    if (info->shape.rank < 0 || info->shape.rank == EMP_MAX_RANK) {
        info->shape = EMP_SHAPE_UNKNOWN;
        return;
    }
    while (next(&cursor, &field, &st, NULL))
        if (field.number == DIM_VALUE && field.type == EMP_WIRE_VARINT)
            size = (int64_t)field.bits;
    info->symbol[info->shape.rank] = part(body, DIM_PARAM);
    info->shape.dim[info->shape.rank++] = size < 0 ? -1 : size;
}

static void read_tensor_type(emp_onnx_info *info, emp_slice body)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field, dim;
    emp_status     st = EMP_OK;

    info->is_tensor = true;
    while (next(&cursor, &field, &st, NULL)) {
        if (field.number == TYPE_ELEMENT && field.type == EMP_WIRE_VARINT)
            info->dtype = emp_onnx_dtype((int64_t)field.bits);
        if (!is_bytes(&field, TYPE_SHAPE)) continue;
        emp_cursor dims = cursor_of(field.bytes);
        info->shape = EMP_SHAPE_SCALAR;
        while (next(&dims, &dim, &st, NULL))
            if (is_bytes(&dim, SHAPE_DIM)) read_dim(info, dim.bytes);
    }
}

emp_status emp_onnx_info_read(emp_onnx_info *info, emp_slice body, emp_error *err)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    *info = (emp_onnx_info){.name = {"", 0}, .shape = EMP_SHAPE_UNKNOWN};
    while (next(&cursor, &field, &st, err)) {
        if (is_bytes(&field, INFO_NAME)) info->name = field.bytes;
        if (!is_bytes(&field, INFO_TYPE)) continue;
        emp_slice type = part(field.bytes, TYPE_TENSOR);
        if (type.size > 0) read_tensor_type(info, type);
    }
    return st;
}

/* ---- metadata ---- */

static emp_slice metadata(emp_slice body, int32_t number, const char *key)
{
    emp_cursor     cursor = cursor_of(body);
    emp_wire_field field;
    emp_status     st = EMP_OK;

    while (next(&cursor, &field, &st, NULL))
        if (is_bytes(&field, number) && emp_slice_is(part(field.bytes, ENTRY_KEY), key))
            return part(field.bytes, ENTRY_VALUE);
    return (emp_slice){"", 0};
}

emp_slice emp_onnx_graph_metadata(emp_slice body, const char *key)
{
    return metadata(body, GRAPH_METADATA, key);
}

emp_slice emp_onnx_info_metadata(emp_slice body, const char *key)
{
    return metadata(body, INFO_METADATA, key);
}
