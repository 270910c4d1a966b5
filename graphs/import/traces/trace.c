// SPDX-License-Identifier: GPL-3.0-or-later
/* A step of a trace of PyTorch's profiler: "trace:kineto=FILE,et=FILE,step=103". */
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/traces/kineto/kineto.h"
#include "graphs/import/traces/step_graph.h"

/* Of a GPU whose size no trace states: enough for everything. */
static const int64_t MEMORY_BYTES = INT64_C(1) << 40;

/* Streams that the step uses, and threads. */
static void count_lanes(emp_import_devices *devices, const emp_traced_step *step,
                        const emp_kineto *trace)
{
    for (int32_t lane = 0; lane < trace->lane_count; lane++) {
        bool is_used = false;
        for (int32_t i = 0; i < step->node_count && !is_used; i++)
            is_used = step->node[i].lane == lane;
        if (!is_used) continue;
        if (trace->lane[lane].is_stream)
            devices->gpu_count++;
        else
            devices->core_count++;
    }
}

static bool has_gpu_work(const emp_traced_step *step)
{
    return step->kernel_count + step->copy_count > 0;
}

/* A profiler that did not record GPUs leaves a trace of the host alone, which looks like a step. */
static void warn_without_kernels(emp_import_notes *notes, const emp_traced_step *step,
                                 const emp_kineto *trace)
{
    bool has_any = false;

    if (has_gpu_work(step)) return;
    for (int32_t i = 0; i < trace->lane_count; i++) has_any |= trace->lane[i].is_stream;
    emp_import_notes_warn(
        notes, "there are no GPU kernels in %s: its times are those of CPU ops%s",
        has_any ? "this step of the trace" : "the trace",
        has_any ? "" : "; profile with ProfilerActivity.CUDA to record GPUs");
}

static void describe(emp_import_devices *devices, const emp_traced_step *step,
                     const emp_kineto *trace)
{
    emp_text    note = {devices->note, sizeof devices->note, 0};
    char        measured[32], host[32], gpu[32], waits[32];
    const char *gpu_name = trace->gpu_name != NULL ? trace->gpu_name : "an unnamed GPU";

    emp_units_format_seconds((double)step->measured_ns * 1e-9, measured, sizeof measured);
    emp_units_format_seconds((double)(step->end_ns - step->begin_ns) * 1e-9, host,
                             sizeof host);
    emp_text_add(&note, "%.40s", step->name);
    if (step->step_count > 1)
        emp_text_add(&note, " of the %d steps of the trace", step->step_count);
    if (has_gpu_work(step))
        emp_text_add(
            &note,
            " took %s on %.60s, %s on the host and %s from the first to the last of "
            "%d kernel%s and %d cop%s.",
            measured, gpu_name, host,
            emp_units_format_seconds((double)step->gpu_span_ns * 1e-9, gpu, sizeof gpu),
            step->kernel_count, emp_units_plural(step->kernel_count), step->copy_count,
            step->copy_count == 1 ? "y" : "ies");
    else
        emp_text_add(&note, " took %s, %s on the host.", measured, host);
    if (step->unexplained_ns > 0)
        emp_text_add(&note, " Waits of %s in all have no cause that the trace names.",
                     emp_units_format_seconds((double)step->unexplained_ns * 1e-9, waits,
                                              sizeof waits));
}

/* The tensors that the kernels of a step pass to each other. */
static emp_status join(emp_step_tensors *tensors, emp_import_devices *devices,
                       const emp_traced_step *step, const emp_kineto *trace,
                       const emp_json *root, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_execution execution = {0};
    emp_text      note = {devices->note, sizeof devices->note, strlen(devices->note)};

    if (!emp_execution_is(root))
        EMP_FAIL(EMP_EFORMAT, "the file named by et= is no PyTorch execution trace");
    EMP_TRY(emp_execution_read(&execution, root, err));
    EMP_TRY(emp_step_tensors_find(tensors, step, trace, &execution, err));
    emp_text_add(&note, " %d of these are joined with operators of the execution trace.",
                 tensors->joined_count);

cleanup:
    emp_execution_clear(&execution);
    return st;
}

/* The values of a spec, and its text behind the path: the execution trace of the same run. */
typedef struct {
    int32_t step;
} trace_values;
enum { EXECUTION = 1 };

const emp_option emp_trace_options[] = {
    EMP_INTEGER_OPTION(
        "step", trace_values, step, -1, INT32_MAX,
        "the number of a step of the profiler; -1 = one of the usual length", -1),
    EMP_NO_OPTION};

/* Reads the execution trace, whose tensors become edges. */
static emp_status join_file(emp_step_tensors *tensors, emp_import_devices *devices,
                            const emp_traced_step *step, const emp_kineto *trace,
                            const char *path, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    char             *bytes = NULL;
    size_t            size;
    emp_error         reason = {0};

    EMP_TRY(emp_file_load(path, &bytes, &size, &reason));
    EMP_TRY(emp_json_parse(&d, bytes, size, &reason));
    EMP_TRY(join(tensors, devices, step, trace, d.root, &reason));

cleanup:
    emp_json_clear(&d);
    emp_free(bytes);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "its execution trace %s: %s", path, reason.msg);
}

emp_status emp_trace_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_status       st = EMP_OK;
    const char      *execution = r->spec->text[EXECUTION];
    emp_kineto       trace = {0};
    emp_traced_step  step = {0};
    emp_step_tensors tensors = {0};

    *r->devices = (emp_import_devices){
        .cpu_count = 1, .gpu_memory_bytes = MEMORY_BYTES, .runtime = "traced"};
    EMP_TRY(emp_kineto_read(&trace, r->json, err));
    EMP_TRY(emp_step_read(&step, &trace, ((const trace_values *)r->values)->step, err));
    count_lanes(r->devices, &step, &trace);
    describe(r->devices, &step, &trace);
    warn_without_kernels(r->notes, &step, &trace);
    if (execution[0] != '\0')
        EMP_TRY(join_file(&tensors, r->devices, &step, &trace, execution, err));
    EMP_TRY(emp_step_build(builder, &step, &trace, execution[0] == '\0' ? NULL : &tensors,
                           err));

cleanup:
    emp_step_tensors_clear(&tensors);
    emp_step_clear(&step);
    emp_kineto_clear(&trace);
    return st;
}
