// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/bundle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char MARK[] = "--- # ";

/* The name ends with the last blank of its line. */
static bool read_name(const char **at, char name[EMP_BUNDLE_NAME_BYTES])
{
    size_t length = strcspn(*at, "\n");

    while (length > 0 && (*at)[length] != ' ') length--;
    if (length == 0 || length >= EMP_BUNDLE_NAME_BYTES) return false;
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length + 1;
    return true;
}

/* The size ends with its line. */
static bool read_size(const char **at, size_t *size)
{
    char *end = NULL;

    if (**at < '0' || **at > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(*at, &end, 10);
    if (errno != 0 || *end != '\n' || value > SIZE_MAX / 2) return false;
    *size = (size_t)value;
    *at = end + 1;
    return true;
}

bool emp_bundle_next(const char **at, emp_bundle_file *file)
{
    const char *from = *at;

    if (strncmp(from, MARK, sizeof MARK - 1) != 0) return false;
    from += sizeof MARK - 1;
    if (!read_name(&from, file->name) || !read_size(&from, &file->size)) return false;
    if (memchr(from, '\0', file->size) != NULL || from[file->size] != '\n') return false;
    file->text = from;
    *at = from + file->size + 1;
    return true;
}

bool emp_bundle_find(const char *bundle, const char *name, emp_bundle_file *file)
{
    while (bundle != NULL && emp_bundle_next(&bundle, file)) {
        if (strcmp(file->name, name) == 0) return true;
    }
    return false;
}

emp_status emp_bundle_add(char **bundle, const char *name, const char *text, size_t size,
                          emp_error *err)
{
    emp_bundle_file there;
    size_t used = *bundle == NULL ? 0 : strlen(*bundle), name_size = strlen(name);

    if (name_size == 0 || name_size >= EMP_BUNDLE_NAME_BYTES ||
        strchr(name, '\n') != NULL)
        return EMP_ERROR(EMP_EINVAL, "\"%.100s\" is no name of a file in a bundle", name);
    if (memchr(text, '\0', size) != NULL)
        return EMP_ERROR(EMP_EINVAL, "%s is no text: it has a zero byte", name);
    if (emp_bundle_find(*bundle, name, &there)) return EMP_OK;
    size_t room = used + sizeof MARK + name_size + 32 + size;
    char  *grown = emp_realloc(*bundle, room, 1);
    if (grown == NULL) return EMP_ERROR(EMP_ENOMEM, "text of %s", name);
    *bundle = grown;
    used += (size_t)snprintf(grown + used, room - used, "%s%s %zu\n", MARK, name, size);
    memcpy(grown + used, text, size);
    memcpy(grown + used + size, "\n", 2);
    return EMP_OK;
}
