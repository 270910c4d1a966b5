// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"

/* Copies an item "key=text" of one of the keys. */
static bool take_text(emp_spec_parts *parts, const char *const *keys, const char *item,
                      size_t length)
{
    for (int i = 0; keys[i] != NULL; i++) {
        size_t skip = strlen(keys[i]);
        if (length < skip || memcmp(item, keys[i], skip) != 0) continue;
        snprintf(parts->text[i], EMP_SPEC_BYTES, "%.*s", (int)(length - skip),
                 item + skip);
        return true;
    }
    return false;
}

emp_status emp_spec_cut(emp_spec_parts *parts, const char *spec, const char *const *keys,
                        emp_error *err)
{
    const char *item = spec + strcspn(spec, ":");
    emp_text    rest = {parts->rest, EMP_SPEC_BYTES, 0};

    *parts = (emp_spec_parts){0};
    if (strlen(spec) >= EMP_SPEC_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a spec of more than %d characters",
                         EMP_SPEC_BYTES - 1);
    if (*item == ':') item++;
    while (*item != '\0') {
        size_t length = strcspn(item, ",");
        if (!take_text(parts, keys, item, length))
            emp_text_add(&rest, "%s%.*s", rest.used > 0 ? "," : "", (int)length, item);
        item += length;
        if (*item == ',') item++;
    }
    return EMP_OK;
}
