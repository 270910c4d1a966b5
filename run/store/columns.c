// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/store/columns.h"

#include "run/store/h5_internal.h"

#define FORMAT "emplace-columns-1"

_Static_assert((int)EMP_COLUMN_TEXT_BYTES == (int)EMP_H5_NAME_BYTES,
               "a text is what arrays hold");

static emp_h5_array array_of(const emp_columns *c, int32_t index)
{
    static const emp_h5_type type[] = {EMP_H5_TEXT, EMP_H5_INT64, EMP_H5_DOUBLE};
    const emp_column        *column = &c->column[index];

    return (emp_h5_array){column->name, type[column->type], (uint64_t)c->row_count, 0,
                          column->values};
}

static emp_h5_field field_of(const emp_columns_text *text)
{
    return (emp_h5_field){text->key, EMP_H5_TEXT, offsetof(emp_columns_text, value),
                          sizeof text->value};
}

static bool write_columns(emp_h5_file file, const void *object)
{
    const emp_columns *c = (const emp_columns *)object;

    for (int32_t i = 0; i < c->text_count; i++) {
        emp_h5_field field = field_of(&c->text[i]);
        if (!emp_h5_write_field(file, &field, &c->text[i])) return false;
    }
    for (int32_t i = 0; i < c->column_count; i++) {
        emp_h5_array array = array_of(c, i);
        if (!emp_h5_write_array(file, &array)) return false;
    }
    return true;
}

static emp_status read_columns(const emp_h5_image *image, void *object, const char *path,
                               emp_error *err)
{
    emp_columns *c = (emp_columns *)object;

    for (int32_t i = 0; i < c->text_count; i++) {
        emp_h5_field field = field_of(&c->text[i]);
        if (!emp_h5_read_field(image, &field, &c->text[i]))
            return EMP_ERROR(EMP_EFORMAT, "%s has no text %s", path, c->text[i].key);
    }
    for (int32_t i = 0; i < c->column_count; i++) {
        emp_h5_array array = array_of(c, i);
        if (!emp_h5_read_array(image, &array))
            return EMP_ERROR(EMP_EFORMAT, "%s has no column %s of %lld values", path,
                             c->column[i].name, (long long)c->row_count);
    }
    return EMP_OK;
}

emp_status emp_columns_save(const char *path, const emp_columns *columns, emp_error *err)
{
    return emp_h5_save(path, FORMAT, write_columns, columns, err);
}

emp_status emp_columns_load(emp_columns *columns, const char *path, emp_error *err)
{
    static const char *const formats[] = {FORMAT, NULL};

    return emp_h5_load(path, formats, "table", read_columns, columns, err);
}
