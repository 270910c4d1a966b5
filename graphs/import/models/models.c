// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/models.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/text/json.h"
#include "graphs/import/models/config.h"
#include "graphs/import/models/gguf.h"
#include "graphs/import/models/hf.h"

/* The longest configs name every module that is not quantised: some 10^5 names of up to 100 bytes.
 * Longer files of JSON are traces and graphs, which are not parsed twice. */
enum { CONFIG_BYTES_MAX = 1 << 24 };

static bool has_text(const char *bytes, size_t size, const char *text)
{
    const size_t length = strlen(text);
    const char  *at = bytes, *end = bytes + size;

    while ((at = memchr(at, text[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= length && memcmp(at, text, length) == 0) return true;
        at++;
    }
    return false;
}

static bool may_be_config(const char *bytes, size_t size)
{
    size_t i = 0;

    while (i < size && isspace((unsigned char)bytes[i])) i++;
    return size <= CONFIG_BYTES_MAX && i < size && bytes[i] == '{' &&
           has_text(bytes, size, "\"model_type\"");
}

emp_status emp_models_load(emp_graph **out, bool *is_model, emp_import_notes *notes,
                           const char *bytes, size_t size, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};

    *is_model = false;
    if (!may_be_config(bytes, size)) return EMP_OK;
    EMP_TRY(emp_json_parse(&d, bytes, size, err));
    if (!emp_config_is(d.root)) goto cleanup;
    *is_model = true;
    EMP_TRY(emp_hf_build_config(out, notes, d.root, err));

cleanup:
    emp_json_clear(&d);
    return st;
}

/* ---- weights ---- */

/* A length of up to 100 MB, and the brace of its JSON. */
static bool is_safetensors(const char *bytes, size_t size)
{
    return size >= 9 && bytes[8] == '{' && bytes[4] == 0 && bytes[5] == 0 &&
           bytes[6] == 0 && bytes[7] == 0;
}

emp_status emp_models_load_weights(emp_graph **out, bool *is_weights, const char *path,
                                   emp_error *err)
{
    char  first[9] = {0};
    FILE *file;

    *is_weights = false;
    if (emp_input_open(&file, path, NULL) != EMP_OK) return EMP_OK;
    size_t got = fread(first, 1, sizeof first, file);
    (void)fclose(file);
    if (emp_gguf_is(first, got)) {
        *is_weights = true;
        return emp_hf_build_gguf(out, path, err);
    }
    if (!is_safetensors(first, got)) return EMP_OK;
    *is_weights = true;
    return EMP_ERROR(
        EMP_EUNSUPPORTED,
        "%s: a safetensors file has weights alone; name it beside the config "
        "of its model: hf:path=config.json,weights=%s",
        path, path);
}
