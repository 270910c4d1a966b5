// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/proto/message.h"

static int32_t number_of(const emp_field_name *names, emp_slice name)
{
    for (; names->name != NULL; names++) {
        if (emp_slice_is(name, names->name)) return names->number;
    }
    return 0;
}

static bool is_listed(const emp_field_name *names, int32_t number)
{
    for (; names->name != NULL; names++) {
        if (names->number == number) return true;
    }
    return false;
}

static const char *name_of(const emp_message *message, int32_t number)
{
    const emp_field_name *names = message->names;

    while (names->name != NULL && names->number != number) names++;
    return names->name != NULL ? names->name : "?";
}

emp_message emp_message_open(emp_message_file *file, emp_slice body,
                             const emp_field_name *names)
{
    return (emp_message){file, names, emp_text_open(file->bytes.data, body)};
}

emp_slice emp_message_body(const emp_message *message)
{
    const emp_cursor *cursor = &message->text.cursor;

    return (emp_slice){cursor->at, (size_t)(cursor->end - cursor->at)};
}

emp_status emp_message_next(emp_message *message, emp_field *field, bool *found,
                            emp_error *err)
{
    emp_cursor *cursor = &message->text.cursor;

    if (message->file->is_text) {
        EMP_CHECK(emp_text_next(&message->text, &field->text, found, err));
        if (*found) field->number = number_of(message->names, field->text.name);
        return EMP_OK;
    }
    *found = cursor->at < cursor->end;
    if (*found) {
        EMP_CHECK(emp_wire_next(cursor, &field->wire, err));
        field->number =
            is_listed(message->names, field->wire.number) ? field->wire.number : 0;
    }
    return EMP_OK;
}

emp_status emp_field_string(const emp_message *message, const emp_field *field,
                            emp_slice *out, emp_error *err)
{
    if (message->file->is_text) {
        if (field->text.kind == EMP_TEXT_STRING) {
            return emp_text_unquote(field->text.value, &message->file->scratch, out, err);
        }
    } else if (field->wire.type == EMP_WIRE_BYTES) {
        *out = field->wire.bytes;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no string",
                     name_of(message, field->number));
}

emp_status emp_field_message(const emp_message *message, const emp_field *field,
                             const emp_field_name *names, emp_message *out,
                             emp_error *err)
{
    bool is_text = message->file->is_text;

    if (is_text ? field->text.kind != EMP_TEXT_MESSAGE
                : field->wire.type != EMP_WIRE_BYTES) {
        return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no message",
                         name_of(message, field->number));
    }
    *out = emp_message_open(message->file,
                            is_text ? field->text.value : field->wire.bytes, names);
    return EMP_OK;
}

static int64_t number_from_bits(emp_number_type type, uint64_t bits)
{
    if (type == EMP_NUMBER_FLOAT) {
        uint32_t low = (uint32_t)bits;
        float    value;
        memcpy(&value, &low, sizeof value);
        return emp_truncate((double)value);
    }
    if (type == EMP_NUMBER_DOUBLE) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return emp_truncate(value);
    }
    return (int64_t)bits;
}

/* Reads one number from the packed ones that \a packed still holds. */
static emp_status unpack_number(const emp_message *message, emp_slice *packed,
                                emp_number_type type, uint64_t *bits, emp_error *err)
{
    emp_cursor cursor = {message->file->bytes.data, packed->data,
                         packed->data + packed->size};

    switch (type) {
    case EMP_NUMBER_VARINT: EMP_CHECK(emp_wire_varint(&cursor, bits, err)); break;
    case EMP_NUMBER_FLOAT: EMP_CHECK(emp_wire_fixed(&cursor, 4, bits, err)); break;
    case EMP_NUMBER_DOUBLE: EMP_CHECK(emp_wire_fixed(&cursor, 8, bits, err)); break;
    }
    *packed = (emp_slice){cursor.at, (size_t)(cursor.end - cursor.at)};
    return EMP_OK;
}

/* A field of which nothing is left looks like one of packed numbers that is empty. */
emp_status emp_field_next_number(const emp_message *message, emp_field *field,
                                 emp_number_type type, int64_t *value, bool *found,
                                 emp_error *err)
{
    static const emp_wire_type types[] = {EMP_WIRE_VARINT, EMP_WIRE_FIXED32,
                                          EMP_WIRE_FIXED64};
    emp_wire_field            *wire = &field->wire;

    if (message->file->is_text) {
        *found = field->text.name.data != NULL;
        if (*found) EMP_CHECK(emp_text_integer(&field->text, value, err));
        field->text.name = (emp_slice){0};
        return EMP_OK;
    }
    *found = true;
    if (wire->type == types[type]) {
        *value = number_from_bits(type, wire->bits);
        *wire = (emp_wire_field){.number = wire->number, .type = EMP_WIRE_BYTES};
    } else if (wire->type == EMP_WIRE_BYTES) {
        uint64_t bits = 0;
        *found = wire->bytes.size > 0;
        if (!*found) return EMP_OK;
        EMP_CHECK(unpack_number(message, &wire->bytes, type, &bits, err));
        *value = number_from_bits(type, bits);
    } else {
        return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no number of its type",
                         name_of(message, field->number));
    }
    return EMP_OK;
}

emp_status emp_field_integer(const emp_message *message, const emp_field *field,
                             int64_t *value, emp_error *err)
{
    emp_field rest = *field;
    bool      found = true;

    for (*value = 0; found;) {
        EMP_CHECK(
            emp_field_next_number(message, &rest, EMP_NUMBER_VARINT, value, &found, err));
    }
    return EMP_OK;
}

emp_status emp_field_enum(const emp_message *message, const emp_field *field,
                          const emp_field_name *values, int64_t *value, emp_error *err)
{
    const emp_text_field *text = &field->text;

    if (message->file->is_text && text->kind == EMP_TEXT_SCALAR && text->value.size > 0 &&
        (text->value.data[0] < '0' || text->value.data[0] > '9')) {
        *value = number_of(values, text->value);
        return EMP_OK;
    }
    emp_field first = *field;
    bool      found = false;
    *value = 0;
    return emp_field_next_number(message, &first, EMP_NUMBER_VARINT, value, &found, err);
}
