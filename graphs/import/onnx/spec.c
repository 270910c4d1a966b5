// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/import/onnx/onnx.h"

static const char prefix[] = "onnx:";

bool emp_onnx_is_spec(const char *source)
{
    return strncmp(source, prefix, sizeof prefix - 1) == 0;
}

/* The value of an item "key=value" of that key, or NULL. */
static const char *value_of(const char *item, const char *key)
{
    size_t length = strlen(key);

    return strncmp(item, key, length) == 0 ? item + length : NULL;
}

static emp_status read_size(const char *text, int64_t *size, emp_error *err)
{
    char *end = NULL;

    *size = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || *size < 1 || *size > INT32_MAX)
        return EMP_ERROR(EMP_EINVAL, "a size of \"%s\", need 1 to %d", text, INT32_MAX);
    return EMP_OK;
}

/* Appends "name=size" to the list of sizes. */
static emp_status add_dim(emp_onnx_params *params, const char *text, emp_error *err)
{
    const char *equals = strchr(text, '=');
    size_t      used = strlen(params->dims);
    int64_t     size = 0;

    if (equals == NULL || equals == text)
        return EMP_ERROR(EMP_EINVAL, "dim.%s is not dim.NAME=SIZE", text);
    EMP_CHECK(read_size(equals + 1, &size, err));
    int length = snprintf(params->dims + used, sizeof params->dims - used, "%s%s",
                          used > 0 ? "," : "", text);
    if (length < 0 || (size_t)length >= sizeof params->dims - used)
        return EMP_ERROR(EMP_EINVAL, "more sizes than fit %zu bytes",
                         sizeof params->dims);
    return EMP_OK;
}

static emp_status read_item(const char *item, char path[EMP_ONNX_TEXT_BYTES],
                            emp_onnx_params *params, emp_error *err)
{
    const char *text;

    if ((text = value_of(item, "path=")) != NULL)
        memcpy(path, text, strlen(text) + 1); /* an item is shorter */
    else if ((text = value_of(item, "batch=")) != NULL)
        return read_size(text, &params->batch, err);
    else if ((text = value_of(item, "dim.")) != NULL)
        return add_dim(params, text, err);
    else if ((text = value_of(item, "train=")) != NULL)
        snprintf(params->train, sizeof params->train, "%.15s", text);
    else if ((text = value_of(item, "lenient=")) != NULL &&
             (text[0] == '0' || text[0] == '1') && text[1] == '\0')
        params->is_lenient = text[0] == '1';
    else
        return EMP_ERROR(EMP_EINVAL,
                         "\"%s\" is none of path=FILE, batch=N, dim.NAME=N, "
                         "train=sgd|momentum|adam, lenient=0|1",
                         item);
    return EMP_OK;
}

emp_status emp_onnx_spec_read(const char *spec, char path[EMP_ONNX_TEXT_BYTES],
                              emp_onnx_params *params, emp_error *err)
{
    char item[EMP_ONNX_TEXT_BYTES];

    *params = (emp_onnx_params){0};
    path[0] = '\0';
    for (const char *at = spec + sizeof prefix - 1; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length >= sizeof item)
            return EMP_ERROR(EMP_EINVAL, "a parameter of %zu bytes", length);
        memcpy(item, at, length);
        item[length] = '\0';
        EMP_CHECK(read_item(item, path, params, err));
        at += length + (at[length] == ',');
    }
    if (path[0] == '\0') return EMP_ERROR(EMP_EINVAL, "\"%s\" has no path=FILE", spec);
    return EMP_OK;
}
