// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/bundle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"

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

/* ---- files of the disk or of a bundle ---- */

enum { MAX_TABLE_BYTES = 1 << 24 };

/* Keeps what was read. */
static emp_status keep(emp_source *s, const char *name, const char *text, size_t size,
                       emp_error *err)
{
    emp_error  why = {0};
    emp_status st =
        s->has_gap ? EMP_OK : emp_bundle_add(&s->text, name, text, size, &why);

    if (st == EMP_ENOMEM) return EMP_ERROR(st, "%s", why.msg);
    if (st == EMP_OK) return EMP_OK;
    emp_free(s->text);
    s->text = NULL;
    s->has_gap = true;
    return EMP_OK;
}

static emp_status find(const emp_source *s, const char *name, emp_bundle_file *file,
                       emp_error *err)
{
    if (emp_bundle_find(s->bundle, name, file)) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "the text of a machine lacks the file %s", name);
}

emp_status emp_source_open(emp_source *source, emp_config *config, const char *path,
                           const char *name, const cyaml_schema_value_t *schema,
                           emp_error *err)
{
    emp_bundle_file file;

    if (source->bundle == NULL) {
        EMP_CHECK(emp_config_open(config, path, schema, err));
    } else {
        EMP_CHECK(find(source, name, &file, err));
        EMP_CHECK(emp_config_parse(config, name, file.text, file.size, schema, err));
    }
    return keep(source, name, config->text, strlen(config->text), err);
}

emp_status emp_source_open_csv(emp_source *source, emp_csv *csv, const char *path,
                               const char *name, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_bundle_file file;
    char           *text = NULL;
    size_t          size;

    if (source->bundle != NULL) {
        EMP_CHECK(find(source, name, &file, err));
        EMP_CHECK(keep(source, name, file.text, file.size, err));
        return emp_csv_parse(csv, file.text, file.size, name, err);
    }
    EMP_CHECK(emp_whole_file_load(&text, &size, path, MAX_TABLE_BYTES, err));
    emp_input_keep(path);
    EMP_TRY(emp_csv_parse(csv, text, size, path, err));
    EMP_TRY(keep(source, name, text, size, err));

cleanup:
    emp_free(text);
    return st;
}
