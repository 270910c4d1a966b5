// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/inputs.h"

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
