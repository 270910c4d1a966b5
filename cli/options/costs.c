// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/costs.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "graphs/import/onnx_profile.h"
#include "graphs/import/run_metadata.h"
#include "sim/cost/given.h"
#include "sim/machine/queries/device_name.h"

/* Times of a run of TensorFlow, for the models of the devices that had the same names. */
static emp_status take_run_metadata(emp_given_costs *given, cli_inputs *inputs,
                                    const emp_runtime *profile, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_run_metadata run = {0};
    emp_given_time  *time = NULL;

    EMP_TRY(emp_run_metadata_load(&run, inputs->costs, err));
    EMP_TRY(EMP_ALLOC(time, (size_t)run.count));
    for (int32_t i = 0; i < run.count; i++) {
        const emp_measured_op *op = &run.op[i];
        time[i] =
            (emp_given_time){.op = op->op.data,
                             .length = op->op.size,
                             .us = op->us,
                             .device = emp_device_name_find(
                                 inputs->machine, op->device.data, op->device.size)};
    }
    EMP_TRY(emp_given_times_apply(given, inputs->problem->costs, inputs->step,
                                  inputs->machine, profile, time, run.count,
                                  inputs->costs, err));
    if (run.without_kernels > 0)
        cli_warn("%s has no kernels of GPUs for %d ops, which keep predicted times",
                 inputs->costs, run.without_kernels);

cleanup:
    emp_free(time);
    emp_run_metadata_clear(&run);
    return st;
}

/* Times of ONNX Runtime's nodes, on their way to ops. */
typedef struct {
    const cli_inputs   *inputs;
    emp_onnx_profile    profile;
    emp_onnx_node_time *node;     /* of the model */
    int32_t            *group_of; /* [op]: -1 = of no node */
    double             *group_ns; /* [group]: the predicted times of its ops */
    int32_t            *op_count; /* [group] */
    emp_given_time     *time;
    int32_t             time_count;
    emp_device_id       cpu;
} node_times;

/* The node whose name an op has, or whose name and a slash it begins with; the longest such name counts. */
static int32_t find_node(const emp_strmap *node_of_name, const char *op)
{
    size_t  length = strlen(op);
    int32_t node = emp_strmap_get(node_of_name, op, length);

    while (node < 0 && length > 0) {
        while (length > 0 && op[length - 1] != '/') length--;
        if (length > 0) node = emp_strmap_get(node_of_name, op, --length);
    }
    return node;
}

static emp_status find_groups(node_times *t, emp_error *err)
{
    emp_status              st = EMP_OK;
    const emp_import_notes *notes = &t->inputs->notes;
    const emp_graph        *g = t->inputs->step;
    emp_strmap              node_of_name = {0};

    for (int32_t i = 0; i < notes->node_count; i++)
        if (notes->node[i].op != NULL)
            EMP_TRY(emp_strmap_set(&node_of_name, notes->node[i].op,
                                   strlen(notes->node[i].op), i, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t node = g->op[op].is_folded ? -1 : find_node(&node_of_name, g->name[op]);
        int32_t group = node < 0 ? -1 : t->node[node].group;
        t->group_of[op] = group;
        if (group < 0) continue;
        t->op_count[group]++;
        t->group_ns[group] +=
            (double)emp_problem_op_time_ns(t->inputs->problem, op, t->cpu);
    }

cleanup:
    emp_strmap_clear(&node_of_name);
    return st;
}

/* Shares the time of each group among its ops by their predicted times, or evenly if those are 0. */
static void share_times(node_times *t)
{
    const emp_graph *g = t->inputs->step;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t group = t->group_of[op];
        if (group < 0 || t->node[group].us < 0.0) continue;
        double ns = (double)emp_problem_op_time_ns(t->inputs->problem, op, t->cpu);
        double share =
            t->group_ns[group] > 0.0 ? ns / t->group_ns[group] : 1.0 / t->op_count[group];
        t->time[t->time_count++] = (emp_given_time){.op = g->name[op],
                                                    .length = strlen(g->name[op]),
                                                    .device = t->cpu,
                                                    .us = t->node[group].us * share};
    }
}

/* Says which times of the profile no op has. */
static void warn_of_profile(const node_times *t, int32_t unmatched)
{
    const emp_onnx_profile *p = &t->profile;
    const char             *path = t->inputs->costs;
    double                  all_us = 0.0, lost_us = 0.0;

    for (int32_t i = 0; i < p->count; i++) all_us += p->node[i].us;
    for (int32_t i = 0; i < t->inputs->notes.node_count; i++)
        if (t->node[i].group == i && t->op_count[i] == 0)
            lost_us += fmax(t->node[i].us, 0.0);
    if (unmatched > 0)
        cli_warn(
            "%s: %d of %d nodes are none of the model, and their times are shared by "
            "nodes "
            "without one; the model that the session saves (optimized_model_filepath) "
            "has them",
            path, unmatched, p->count);
    if (p->other_count > 0)
        cli_warn("%s: %d nodes did not run on the CPU, and keep predicted times", path,
                 p->other_count);
    if (lost_us > 0.0)
        cli_warn("%s: %.2g %% of the time is of nodes that are computed before the step, "
                 "or do "
                 "nothing, and is left out",
                 path, 100.0 * lost_us / all_us);
}

static emp_status read_node_times(node_times *t, emp_error *err)
{
    const cli_inputs *inputs = t->inputs;
    const size_t      nodes = (size_t)inputs->notes.node_count;
    const size_t      ops = (size_t)inputs->step->op_count;
    int32_t           unmatched;

    if (nodes == 0)
        return EMP_ERROR(
            EMP_EINVAL, "%s is a profile of ONNX Runtime, and the graph is no ONNX model",
            inputs->costs);
    for (t->cpu = 0; t->cpu < inputs->machine->device_count; t->cpu++)
        if (inputs->machine->device[t->cpu].kind == EMP_DEVICE_CPU) break;
    EMP_CHECK(emp_onnx_profile_load(&t->profile, inputs->costs, err));
    EMP_CHECK(EMP_ALLOC(t->node, nodes));
    EMP_CHECK(EMP_ALLOC(t->group_ns, nodes));
    EMP_CHECK(EMP_ALLOC(t->op_count, nodes));
    EMP_CHECK(EMP_ALLOC(t->group_of, ops));
    EMP_CHECK(EMP_ALLOC(t->time, ops));
    EMP_CHECK(emp_onnx_profile_match(t->node, &unmatched, &t->profile, inputs->notes.node,
                                     inputs->notes.node_count, err));
    if (unmatched == t->profile.count)
        return EMP_ERROR(
            EMP_EINVAL, "%s: none of its %d nodes is one of the model, such as \"%.*s\"",
            inputs->costs, unmatched, EMP_SLICE_ARG(t->profile.node[0].name));
    EMP_CHECK(find_groups(t, err));
    share_times(t);
    warn_of_profile(t, unmatched);
    return EMP_OK;
}

/* Times of a run of ONNX Runtime, for the model of the first CPU. */
static emp_status take_onnx_profile(emp_given_costs *given, cli_inputs *inputs,
                                    const emp_runtime *runtime, emp_error *err)
{
    emp_status st = EMP_OK;
    node_times t = {.inputs = inputs};

    EMP_TRY(read_node_times(&t, err));
    EMP_TRY(emp_given_times_apply(given, inputs->problem->costs, inputs->step,
                                  inputs->machine, runtime, t.time, t.time_count,
                                  inputs->costs, err));

cleanup:
    emp_onnx_profile_clear(&t.profile);
    emp_free(t.node);
    emp_free(t.group_of);
    emp_free(t.group_ns);
    emp_free(t.op_count);
    emp_free(t.time);
    return st;
}

static void tell_given(const emp_given_costs *given, const cli_inputs *inputs)
{
    char        sentence[1024] = "no op: all that it names are computed before the step";
    emp_text    text = {sentence, sizeof sentence, 0};
    const char *before = "";

    for (int k = EMP_DEVICE_KINDS - 1; k >= 0; k--) {
        for (int32_t i = 0; i < given->column_count[k]; i++) {
            const emp_given_column *column = &given->column[k][i];
            if (column->given == 0) continue;
            emp_text_add(
                &text, "%s%d of %d ops on %s (the others: predicted, times %.3g)", before,
                column->given, inputs->step->op_count, column->model, column->factor);
            before = ", of ";
        }
    }
    cli_warn("%s gives the times of %s", inputs->costs, sentence);
}

emp_status cli_costs_take(cli_inputs *inputs, const emp_runtime *profile, emp_error *err)
{
    emp_given_costs given;

    if (inputs->costs == NULL) return EMP_OK;
    if (emp_run_metadata_is(inputs->costs))
        EMP_CHECK(take_run_metadata(&given, inputs, profile, err));
    else if (emp_onnx_profile_is(inputs->costs))
        EMP_CHECK(take_onnx_profile(&given, inputs, profile, err));
    else
        EMP_CHECK(emp_given_costs_apply(&given, inputs->problem->costs, inputs->step,
                                        inputs->machine, profile, inputs->costs, err));
    tell_given(&given, inputs);
    return EMP_OK;
}
