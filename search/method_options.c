// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/method_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const emp_option *find(const emp_option *options, int32_t option_count,
                              const char *key, size_t length)
{
    for (int32_t i = 0; i < option_count; i++) {
        if (strncmp(options[i].key, key, length) == 0 && options[i].key[length] == '\0')
            return &options[i];
    }
    return NULL;
}

enum { LIST_BYTES = 512 };

/* "a=N, b=this|that" */
static void list_keys(const emp_option *options, int32_t option_count,
                      char list[LIST_BYTES])
{
    size_t used = 0;

    list[0] = '\0';
    for (int32_t i = 0; i < option_count && used < LIST_BYTES; i++) {
        used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s=%s",
                                 i == 0 ? "" : ", ", options[i].key,
                                 options[i].words == NULL ? "N" : options[i].words);
    }
}

/* The number of a word in "this|that", or -1. */
static int64_t find_word(const char *words, const char *word, size_t length)
{
    for (int64_t index = 0;; index++) {
        size_t own = strcspn(words, "|");
        if (own == length && memcmp(words, word, length) == 0) return index;
        if (words[own] == '\0') return -1;
        words += own + 1;
    }
}

/* One "key=value" of \a length bytes. */
static emp_status parse_one(const char *text, size_t length, const char *method,
                            const emp_option *options, int32_t option_count,
                            emp_error *err)
{
    emp_status        st = EMP_OK;
    const char       *equals = memchr(text, '=', length);
    size_t            key_length = equals == NULL ? length : (size_t)(equals - text);
    const emp_option *option = find(options, option_count, text, key_length);
    char             *end = NULL, list[LIST_BYTES];

    if (option == NULL && option_count == 0) {
        EMP_FAIL(EMP_EINVAL, "method %s takes no options, not \"%.*s\"", method,
                 (int)length, text);
    }
    if (option == NULL) {
        list_keys(options, option_count, list);
        EMP_FAIL(EMP_EINVAL, "method %s has no option \"%.*s\"; it has %s", method,
                 (int)key_length, text, list);
    }
    if (option->words != NULL) {
        const char *word = equals == NULL ? text + length : equals + 1;
        int64_t index = find_word(option->words, word, (size_t)(text + length - word));
        if (index < 0) {
            EMP_FAIL(EMP_EINVAL, "option \"%.*s\" of method %s: expected %s=%s",
                     (int)length, text, method, option->key, option->words);
        }
        *option->value = index;
        goto cleanup;
    }
    errno = 0;
    long long value = equals == NULL ? 0 : strtoll(equals + 1, &end, 10);
    if (equals == NULL || end == equals + 1 || end != text + length || errno != 0 ||
        value < option->minimum || value > option->maximum) {
        EMP_FAIL(EMP_EINVAL,
                 "option \"%.*s\" of method %s: expected %s=N with N in %lld..%lld",
                 (int)length, text, method, option->key, (long long)option->minimum,
                 (long long)option->maximum);
    }
    *option->value = value;

cleanup:
    return st;
}

emp_status emp_options_parse(const char *text, const char *method,
                             const emp_option *options, int32_t option_count,
                             emp_error *err)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        EMP_CHECK(parse_one(text, length, method, options, option_count, err));
        text += length;
        if (*text == ',') text++;
    }
    return EMP_OK;
}
