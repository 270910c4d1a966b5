// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

const emp_json *emp_fields_find(const emp_fields *f, const char *names)
{
    char name[NAME_BYTES];

    while (*names != '\0') {
        size_t length = strcspn(names, "|");
        if (length >= sizeof name) return NULL;
        memcpy(name, names, length);
        name[length] = '\0';
        const emp_json *value = emp_json_get(f->object, name);
        if (value != NULL && !emp_json_is(value, EMP_JSON_NULL)) return value;
        names += length;
        if (*names == '|') names++;
    }
    return NULL;
}

static void fail(emp_fields *f, const char *names, const char *problem)
{
    if (f->status != EMP_OK) return;
    f->status = emp_error_set(f->err, EMP_EFORMAT, __FILE__, __LINE__,
                              "\"%.*s\" of a %s model %s", (int)strcspn(names, "|"),
                              names, f->family, problem);
}

/* What the family has for the first of the names; -1: nothing. */
static int32_t default_of(const emp_fields *f, const char *names)
{
    char key[NAME_BYTES + 2];

    snprintf(key, sizeof key, " %.*s=", (int)strcspn(names, "|"), names);
    const char *at = f->defaults != NULL ? strstr(f->defaults, key) : NULL;
    return at != NULL ? (int32_t)strtol(at + strlen(key), NULL, 10) : -1;
}

int32_t emp_fields_integer(emp_fields *f, const char *names, int32_t missing)
{
    const emp_json *value = emp_fields_find(f, names);
    bool            is_needed = missing < 0;

    if (value == NULL) {
        const int32_t own = default_of(f, names);
        if (own >= 0) return own;
        if (is_needed) fail(f, names, "is missing");
        return is_needed ? 0 : missing;
    }
    int64_t number = emp_json_integer(value);
    if (!emp_json_is(value, EMP_JSON_INTEGER) || number < (is_needed ? 1 : 0) ||
        number > INT32_MAX) {
        fail(f, names,
             is_needed ? "is no whole number from 1 to 2147483647"
                       : "is no whole number from 0 to 2147483647");
        return 0;
    }
    return (int32_t)number;
}

bool emp_fields_flag(emp_fields *f, const char *names, bool missing)
{
    const emp_json *value = emp_fields_find(f, names);

    if (value == NULL) return missing;
    if (emp_json_is(value, EMP_JSON_TRUE)) return true;
    if (!emp_json_is(value, EMP_JSON_FALSE)) fail(f, names, "is neither true nor false");
    return false;
}

const char *emp_fields_text(emp_fields *f, const char *names)
{
    const emp_json *value = emp_fields_find(f, names);

    if (value != NULL && emp_json_string(value) == NULL) fail(f, names, "is no text");
    return emp_json_string(value);
}

const emp_json *emp_fields_at(const emp_json *array, int32_t i)
{
    const emp_json *value = emp_json_first(array);

    for (; value != NULL && i > 0; i--) value = emp_json_next(value);
    return value;
}
