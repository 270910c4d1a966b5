// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/source.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char word[] = "trace:";

#define SYNTAX "trace:kineto=FILE,et=FILE,step=N"

bool emp_trace_source_is(const char *text)
{
    return strncmp(text, word, sizeof word - 1) == 0;
}

static emp_status set_path(char path[EMP_TRACE_PATH_BYTES], const char *value,
                           size_t length, emp_error *err)
{
    if (length == 0 || length >= EMP_TRACE_PATH_BYTES)
        return EMP_ERROR(EMP_EINVAL, "\"%.*s\" is no path of 1 to %d bytes",
                         (int)(length < 80 ? length : 80), value,
                         EMP_TRACE_PATH_BYTES - 1);
    memcpy(path, value, length);
    path[length] = '\0';
    return EMP_OK;
}

static emp_status set_step(int64_t *step, const char *value, size_t length,
                           emp_error *err)
{
    char *end;

    errno = 0;
    *step = strtoll(value, &end, 10);
    if (length == 0 || !isdigit((unsigned char)*value) || end != value + length ||
        errno != 0)
        return EMP_ERROR(EMP_EINVAL, "step=%.*s: a step has a number from 0",
                         (int)(length < 80 ? length : 80), value);
    return EMP_OK;
}

emp_status emp_trace_source_parse(emp_trace_source *out, const char *text, emp_error *err)
{
    *out = (emp_trace_source){.step = -1};
    for (const char *at = text + sizeof word - 1; *at != '\0'; at += *at == ',') {
        size_t      length = strcspn(at, ","), name = strcspn(at, "=,");
        const char *value = at + name + 1;
        if (name == length)
            return EMP_ERROR(EMP_EINVAL, "\"%.80s\": a trace is named by " SYNTAX, text);
        if (name == 6 && memcmp(at, "kineto", name) == 0)
            EMP_CHECK(set_path(out->kineto, value, length - name - 1, err));
        else if (name == 2 && memcmp(at, "et", name) == 0)
            EMP_CHECK(set_path(out->execution, value, length - name - 1, err));
        else if (name == 4 && memcmp(at, "step", name) == 0)
            EMP_CHECK(set_step(&out->step, value, length - name - 1, err));
        else
            return EMP_ERROR(EMP_EINVAL, "\"%.*s\": a trace is named by " SYNTAX,
                             (int)(name < 80 ? name : 80), at);
        at += length;
    }
    if (out->kineto[0] == '\0')
        return EMP_ERROR(EMP_EINVAL,
                         "\"%.80s\" names no file; a trace is named by " SYNTAX, text);
    return EMP_OK;
}
