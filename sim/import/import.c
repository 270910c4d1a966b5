// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/import/import.h"

#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "sim/import/container.h"
#include "sim/import/file.h"
#include "sim/import/graph_def.h"
#include "sim/import/targets.h"

enum { BATCH_DEFAULT = 32 };

emp_import_params emp_import_params_default(void)
{
    return (emp_import_params){.batch_hint = BATCH_DEFAULT};
}

static emp_status build(emp_graph **out, emp_message_file *file, emp_slice body,
                        const emp_import_params *params, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *builder = NULL;

    EMP_TRY(emp_graph_builder_create(&builder, err));
    EMP_TRY(emp_graph_def_read(builder, file, body, params, err));
    EMP_TRY(emp_graph_builder_finish(builder, out, err));

cleanup:
    emp_graph_builder_destroy(builder);
    return st;
}

static emp_status mark_targets(emp_graph *graph, emp_message_file *file, emp_slice meta,
                               const emp_import_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_target = EMP_NEW_ARRAY(bool, (size_t)graph->op_count);

    if (is_target == NULL) EMP_FAIL(EMP_ENOMEM, "marks of %d ops", graph->op_count);
    if (params->targets != NULL)
        EMP_TRY(emp_targets_parse(graph, params->targets, is_target, err));
    else
        EMP_TRY(emp_targets_find(graph, file, meta, is_target, err));
    emp_graph_set_targets(graph, is_target);

cleanup:
    emp_free(is_target);
    return st;
}

static emp_status load(emp_graph **out, const char *path, const emp_import_params *params,
                       emp_error *err)
{
    emp_status       st = EMP_OK;
    char            *bytes = NULL;
    size_t           size = 0;
    emp_message_file file = {0};
    emp_container    container;
    emp_graph       *graph = NULL;

    if (params->batch_hint < 1)
        EMP_FAIL(EMP_EINVAL, "a batch hint of %lld, need at least 1",
                 (long long)params->batch_hint);
    EMP_TRY(emp_file_load(path, &bytes, &size, err));
    emp_message_file_init(&file, bytes, size);
    EMP_TRY(emp_container_find(&file, &container, err));
    EMP_TRY(build(&graph, &file, container.graph, params, err));
    EMP_TRY(mark_targets(graph, &file, container.meta, params, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_message_file_clear(&file);
    emp_free(bytes);
    return st;
}

/* Every message names the file, and none can upset a terminal with what a file holds. */
emp_status emp_import_load(emp_graph **out, const char *path,
                           const emp_import_params *params, emp_error *err)
{
    emp_error  reason = {0};
    emp_status st;

    *out = NULL;
    st = load(out, path, params, &reason);
    if (st == EMP_OK) return st;
    for (char *c = reason.msg; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f') *c = '?';
    }
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}
