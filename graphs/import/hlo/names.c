// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/names.h"

#include <inttypes.h>
#include <stdio.h>

enum { SCOPE_BYTES = 400, PATH_BYTES = 400, OWN_BYTES = 120 };

/* What is before the last "/" of metadata={op_name="a/b/add[x=1];c/d"}, of which the first name counts. */
static emp_slice scope_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    static const char key[] = "op_name=\"";
    const size_t      size = sizeof key - 1;
    emp_slice         text = emp_hlo_text_of(m, i, "metadata");

    for (size_t at = 0; at + size <= text.size; at++) {
        if (memcmp(text.data + at, key, size) != 0) continue;
        const char *begin = text.data + at + size, *end = begin;
        const char *last = begin;
        for (; end < text.data + text.size && *end != '"' && *end != ';' && *end != '[';
             end++)
            if (*end == '/') last = end;
        return (emp_slice){begin, (size_t)(last - begin)};
    }
    return (emp_slice){"", 0};
}

void emp_hlo_op_name(char name[EMP_HLO_OP_NAME_BYTES], const emp_hlo_module *m,
                     const emp_hlo_instruction *i, const char *path,
                     const emp_graph_builder *builder)
{
    emp_slice scope = scope_of(m, i);

    if (scope.size > SCOPE_BYTES) scope.size = SCOPE_BYTES;
    int length = snprintf(
        name, EMP_HLO_OP_NAME_BYTES, "%.*s%s%s%s%.*s", (int)scope.size, scope.data,
        scope.size > 0 ? "/" : "", path, path[0] != '\0' ? "/" : "",
        (int)(i->name.size < OWN_BYTES ? i->name.size : OWN_BYTES), i->name.data);
    for (char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f') *c = '?';
    if (emp_graph_builder_find(builder, name, (size_t)length) >= 0)
        snprintf(name + length, EMP_HLO_OP_NAME_BYTES - (size_t)length, "#%d",
                 emp_graph_builder_op_count(builder));
}

void emp_hlo_path(char path[EMP_HLO_OP_NAME_BYTES], const char *outer,
                  const emp_hlo_instruction *call, int64_t iteration)
{
    char number[24] = "";

    if (iteration >= 0) snprintf(number, sizeof number, ".%" PRId64, iteration);
    snprintf(path, PATH_BYTES, "%s%s%.*s%s", outer, outer[0] != '\0' ? "/" : "",
             (int)(call->name.size < OWN_BYTES ? call->name.size : OWN_BYTES),
             call->name.data, number);
}
