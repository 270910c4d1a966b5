// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_input.h"

#include <math.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/options/graph_devices.h"
#include "cli/options/modules/device_map_input.h"
#include "graphs/import/node_devices.h"
#include "run/methods.h"
#include "run/store/store.h"

enum { SEARCH_BUDGET = 100 };

/* ---- opening ---- */

static emp_status open_record(cli_decision_file *f, emp_error *err)
{
    EMP_CHECK(emp_record_load(&f->record, f->path, err));
    emp_input_keep(f->path);
    f->origin = emp_record_origin(&f->record);
    return EMP_OK;
}

static emp_status open_by_content(cli_decision_file *f, emp_error *err)
{
    EMP_CHECK(emp_file_load_named(f->path, &f->bytes, &f->size, err));
    if (emp_nodes_syntax_in(f->bytes, f->size) != EMP_NODES_NONE) {
        f->form = CLI_DECISION_GRAPH;
        return EMP_OK;
    }
    EMP_CHECK(emp_placement_file_parse(&f->placement, f->bytes, f->size, f->path, err));
    f->origin = *emp_placement_file_origin(f->placement);
    emp_free(f->bytes);
    f->bytes = NULL;
    return EMP_OK;
}

emp_status cli_decision_open(cli_decision_file *f, const char *path, emp_error *err)
{
    *f = (cli_decision_file){.path = path, .origin.step_time_s = NAN};
    if (emp_text_ends_in(path, ".h5")) {
        f->form = CLI_DECISION_RECORD;
        return open_record(f, err);
    }
    if (!emp_text_ends_in(path, ".py")) return open_by_content(f, err);
    f->form = CLI_DECISION_MAP; /* it is read with the graph */
    return EMP_OK;
}

void cli_decision_close(cli_decision_file *f)
{
    emp_placement_file_destroy(f->placement);
    emp_record_clear(&f->record);
    emp_free(f->bytes);
}

/* ---- what moves ---- */

/* Ops that were moved for one reason. */
typedef struct {
    int32_t   count;
    emp_op_id first;
} moved_ops;

static void count_op(moved_ops *moved, emp_op_id op)
{
    if (moved->count++ == 0) moved->first = op;
}

static bool runs_on(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    bool is_gpu = p->machine->device[device].kind == EMP_DEVICE_GPU;

    return (p->graph->op[op].kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)) != 0;
}

static void warn_of_moves(const char *path, const emp_problem *p, const moved_ops *moved,
                          const emp_device_id *asked, const emp_device_id *got,
                          const char *why)
{
    const emp_device *device = p->machine->device;
    emp_op_id         first = moved->first;

    if (moved->count == 0) return;
    cli_warn("%s: %d op%s moved, as %s: the first is '%s', from %s to %s", path,
             moved->count, moved->count == 1 ? " is" : "s are", why,
             p->graph->name[first], device[asked[first]].name, device[got[first]].name);
}

/* Makes it legal, and says what that changes and why. */
static emp_status legalize(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, emp_error *err)
{
    emp_status     st = EMP_OK;
    size_t         op_count = (size_t)problem->graph->op_count;
    emp_device_id *asked = EMP_NEW_ARRAY(emp_device_id, op_count);
    moved_ops      cannot_run = {0}, colocated = {0}, forbidden = {0};

    if (asked == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %zu ops", op_count);
    memcpy(asked, device_of_op, op_count * sizeof *asked);
    emp_problem_legalize(problem, device_of_op);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        if (asked[op] == device_of_op[op]) continue;
        bool is_cpu = problem->machine->device[asked[op]].kind == EMP_DEVICE_CPU;
        if (!runs_on(problem, op, asked[op]))
            count_op(&cannot_run, op);
        else if (is_cpu && !emp_problem_allows(problem, op, asked[op]))
            count_op(&forbidden, op);
        else
            count_op(&colocated, op);
    }
    warn_of_moves(path, problem, &cannot_run, asked, device_of_op,
                  "there is no kernel for a GPU");
    warn_of_moves(path, problem, &forbidden, asked, device_of_op,
                  problem->sequence == NULL ? "CPUs are forbidden"
                                            : "the output gives nothing to that CPU");
    warn_of_moves(path, problem, &colocated, asked, device_of_op,
                  problem->sequence == NULL
                      ? "colocated ops share a device"
                      : "the output has layers of a device follow one another");

cleanup:
    emp_free(asked);
    return st;
}

static void warn_of_rules(const char *path, const emp_placement_report *report)
{
    if (report->idle_count > 0)
        cli_warn("%s: %d rule%s no op: %s", path, report->idle_count,
                 report->idle_count == 1 ? " places" : "s place", report->idle);
}

/* ---- reading ---- */

/* The best decision of a run, or of its checkpoint. */
static emp_status read_record(emp_owned_decision *decision, const cli_decision_file *f,
                              const emp_problem *problem, emp_error *err)
{
    const emp_record  *r = &f->record;
    const emp_machine *m = problem->machine;

    if (r->graph_hash != problem->graph->hash ||
        r->decision.op_count != problem->graph->op_count)
        return EMP_ERROR(EMP_EINVAL, "%s is of %s, whose graph is not that of %s",
                         f->path, r->workload, problem->workload);
    for (emp_op_id op = 0; op < r->decision.op_count; op++) {
        const emp_device_id device = r->decision.device_of_op[op];
        if (device < 0 || device >= m->device_count)
            return EMP_ERROR(EMP_EINVAL, "%s places ops on %s; %s has no device %d",
                             f->path, r->machine, m->name, device);
    }
    EMP_CHECK(emp_decision_init(decision, r->decision.op_count,
                                emp_decision_decides(&r->decision), err));
    emp_decision_copy(decision, &r->decision);
    return EMP_OK;
}

static emp_status read_devices(emp_owned_decision *decision, const cli_decision_file *f,
                               const emp_problem *problem, emp_error *err)
{
    EMP_CHECK(
        emp_decision_init(decision, problem->graph->op_count, EMP_DECIDES_DEVICES, err));
    if (f->form == CLI_DECISION_GRAPH)
        return cli_graph_devices_parse(decision->device_of_op, f->bytes, f->size, f->path,
                                       problem, err);
    EMP_CHECK(cli_device_map_load(decision->device_of_op, f->path, problem, err));
    emp_input_keep(f->path);
    return EMP_OK;
}

emp_status cli_decision_read(emp_owned_decision *decision, const cli_decision_file *f,
                             const emp_problem *problem, emp_error *err)
{
    emp_placement_report report = {0};

    *decision = (emp_owned_decision){0};
    switch (f->form) {
    case CLI_DECISION_RECORD: EMP_CHECK(read_record(decision, f, problem, err)); break;
    case CLI_DECISION_PLACEMENT:
        EMP_CHECK(
            emp_placement_file_decide(decision, f->placement, problem, &report, err));
        break;
    default: EMP_CHECK(read_devices(decision, f, problem, err));
    }
    warn_of_rules(f->path, &report);
    return legalize(decision->device_of_op, f->path, problem, err);
}

emp_status cli_decision_load(emp_owned_decision *decision, const char *path,
                             const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    cli_decision_file file;

    *decision = (emp_owned_decision){0};
    EMP_TRY(cli_decision_open(&file, path, err));
    EMP_TRY(cli_decision_read(decision, &file, problem, err));

cleanup:
    cli_decision_close(&file);
    return st;
}

/* ---- methods ---- */

emp_status cli_placement_by_method(emp_device_id *device_of_op, bool *is_partial,
                                   const char *method, const cli_run_options *options,
                                   const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_method *type = NULL;
    emp_record        record = {0};
    cli_run_options   usual = cli_run_options_default();

    if (options == NULL) options = &usual;
    EMP_TRY(emp_method_find(&type, method, err));
    EMP_TRY(cli_run(&record, NULL, options, problem, type, SEARCH_BUDGET, err));
    memcpy(device_of_op, record.decision.device_of_op,
           (size_t)record.decision.op_count * sizeof *device_of_op);
    if (is_partial != NULL) *is_partial = strcmp(record.stopped_by, "interrupt") == 0;

cleanup:
    emp_record_clear(&record);
    return st;
}
