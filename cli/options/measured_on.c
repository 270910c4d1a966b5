// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/inputs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "sim/machine/import/import.h"

emp_status cli_measured_on_load(emp_given_source *source, emp_device_model *model,
                                const char *name, emp_error *err)
{
    *source = (emp_given_source){0};
    if (name == NULL) return EMP_OK;
    EMP_CHECK(emp_device_model_load(model, name, err));
    if (model->device.kind != EMP_DEVICE_GPU)
        return EMP_ERROR(EMP_EINVAL, "--as names a GPU, and %s is a CPU", name);
    *source = (emp_given_source){name, &model->device};
    return EMP_OK;
}

/* Says that a trace's times are another GPU's, where the profiler wrote which. */
static void warn_of_other_gpu(const char *gpu_name, const emp_problem *problem)
{
    const emp_machine *m = problem->machine;
    const char        *model = emp_product_model(gpu_name);

    if (problem->graph->traced == NULL || model == NULL) return;
    for (emp_device_id d = 0; d < m->device_count; d++) {
        const char *name = m->model[m->device[d].model].name;
        if (m->device[d].kind != EMP_DEVICE_GPU || strcmp(name, "gpu") == 0 ||
            emp_graph_is_same_model(name, model))
            continue;
        cli_warn("the kernels of the trace take the times that %s was measured with, on "
                 "%s, too; --as %s scales them",
                 gpu_name, name, model);
        return;
    }
}

emp_status cli_measured_on_take(cli_measured_on *of, emp_problem *problem,
                                const emp_given_source *source, bool has_costs,
                                emp_error *err)
{
    if (source->model == NULL) {
        warn_of_other_gpu(of->gpu_name, problem);
        return EMP_OK;
    }
    if (problem->graph->traced == NULL && has_costs) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(of->transfer, 1));
    return emp_transfer_apply(of->transfer, problem->costs, problem->graph,
                              problem->machine, source->model, source->device, err);
}

static const char *seconds(double s, char *text, size_t size)
{
    return emp_units_format_seconds(s, text, size);
}

static void print_sum(const char *name, const emp_transfer_sum *s)
{
    char from[32], to[32], least[32], most[32];

    printf("  %-22s %6d kernel%s %12s  -> %-12s %s to %s\n", name, s->count,
           s->count == 1 ? " " : "s", seconds(s->measured_s, from, sizeof from),
           seconds(s->time.seconds, to, sizeof to),
           seconds(s->time.least_s, least, sizeof least),
           seconds(s->time.most_s, most, sizeof most));
}

void cli_measured_on_print(const cli_measured_on *of)
{
    const emp_transfer *t = of->transfer;

    for (int32_t c = 0; t != NULL && c < t->column_count; c++) {
        if (emp_graph_is_same_model(t->model[c], t->from)) continue;
        emp_transfer_sum total = emp_transfer_total(t, c);
        printf("from %s to %s, with the interval of the time there\n", t->from,
               t->model[c]);
        for (int k = 0; k < EMP_TRACED_KINDS; k++)
            if (t->sum[c][k].count > 0)
                print_sum(emp_traced_kernel_name((emp_traced_kernel_kind)k),
                          &t->sum[c][k]);
        print_sum("all", &total);
    }
}

static json_t *json_of_sum(const char *name, const emp_transfer_sum *s)
{
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "kind", name, "count",
                     (int)s->count, "measured_s", s->measured_s, "time_s",
                     s->time.seconds, "least_s", s->time.least_s, "most_s",
                     s->time.most_s);
}

json_t *cli_measured_on_json(const cli_measured_on *of)
{
    const emp_transfer *t = of->transfer;
    json_t             *list = json_array();

    for (int32_t c = 0; t != NULL && c < t->column_count; c++) {
        json_t          *kernels = json_array();
        emp_transfer_sum total = emp_transfer_total(t, c);
        for (int k = 0; k < EMP_TRACED_KINDS; k++)
            if (t->sum[c][k].count > 0)
                json_array_append_new(kernels, json_of_sum(emp_traced_kernel_name(
                                                               (emp_traced_kernel_kind)k),
                                                           &t->sum[c][k]));
        json_array_append_new(kernels, json_of_sum("all", &total));
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "model", t->model[c], "kernels", kernels));
    }
    if (t == NULL) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "from", t->from, "to", list);
}

void cli_measured_on_clear(cli_measured_on *of)
{
    emp_free(of->transfer);
    *of = (cli_measured_on){0};
}

/* ---- costs that a graph's file states ---- */

/* Prints the warning, and keeps it for the list of warnings in JSON. */
EMP_PRINTF_LIKE(2, 3)
static void warn_and_note(cli_inputs *inputs, const char *format, ...)
{
    char    sentence[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    emp_import_notes_warn(&inputs->notes, "%s", sentence);
    cli_warn("%s", sentence);
}

/* The models of a kind for which the graph has no times of their own, so that they share one time an op. */
static int32_t list_sharing_models(emp_text *names, const cli_inputs *inputs,
                                   emp_device_kind kind)
{
    const emp_machine *m = inputs->machine;
    int32_t            count = 0;

    for (int32_t model = 0; model < m->model_count; model++) {
        const char *name = m->model[model].name;
        if (m->model[model].kind != kind) continue;
        if (emp_graph_find_stated_model(inputs->step, name) >= 0) continue;
        emp_text_add(names, "%s%s", count++ > 0 ? " and " : "", name);
    }
    return count;
}

static bool has_times_of(const emp_graph *g, emp_device_kind kind)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if ((kind == EMP_DEVICE_GPU ? g->stated[op].gpu_ns : g->stated[op].cpu_ns) > 0)
            return true;
    return false;
}

/* One time an op cannot be true of a fast and a slow model. Traces say which GPU they are of. */
static void warn_of_shared_times(cli_inputs *inputs, const char *spec)
{
    static const char *const kind_name[EMP_DEVICE_KINDS] = {
        [EMP_DEVICE_CPU] = "CPU", [EMP_DEVICE_GPU] = "GPU"};

    if (inputs->costs != NULL || inputs->measured_on.transfer != NULL ||
        inputs->measured_on.gpu_name[0] != '\0')
        return;
    for (int kind = 0; kind < EMP_DEVICE_KINDS; kind++) {
        char     names[512] = "";
        emp_text text = {names, sizeof names, 0};
        if (list_sharing_models(&text, inputs, (emp_device_kind)kind) < 2 ||
            !has_times_of(inputs->step, (emp_device_kind)kind))
            continue;
        warn_and_note(
            inputs,
            "%s has one time of each op for all %ss, so %s are equally fast; --costs "
            "FILE with a column model has times for each",
            spec, kind_name[kind], names);
    }
}

static bool knows_copy_times(emp_rules rules)
{
    return rules == EMP_RULES_MSR_LATENCY || rules == EMP_RULES_MSR_LOAD ||
           rules == EMP_RULES_EDGES;
}

/* Other rules share links among copies, which a time of one copy says nothing about. */
static void warn_of_copy_times(cli_inputs *inputs, const char *spec)
{
    const emp_graph   *g = inputs->step;
    const emp_runtime *runtime = &inputs->problem->runtime;
    int32_t            count = 0;

    if (knows_copy_times(runtime->rules)) return;
    for (emp_op_id op = 0; op < g->op_count; op++)
        count += g->stated[op].copy_ns >= 0 && emp_graph_is_read(g, g->output_offset[op]);
    if (count > 0)
        warn_and_note(inputs,
                      "%s has times of copies, of %d op%s, which only the runtimes "
                      "msr-latency, msr-load and edges know; under %s a copy takes as "
                      "long as its bytes",
                      spec, count, count == 1 ? "" : "s", runtime->name);
}

void cli_warn_of_stated_costs(cli_inputs *inputs, const char *spec)
{
    if (inputs->step->stated == NULL) return;
    warn_of_shared_times(inputs, spec);
    warn_of_copy_times(inputs, spec);
}
