// SPDX-License-Identifier: GPL-3.0-or-later
/* Files of `emplace simulate` that show several placements: the page to explore, and those for Model Explorer. */
#include "cli/commands/simulate.h"

#include <stdio.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "bench/report/cells.h"
#include "cli/cli.h"
#include "sim/explain/pictures.h"

static void add(cli_simulated *s, const emp_owned_decision *decision)
{
    s->placement[s->count] = (emp_labelled_decision){
        .label = s->label[s->count], .decision = emp_decision_view(decision)};
    s->count++;
}

void cli_simulated_add(cli_simulated *s, const char *name)
{
    snprintf(s->label[s->count], CLI_LABEL_BYTES, "%s", name);
    add(s, &s->owned[s->named++]);
}

void cli_simulated_add_runners_up(cli_simulated *s)
{
    for (int32_t i = 1; i < s->runners_up.count && s->count < EMP_EXPLORE_PLACEMENTS;
         i++) {
        snprintf(s->label[s->count], CLI_LABEL_BYTES, "%.100s, number %d",
                 s->placement[0].label, i + 1);
        add(s, &s->runners_up.place[i].decision);
    }
}

void cli_simulated_clear(cli_simulated *s)
{
    for (int32_t i = 0; i <= CLI_BESIDE; i++) emp_decision_clear(&s->owned[i]);
    emp_runners_up_clear(&s->runners_up);
}

emp_status cli_simulated_check(const char *prefix, int32_t count,
                               const char *const *inputs, int32_t input_count,
                               bool is_forced, emp_error *err)
{
    char        path[EMP_MODEL_EXPLORER_PATH_BYTES];
    const char *output = path;

    if (prefix == NULL) return EMP_OK;
    if (*prefix == '\0')
        return EMP_ERROR(EMP_EINVAL,
                         "--model-explorer needs the beginning of the files' names");
    for (int32_t i = -1; i < count * EMP_MODEL_EXPLORER_DATA; i++) {
        EMP_CHECK(emp_model_explorer_path(path, prefix,
                                          i < 0 ? -1 : i / EMP_MODEL_EXPLORER_DATA,
                                          i < 0 ? 0 : i % EMP_MODEL_EXPLORER_DATA, err));
        EMP_CHECK(emp_output_check_all(&output, 1, err));
        EMP_CHECK(emp_output_check_inputs(inputs, input_count, &output, 1, err));
        EMP_CHECK(emp_output_check_replaced(&output, 1, is_forced, err));
    }
    return EMP_OK;
}

static int32_t count_ops(const emp_problem *problem)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        count += !problem->graph->op[op].is_folded;
    return count;
}

emp_status cli_simulated_draw(const char *path, int32_t depth, const emp_problem *problem,
                              const emp_device_id *device_of_op, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_scope_dot_summary summary;
    emp_cells             cells = {0};
    const char           *name[EMP_CELLS_MAX_ROWS];
    const bool is_by_layers = depth == 0 && count_ops(problem) > EMP_SCOPE_DOT_OPS;

    if (is_by_layers) EMP_TRY(emp_cells_create(&cells, problem, device_of_op, err));
    for (int32_t row = 0; row < cells.row_count; row++) name[row] = cells.row_name[row];
    const emp_scope_dot_layers layers = {cells.row_count, name, cells.row_of_op,
                                         cells.pass_of_op};
    EMP_TRY(emp_scope_dot_write(path, problem, device_of_op, depth,
                                is_by_layers ? &layers : NULL, &summary, err));
    if (summary.node_count > EMP_SCOPE_DOT_NODES && !is_by_layers) {
        cli_warn("%s has %d nodes, scopes to depth %d; Graphviz may take long", path,
                 summary.node_count, summary.depth);
    }

cleanup:
    emp_cells_clear(&cells);
    return st;
}

static emp_status write_page(FILE *file, const void *data, emp_error *err)
{
    return emp_explore_write(file, data, err);
}

emp_status cli_simulated_write(const cli_simulated *s, const cli_simulated_files *files,
                               const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *data = NULL;

    if (files->model_explorer != NULL)
        EMP_TRY(emp_model_explorer_write(files->model_explorer, problem, s->placement,
                                         s->named, err));
    if (files->explore != NULL) {
        EMP_TRY(emp_explore_data(&data, problem, s->placement, s->count, 0, err));
        EMP_TRY(emp_atomic_file_write(files->explore, write_page, data, err));
    }

cleanup:
    json_decref(data);
    return st;
}
