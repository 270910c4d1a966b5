// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "sim/machine/machine.h"

enum { MAX_FILE_BYTES = 1 << 20 };

/* Its words for kinds of values, and for what is wrong, as people know them. */
struct words {
    const char *theirs, *ours;
};
static const struct words kinds[] = {{"MAPPING", "keys with values (key: value)"},
                                     {"SEQUENCE", "a list (- before each entry)"},
                                     {"SCALAR", "a single value or none"},
                                     {"", "a single value"}};
static const struct words faults[] = {{"Missing required mapping field", "Missing key"},
                                      {"Mapping field already seen", "Key given twice"},
                                      {"Insufficient entries", "Too few entries"},
                                      {"Excessive entries", "Too many entries"},
                                      {"libyaml", "Not YAML"},
                                      {"", ""}};

/* The words that the text begins with; the last ones begin all. */
static const struct words *find_words(const struct words *list, const char *text)
{
    while (strncmp(list->theirs, text, strlen(list->theirs)) != 0) list++;
    return list;
}

/* A message of libcyaml: the first message is the cause, the first line number its place. */
struct complaint {
    char message[256];
    int  line;
};

/* "Expecting SEQUENCE, got event: MAPPING_START", "Missing required mapping field: nodes" */
static void keep_message(struct complaint *c, const char *text)
{
    static const char   prefix[] = "Load: ";
    char                wanted[32], got[32];
    const struct words *fault;

    if (strncmp(text, prefix, sizeof prefix - 1) == 0) text += sizeof prefix - 1;
    fault = find_words(faults, text);
    if (sscanf(text, "Expecting %31[A-Z0-9], got event: %31s", wanted, got) == 2)
        snprintf(c->message, sizeof c->message, "Expected %s, not %s",
                 find_words(kinds, wanted)->ours, find_words(kinds, got)->ours);
    else
        snprintf(c->message, sizeof c->message, "%s%s", fault->ours,
                 text + strlen(fault->theirs));
}

static void keep_first_complaint(cyaml_log_t level, void *context, const char *format,
                                 va_list arguments)
{
    struct complaint *c = context;
    char              text[256];

    (void)level;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    const char *place = strstr(text, "(line: ");
    if (place != NULL && c->line == 0) c->line = atoi(place + strlen("(line: "));
    if (c->message[0] == '\0') keep_message(c, text);
}

static void *allocate(void *context, void *block, size_t bytes)
{
    (void)context;
    if (bytes == 0) {
        emp_free(block);
        return NULL;
    }
    return emp_realloc(block, bytes, 1);
}

/* Whether the text at \a at is "key: value", the value perhaps in quotes. */
static bool is_entry(const char *at, const char *key, const char *value)
{
    size_t key_length = strlen(key), length = strlen(value);

    if (strncmp(at, key, key_length) != 0 || at[key_length] != ':') return false;
    if (length == 0) return true;
    at += key_length + 1;
    at += strspn(at, " \"'");
    return strncmp(at, value, length) == 0 && strchr("\"',}] #\r\n", at[length]) != NULL;
}

/* Where the entry begins; the beginning of the text if there is none. */
static const char *find_entry(const emp_config *config, const char *key,
                              const char *value)
{
    for (const char *at = config->text; *at != '\0'; at++) {
        bool is_start = at == config->text || strchr(" {\n", at[-1]) != NULL;
        if (is_start && is_entry(at, key, value)) return at;
    }
    return config->text;
}

int emp_config_line(const emp_config *config, const char *key, const char *value)
{
    const char *entry = find_entry(config, key, value);
    int         line = 1;

    for (const char *at = config->text; at < entry; at++) line += *at == '\n';
    return line;
}

/* Offers all keys of a schema. */
static void offer_keys(emp_nearest *near, const cyaml_schema_value_t *schema)
{
    if (schema->type == CYAML_SEQUENCE) offer_keys(near, schema->sequence.entry);
    if (schema->type != CYAML_MAPPING) return;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key != NULL; f++) {
        emp_nearest_offer(near, f->key, strlen(f->key));
        offer_keys(near, &f->value);
    }
}

/* The first mapping of a schema with that key; NULL: none. */
static const cyaml_schema_field_t *find_mapping(const cyaml_schema_value_t *schema,
                                                const char *key, size_t length)
{
    const cyaml_schema_field_t *found = NULL;

    if (schema->type == CYAML_SEQUENCE)
        return find_mapping(schema->sequence.entry, key, length);
    if (schema->type != CYAML_MAPPING) return NULL;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key != NULL; f++)
        if (strlen(f->key) == length && memcmp(f->key, key, length) == 0)
            return schema->mapping.fields;
    for (const cyaml_schema_field_t *f = schema->mapping.fields;
         f->key != NULL && found == NULL; f++)
        found = find_mapping(&f->value, key, length);
    return found;
}

/* The last key in the text before \a end: the word before a colon that a blank or the line's end
 * follows, outside of comments. */
static emp_slice key_before(const char *text, const char *end)
{
    emp_slice key = {NULL, 0};
    bool      is_comment = false;

    for (const char *at = text; at < end; at++) {
        if (*at == '#') is_comment = true;
        if (*at == '\n') is_comment = false;
        if (is_comment || *at != ':' || strchr(" \r\n", at[1]) == NULL) continue;
        const char *begin = at;
        while (begin > text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
            begin--;
        if (begin < at) key = (emp_slice){begin, (size_t)(at - begin)};
    }
    return key;
}

/* Says which keys there can be beside the one before, or in the file; nothing where that is not known. */
static void list_keys(emp_text *list, const emp_config *config, const char *key)
{
    emp_slice before = key_before(config->text, find_entry(config, key, ""));
    const cyaml_schema_field_t *f = NULL;

    if (before.size > 0)
        f = find_mapping(config->schema, before.data, before.size);
    else if (config->schema->type == CYAML_MAPPING)
        f = config->schema->mapping.fields;
    if (f == NULL) return;
    if (before.size > 0)
        emp_text_add(list, "; beside \"%.*s\" there can be ", (int)before.size,
                     before.data);
    else
        emp_text_add(list, "; there can be ");
    for (const char *separator = ""; f->key != NULL; f++, separator = ", ")
        emp_text_add(list, "%s%s", separator, f->key);
}

static emp_status refuse_key(const emp_config *config, const char *key, emp_error *err)
{
    emp_nearest near = emp_nearest_begin(key, strlen(key), "");
    char        hint[EMP_NEAREST_BYTES], array[EMP_ERROR_MSG_BYTES / 2] = "";
    emp_text    list = {array, sizeof array, 0};

    offer_keys(&near, config->schema);
    emp_nearest_hint(&near, hint);
    if (hint[0] == '\0') list_keys(&list, config, key);
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: Unexpected key: %s%s%s", config->path,
                     emp_config_line(config, key, ""), key, hint, array);
}

/* The text that \a config has. */
static emp_status parse_text(emp_config *config, size_t length,
                             const cyaml_schema_value_t *schema, emp_error *err)
{
    const char      *path = config->path;
    struct complaint complaint = {0};
    cyaml_config_t   settings = {.log_fn = keep_first_complaint,
                                 .log_ctx = &complaint,
                                 .log_level = CYAML_LOG_WARNING,
                                 .mem_fn = allocate};

    config->schema = schema;
    cyaml_err_t status = cyaml_load_data((const uint8_t *)config->text, length, &settings,
                                         schema, &config->data, NULL);
    if (status == CYAML_ERR_OOM) return EMP_ERROR(EMP_ENOMEM, "contents of %s", path);
    if (status != CYAML_OK) {
        /* libcyaml gives the place of the key before an unexpected one */
        const char *unexpected = "Unexpected key: ";
        if (strncmp(complaint.message, unexpected, strlen(unexpected)) == 0)
            return refuse_key(config, complaint.message + strlen(unexpected), err);
        return EMP_ERROR(
            EMP_EFORMAT, "%s:%d: %s", path, complaint.line == 0 ? 1 : complaint.line,
            complaint.message[0] ? complaint.message : cyaml_strerror(status));
    }
    if (config->data == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s:1: the file is empty", path);
    return EMP_OK;
}

emp_status emp_config_open(emp_config *config, const char *path,
                           const cyaml_schema_value_t *schema, emp_error *err)
{
    size_t length = 0;

    snprintf(config->path, sizeof config->path, "%s", path);
    EMP_CHECK(emp_whole_file_load(&config->text, &length, path, MAX_FILE_BYTES, err));
    emp_input_keep(path);
    return parse_text(config, length, schema, err);
}

emp_status emp_config_parse(emp_config *config, const char *path, const char *text,
                            size_t size, const cyaml_schema_value_t *schema,
                            emp_error *err)
{
    snprintf(config->path, sizeof config->path, "%s", path);
    if (size > MAX_FILE_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "%s: longer than %d bytes", path, MAX_FILE_BYTES);
    EMP_CHECK(EMP_ALLOC(config->text, size + 1));
    memcpy(config->text, text, size);
    return parse_text(config, size, schema, err);
}

void emp_config_close(emp_config *config)
{
    cyaml_config_t settings = {.mem_fn = allocate};

    if (config->data != NULL) cyaml_free(&settings, config->schema, config->data, 0);
    emp_free(config->text);
    config->data = NULL;
    config->text = NULL;
}

static emp_status parse_number(const char *text, bool is_count, double least,
                               double *number, emp_error *err)
{
    char *end = NULL;

    *number = emp_number_parse(text, &end);
    if (end != text && *end == '\0' && *number >= 1e9)
        return EMP_ERROR(EMP_EFORMAT, "'%s' is too large; it must be below 1e9", text);
    if (end == text || *end != '\0' || !(*number >= least) ||
        (is_count && *number != (double)(int32_t)*number)) {
        return EMP_ERROR(EMP_EFORMAT, "'%s' is no %s of at least %g", text,
                         is_count ? "whole number" : "number", least);
    }
    return EMP_OK;
}

static emp_status parse_quantity(const char *text, emp_config_kind kind, double *number,
                                 emp_error *err)
{
    static const emp_unit unit_of_kind[] = {
        [EMP_CONFIG_SECONDS] = EMP_UNIT_SECONDS,
        [EMP_CONFIG_BYTES] = EMP_UNIT_BYTES,
        [EMP_CONFIG_BYTES_PER_S] = EMP_UNIT_BYTES_PER_S,
        [EMP_CONFIG_FLOPS_PER_S] = EMP_UNIT_FLOPS_PER_S,
        [EMP_CONFIG_HERTZ] = EMP_UNIT_HERTZ,
    };

    EMP_CHECK(emp_units_parse(text, unit_of_kind[kind], number, err));
    if (!(*number >= 0.0 && *number < 1e18))
        return EMP_ERROR(EMP_EFORMAT, "'%s' is out of range", text);
    if (*number == 0.0 && kind != EMP_CONFIG_SECONDS) {
        return EMP_ERROR(EMP_EFORMAT, "'%s' must be above zero", text);
    }
    return EMP_OK;
}

static emp_status parse_switch(const char *text, double *number, emp_error *err)
{
    bool yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    bool no = strcmp(text, "no") == 0 || strcmp(text, "false") == 0;

    if (!yes && !no) return EMP_ERROR(EMP_EFORMAT, "'%s' is neither yes nor no", text);
    *number = yes ? 1.0 : 0.0;
    return EMP_OK;
}

static emp_status convert_field(const emp_config_field *field, const char *text,
                                char *out, double *number, emp_error *err)
{
    void *to = out + field->to;

    switch (field->kind) {
    case EMP_CONFIG_SECONDS:
    case EMP_CONFIG_BYTES_PER_S:
    case EMP_CONFIG_FLOPS_PER_S:
    case EMP_CONFIG_HERTZ:
        EMP_CHECK(parse_quantity(text, field->kind, number, err));
        *(double *)to = *number;
        break;
    case EMP_CONFIG_BYTES:
        EMP_CHECK(parse_quantity(text, field->kind, number, err));
        *(int64_t *)to = (int64_t)*number;
        break;
    case EMP_CONFIG_RATIO:
        EMP_CHECK(parse_number(text, false, 1e-9, number, err));
        *(double *)to = *number;
        break;
    case EMP_CONFIG_COUNT:
    case EMP_CONFIG_COUNT_OR_0:
        EMP_CHECK(parse_number(text, true, field->kind == EMP_CONFIG_COUNT ? 1.0 : 0.0,
                               number, err));
        *(int32_t *)to = (int32_t)*number;
        break;
    case EMP_CONFIG_SWITCH:
        EMP_CHECK(parse_switch(text, number, err));
        *(bool *)to = *number != 0.0;
        break;
    }
    return EMP_OK;
}

double emp_config_number(const emp_config_field *field, const void *out)
{
    const void *at = (const char *)out + field->to;

    switch (field->kind) {
    case EMP_CONFIG_BYTES: return (double)*(const int64_t *)at;
    case EMP_CONFIG_COUNT:
    case EMP_CONFIG_COUNT_OR_0: return *(const int32_t *)at;
    case EMP_CONFIG_SWITCH: return *(const bool *)at ? 1.0 : 0.0;
    default: return *(const double *)at;
    }
}

emp_status emp_config_convert(const emp_config *config, const emp_config_field *fields,
                              size_t field_count, const void *raw, void *out,
                              uint64_t *hash, emp_error *err)
{
    for (size_t i = 0; i < field_count; i++) {
        emp_error   why = {0};
        double      number = 0.0;
        uint64_t    bits;
        const char *text;
        memcpy(&text, (const char *)raw + fields[i].from, sizeof text);
        if (text == NULL) {
            number = emp_config_number(&fields[i], out);
        } else if (convert_field(&fields[i], text, out, &number, &why) != EMP_OK) {
            return EMP_ERROR(why.status, "%s:%d: %s: %s", config->path,
                             emp_config_line(config, fields[i].key, text), fields[i].key,
                             why.msg);
        }
        memcpy(&bits, &number, sizeof bits);
        *hash = emp_hash_u64(*hash, bits);
    }
    return EMP_OK;
}

static bool is_path(const char *name_or_path)
{
    return strchr(name_or_path, '/') != NULL || emp_text_ends_in(name_or_path, ".yaml") ||
           emp_text_ends_in(name_or_path, ".xml");
}

void emp_config_path(char *path, size_t size, const char *folder,
                     const char *name_or_path)
{
    if (is_path(name_or_path)) {
        snprintf(path, size, "%s", name_or_path);
    } else {
        emp_data_folder(path, size, folder);
        size_t used = strlen(path);
        snprintf(path + used, size - used, "/%s.yaml", name_or_path);
    }
}

const char *emp_config_hint(const emp_nearest *near, char hint[EMP_NEAREST_BYTES])
{
    enum { MOST = 64 }; /* characters of a name that a hint holds */
    char path[MOST + sizeof "./.yaml"];

    if (is_path(near->word)) return emp_nearest_file(near->word, hint);
    if (near->length > MOST) return emp_nearest_hint(near, hint);
    snprintf(path, sizeof path, "./%.*s.yaml", (int)near->length, near->word);
    if (access(path, R_OK) != 0) return emp_nearest_hint(near, hint);
    snprintf(hint, EMP_NEAREST_BYTES, " (did you mean %s?)", path);
    return hint;
}

/* ---- the section `fit` ---- */

#define STRING(type, key) \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER, struct type, key, 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t constant_fields[] = {
    STRING(emp_raw_fit_constant, name), STRING(emp_raw_fit_constant, low),
    STRING(emp_raw_fit_constant, high), STRING(emp_raw_fit_constant, leans_on),
    CYAML_FIELD_END};
static const cyaml_schema_value_t constant_schema = {CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct emp_raw_fit_constant, constant_fields)};

static const cyaml_schema_field_t cell_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct emp_raw_fit_cell, name, 1,
                           EMP_FIT_NAME_BYTES - 1),
    STRING(emp_raw_fit_cell, published),
    STRING(emp_raw_fit_cell, fitted),
    STRING(emp_raw_fit_cell, off),
    STRING(emp_raw_fit_cell, left_out),
    CYAML_FIELD_END};
static const cyaml_schema_value_t cell_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct emp_raw_fit_cell, cell_fields)};

const cyaml_schema_field_t emp_fit_fields[] = {
    STRING(emp_raw_fit, source), STRING(emp_raw_fit, command),
    CYAML_FIELD_SEQUENCE("constants", CYAML_FLAG_POINTER, struct emp_raw_fit, constants,
                         &constant_schema, 1, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE("cells", CYAML_FLAG_POINTER, struct emp_raw_fit, cells,
                         &cell_schema, 1, EMP_MAX_FITTED),
    CYAML_FIELD_END};
