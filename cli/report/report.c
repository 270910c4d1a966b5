// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "run/methods.h"

static const double LEAST_CHANGE = 0.005;

/* How much longer the step is; infinite where it does not fit. */
static double change_of(const emp_sensitivity *s, const emp_sensitivity_row *row, int k)
{
    return row->winner_s[k] / s->winner_s - 1.0;
}

static double greatest_change(const emp_sensitivity *s, const emp_sensitivity_row *row)
{
    return fmax(fabs(change_of(s, row, 0)), fabs(change_of(s, row, 1)));
}

/* ---- JSON ---- */

static json_t *json_step(double seconds)
{
    return isfinite(seconds) ? json_real(seconds) : json_null();
}

/* Object with runner_up and constants; NULL when out of memory. */
static json_t *cli_sensitivity_json(const emp_sensitivity *s)
{
    json_t *constants = json_array();

    for (int32_t i = 0; i < s->row_count; i++) {
        const emp_sensitivity_row *row = &s->row[i];
        for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
            json_array_append_new(
                constants, json_pack("{s:s, s:s, s:f, s:o, s:o, s:b}", "model",
                                     row->model, "constant", row->constant, "factor",
                                     emp_sensitivity_factor[k], "step_time_s",
                                     json_step(row->winner_s[k]), "runner_up_step_time_s",
                                     json_step(row->other_s[k]), "turns", row->turns[k]));
    }
    return json_pack("{s:s?, s:o, s:i, s:o}", "runner_up", s->other,
                     "runner_up_step_time_s", json_step(s->other_s), "turned",
                     s->turn_count, "constants", constants);
}

/* ---- text ---- */

static const char *format_change(double change, char text[EMP_UNITS_TEXT_BYTES])
{
    if (!isfinite(change)) return "OOM";
    return emp_units_format_change(change, text, EMP_UNITS_TEXT_BYTES);
}

static void print_row(const emp_sensitivity *s, const emp_sensitivity_row *row)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf("  %-14s %-22s", row->model, row->constant);
    for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
        printf("  x %.1f %9s", emp_sensitivity_factor[k],
               format_change(change_of(s, row, k), text));
    for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
        if (row->turns[k])
            printf("; at %.1f times %s is %s", emp_sensitivity_factor[k], s->other,
                   s->other_s < s->winner_s ? "slower" : "faster");
    printf("\n");
}

static void print_verdict(const emp_sensitivity *s)
{
    char winner[32], other[32];

    if (s->other == NULL) {
        printf("no quick method finds another placement that fits\n");
        return;
    }
    printf("%-12s %s, %s a step beside %s; ",
           s->other_s < s->winner_s ? "faster" : "runner-up", s->other,
           emp_units_format_seconds(s->other_s, other, sizeof other),
           emp_units_format_seconds(s->winner_s, winner, sizeof winner));
    if (s->turn_count == 0)
        printf("no derived constant that is 20 %% off turns the ranking\n");
    else
        printf("%d of %d derived constants that are 20 %% off turn the ranking\n",
               s->turn_count, s->row_count);
}

/* The constants that change a step by 0.5 % or more, those that change it most first. */
static void cli_sensitivity_print(const emp_sensitivity *s)
{
    emp_keyed ranked[EMP_SENSITIVITY_ROWS];
    int32_t   shown = 0;

    for (int32_t i = 0; i < s->row_count; i++)
        ranked[i] = (emp_keyed){greatest_change(s, &s->row[i]), i};
    emp_keyed_sort_falling(ranked, (size_t)s->row_count);
    printf("\nsensitivity; %d derived constants at 0.8 and 1.2 times, one at a time\n",
           s->row_count);
    print_verdict(s);
    for (int32_t i = 0; i < s->row_count; i++) {
        const emp_sensitivity_row *row = &s->row[ranked[i].number];
        if (!row->turns[0] && !row->turns[1] && ranked[i].key < LEAST_CHANGE) continue;
        print_row(s, row);
        shown++;
    }
    if (shown < s->row_count)
        printf("  %s: less than 0.5 %%\n", shown == 0 ? "all of them" : "all others");
}

/* Under other rules variables may take other bytes, or none. */
static emp_problem_shortage find_shortage(const emp_problem *problem)
{
    return problem->runtime.rules == EMP_RULES_EVENTS ? emp_problem_find_shortage(problem)
                                                      : (emp_problem_shortage){0};
}

static json_t *json_oom(const emp_problem *problem, const emp_sim_result *r,
                        const emp_explanation *why)
{
    const emp_graph *g = problem->graph;

    if (r->is_feasible) return json_null();
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:I, s:f, s:I}", "device",
        problem->machine->device[r->oom_device].name, "op", g->name[r->oom_op], "type",
        g->type_name[g->type[r->oom_op]], "bytes", (json_int_t)r->oom_bytes, "at_s",
        (double)r->oom_at_ns * 1e-9, "capacity_bytes",
        (json_int_t)problem->machine->device[r->oom_device].memory_bytes);
    if (o == NULL || why == NULL) return o;
    const emp_problem_shortage s = find_shortage(problem);
    json_int_t                 used = (json_int_t)(why->oom.bytes - r->oom_bytes);
    if (s.kinds != 0 &&
        json_object_set_new(o, "no_placement_fits",
                            json_pack("{s:I, s:I}", "held_bytes",
                                      (json_int_t)s.held_bytes, "memory_bytes",
                                      (json_int_t)s.memory_bytes)) != 0) {
        json_decref(o);
        return NULL;
    }
    if (json_object_set_new(o, "in_use_bytes", json_integer(used)) == 0 &&
        cli_why_add_memory(o, problem, &why->oom))
        return o;
    json_decref(o);
    return NULL;
}

static bool is_max_load(const emp_problem *problem)
{
    return problem->runtime.rules == EMP_RULES_MSR_LOAD;
}

static json_t *json_seconds(emp_time_ns ns)
{
    return ns > 0 ? json_real((double)ns * 1e-9) : json_null();
}

json_t *cli_bounds_json(const emp_bounds *bounds)
{
    return json_pack("{"
#define X(name, key, text) "s:o,"
                     EMP_BOUNDS_LIST(X)
#undef X
                         "s:o, s:o, s:b}",
#define X(name, key, text) key "_s", json_seconds(bounds->name##_ns),
                     EMP_BOUNDS_LIST(X)
#undef X
                         "lower_bound_s",
                     json_seconds(bounds->best_ns), "lower_bound_gpu_kernels_s",
                     json_seconds(bounds->gpu_kernels_ns), "infeasible",
                     bounds->is_infeasible);
}

static json_t *json_gap(const emp_sim_result *r, emp_time_ns bound_ns)
{
    if (!r->is_feasible || bound_ns <= 0) return json_null();
    return json_real(emp_bounds_gap(bound_ns, r->step_time_ns));
}

json_t *cli_report_json(const emp_problem *problem, const emp_sim_result *r,
                        const emp_explanation *why, const emp_bounds *bounds)
{
    json_t *peak_bytes = json_object(), *busy_s = json_object();
    char    fingerprint[24];

    for (int32_t i = 0; i < r->device_count; i++) {
        const char *name = problem->machine->device[i].name;
        json_object_set_new(peak_bytes, name, json_integer((json_int_t)r->peak_bytes[i]));
        json_object_set_new(busy_s, name, json_real((double)r->busy_ns[i] * 1e-9));
    }
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    return json_pack(
        "{s:s, s:f, s:b, s:o, s:o, s:o, s:I, s:I, s:s, s:i, s:i, s:o, "
        "s:o, s:o, s:o}",
        "objective", is_max_load(problem) ? "max-load" : "step-time", "step_time_s",
        (double)r->step_time_ns * 1e-9, "feasible", r->is_feasible, "oom",
        json_oom(problem, r, why), "peak_bytes", peak_bytes, "busy_s", busy_s,
        "traffic_bytes", (json_int_t)r->traffic_bytes, "transfer_count",
        (json_int_t)r->transfer_count, "fingerprint", fingerprint, "op_count",
        problem->graph->op_count, "edge_count", problem->graph->edge_count,
        "lower_bound_s", json_seconds(bounds->best_ns), "gap_frac",
        json_gap(r, bounds->best_ns), "lower_bound_gpu_kernels_s",
        json_seconds(bounds->gpu_kernels_ns), "gap_gpu_kernels_frac",
        json_gap(r, bounds->gpu_kernels_ns));
}

/* Where no placement fits, one line says so with the bytes. */
static void print_shortage(const emp_problem *problem)
{
    static const char *const   names[] = {[EMP_KIND_CPU] = "CPUs",
                                          [EMP_KIND_GPU] = "GPUs",
                                          [EMP_KIND_CPU | EMP_KIND_GPU] = "devices"};
    const emp_problem_shortage s = find_shortage(problem);
    char                       held[32], memory[32];

    if (s.kinds == 0) return;
    printf("memory       no placement fits: %s need %s for weights and states, and have "
           "%s\n",
           names[s.kinds], emp_units_format_bytes(s.held_bytes, held, sizeof held),
           emp_units_format_bytes(s.memory_bytes, memory, sizeof memory));
}

static void print_oom(const emp_problem *problem, const emp_sim_result *r,
                      const emp_explanation *why)
{
    const emp_graph  *g = problem->graph;
    const emp_device *device = &problem->machine->device[r->oom_device];
    char              text[32];

    printf("memory       does not fit: %s (%s) asks for %s", g->name[r->oom_op],
           g->type_name[g->type[r->oom_op]],
           emp_units_format_bytes(r->oom_bytes, text, sizeof text));
    printf(" on %s, which has %s%s", device->name,
           emp_units_format_bytes(device->memory_bytes, text, sizeof text),
           device->kind == EMP_DEVICE_GPU && problem->adapted != NULL
               ? " beside the runtime's context"
               : "");
    if (why == NULL) {
        printf("\n");
        return;
    }
    printf(", %s in use; largest, with it:\n",
           emp_units_format_bytes(why->oom.bytes - r->oom_bytes, text, sizeof text));
    cli_why_print_memory(problem, &why->oom);
}

bool cli_bounds_leave_homes(const emp_problem *problem)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    int64_t            bytes = 0, least = INT64_MAX;
    bool               has_products = false, has_homes = false;

    for (int32_t t = 0; t < g->type_count; t++) {
        has_products |= strcmp(g->type_name[t], "Linear") == 0;
        has_homes |= strcmp(g->type_name[t], "AnyWeights") == 0 ||
                     strcmp(g->type_name[t], "HostWeights") == 0 ||
                     strcmp(g->type_name[t], "VariableV2") == 0; /* trained */
    }
    for (int32_t v = 0; v < g->op_count; v++) bytes += g->op[v].persistent_bytes;
    for (int32_t t = 0; t < g->tensor_count; t++) bytes += g->tensor[t].bytes;
    for (int32_t d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU && m->device[d].memory_bytes < least)
            least = m->device[d].memory_bytes;
    return has_products && !has_homes && least < INT64_MAX && bytes > least;
}

static void print_gap(const emp_sim_result *r, emp_time_ns bound_ns)
{
    char text[32];

    if (r->is_feasible)
        printf(", gap %s",
               emp_units_format_percent(emp_bounds_gap(bound_ns, r->step_time_ns), text,
                                        sizeof text));
    printf("\n");
}

static void print_bounds(const emp_problem *problem, const emp_sim_result *r,
                         const emp_bounds *bounds)
{
    char text[32];

    if (bounds->best_ns == 0 || bounds->is_infeasible) return;
    printf("lower bound  %s",
           emp_units_format_seconds((double)bounds->best_ns * 1e-9, text, sizeof text));
    print_gap(r, bounds->best_ns);
    if (cli_bounds_leave_homes(problem)) printf("             %s\n", CLI_BOUND_HOMES);
    if (bounds->gpu_kernels_ns <= bounds->best_ns) return;
    printf("             %s unless more ops with GPU kernels go to CPUs",
           emp_units_format_seconds((double)bounds->gpu_kernels_ns * 1e-9, text,
                                    sizeof text));
    print_gap(r, bounds->gpu_kernels_ns);
}

void cli_report_print(const emp_problem *problem, const emp_sim_result *r,
                      const emp_explanation *why, const emp_bounds *bounds)
{
    char   text[32];
    double step_s = (double)r->step_time_ns * 1e-9;

    printf("%-12s %s%s\n", is_max_load(problem) ? "max load" : "step time",
           emp_units_format_seconds(step_s, text, sizeof text),
           r->is_feasible ? "" : " if memory sufficed");
    print_bounds(problem, r, bounds);
    if (!r->is_feasible) print_shortage(problem);
    if (!r->is_feasible) print_oom(problem, r, why);
    for (int32_t i = 0; i < r->device_count; i++) {
        double busy_s = (double)r->busy_ns[i] * 1e-9;
        printf("%-12s busy %7s", problem->machine->device[i].name,
               emp_units_format_percent(step_s > 0 ? busy_s / step_s : 0.0, text,
                                        sizeof text));
        printf(", peak memory %s\n",
               emp_units_format_bytes(r->peak_bytes[i], text, sizeof text));
    }
    printf("traffic      %s in %" PRId64 " transfer%s\n",
           emp_units_format_bytes(r->traffic_bytes, text, sizeof text), r->transfer_count,
           emp_units_plural(r->transfer_count));
    printf("fingerprint  %016" PRIx64 " (%d op%s, %d edge%s)\n", r->fingerprint,
           problem->graph->op_count, emp_units_plural(problem->graph->op_count),
           problem->graph->edge_count, emp_units_plural(problem->graph->edge_count));
}

static json_t *json_run(const emp_record *r, const cli_inputs *inputs,
                        const emp_sim_result *best, const emp_explanation *why,
                        const emp_bounds *bounds)
{
    json_t *object = cli_report_json(inputs->problem, best, why, bounds);
    json_t *run = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:b}", "method", r->method,
        "workload", r->workload, "machine", r->machine, "runtime", r->runtime, "seed",
        (json_int_t)r->seed, "evaluations", (json_int_t)r->evaluations, "feasible_count",
        (json_int_t)r->feasible_count, "stopped_by", r->stopped_by, "commit", r->commit,
        "dirty", r->is_dirty);

    cli_add_winner(run, r);
    cli_inputs_add_notes(run, inputs);
    if (object != NULL && json_object_update_missing(object, run) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(run);
    return object;
}

void cli_add_winner(json_t *object, const emp_record *r)
{
    const char *winner = emp_record_winner(r);

    if (winner != NULL) json_object_set_new(object, "won_by", json_string(winner));
}

emp_status cli_report_run(const emp_record *r, const cli_inputs *inputs,
                          const emp_sim_result *best, const emp_bounds *bounds,
                          const emp_sensitivity *sensitivity, emp_sheet_format format,
                          emp_error *err)
{
    emp_status         st = EMP_OK;
    const emp_problem *problem = inputs->problem;
    emp_explanation   *why = NULL;
    const emp_decision found = emp_decision_view(&r->decision);
    const bool         has_derived =
        inputs->costs == NULL && emp_sensitivity_check(problem, NULL) == EMP_OK;

    EMP_TRY(cli_why_create(&why, problem, &found, best, false, err));
    if (format != EMP_SHEET_TEXT) {
        json_t *run = json_run(r, inputs, best, why, bounds);
        if (run != NULL && has_derived)
            json_object_set_new(run, "derived", cli_machine_derived(problem->machine));
        if (run != NULL && sensitivity != NULL)
            json_object_set_new(run, "sensitivity", cli_sensitivity_json(sensitivity));
        EMP_TRY(cli_print_object(run, format, err));
    } else {
        printf("%s on %s, runtime %s, by %s, seed %" PRIu64 ": %" PRId64
               " evaluation%s%s\n",
               r->workload, r->machine, r->runtime, r->method, r->seed, r->evaluations,
               emp_units_plural(r->evaluations),
               strcmp(r->stopped_by, "interrupt") == 0 ? ", interrupted"
               : strcmp(r->stopped_by, "failure") == 0 ? ", until the method failed"
               : strcmp(r->stopped_by, "gap") == 0     ? ", until within the gap"
                                                       : "");
        cli_inputs_print_runtime(inputs);
        if (emp_record_winner(r) != NULL)
            printf("won by       %s\n", emp_record_winner(r));
        cli_report_print(problem, best, why, bounds);
        if (sensitivity != NULL)
            cli_sensitivity_print(sensitivity);
        else if (has_derived)
            cli_machine_print_derived(problem->machine);
    }

cleanup:
    emp_explain_destroy(why);
    return st;
}
