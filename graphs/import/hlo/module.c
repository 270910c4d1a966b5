// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/module.h"

#include <limits.h>
#include <stdio.h>

#include "base/mem.h"
#include "sim/graph/op_entry.h"

enum { ITEMS_MAX = 1 << 30 };

void emp_hlo_module_clear(emp_hlo_module *m)
{
    emp_free(m->computation);
    emp_free(m->instruction);
    emp_free(m->opcode);
    emp_free((void *)m->tensor);
    emp_value_set_clear(&m->tensors);
    emp_arena_clear(&m->values);
    emp_free(m->attr);
    emp_free(m->part);
    emp_free(m->operand);
    emp_free(m->parameter);
    emp_strmap_clear(&m->computation_of_name);
    emp_strmap_clear(&m->opcode_of_name);
    *m = (emp_hlo_module){.entry = -1};
}

emp_status emp_hlo_grow(void *array, int32_t count, int32_t *capacity, size_t size,
                        emp_error *err)
{
    if (count >= ITEMS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d parts of one sort", ITEMS_MAX);
    return emp_mem_grow(array, count + 1, capacity, size, __FILE__, __LINE__, err);
}

const emp_tensor_info *emp_hlo_keep_tensor(emp_hlo_module *m, const emp_tensor_info *info)
{
    return emp_value_keep(&m->tensors, &m->values, info, sizeof *info);
}

/* ---- opcodes ---- */

static emp_hlo_what what_of(const char *name)
{
    static const struct {
        const char  *name;
        emp_hlo_what what;
    } known[] = {
        {"parameter", EMP_HLO_PARAMETER},
        {"constant", EMP_HLO_CONSTANT},
        {"bitcast", EMP_HLO_VIEW},
        {"reshape", EMP_HLO_VIEW}, /* of what is not compiled */
        {"opt-barrier", EMP_HLO_VIEW},
        {"optimization-barrier", EMP_HLO_VIEW},
        {"domain", EMP_HLO_VIEW},
        {"add-dependency", EMP_HLO_VIEW},
        {"tuple", EMP_HLO_TUPLE},
        {"get-tuple-element", EMP_HLO_PART},
        {"after-all", EMP_HLO_NOTHING},
        {"partition-id", EMP_HLO_NOTHING},
        {"replica-id", EMP_HLO_NOTHING},
        {"fusion", EMP_HLO_FUSION},
        {"custom-call", EMP_HLO_CUSTOM},
        {"slice", EMP_HLO_SLICE},
        {"dynamic-slice", EMP_HLO_SLICE},
        {"gather", EMP_HLO_SLICE},
        {"dynamic-update-slice", EMP_HLO_UPDATE},
        {"scatter", EMP_HLO_SCATTER},
        {"call", EMP_HLO_CALL},
        {"async", EMP_HLO_CALL},
        {"while", EMP_HLO_WHILE},
        {"conditional", EMP_HLO_CONDITIONAL},
        {"all-reduce", EMP_HLO_COLLECTIVE},
        {"all-gather", EMP_HLO_COLLECTIVE},
        {"reduce-scatter", EMP_HLO_COLLECTIVE},
        {"all-to-all", EMP_HLO_COLLECTIVE},
        {"ragged-all-to-all", EMP_HLO_COLLECTIVE},
        {"collective-permute", EMP_HLO_COLLECTIVE},
        {"collective-broadcast", EMP_HLO_COLLECTIVE},
        {"send", EMP_HLO_REFUSED},
        {"recv", EMP_HLO_REFUSED},
        {"dynamic-reshape", EMP_HLO_REFUSED},
        {"set-dimension-size", EMP_HLO_REFUSED},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].what;
    return EMP_HLO_KERNEL;
}

static bool cut_ending(char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);

    if (length <= size || strcmp(text + length - size, ending) != 0) return false;
    text[length - size] = '\0';
    return true;
}

/* A start makes a tuple of its operands, its result and what the runtime needs; a copy's tuple has the
 * result first, an all-reduce's is the result. */
static emp_hlo_opcode describe(emp_slice name)
{
    static const char prefix[] = "hlo.";
    emp_hlo_opcode    o = {.result_part = -1};
    char             *own = o.type + sizeof prefix - 1;

    snprintf(o.type, sizeof o.type, "%s%.*s", prefix, (int)name.size, name.data);
    o.is_start = cut_ending(own, "-start");
    bool is_done = cut_ending(own, "-done") || cut_ending(own, "-update");
    if ((o.is_start || is_done) && strcmp(own, "all-reduce") != 0)
        o.result_part = strcmp(own, "copy") == 0 ? 0 : 1;
    o.what = is_done ? EMP_HLO_DONE : what_of(own);
    o.entry = emp_op_type_find(o.type);
    return o;
}

emp_status emp_hlo_opcode_of(emp_hlo_module *m, emp_slice name, int32_t *number,
                             emp_error *err)
{
    *number = emp_strmap_get(&m->opcode_of_name, name.data, name.size);
    if (*number >= 0) return EMP_OK;
    EMP_CHECK(EMP_HLO_GROW(m, opcode));
    EMP_CHECK(
        emp_strmap_set(&m->opcode_of_name, name.data, name.size, m->opcode_count, err));
    m->opcode[m->opcode_count] = describe(name);
    *number = m->opcode_count++;
    return EMP_OK;
}

/* ---- queries ---- */

int32_t emp_hlo_line(const emp_hlo_module *m, const char *at)
{
    int32_t line = 1;

    for (const char *c = m->begin; c < at; c++) line += *c == '\n';
    return line;
}

emp_slice emp_hlo_attr_of(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const char *key)
{
    const size_t size = strlen(key);

    for (int32_t a = i->first_attr; a < i->first_attr + i->attr_count; a++) {
        const emp_hlo_attr *attr = &m->attr[a];
        if (attr->key_size == size && memcmp(m->begin + attr->key_at, key, size) == 0)
            return (emp_slice){m->begin + attr->value_at, attr->value_size};
    }
    return (emp_slice){"", 0};
}

emp_slice emp_hlo_text_of(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const char *key)
{
    emp_slice value = emp_hlo_attr_of(m, i, key);

    if (value.size >= 2 && (value.data[0] == '{' || value.data[0] == '"'))
        value = (emp_slice){value.data + 1, value.size - 2};
    return value;
}

int64_t emp_hlo_number(emp_slice text, int64_t otherwise)
{
    int64_t number = 0;

    if (text.size == 0 || text.size > 18) return otherwise;
    for (size_t k = 0; k < text.size; k++) {
        if (text.data[k] < '0' || text.data[k] > '9') return otherwise;
        number = 10 * number + (text.data[k] - '0');
    }
    return number;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool emp_hlo_next_item(emp_slice *list, emp_slice *item)
{
    const char *at = list->data, *end = at + list->size;

    while (at < end && (is_blank(*at) || *at == '%' || *at == ',')) at++;
    const char *begin = at;
    while (at < end && *at != ',' && !is_blank(*at)) at++;
    *item = (emp_slice){begin, (size_t)(at - begin)};
    *list = (emp_slice){at, (size_t)(end - at)};
    return item->size > 0;
}

int32_t emp_hlo_find(const emp_hlo_module *m, emp_slice name)
{
    return emp_strmap_get(&m->computation_of_name, name.data, name.size);
}

emp_slice emp_hlo_name(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return (emp_slice){m->begin + i->name_at, i->name_size};
}

const emp_hlo_opcode *emp_hlo_op(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return &m->opcode[i->opcode];
}

const emp_hlo_instruction *emp_hlo_operand(const emp_hlo_module      *m,
                                           const emp_hlo_instruction *i, int32_t which)
{
    return &m->instruction[m->operand[i->first_operand + which]];
}

const emp_tensor_info *emp_hlo_result(const emp_hlo_module      *m,
                                      const emp_hlo_instruction *i)
{
    return m->tensor[i->first_tensor];
}

int64_t emp_hlo_tensor_bytes(const emp_tensor_info *info)
{
    return emp_dtype_size_bytes(info->dtype, emp_shape_elements(&info->shape));
}

int64_t emp_hlo_bytes(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    int64_t bytes = 0;

    for (int32_t t = i->first_tensor; t < i->first_tensor + i->tensor_count; t++)
        if (__builtin_add_overflow(bytes, emp_hlo_tensor_bytes(m->tensor[t]), &bytes))
            return INT64_MAX;
    return bytes;
}

int64_t emp_hlo_elements(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return i->tensor_count == 0 ? 0 : emp_shape_elements(&emp_hlo_result(m, i)->shape);
}

int32_t emp_hlo_part_begin(const emp_hlo_module *m, const emp_hlo_instruction *i,
                           int32_t part)
{
    return part < i->part_count ? m->part[i->first_part + part] : i->tensor_count;
}

int32_t emp_hlo_part_end(const emp_hlo_module *m, const emp_hlo_instruction *i,
                         int32_t part)
{
    return emp_hlo_part_begin(m, i, part + 1);
}

static bool is_library(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_slice target = emp_hlo_text_of(m, i, "custom_call_target");

    return emp_slice_starts(target, "__cublas$") || emp_slice_starts(target, "__cudnn$");
}

emp_hlo_made emp_hlo_made_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    const emp_hlo_opcode *op = emp_hlo_op(m, i);
    emp_hlo_made          made = {0, i->tensor_count, 0};

    if (op->is_start && op->result_part >= 0 && i->is_tuple) {
        made.begin = emp_hlo_part_begin(m, i, op->result_part);
        made.end = emp_hlo_part_end(m, i, op->result_part);
    } else if (i->is_tuple && i->tensor_count > 1 && is_library(m, i)) {
        const emp_tensor_info *last = m->tensor[i->first_tensor + i->tensor_count - 1];
        if (emp_dtype_bytes(last->dtype) != 1 || last->shape.rank != 1) return made;
        made.end--;
        made.workspace_bytes = emp_hlo_tensor_bytes(last);
    }
    return made;
}

/* ---- backend_config: JSON, or JSON in a text in quotes ---- */

static emp_status parse(emp_json_document *d, const char *text, size_t size,
                        emp_error *err)
{
    emp_status st = emp_json_parse(d, text, size, NULL);

    if (st == EMP_OK) return EMP_OK;
    emp_json_clear(d);
    return st == EMP_ENOMEM ? EMP_ERROR(EMP_ENOMEM, "a backend_config") : EMP_OK;
}

emp_status emp_hlo_config_read(emp_json_document *d, const emp_hlo_module *m,
                               const emp_hlo_instruction *i, emp_error *err)
{
    emp_slice         config = emp_hlo_attr_of(m, i, "backend_config");
    emp_json_document quoted = {0};

    *d = (emp_json_document){0};
    if (config.size == 0) return EMP_OK;
    if (config.data[0] != '"') return parse(d, config.data, config.size, err);
    emp_status  st = parse(&quoted, config.data, config.size, err);
    const char *text = emp_json_string(quoted.root);
    if (text != NULL) st = parse(d, text, strlen(text), err);
    emp_json_clear(&quoted);
    return st;
}

const emp_json *emp_hlo_config_find(const emp_json *root, const char *key)
{
    const emp_json *found = emp_json_get(root, key);

    for (const emp_json *v = emp_json_first(root); v != NULL && found == NULL;
         v = emp_json_next(v))
        if (emp_json_is(v, EMP_JSON_OBJECT)) found = emp_json_get(v, key);
    return found;
}

int64_t emp_hlo_config_number(const emp_json *value)
{
    const char *text = emp_json_string(value);

    if (text != NULL) return emp_hlo_number((emp_slice){text, strlen(text)}, -1);
    return emp_json_is(value, EMP_JSON_INTEGER) ? emp_json_integer(value) : -1;
}

/* ---- collectives ---- */

/* The numbers between the first brackets that hold only numbers: their count, and the last one. */
static int64_t count_numbers(emp_slice text, int64_t *last)
{
    const char *end = text.data + text.size, *at = text.data;
    int64_t     count = 0;

    *last = 0;
    while (at < end && (*at < '0' || *at > '9')) at++;
    while (at < end && *at != '}' && *at != ']') {
        int64_t number = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (number < INT_MAX) number = 10 * number + (*at - '0');
        *last = number;
        count++;
        while (at < end && *at != '}' && *at != ']' && (*at < '0' || *at > '9')) at++;
    }
    return count;
}

static int64_t count_of(emp_slice text)
{
    int64_t count = emp_hlo_number(text, 1);

    return count >= 1 && count <= INT_MAX ? count : 1;
}

int64_t emp_hlo_device_count(const emp_hlo_module *m)
{
    return count_of(m->replicas) * count_of(m->partitions);
}

/* All devices that run the module, all replicas, or as many as the machine has. */
static int64_t count_all(const emp_hlo_module *m, bool has_channel)
{
    int64_t replicas = count_of(m->replicas), all = emp_hlo_device_count(m);

    if (!has_channel && replicas > 1) return replicas;
    return all > 1 ? all : EMP_RANKS_ALL;
}

/* Groups are of replicas unless they are of devices; with a channel each replica comes with all its partitions, but for an
 * all-to-all, whose groups are then of partitions. */
static int32_t count_ranks(const emp_hlo_module *m, const emp_hlo_instruction *i,
                           emp_collective op)
{
    emp_slice  groups = emp_hlo_attr_of(m, i, "replica_groups");
    const bool has_channel = emp_hlo_attr_of(m, i, "channel_id").size > 0;
    const bool is_of_devices =
        emp_slice_is(emp_hlo_attr_of(m, i, "use_global_device_ids"), "true");
    int64_t last, count = count_numbers(groups, &last);

    if (count > 0 && groups.data[0] == '[') count = last; /* [groups,size] */
    if (count == 0)
        count = count_all(m, has_channel);
    else if (has_channel && !is_of_devices && op != EMP_COLLECTIVE_ALL_TO_ALL &&
             count <= INT_MAX)
        count *= count_of(m->partitions);
    return count >= 1 && count <= INT_MAX ? (int32_t)count : EMP_RANKS_ALL;
}

static int64_t count_bytes(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    int64_t      bytes = 0;

    for (int32_t t = made.begin; t < made.end; t++)
        bytes = emp_add_saturating(bytes, emp_info_bytes(m->tensor[i->first_tensor + t]));
    return bytes;
}

bool emp_hlo_collective_of(emp_collective_part *part, const emp_hlo_module *m,
                           const emp_hlo_instruction *i)
{
    *part = (emp_collective_part){0};
    if (emp_hlo_op(m, i)->what != EMP_HLO_COLLECTIVE ||
        !emp_collective_of_type(&part->op, emp_hlo_op(m, i)->type))
        return false;
    part->ranks = count_ranks(m, i, part->op);
    part->bytes = count_bytes(m, i);
    if (part->op != EMP_COLLECTIVE_REDUCE_SCATTER) return true;
    part->bytes = 0; /* it is given the whole */
    for (int32_t o = 0; o < i->operand_count; o++)
        part->bytes =
            emp_add_saturating(part->bytes, emp_hlo_bytes(m, emp_hlo_operand(m, i, o)));
    return true;
}
