// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/import.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/json.h"
#include "graphs/import/container.h"
#include "graphs/import/graph_def.h"
#include "graphs/import/hlo/hlo.h"
#include "graphs/import/instances/dnn_partitioning.h"
#include "graphs/import/instances/doppler.h"
#include "graphs/import/instances/instance.h"
#include "graphs/import/instances/layers_source.h"
#include "graphs/import/instances/pipedream.h"
#include "graphs/import/models/gguf.h"
#include "graphs/import/models/models.h"
#include "graphs/import/notes/other_files.h"
#include "graphs/import/pytorch/execution/execution.h"
#include "graphs/import/pytorch/pytorch.h"
#include "graphs/import/targets.h"
#include "graphs/import/traces/chakra.h"
#include "graphs/import/traces/execution.h"
#include "graphs/import/traces/trace.h"
#include "sim/graph/graph_builder.h"

enum { BATCH_DEFAULT = 32 };

emp_import_params emp_import_params_default(void)
{
    return (emp_import_params){
        .batch_hint = BATCH_DEFAULT, .loop_iterations = 1, .trace_step = -1};
}

typedef enum {
    KIND_TENSORFLOW,
    KIND_CHAKRA,
    KIND_JSON,
    KIND_PIPEDREAM,
    KIND_DOPPLER,
    KIND_LAYERS,
    KIND_PYTORCH,
    KIND_HLO
} file_kind;

static file_kind kind_of(const emp_message_file *file)
{
    if (emp_pytorch_is(file->bytes.data, file->bytes.size)) return KIND_PYTORCH;
    if (emp_container_is_json(file)) return KIND_JSON;
    if (emp_hlo_is(file->bytes.data, file->bytes.size)) return KIND_HLO;
    if (!file->is_text) return emp_chakra_is(file->bytes) ? KIND_CHAKRA : KIND_TENSORFLOW;
    if (emp_pipedream_is(file->bytes)) return KIND_PIPEDREAM;
    if (emp_layer_table_is(file->bytes)) return KIND_LAYERS;
    return emp_doppler_is(file->bytes) ? KIND_DOPPLER : KIND_TENSORFLOW;
}

static bool is_onnx(const char *bytes, size_t size)
{
    return emp_onnx_is((emp_slice){bytes, size});
}

static bool is_tensorflow(const char *bytes, size_t size)
{
    emp_message_file file = {0};

    if (emp_gguf_is(bytes, size) || is_onnx(bytes, size)) return false;
    emp_message_file_init(&file, bytes, size);
    bool is = kind_of(&file) == KIND_TENSORFLOW;
    emp_message_file_clear(&file);
    return is;
}

/* A profiler's trace, with the execution trace that belongs to it. */
static emp_status read_trace(emp_graph_builder *builder, emp_import_devices *devices,
                             const emp_json *root, const emp_import_params *params,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    char             *bytes = NULL;
    size_t            size;
    emp_error         reason = {0};

    if (params->execution_trace == NULL)
        return emp_trace_read(builder, devices, params->notes, root, NULL,
                              params->trace_step, err);
    st = emp_file_load(params->execution_trace, &bytes, &size, &reason);
    if (st == EMP_OK) st = emp_json_parse(&d, bytes, size, &reason);
    if (st != EMP_OK)
        EMP_FAIL(st, "its execution trace %s: %s", params->execution_trace, reason.msg);
    EMP_TRY(emp_trace_read(builder, devices, params->notes, root, d.root,
                           params->trace_step, err));

cleanup:
    emp_json_clear(&d);
    emp_free(bytes);
    return st;
}

/* What a JSON file is, its members tell. */
static emp_status read_json(emp_graph_builder *builder, emp_import_devices *devices,
                            emp_graph_source *source, emp_slice bytes,
                            const emp_import_params *params, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    const char       *schema;

    EMP_TRY(emp_json_parse(&d, bytes.data, bytes.size, err));
    *source = EMP_SOURCE_TRACE;
    if (emp_trace_is(d.root)) {
        EMP_TRY(read_trace(builder, devices, d.root, params, err));
    } else if (emp_chakra_is_json(d.root)) {
        EMP_TRY(emp_chakra_read_json(builder, devices, d.root, err));
    } else if (emp_execution_is(d.root, &schema)) {
        *source = EMP_SOURCE_PYTORCH;
        EMP_TRY(emp_torch_execution_read(builder, devices->note, sizeof devices->note,
                                         d.root, err));
    } else if (emp_dnn_partitioning_is(d.root)) {
        *source = EMP_SOURCE_STATED;
        emp_json_clear(&d);
        EMP_TRY(emp_dnn_partitioning_read(builder, devices, bytes.data, bytes.size, err));
    } else {
        EMP_TRY(emp_other_json_refuse(d.root, err));
    }

cleanup:
    emp_json_clear(&d);
    return st;
}

static emp_status read_hlo(emp_graph_builder *builder, emp_slice bytes,
                           const emp_import_params *params, emp_error *err)
{
    emp_import_notes own = {0};
    emp_status       st = emp_hlo_read(builder, params->notes ? params->notes : &own,
                                       bytes.data, bytes.size, err);

    emp_import_notes_clear(&own);
    return st;
}

/* \a body is the GraphDef in the file; instances are whole files. */
static emp_status build(emp_graph **out, emp_import_devices *devices, file_kind kind,
                        emp_message_file *file, emp_slice body,
                        const emp_import_params *params, emp_error *err)
{
    static const emp_graph_source source_of[] = {
        [KIND_TENSORFLOW] = EMP_SOURCE_TENSORFLOW,
        [KIND_CHAKRA] = EMP_SOURCE_TRACE,
        [KIND_PIPEDREAM] = EMP_SOURCE_STATED,
        [KIND_DOPPLER] = EMP_SOURCE_STATED,
        [KIND_LAYERS] = EMP_SOURCE_STATED,
        [KIND_PYTORCH] = EMP_SOURCE_PYTORCH,
        [KIND_HLO] = EMP_SOURCE_HLO,
    };
    emp_status         st = EMP_OK;
    emp_graph_builder *builder = NULL;
    emp_graph_source   source = source_of[kind];

    EMP_TRY(emp_graph_builder_create(&builder, err));
    switch (kind) {
    case KIND_TENSORFLOW:
        EMP_TRY(emp_graph_def_read(builder, file, body, params, err));
        break;
    case KIND_JSON:
        EMP_TRY(read_json(builder, devices, &source, file->bytes, params, err));
        break;
    case KIND_PYTORCH:
        EMP_TRY(emp_pytorch_read(builder, devices->note, sizeof devices->note,
                                 file->bytes.data, file->bytes.size, err));
        break;
    case KIND_HLO: EMP_TRY(read_hlo(builder, file->bytes, params, err)); break;
    case KIND_PIPEDREAM: EMP_TRY(emp_pipedream_read(builder, file->bytes, err)); break;
    case KIND_LAYERS: EMP_TRY(emp_layers_read(builder, file->bytes, err)); break;
    case KIND_CHAKRA: EMP_TRY(emp_chakra_read(builder, devices, file->bytes, err)); break;
    case KIND_DOPPLER:
        EMP_TRY(emp_doppler_read(builder, devices, file->bytes, err));
        break;
    }
    EMP_TRY(emp_graph_builder_finish(builder, out, err));
    (*out)->source = source;

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

static emp_status load_onnx(emp_graph **out, emp_slice bytes,
                            const emp_import_params *params, emp_error *err)
{
    static const emp_onnx_params nothing;
    emp_import_notes             own = {0};
    emp_status st = emp_onnx_load(out, bytes, params->onnx ? params->onnx : &nothing,
                                  params->notes ? params->notes : &own, err);

    emp_import_notes_clear(&own);
    if (st == EMP_OK) (*out)->source = EMP_SOURCE_ONNX;
    return st;
}

/* Names the options that another file cannot have. */
static emp_status refuse_options(const emp_onnx_params *onnx, const char *bytes,
                                 size_t size, emp_error *err)
{
    const struct {
        const char *name;
        bool        is_given;
    } options[] = {{"--batch", onnx->batch > 0},
                   {"--dim", onnx->dims[0] != '\0'},
                   {"--train", onnx->train[0] != '\0'},
                   {"--lenient", onnx->is_lenient}};
    char    given[64] = "";
    int     used = 0;
    int32_t count = 0;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].is_given)
            used += snprintf(given + used, sizeof given - (size_t)used, "%s%s",
                             count++ > 0 ? ", " : "", options[i].name);
    if (count == 0) snprintf(given, sizeof given, "onnx:");
    return EMP_ERROR(
        EMP_EINVAL, "%s %s for ONNX models alone%s", given, count > 1 ? "are" : "is",
        emp_pytorch_is(bytes, size)
            ? "; scripts/export/export_torch.py exports the training step of "
              "a PyTorch model, with the sizes of its inputs"
            : "");
}

static emp_status refuse_folder(const char *path, emp_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return EMP_OK;
    return EMP_ERROR(
        EMP_EIO, "a directory, not a graph file; of a SavedModel name saved_model.pb");
}

static emp_status load(emp_graph **out, emp_import_devices *devices, const char *path,
                       const emp_import_params *params, emp_error *err)
{
    emp_status       st = EMP_OK;
    char            *bytes = NULL;
    size_t           size = 0;
    bool             is_model = false;
    emp_message_file file = {0};
    emp_container    container = {0};
    emp_graph       *graph = NULL;

    if (params->batch_hint < 1)
        EMP_FAIL(EMP_EINVAL, "a batch hint of %lld, need at least 1",
                 (long long)params->batch_hint);
    EMP_TRY(refuse_folder(path, err));
    EMP_TRY(emp_file_load(path, &bytes, &size, err));
    if (params->is_tensorflow && !is_tensorflow(bytes, size))
        EMP_FAIL(EMP_EINVAL, "batch and loops are for TensorFlow's graphs alone; --batch "
                             "is for ONNX models, too");
    if (params->onnx != NULL && !is_onnx(bytes, size))
        EMP_TRY(refuse_options(params->onnx, bytes, size, err));
    EMP_TRY(emp_models_load(out, &is_model, params->notes, bytes, size, err));
    if (is_model) goto cleanup;
    if (is_onnx(bytes, size)) {
        st = load_onnx(out, (emp_slice){bytes, size}, params, err);
        goto cleanup;
    }
    emp_message_file_init(&file, bytes, size);
    file_kind kind = kind_of(&file);
    if (kind == KIND_TENSORFLOW) EMP_TRY(emp_container_find(&file, &container, err));
    EMP_TRY(build(&graph, devices, kind, &file, container.graph, params, err));
    if (kind == KIND_TENSORFLOW || params->targets != NULL)
        EMP_TRY(mark_targets(graph, &file, container.meta, params, err));
    else if (kind != KIND_PYTORCH &&
             kind != KIND_HLO) /* whose readers have marked them */
        EMP_TRY(emp_instance_set_targets(graph, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_message_file_clear(&file);
    emp_free(bytes);
    return st;
}

/* Every message names the file, and none can upset a terminal with what a file holds. */
emp_status emp_import_load_instance(emp_graph **out, emp_import_devices *devices,
                                    const char *path, const emp_import_params *params,
                                    emp_error *err)
{
    emp_error  reason = {0};
    emp_status st;

    *out = NULL;
    *devices = (emp_import_devices){0};
    st = load(out, devices, path, params, &reason);
    if (st == EMP_OK) return st;
    for (char *c = reason.msg; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f') *c = '?';
    }
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}

emp_status emp_import_load(emp_graph **out, const char *path,
                           const emp_import_params *params, emp_error *err)
{
    emp_import_devices devices;

    return emp_import_load_instance(out, &devices, path, params, err);
}

static bool has_form(const char *path, bool (*is)(const char *bytes, size_t size))
{
    char  *bytes = NULL;
    size_t size = 0;
    bool   has = emp_file_load(path, &bytes, &size, NULL) == EMP_OK && is(bytes, size);

    emp_free(bytes);
    return has;
}

bool emp_import_is_pytorch(const char *path) { return has_form(path, emp_pytorch_is); }

bool emp_import_is_onnx(const char *path) { return has_form(path, is_onnx); }

bool emp_import_is_hlo(const char *path) { return has_form(path, emp_hlo_is); }
