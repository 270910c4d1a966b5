// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/unread.h"

#include <ctype.h>
#include <string.h>

#include "graphs/import/container.h"
#include "graphs/import/proto/wire.h"

enum { SNIFFED_BYTES = 4096 };

static emp_slice beginning(emp_slice file)
{
    return (emp_slice){file.data, file.size < SNIFFED_BYTES ? file.size : SNIFFED_BYTES};
}

/* ---- text ---- */

/* The next line with more than a comment, without blanks around it; size 0: there is none. */
static emp_slice next_line(emp_slice *rest)
{
    emp_slice line = {"", 0};

    while ((line.size == 0 || line.data[0] == '#') && emp_slice_next_line(&line, rest))
        line = emp_slice_trim(line);
    return line.size > 0 && line.data[0] != '#' ? line : (emp_slice){"", 0};
}

/* It begins with a key or an item of a list, and has one line that is an item, or a key whose value is in
 * the lines below it: protobuf's text has neither, and programs do not begin so. */
bool emp_is_yaml(emp_slice file)
{
    emp_slice rest = beginning(file);
    emp_slice line = next_line(&rest);
    size_t    key = 0;

    while (key < line.size && (isalnum((unsigned char)line.data[key]) ||
                               strchr("_-", line.data[key]) != NULL))
        key++;
    if (!emp_container_is_text(file) ||
        (!emp_slice_starts(line, "- ") &&
         (key == 0 || key == line.size || line.data[key] != ':')))
        return false;
    for (; line.size > 0; line = next_line(&rest))
        if (emp_slice_starts(line, "- ") || line.data[line.size - 1] == ':') return true;
    return false;
}

bool emp_is_openvino(emp_slice file)
{
    emp_slice text = beginning(file);

    return (emp_slice_starts(text, "<?xml") || emp_slice_starts(text, "<net ")) &&
           emp_slice_has(text, "<net ") && emp_slice_has(text, "<layers>");
}

/* ---- bytes ---- */

/* Protocols 2 to 5 begin with their number. */
bool emp_is_pickle(emp_slice file)
{
    return file.size > 2 && (unsigned char)file.data[0] == 0x80 && file.data[1] >= 2 &&
           file.data[1] <= 5;
}

static emp_cursor open_message(emp_slice message)
{
    return (emp_cursor){message.data, message.data, message.data + message.size};
}

/* Model of Core ML: specificationVersion = 1, description = 2, and one of the kinds of models from 200 on. */
bool emp_is_core_ml(emp_slice file)
{
    enum { VERSION = 1, DESCRIPTION = 2, FIRST_KIND = 200, LAST_KIND = 3000 };
    emp_cursor     c = open_message(file);
    emp_wire_field field;

    if (emp_container_is_text(file) || emp_wire_next(&c, &field, NULL) != EMP_OK ||
        field.number != VERSION || field.type != EMP_WIRE_VARINT)
        return false;
    while (c.at < c.end && emp_wire_next(&c, &field, NULL) == EMP_OK &&
           field.type == EMP_WIRE_BYTES)
        if (field.number >= FIRST_KIND) return field.number <= LAST_KIND;
    return false;
}

/* HloModuleProto: name = 1, entry_computation_name = 2, computations = 3, id = 5, entry_computation_id = 6. A node of
 * TensorFlow's begins with two names, too, but its field 5 is a message, and it has no field 6. */
static bool is_hlo_module(emp_slice message)
{
    enum { NAME = 1, ENTRY = 2, ID = 5, ENTRY_ID = 6 };
    emp_cursor     c = open_message(message);
    emp_wire_field field;

    for (int32_t number = NAME; number <= ENTRY; number++)
        if (c.at == c.end || emp_wire_next(&c, &field, NULL) != EMP_OK ||
            field.number != number || field.type != EMP_WIRE_BYTES ||
            !emp_container_is_text(field.bytes))
            return false;
    while (c.at < c.end && emp_wire_next(&c, &field, NULL) == EMP_OK)
        if (field.number == ID || field.number == ENTRY_ID)
            return field.type == EMP_WIRE_VARINT;
    return false;
}

/* A module, or HloProto, whose field 1 is one. */
bool emp_is_hlo_proto(emp_slice file)
{
    emp_cursor     c = open_message(file);
    emp_wire_field field;

    if (emp_container_is_text(file)) return false;
    return is_hlo_module(file) ||
           (emp_wire_next(&c, &field, NULL) == EMP_OK && field.number == 1 &&
            field.type == EMP_WIRE_BYTES && is_hlo_module(field.bytes));
}

/* ---- JSON ---- */

bool emp_is_safetensors_index(const emp_json *root)
{
    return emp_json_get(root, "weight_map") != NULL;
}

bool emp_is_tensorflow_js(const emp_json *root)
{
    return emp_json_get(root, "modelTopology") != NULL;
}

/* What model.to_json() gives. */
bool emp_is_keras_json(const emp_json *root)
{
    return emp_json_get(root, "class_name") != NULL &&
           emp_json_get(root, "config") != NULL;
}

bool emp_is_core_ml_manifest(const emp_json *root)
{
    return emp_json_get(root, "rootModelIdentifier") != NULL;
}

/* Nodes have costs by their degree of tensor parallelism. */
bool emp_is_piper(const emp_json *root)
{
    const emp_json *nodes = emp_json_get(root, "nodes");

    return emp_json_get(root, "maxMemoryPerDevice") != NULL &&
           emp_json_get(emp_json_first(nodes), "TMPCs") != NULL;
}

/* Profiles have keys such as "layertype_0_bsz8" and "layernum[2]_bsz8"; strategies have degrees of parallelism. */
bool emp_is_galvatron(const emp_json *root)
{
    const char *key = emp_json_is(root, EMP_JSON_OBJECT) && emp_json_first(root) != NULL
                          ? emp_json_key(emp_json_first(root))
                          : "";

    return strncmp(key, "layertype_", 10) == 0 || strncmp(key, "layernum[", 9) == 0 ||
           (emp_json_get(root, "pp_deg") != NULL &&
            emp_json_get(root, "tp_sizes_enc") != NULL);
}
