// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A learner's options, and what is being written. */
typedef struct {
    void                   *options;
    const char             *method;
    const emp_named_option *table;
    size_t                  count;
} target;

static const emp_named_option *find(const target *t, const char *key, size_t length)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *name = t->table[i].name;
        if (strlen(name) == length && memcmp(name, key, length) == 0) return &t->table[i];
    }
    return NULL;
}

/* " a b c", cut off where an error message would be. */
static void list_names(const target *t, char list[EMP_ERROR_MSG_BYTES])
{
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < t->count && used < EMP_ERROR_MSG_BYTES; i++) {
        used += (size_t)snprintf(list + used, EMP_ERROR_MSG_BYTES - used, " %s",
                                 t->table[i].name);
    }
}

/* The number of a name in a list with blanks between; -1 = it is not there. */
static double find_name(const char *names, const char *name, size_t length)
{
    for (int number = 0; *names != '\0'; number++) {
        size_t size = strcspn(names, " ");
        if (size == length && memcmp(names, name, size) == 0) return number;
        names += size + (names[size] == ' ');
    }
    return -1.0;
}

/* The value of an option that has names. */
static emp_status set_choice(const target *t, const emp_named_option *o, const char *text,
                             size_t length, emp_error *err)
{
    double value = find_name(o->names, text, length);

    if (value < 0) {
        return EMP_ERROR(EMP_EINVAL, "%s option %s is '%.*s', want one of: %s", t->method,
                         o->name, (int)length, text, o->names);
    }
    memcpy((char *)t->options + o->offset, &value, sizeof value);
    return EMP_OK;
}

/* One "key=value" of \a length characters. */
static emp_status set_option(const target *t, const char *text, size_t length,
                             emp_error *err)
{
    emp_status  st = EMP_OK;
    const char *equals = (const char *)memchr(text, '=', length);
    size_t      key_length = equals != NULL ? (size_t)(equals - text) : length;
    const emp_named_option *o = find(t, text, key_length);
    char                   *end = NULL, known[EMP_ERROR_MSG_BYTES];
    double                  value;

    if (o == NULL) {
        list_names(t, known);
        EMP_FAIL(EMP_EINVAL, "%s has no option '%.*s'; it has%s", t->method,
                 (int)key_length, text, known);
    }
    if (o->names != NULL) {
        const char *name = equals != NULL ? equals + 1 : "";
        size_t      rest = equals != NULL ? length - key_length - 1 : 0;
        EMP_TRY(set_choice(t, o, name, rest, err));
        goto cleanup;
    }
    value = equals != NULL ? strtod(equals + 1, &end) : 0.0;
    if (end != text + length || end == equals + 1) {
        EMP_FAIL(EMP_EINVAL, "%s option '%.*s' needs a number, as in %s=%g", t->method,
                 (int)length, text, o->name, o->low);
    }
    if (!(value >= o->low && value <= o->high) || (o->whole && value != floor(value))) {
        EMP_FAIL(EMP_EINVAL, "%s option %s is %g, want a%s number in %g..%g", t->method,
                 o->name, value, o->whole ? " whole" : "", o->low, o->high);
    }
    memcpy((char *)t->options + o->offset, &value, sizeof value);

cleanup:
    return st;
}

emp_status emp_named_options_parse(void *options, const char *method,
                                   const emp_named_option *table, size_t count,
                                   const char *text, emp_error *err)
{
    const target t = {options, method, table, count};

    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        EMP_CHECK(set_option(&t, text, length, err));
        text += length + (text[length] == ',');
    }
    return EMP_OK;
}
