// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/where.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"

static const char thread_word[] = "host.thread", gpu_word[] = "gpu";

bool emp_trace_is_graph(const emp_graph *graph)
{
    if (graph->stated == NULL) return false;
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (strncmp(graph->name[op], thread_word, sizeof thread_word - 1) == 0)
            return true;
    return false;
}

static emp_status find_stream(int32_t *stream, emp_strmap *streams, const char *name,
                              emp_error *err)
{
    size_t length = strcspn(name, "/");

    *stream = emp_strmap_get(streams, name, length);
    if (*stream >= 0) return EMP_OK;
    *stream = (int32_t)streams->count;
    return emp_strmap_set(streams, name, length, *stream, err);
}

emp_status emp_trace_where(int32_t *gpu_of_op, const emp_graph *graph, bool is_by_stream,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap streams = {0};

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        const char *name = graph->name[op];
        gpu_of_op[op] = -1;
        if (strncmp(name, gpu_word, sizeof gpu_word - 1) != 0) continue;
        if (is_by_stream)
            EMP_TRY(find_stream(&gpu_of_op[op], &streams, name, err));
        else
            gpu_of_op[op] = (int32_t)strtol(name + sizeof gpu_word - 1, NULL, 10);
    }

cleanup:
    emp_strmap_clear(&streams);
    return st;
}
