// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/run/word_list.h"

#include <stdio.h>
#include <string.h>

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

static bool is_key(const char *word, size_t length, const char *(*key)(int32_t))
{
    const char *name;

    for (int32_t i = 0; (name = key(i)) != NULL; i++) {
        if (strlen(name) == length && strncmp(name, word, length) == 0) return true;
    }
    return false;
}

static void list_keys(char *text, size_t size, const char *(*key)(int32_t))
{
    const char *name;
    size_t      used = 0;

    text[0] = '\0';
    for (int32_t i = 0; (name = key(i)) != NULL && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ", name);
    }
}

emp_status emp_word_list_check(const char *list, const char           *what,
                               const char *(*key)(int32_t), emp_error *err)
{
    emp_status st = EMP_OK;

    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (!is_key(at, length, key)) {
            char known[256];
            list_keys(known, sizeof known, key);
            EMP_FAIL(EMP_EINVAL, "%s \"%.*s\"; it has %s", what, (int)length, at, known);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }

cleanup:
    return st;
}
