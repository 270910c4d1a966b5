// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/source.h"

#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/whole_file.h"
#include "sim/machine/bundle.h"

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
