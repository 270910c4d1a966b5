// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's meta_graph.proto.
/* The signatures of a MetaGraphDef: which tensors one call of a SavedModel gives. */
#include <string.h>

#include "base/text/text.h"
#include "graphs/import/container.h"

enum { META_SIGNATURE = 5, ENTRY_KEY = 1, ENTRY_VALUE = 2, SIGNATURE_OUTPUT = 2 };
enum { TENSOR_NAME = 1, TENSOR_COO = 4, TENSOR_COMPOSITE = 5, PARTS_TENSOR = 2 };
enum { COO_TENSORS = 3, DEPTH_MAX = 8 };

static const emp_field_name meta_names[] = {{"signature_def", META_SIGNATURE}, {0}};
static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};
static const emp_field_name signature_names[] = {{"outputs", SIGNATURE_OUTPUT}, {0}};
static const emp_field_name tensor_names[] = {{"name", TENSOR_NAME},
                                              {"coo_sparse", TENSOR_COO},
                                              {"composite_tensor", TENSOR_COMPOSITE},
                                              {0}};
static const emp_field_name parts_names[] = {{"components", PARTS_TENSOR}, {0}};
static const emp_field_name coo_names[] = {{"values_tensor_name", 1},
                                           {"indices_tensor_name", 2},
                                           {"dense_shape_tensor_name", COO_TENSORS},
                                           {0}};

/* ---- which one ---- */

static emp_status read_key(emp_slice *key, emp_message entry, emp_error *err)
{
    emp_field field;
    bool      found = false;

    *key = (emp_slice){"", 0};
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number == ENTRY_KEY)
            EMP_CHECK(emp_field_string(&entry, &field, key, err));
    }
}

/* Initialising tables and variables is no step. */
static bool is_step(emp_slice key) { return !emp_slice_is(key, "__saved_model_init_op"); }

/* The wanted one, or serving_default, or else the first by name. */
static bool is_better(emp_slice key, emp_slice best, const char *wanted)
{
    size_t size = key.size < best.size ? key.size : best.size;

    if (best.size == 0 || emp_slice_is(key, wanted)) return true;
    if (emp_slice_is(best, wanted)) return false;
    int order = memcmp(key.data, best.data, size);
    return order < 0 || (order == 0 && key.size < best.size);
}

emp_status emp_signature_choose(emp_signature *out, emp_message_file *file,
                                emp_slice meta, const char *wanted, emp_error *err)
{
    emp_message message = emp_message_open(file, meta, meta_names), entry;
    emp_field   field;
    emp_slice   key;
    emp_text    names = {out->names, sizeof out->names, 0};
    bool        found = false;

    *out = (emp_signature){0};
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number != META_SIGNATURE) continue;
        EMP_CHECK(emp_field_message(&message, &field, entry_names, &entry, err));
        EMP_CHECK(read_key(&key, entry, err));
        if (key.size == 0 || !is_step(key)) continue;
        emp_text_add(&names, "%s%.*s", out->count++ > 0 ? ", " : "", EMP_SLICE_ARG(key));
        if (!is_better(key, out->name, wanted)) continue;
        out->name = key;
        out->entry = emp_message_body(&entry);
    }
}

/* ---- its outputs ---- */

typedef struct {
    emp_signature_visit *visit;
    void                *context;
} visitor;

/* A sparse tensor is three. */
static emp_status visit_sparse(const emp_message *tensor, const emp_field *field,
                               const visitor *v, emp_error *err)
{
    emp_message coo;
    emp_field   part;
    emp_slice   name;
    bool        found = false;

    EMP_CHECK(emp_field_message(tensor, field, coo_names, &coo, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&coo, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number < 1 || part.number > COO_TENSORS) continue;
        EMP_CHECK(emp_field_string(&coo, &part, &name, err));
        EMP_CHECK(v->visit(v->context, name, err));
    }
}

/* A TensorInfo in the field of a message. */
static emp_status visit_tensor(const emp_message *message, const emp_field *field,
                               const visitor *v, int32_t depth, emp_error *err)
{
    emp_message tensor, parts;
    emp_field   part;
    emp_slice   name;
    bool        found = false;

    if (depth > DEPTH_MAX)
        return EMP_ERROR(EMP_EFORMAT, "an output is more than %d composite tensors deep",
                         DEPTH_MAX);
    EMP_CHECK(emp_field_message(message, field, tensor_names, &tensor, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&tensor, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == TENSOR_NAME) {
            EMP_CHECK(emp_field_string(&tensor, &part, &name, err));
            EMP_CHECK(v->visit(v->context, name, err));
        }
        if (part.number == TENSOR_COO) EMP_CHECK(visit_sparse(&tensor, &part, v, err));
        if (part.number != TENSOR_COMPOSITE) continue;
        EMP_CHECK(emp_field_message(&tensor, &part, parts_names, &parts, err));
        for (;;) {
            EMP_CHECK(emp_message_next(&parts, &part, &found, err));
            if (!found) break;
            if (part.number == PARTS_TENSOR)
                EMP_CHECK(visit_tensor(&parts, &part, v, depth + 1, err));
        }
    }
}

/* The value of an entry of a map. */
static emp_status open_value(emp_message *value, bool *has, emp_message entry,
                             const emp_field_name *names, emp_error *err)
{
    emp_field field;
    bool      found = false;

    *has = false;
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number != ENTRY_VALUE) continue;
        *has = true;
        EMP_CHECK(emp_field_message(&entry, &field, names, value, err));
    }
}

static emp_status visit_output(const emp_message *signature, const emp_field *field,
                               const visitor *v, emp_error *err)
{
    emp_message entry;
    emp_field   part;
    bool        found = false;

    EMP_CHECK(emp_field_message(signature, field, entry_names, &entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == ENTRY_VALUE) EMP_CHECK(visit_tensor(&entry, &part, v, 0, err));
    }
}

emp_status emp_signature_each_output(const emp_signature *s, emp_message_file *file,
                                     emp_signature_visit *visit, void *context,
                                     emp_error *err)
{
    const visitor v = {visit, context};
    emp_message   entry = emp_message_open(file, s->entry, entry_names), signature;
    emp_field     field;
    bool          found = false;

    EMP_CHECK(open_value(&signature, &found, entry, signature_names, err));
    while (found) {
        EMP_CHECK(emp_message_next(&signature, &field, &found, err));
        if (found && field.number == SIGNATURE_OUTPUT)
            EMP_CHECK(visit_output(&signature, &field, &v, err));
    }
    return EMP_OK;
}
