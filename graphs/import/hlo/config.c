// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/config.h"

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
