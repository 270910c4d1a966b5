// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"

/* Which key an item "key=text" has; -1: none of them. */
static int find_key(const char *const *keys, const char *item, size_t length)
{
    for (int i = 0; keys[i] != NULL; i++) {
        size_t size = strlen(keys[i]);
        if (length >= size && memcmp(item, keys[i], size) == 0) return i;
    }
    return -1;
}

emp_status emp_spec_cut(emp_spec_parts *parts, const char *spec, const char *const *keys,
                        emp_error *err)
{
    const char *item = spec + strcspn(spec, ":");
    emp_text    rest = {parts->rest, EMP_SPEC_BYTES, 0};
    bool        is_given[EMP_SPEC_TEXTS_MAX] = {false};

    *parts = (emp_spec_parts){0};
    if (strlen(spec) >= EMP_SPEC_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a spec of more than %d characters",
                         EMP_SPEC_BYTES - 1);
    if (*item == ':') item++;
    while (*item != '\0') {
        size_t     length = strcspn(item, ",");
        int        key = find_key(keys, item, length);
        int        skip = key >= 0 ? (int)strlen(keys[key]) : 0;
        const bool is_list = key >= 0 && keys[key][skip - 1] == '.';
        if (key >= 0 && is_given[key] && !is_list)
            return EMP_ERROR(EMP_EINVAL, "%s: %.*s is given twice", spec, skip - 1,
                             keys[key]);
        emp_text *to = &rest, text = {0};
        if (key >= 0) {
            text = (emp_text){parts->text[key], EMP_SPEC_BYTES, strlen(parts->text[key])};
            to = &text;
            is_given[key] = true;
        }
        emp_text_add(to, "%s%.*s", to->used > 0 ? "," : "", (int)length - skip,
                     item + skip);
        item += length;
        if (*item == ',') item++;
    }
    return EMP_OK;
}
