// SPDX-License-Identifier: GPL-3.0-or-later
/* Names of methods from outside, and functions that such methods share. */
#define _POSIX_C_SOURCE 200809L /* PATH_MAX */
#include "run/outside/outside.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/work.h"

enum { MOST_METHODS = 16, NAME_BYTES = 256 };

/* ---- names ---- */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The part of "NAME=ADDRESS" behind the name; without a name, all of it. */
static const char *address_of(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    const size_t      length = strspn(name, letters);

    return length > 0 && name[length] == '=' ? name + length + 1 : name;
}

static bool is_library(const char *name) { return emp_text_ends_in(name, ".so"); }

/* The length of the file in "mine.py" and "mine.py:Agent"; 0: the address is no such. */
static size_t python_length(const char *address)
{
    const char  *colon = strrchr(address, ':');
    const size_t length = colon != NULL && colon[1] != '\0' && strchr(colon, '/') == NULL
                              ? (size_t)(colon - address)
                              : strlen(address);

    return length > 3 && memcmp(address + length - 3, ".py", 3) == 0 ? length : 0;
}

bool emp_outside_is_name(const char *name)
{
    const char *address = address_of(name);

    if (begins_with(address, "socket:")) return address == name;
    return begins_with(address, "cmd:") || is_library(address) ||
           python_length(address) > 0;
}

void emp_outside_title(char *title, size_t size, const char *name)
{
    const char  *address = address_of(name);
    const size_t python = python_length(address);

    if (address != name) {
        snprintf(title, size, "%.*s", (int)(address - 1 - name), name);
    } else if (begins_with(address, "cmd:")) {
        snprintf(title, size, "%s", address + strlen("cmd:"));
    } else if (python > 0 && address[python] == ':') {
        snprintf(title, size, "%s", address + python + 1);
    } else {
        const char *slash = strrchr(address, '/');
        const char *file = slash != NULL ? slash + 1 : address;
        snprintf(title, size, "%.*s", (int)(strrchr(file, '.') - file), file);
    }
}

static emp_status check_length(const char *name, emp_error *err)
{
    if (strlen(name) < NAME_BYTES) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "the name of method \"%.40s...\" has %d characters at most", name,
                     NAME_BYTES - 1);
}

/* A method from outside that was asked for. */
typedef struct {
    emp_method type; /* its `own` is the address */
    char       address[NAME_BYTES], name[NAME_BYTES];
} entry;

/* "socket:5" or "socket:5:NAME:CODE". */
static emp_status read_socket(entry *e, emp_error *err)
{
    char       *end = NULL;
    const char *code = strrchr(e->address, ':') + 1;
    const long  number = strtol(e->address + strlen("socket:"), &end, 10);
    const bool  has_name = *end == ':' && code > end + 2;

    if (number < 3 || number > 1 << 20 || (*end != '\0' && !has_name))
        return EMP_ERROR(EMP_EINVAL, "method \"%s\" names no descriptor; socket:5 would",
                         e->address);
    snprintf(e->name, NAME_BYTES, "socket");
    if (!has_name) return EMP_OK;
    snprintf(e->name, NAME_BYTES, "%.*s", (int)(code - 1 - (end + 1)), end + 1);
    e->type.code_hash = strtoull(code, &end, 16);
    if (strspn(code, "0123456789abcdef") != strlen(code) || strlen(code) > 16 ||
        e->type.code_hash == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "method \"%s\" has \"%s\" as the hash of its code, which is no "
                         "number of 1 to 16 hexadecimal digits",
                         e->name, code);
    bool is_name = !emp_outside_is_name(e->name);
    for (const char *at = e->name; *at != '\0'; at++)
        is_name &= !iscntrl((unsigned char)*at);
    return is_name
               ? EMP_OK
               : EMP_ERROR(EMP_EINVAL, "the name of a method cannot be \"%s\"", e->name);
}

/* ---- files of its code ---- */

/* Takes the next word of a command, also the value of --key=value, without its quotes. False: the end.
 * \param[out] is_output  The word is behind a >, so that the command writes the file. */
static bool take_word(const char **command, char word[NAME_BYTES], bool *is_output)
{
    static const char between[] = " \t\n;&|<>()`=";
    const char       *at = *command;
    char              quote = '\0';
    size_t            length = 0;

    *is_output = false;
    for (; *at != '\0' && strchr(between, *at) != NULL; at++) *is_output |= *at == '>';
    if (*at == '\0') return false;
    for (; *at != '\0' && (quote != '\0' || strchr(between, *at) == NULL); at++) {
        if (*at == quote)
            quote = '\0';
        else if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
        else if (*at == '\\' && quote != '\'' && at[1] != '\0')
            word[length++] = *++at;
        else
            word[length++] = *at;
    }
    word[length] = '\0';
    *command = at;
    return true;
}

/* Mixes the name and the bytes of a file into \a hash; nothing if it cannot be read. */
static bool add_file(uint64_t *hash, const char *path)
{
    char   bytes[1 << 16];
    FILE  *file = NULL;
    size_t count;

    if (emp_input_open(&file, path, NULL) != EMP_OK) return false;
    *hash = emp_hash_bytes(*hash, path, strlen(path) + 1);
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0)
        *hash = emp_hash_bytes(*hash, bytes, count);
    fclose(file);
    emp_input_keep(path); /* it stays what it is */
    return true;
}

/* The program of a command as the shell finds it. */
static bool add_program(uint64_t *hash, const char *name)
{
    const char *at = getenv("PATH");
    char        path[PATH_MAX];

    for (size_t length; at != NULL && *at != '\0'; at += length + (at[length] == ':')) {
        length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0) return add_file(hash, path);
    }
    return false;
}

/* 0: no file is known. */
static uint64_t hash_code(const char *address)
{
    uint64_t    hash = EMP_HASH_SEED;
    char        word[NAME_BYTES], first[NAME_BYTES] = "";
    const char *at = address + strlen("cmd:");
    bool        is_known = false, is_output;

    if (!begins_with(address, "cmd:")) {
        const size_t python = python_length(address);
        snprintf(word, sizeof word, "%.*s", (int)(python > 0 ? python : strlen(address)),
                 address);
        is_known = add_file(&hash, word);
        return is_known ? hash : 0;
    }
    while (take_word(&at, word, &is_output)) {
        if (first[0] == '\0') snprintf(first, sizeof first, "%s", word);
        if (!is_output) is_known |= add_file(&hash, word);
    }
    if (!is_known && first[0] != '\0') is_known = add_program(&hash, first);
    return is_known ? hash : 0;
}

/* ---- finding ---- */

static emp_status check_file(const char *address, emp_error *err)
{
    const size_t python = python_length(address);
    char         file[NAME_BYTES];

    snprintf(file, sizeof file, "%.*s", (int)(python > 0 ? python : strlen(address)),
             address);
    if (access(file, R_OK) == 0) return EMP_OK;
    return EMP_ERROR(EMP_EIO, "method %s: cannot read %s: %s", address, file,
                     strerror(errno));
}

static emp_status read_name(entry *e, const char *name, emp_error *err)
{
    EMP_CHECK(check_length(name, err));
    snprintf(e->address, NAME_BYTES, "%s", name);
    snprintf(e->name, NAME_BYTES, "%s", name);
    const char *address = address_of(e->address);
    const bool  has_file = !begins_with(address, "cmd:") && !begins_with(name, "socket:");
    e->type = has_file && is_library(address) ? emp_outside_plugin : emp_outside_lines;
    e->type.name = e->name;
    e->type.own = address;
    if (begins_with(name, "socket:")) return read_socket(e, err);
    return has_file ? check_file(address, err) : EMP_OK;
}

emp_status emp_outside_find(const emp_method **method, const char *name, emp_error *err)
{
    static entry   found[MOST_METHODS];
    static int32_t count;
    entry         *e = found;

    *method = NULL;
    while (e < found + count && strcmp(e->address, name) != 0) e++;
    if (e == found + MOST_METHODS)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s is one from outside too many; a process has %d", name,
                         MOST_METHODS);
    if (e == found + count) {
        EMP_CHECK(read_name(e, name, err));
        count++;
    }
    if (!begins_with(name, "socket:"))
        e->type.code_hash = hash_code((const char *)e->type.own);
    *method = &e->type;
    return EMP_OK;
}

/* ---- functions that methods from outside share: options, waiting, failures, answers ---- */

enum { TIMEOUT_S = 60, LONGEST_TIMEOUT_S = 86400 };

static emp_status read_timeout(double *timeout_s, const char *options, emp_error *err)
{
    static const char key[] = "timeout=";

    *timeout_s = TIMEOUT_S;
    for (const char *at = options; at != NULL && *at != '\0';) {
        char *end = NULL;
        if (strncmp(at, key, strlen(key)) == 0) {
            *timeout_s = emp_number_parse(at + strlen(key), &end);
            if (!(*timeout_s > 0 && *timeout_s <= LONGEST_TIMEOUT_S) ||
                (*end != ',' && *end != '\0'))
                return EMP_ERROR(EMP_EINVAL,
                                 "\"%s\" has no timeout above 0 and up to %d seconds", at,
                                 LONGEST_TIMEOUT_S);
        }
        at = strchr(at, ',');
        if (at != NULL) at++;
    }
    return EMP_OK;
}

emp_status emp_outsider_init(emp_outsider *outsider, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err)
{
    outsider->problem = problem;
    outsider->name = params->type->name;
    outsider->address = (const char *)params->type->own;
    outsider->deadline_s = params->deadline_s;
    outsider->stop = params->stop;
    return read_timeout(&outsider->timeout_s, params->options, err);
}

emp_channel_wait emp_outsider_wait(const emp_outsider *outsider)
{
    double until_s = emp_clock_now_s() + outsider->timeout_s;

    if (outsider->deadline_s > 0 && outsider->deadline_s < until_s)
        until_s = outsider->deadline_s;
    return (emp_channel_wait){until_s, outsider->stop};
}

emp_status emp_outsider_fail(const emp_outsider *outsider, emp_status st,
                             const emp_error *why, emp_error *err)
{
    const bool is_late =
        outsider->deadline_s > 0 && emp_clock_now_s() >= outsider->deadline_s;

    if (st == EMP_EEXTERNAL && is_late) return EMP_OK;
    return EMP_ERROR(st, "method %s: %s", outsider->name, why->msg);
}

emp_status emp_outsider_check(const emp_outsider *outsider, int32_t number,
                              const emp_device_id *device_of_op, emp_error *err)
{
    const emp_graph *graph = outsider->problem->graph;
    const int32_t    devices = outsider->problem->machine->device_count;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (device_of_op[op] >= 0 && device_of_op[op] < devices) continue;
        return EMP_ERROR(
            EMP_EFORMAT,
            "its placement %d has op \"%s\" on device %d; there are devices 0 "
            "to %d",
            number, graph->name[op], device_of_op[op], devices - 1);
    }
    return EMP_OK;
}
