// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/nearest.h"
#include "graphs/import/instances/layers_source.h"
#include "graphs/import/models/hf.h"
#include "graphs/import/models/models.h"
#include "graphs/import/traces/source.h"
#include "graphs/tf_spec.h"
#include "graphs/workloads/workloads.h"

static const char *list_families(char *list, size_t size)
{
    int32_t             count = 0;
    const emp_workload *table = emp_workload_table(&count);

    list[0] = '\0';
    for (int32_t i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", i == 0 ? "" : ", ", table[i].name);
    }
    return list;
}

static emp_status refuse_source(const char *source, emp_error *err)
{
    static const char of_files[] = "hf, tf, onnx, layers, trace";
    emp_nearest       near = emp_nearest_begin(source, strcspn(source, ":"), "");
    char              families[256], hint[EMP_NEAREST_BYTES];

    emp_nearest_offer_list(&near, list_families(families, sizeof families));
    emp_nearest_offer_list(&near, of_files);
    if (near.name != NULL)
        emp_nearest_hint(&near, hint);
    else
        emp_nearest_file(source, hint);
    return EMP_ERROR(EMP_EIO,
                     "\"%s\" is neither a file nor a workload family%s (%s; of a file: "
                     "%s)",
                     source, hint, families, of_files);
}

/* "trace:kineto=FILE,step=3" */
static emp_status load_trace(emp_graph **whole, emp_import_devices *devices,
                             emp_import_notes *notes, const char *source, emp_error *err)
{
    emp_import_params params = emp_import_params_default();
    emp_trace_source  trace;

    EMP_CHECK(emp_trace_source_parse(&trace, source, err));
    params.trace_step = trace.step;
    params.notes = notes;
    if (trace.execution[0] != '\0') params.execution_trace = trace.execution;
    return emp_import_load_instance(whole, devices, trace.kineto, &params, err);
}

/* "layers:path=FILE,stages=12+14" */
static emp_status load_layers(emp_graph **whole, const char *source, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    char              *bytes = NULL, path[EMP_LAYERS_PATH_BYTES];
    size_t             size = 0;

    EMP_TRY(emp_layers_spec_path(path, sizeof path, source, err));
    EMP_TRY(emp_file_load_named(path, &bytes, &size, err));
    EMP_TRY(emp_graph_builder_create(&builder, err));
    EMP_TRY(emp_layers_read_spec(builder, source, (emp_slice){bytes, size}, err));
    EMP_TRY(emp_graph_builder_finish(builder, &graph, err));
    EMP_TRY(emp_instance_set_targets(graph, err));
    graph->source = EMP_SOURCE_STATED;
    *whole = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_free(bytes);
    return st;
}

/* "tf:path=FILE,batch=64" */
static emp_status load_tensorflow(emp_graph **whole, emp_import_devices *devices,
                                  emp_import_params *params, const char *source,
                                  emp_error *err)
{
    char        hint[EMP_NEAREST_BYTES];
    emp_tf_spec spec;

    EMP_CHECK(emp_tf_spec_read(&spec, source, err));
    if (access(spec.path, F_OK) != 0)
        return EMP_ERROR(EMP_EIO, "there is no file \"%s\"%s", spec.path,
                         emp_nearest_file(spec.path, hint));
    params->is_tensorflow = true;
    params->has_batch = spec.batch > 0;
    if (params->has_batch) params->batch_hint = spec.batch;
    params->loop_iterations = spec.loops;
    return emp_import_load_instance(whole, devices, spec.path, params, err);
}

/* A workload of the papers is TensorFlow's, unless the builder of transformers has made it. */
static emp_status build_workload(emp_graph **whole, const char *source, emp_error *err)
{
    EMP_CHECK(emp_workload_build(whole, source, err));
    if ((*whole)->stated != NULL)
        (*whole)->source = EMP_SOURCE_STATED;
    else if ((*whole)->source == EMP_SOURCE_PROGRAM)
        (*whole)->source = EMP_SOURCE_TENSORFLOW;
    return EMP_OK;
}

static emp_status load_whole(emp_graph **whole, emp_import_devices *devices,
                             emp_import_notes *notes, const char *source, emp_error *err)
{
    emp_import_params params = emp_import_params_default();
    bool              is_weights = false;
    emp_onnx_params   onnx;
    char              path[EMP_ONNX_TEXT_BYTES];

    if (emp_workload_is_spec(source)) return build_workload(whole, source, err);
    if (emp_hf_is_spec(source)) return emp_hf_build(whole, notes, source, err);
    if (emp_layers_is_spec(source)) return load_layers(whole, source, err);
    if (emp_trace_source_is(source))
        return load_trace(whole, devices, notes, source, err);
    params.notes = notes;
    if (emp_tf_spec_is(source))
        return load_tensorflow(whole, devices, &params, source, err);
    if (emp_onnx_is_spec(source)) {
        EMP_CHECK(emp_onnx_spec_read(source, path, &onnx, err));
        params.onnx = &onnx;
        source = path;
    }
    if (access(source, F_OK) != 0) return refuse_source(source, err);
    EMP_CHECK(emp_models_load_weights(whole, &is_weights, source, err));
    if (is_weights && params.onnx != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "%s: a file of weights; --batch, --dim, --train and --lenient "
                         "are for ONNX models",
                         source);
    if (is_weights) return EMP_OK;
    return emp_import_load_instance(whole, devices, source, &params, err);
}

static bool computes(const emp_graph *g, emp_op_id op)
{
    if (g->op[op].is_folded) return false;
    if (g->stated != NULL) return g->stated[op].gpu_ns > 0 || g->stated[op].cpu_ns > 0;
    return g->op[op].cost->kernels > 0 || g->op[op].cost->cpu_cycles > 0;
}

/* A graph of constants and inputs alone takes the runtime's own time, which looks like a step. */
static void warn_of_nothing(emp_import_notes *notes, const emp_graph *step,
                            const char *source)
{
    for (emp_op_id op = 0; op < step->op_count; op++)
        if (computes(step, op)) return;
    emp_import_notes_warn(notes,
                          "%s: nothing is computed in a step: each of its %d ops has no "
                          "kernel, or is a constant that is computed before it",
                          source, step->op_count);
}

emp_status emp_source_load_noted(emp_graph **step, emp_graph **whole,
                                 emp_import_devices *devices, emp_import_notes *notes,
                                 const char *source, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph         *made = NULL;
    emp_import_devices stated = {0};

    *step = NULL;
    EMP_TRY(load_whole(&made, &stated, notes, source, err));
    EMP_TRY(emp_graph_prune(step, made, err));
    warn_of_nothing(notes, *step, source);
    if (devices != NULL) *devices = stated;
    if (whole != NULL) {
        *whole = made;
        made = NULL;
    }

cleanup:
    emp_graph_destroy(made);
    return st;
}

emp_status emp_source_load(emp_graph **step, emp_graph **whole,
                           emp_import_devices *devices, const char *source,
                           emp_error *err)
{
    return emp_source_load_noted(step, whole, devices, NULL, source, err);
}

emp_status emp_graph_load(emp_graph **out, const char *spec_or_path, emp_error *err)
{
    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(spec_or_path);
    return emp_source_load(out, NULL, NULL, spec_or_path, err);
}
