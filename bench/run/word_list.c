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

emp_status emp_word_list_check(const char *list, const char           *what,
                               const char *(*key)(int32_t), emp_error *err)
{
    emp_status st = EMP_OK;

    for (const char *at = list; at != NULL;) {
        size_t      length = strcspn(at, ",");
        char        known[256] = "";
        size_t      used = 0;
        bool        is_known = false;
        const char *name;
        for (int32_t i = 0; (name = key(i)) != NULL; i++) {
            is_known =
                is_known || (strlen(name) == length && strncmp(name, at, length) == 0);
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     i == 0 ? "" : ", ", name);
        }
        if (!is_known) {
            EMP_FAIL(EMP_EINVAL, "%s \"%.*s\"; it has %s", what, (int)length, at, known);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }

cleanup:
    return st;
}
