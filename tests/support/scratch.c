// SPDX-License-Identifier: GPL-3.0-or-later
#define _XOPEN_SOURCE 700
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[SCRATCH_PATH_BYTES / 2];

/* Texts that live as long as the process, where checkers of leaks find them. */
static struct kept {
    struct kept *next;
    char        *text;
} * kept;

char *scratch_keep(char *text)
{
    struct kept *entry = malloc(sizeof *entry);

    cr_assert(text != NULL && entry != NULL);
    *entry = (struct kept){kept, text};
    kept = entry;
    return text;
}

const char *scratch_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    va_end(arguments);
    char *text = malloc(size);
    cr_assert_not_null(text);
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return scratch_keep(text);
}

void scratch_create(void)
{
    const char *place = getenv("EMP_BINARY_DIR");

    snprintf(folder, sizeof folder, "%s/scratch-XXXXXX", place == NULL ? "." : place);
    cr_assert_not_null(mkdtemp(folder), "%s", folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind,
                        struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

void scratch_remove(void) { nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

const char *scratch_path(const char *name)
{
    return scratch_print("%s/%s", folder, name == NULL ? "" : name);
}

char *scratch_find(const char *pattern)
{
    glob_t found = {0};
    char  *name = NULL;

    if (glob(scratch_path(pattern), 0, NULL, &found) == 0) {
        cr_assert_eq(found.gl_pathc, 1, "%s", pattern);
        name = scratch_keep(strdup(strrchr(found.gl_pathv[0], '/') + 1));
    }
    globfree(&found);
    return name;
}

void scratch_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(scratch_path(name), "wb");

    cr_assert_not_null(file, "%s", name);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

const char *scratch_file(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
    return scratch_path(name);
}

void scratch_write_text(char *path, size_t size, const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
    snprintf(path, size, "%s", scratch_path(name));
}

const char *scratch_json(const char *text)
{
    static char json[1 << 16];
    size_t      size = strlen(text) + 1;

    cr_assert_leq(size, sizeof json);
    memcpy(json, text, size);
    for (char *c = json; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    return json;
}

void scratch_write_json(const char *name, const char *text)
{
    scratch_write(name, scratch_json(text), strlen(text));
}

void scratch_write_changed(char *path, size_t size, const char *name, const char *text,
                           const char *find, const char *put)
{
    const char  *at = strstr(text, find);
    const size_t room = strlen(text) + strlen(put) + 1;
    char        *changed = malloc(room);

    cr_assert_not_null(at, "%s", find);
    cr_assert_not_null(changed);
    snprintf(changed, room, "%.*s%s%s", (int)(at - text), text, put, at + strlen(find));
    scratch_write_text(path, size, name, changed);
    free(changed);
}

char *scratch_read(const char *name, size_t *size)
{
    FILE *file = fopen(scratch_path(name), "rb");

    cr_assert_not_null(file, "%s", name);
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(length + 1);
    cr_assert_not_null(bytes);
    cr_assert_eq(fread(bytes, 1, length, file), length);
    bytes[length] = '\0';
    fclose(file);
    if (size != NULL) *size = length;
    return bytes;
}

char *scratch_bytes(const char *name, size_t *size)
{
    return scratch_keep(scratch_read(name, size));
}

char *scratch_text(const char *name) { return scratch_bytes(name, NULL); }

void scratch_expect_bytes(const char *name, const char *bytes, size_t size,
                          const char *when)
{
    size_t      now_size;
    const char *now = scratch_bytes(name, &now_size);

    cr_assert_eq(now_size, size, "%s: %s", name, when);
    cr_expect_arr_eq(now, bytes, size, "%s: %s", name, when);
}
