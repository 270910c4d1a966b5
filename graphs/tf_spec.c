// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tf_spec.h"

#include <string.h>

#include "base/text/spec.h"

static const char prefix[] = "tf:";

static const emp_option options[] = {
    EMP_INTEGER_OPTION(
        "batch", emp_tf_spec, batch, 0, 1 << 20,
        "in place of leading sizes that the file leaves open; 0 = not given", 0),
    EMP_INTEGER_OPTION("loops", emp_tf_spec, loops, 1, 10000,
                       "iterations of While ops, which call functions", 1),
    EMP_NO_OPTION};

bool emp_tf_spec_is(const char *source)
{
    return strcmp(source, "tf") == 0 || strncmp(source, prefix, sizeof prefix - 1) == 0;
}

const emp_option *emp_tf_spec_options(void) { return options; }

emp_status emp_tf_spec_read(emp_tf_spec *out, const char *source, emp_error *err)
{
    static const char *const      text_keys[] = {"path=", NULL};
    static const emp_option_table table = {"tf", NULL, options};
    emp_spec_parts                parts;

    EMP_CHECK(emp_spec_cut(&parts, source, text_keys, err));
    EMP_CHECK(emp_options_parse(out, &table, NULL, parts.rest, err));
    if (parts.text[0][0] == '\0')
        return EMP_ERROR(EMP_EINVAL, "tf needs the path of a TensorFlow graph, as in "
                                     "tf:path=graph.pb,batch=64");
    if (strlen(parts.text[0]) >= sizeof out->path)
        return EMP_ERROR(EMP_EINVAL, "the path of a tf: spec has at most %d bytes",
                         EMP_TF_PATH_BYTES - 1);
    memcpy(out->path, parts.text[0], strlen(parts.text[0]) + 1);
    return EMP_OK;
}

const char *emp_tf_spec_file(const char *source, emp_tf_spec *buffer)
{
    if (!emp_tf_spec_is(source) || emp_tf_spec_read(buffer, source, NULL) != EMP_OK)
        return source;
    return buffer->path;
}
