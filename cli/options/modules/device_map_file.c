// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/modules/device_map_file.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

enum {
    MOST_GPUS = 1 << 16, /* a larger number is a mistake */
    LEAST_BYTES = 9      /* of a line: "":"cpu" */
};

/* What is left of a line. */
typedef struct {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool take_here(cursor *c, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0) return false;
    c->at += size;
    return true;
}

static bool take(cursor *c, const char *word)
{
    skip_blanks(c);
    return take_here(c, word);
}

static bool is_over(cursor *c)
{
    skip_blanks(c);
    return c->at == c->end || *c->at == '#';
}

/* A literal of Python, in which a backslash stands before a quote or a backslash alone. Its bytes go to \a to. */
static bool take_literal(cursor *c, char *to, size_t *length)
{
    *length = 0;
    if (!take(c, "\"")) return false;
    for (; c->at < c->end && *c->at != '"'; c->at++) {
        if (*c->at == '\\' && (++c->at == c->end || (*c->at != '"' && *c->at != '\\')))
            return false;
        to[(*length)++] = *c->at;
    }
    return take_here(c, "\"");
}

static bool take_gpu(cursor *c, int32_t *gpu)
{
    const char *first = c->at;

    for (*gpu = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        *gpu = *gpu * 10 + (*c->at - '0');
        if (*gpu >= MOST_GPUS) return false;
    }
    return c->at > first;
}

static bool take_device(cursor *c, int32_t *gpu)
{
    if (!take(c, "\"")) return false;
    *gpu = CLI_MAP_CPU;
    if (take_here(c, "cpu\"")) return true;
    return take_here(c, "cuda:") && take_gpu(c, gpu) && take_here(c, "\"");
}

/* "model.norm": "cuda:0",  # a comment */
static bool take_entry(cursor *c, cli_map_entry *entry, char *text)
{
    entry->module = text;
    if (!take_literal(c, text, &entry->length)) return false;
    if (!take(c, ":") || !take_device(c, &entry->gpu)) return false;
    return (take(c, ",") || true) && is_over(c);
}

static cursor next_line(cursor *file)
{
    const char *end = memchr(file->at, '\n', (size_t)(file->end - file->at));
    cursor      line = {file->at, end != NULL ? end : file->end};

    file->at = end != NULL ? end + 1 : file->end;
    return line;
}

/* Moves behind the line with which the dictionary begins. */
static bool find_dictionary(cursor *file, int32_t *line)
{
    while (file->at < file->end) {
        cursor c = next_line(file);
        ++*line;
        if (take(&c, "DEVICE_MAP") && take(&c, "=") && take(&c, "{") && is_over(&c))
            return true;
    }
    return false;
}

static emp_status add_entry(cli_map_file *map, const cli_map_entry *entry,
                            const char *path, emp_error *err)
{
    int32_t before = emp_strmap_get(&map->entry_of_module, entry->module, entry->length);

    if (before >= 0)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: \"%.*s\" has a device already, in line %d",
                         path, entry->line, (int)entry->length, entry->module,
                         map->entry[before].line);
    map->entry[map->count] = *entry;
    return emp_strmap_set(&map->entry_of_module, entry->module, entry->length,
                          map->count++, err);
}

static emp_status read_entries(cli_map_file *map, cursor *file, int32_t line,
                               const char *path, emp_error *err)
{
    char *text = map->text;

    while (file->at < file->end) {
        cursor        c = next_line(file);
        cli_map_entry entry = {.line = ++line};
        if (is_over(&c)) continue;
        if (take(&c, "}")) return EMP_OK;
        if (!take_entry(&c, &entry, text))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: a line of DEVICE_MAP is \"module\": \"cuda:N\", or "
                             "\"module\": \"cpu\",",
                             path, line);
        text += entry.length;
        EMP_CHECK(add_entry(map, &entry, path, err));
    }
    return EMP_ERROR(EMP_EFORMAT, "%s ends within DEVICE_MAP; a line \"}\" is to end it",
                     path);
}

/* A line has more bytes than the path in it, so all paths fit into as many as the file has. */
emp_status cli_map_file_parse(cli_map_file *map, const char *bytes, size_t size,
                              const char *path, emp_error *err)
{
    cursor  file = {bytes, bytes + size};
    int32_t line = 0;

    if (!find_dictionary(&file, &line))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has no line \"DEVICE_MAP = {\", so it is no device_map of "
                         "PyTorch; name the .json that --out has written",
                         path);
    EMP_CHECK(EMP_ALLOC(map->entry, size / LEAST_BYTES + 1));
    EMP_CHECK(EMP_ALLOC(map->text, size));
    return read_entries(map, &file, line, path, err);
}

int32_t cli_map_file_find(const cli_map_file *map, const char *name, size_t length)
{
    int32_t entry = emp_strmap_get(&map->entry_of_module, name, length);

    while (entry < 0 && length > 0) {
        do length--;
        while (length > 0 && name[length] != '.');
        entry = emp_strmap_get(&map->entry_of_module, name, length);
    }
    return entry;
}

void cli_map_file_clear(cli_map_file *map)
{
    emp_free(map->entry);
    emp_free(map->text);
    emp_strmap_clear(&map->entry_of_module);
    *map = (cli_map_file){0};
}
