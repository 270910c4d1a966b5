// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/word_list.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"

bool emp_word_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    if (list == NULL) return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

typedef const char *key_function(const void *context, int32_t i);

static bool is_key(const char *word, size_t length, key_function *key,
                   const void *context)
{
    const char *name;

    for (int32_t i = 0; (name = key(context, i)) != NULL; i++) {
        if (strlen(name) == length && strncmp(name, word, length) == 0) return true;
    }
    return false;
}

/* Whether key number i stands before, too. */
static bool is_repeated(int32_t i, key_function *key, const void *context)
{
    for (int32_t k = 0; k < i; k++)
        if (strcmp(key(context, k), key(context, i)) == 0) return true;
    return false;
}

/* As many whole keys as there is room for; an ellipsis stands for the others. */
static void list_keys(char *text, size_t size, key_function *key, const void *context)
{
    static const char others[] = ", ...";
    const char       *name;
    size_t            used = 0;

    text[0] = '\0';
    for (int32_t i = 0; (name = key(context, i)) != NULL; i++) {
        if (is_repeated(i, key, context)) continue;
        const char *separator = i == 0 ? "" : ", ";
        size_t      length = strlen(separator) + strlen(name);
        if (used + length + sizeof others > size) {
            snprintf(text + used, size - used, "%s", others);
            return;
        }
        snprintf(text + used, size - used, "%s%s", separator, name);
        used += length;
    }
}

static emp_nearest nearest_key(const char *word, size_t length, key_function *key,
                               const void *context)
{
    emp_nearest near = emp_nearest_begin(word, length, "");
    const char *name;

    for (int32_t i = 0; (name = key(context, i)) != NULL; i++)
        emp_nearest_offer(&near, name, strlen(name));
    return near;
}

emp_status emp_word_list_check(const char *list, const char *what,
                               const char *(*key)(const void *context, int32_t i),
                               const void *context, emp_error *err)
{
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (!is_key(at, length, key, context)) {
            char known[256];
            char hint[EMP_NEAREST_BYTES];
            list_keys(known, sizeof known, key, context);
            emp_nearest near = nearest_key(at, length, key, context);
            return EMP_ERROR(EMP_EINVAL, "%s \"%.*s\"%s; it has %s", what, (int)length,
                             at, emp_nearest_hint(&near, hint), known);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return EMP_OK;
}
