// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/sensitivity.h"

#include <math.h>

#include "run/loop.h"
#include "run/methods.h"
#include "sim/machine/model.h"

const double emp_sensitivity_factor[EMP_SENSITIVITY_FACTORS] = {0.8, 1.2};

/* Methods that propose a placement at once. */
static const struct {
    const char *name, *options;
} quick[] = {{"gpu", "on=fastest"}, {"expert", NULL},       {"heft", NULL},
             {"metis", NULL},       {"memory-split", NULL}, {"cpu", NULL}};

struct study {
    emp_sensitivity    *out;
    const emp_problem  *problem;
    const emp_decision *winner;
    emp_record          other; /* the run of the runner-up */
};

/* ---- the runner-up ---- */

static bool is_same(const struct study *s, const emp_owned_decision *found)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded &&
            found->device_of_op[op] != s->winner->device_of_op[op])
            return false;
    return true;
}

/* Takes the placement of a method, if it is better than those before and another one than the winner. */
static emp_status try_method(struct study *s, const emp_method *method,
                             const char *options, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_record     record = {0};
    emp_run_params run = {.method = method,
                          .placer = {.seed = 1, .threads = 1, .options = options},
                          .budget_evaluations = 1};

    EMP_TRY(emp_run(&record, s->problem, &run, err));
    if (!record.is_feasible || is_same(s, &record.decision)) goto cleanup;
    if (s->out->other != NULL && record.best_step_time_s >= s->out->other_s) goto cleanup;
    s->out->other = method->name;
    s->out->other_s = record.best_step_time_s;
    emp_record_clear(&s->other);
    s->other = record;
    record = (emp_record){0};

cleanup:
    emp_record_clear(&record);
    return st;
}

/* A method that does not suit the machine or the graph proposes nothing. */
static emp_status find_other(struct study *s, emp_error *err)
{
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        const emp_method *method;
        emp_error         why = {0};
        EMP_CHECK(emp_method_find(&method, quick[i].name, err));
        const emp_status st = try_method(s, method, quick[i].options, &why);
        if (st == EMP_ENOMEM) return EMP_ERROR(st, "%s", why.msg);
    }
    return EMP_OK;
}

/* ---- other machines ---- */

static emp_status simulate(double *seconds, emp_sim *sim, const emp_decision *decision,
                           emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(emp_sim_run_decision(sim, decision, &result, err));
    *seconds = result.is_feasible ? (double)result.step_time_ns * 1e-9 : INFINITY;
    return EMP_OK;
}

/* Both placements on a machine. */
static emp_status simulate_both(const struct study *s, const emp_machine *machine,
                                double *winner_s, double *other_s, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_problem        changed = *s->problem; /* but for machine and costs */
    emp_sim           *sim = NULL;
    const emp_decision other = emp_decision_view(&s->other.decision);

    changed.machine = machine;
    changed.costs = NULL;
    *other_s = NAN;
    EMP_TRY(emp_cost_table_create(&changed.costs, changed.graph, machine,
                                  &changed.runtime, err));
    EMP_TRY(emp_sim_create(&sim, &changed, err));
    EMP_TRY(simulate(winner_s, sim, s->winner, err));
    if (s->out->other != NULL) EMP_TRY(simulate(other_s, sim, &other, err));

cleanup:
    emp_sim_destroy(sim);
    emp_cost_table_destroy(changed.costs);
    return st;
}

/* Changes a machine by a factor, but for the times of routes; \a model and \a constant as they are numbered. \return whether anything
 * has changed. */
typedef bool change(emp_machine *machine, int32_t model, int32_t constant, double factor);

static bool change_model(emp_machine *machine, int32_t model, int32_t constant,
                         double factor)
{
    int32_t                 count;
    const emp_config_field *constants =
        emp_device_constants(machine->model[model].kind, &count);
    bool has_changed = false;

    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].model == model &&
            emp_device_constant_scale(&machine->device[d], &constants[constant], factor))
            has_changed = true;
    return has_changed;
}

enum { RATE, LATENCY };
static const char *const link_constants[] = {[RATE] = "rate", [LATENCY] = "latency"};

static bool change_links(emp_machine *machine, int32_t model, int32_t constant,
                         double factor)
{
    bool has_changed = false;

    (void)model;
    for (int32_t i = 0; i < machine->link_count; i++) {
        emp_link *link = &machine->link[i];
        if (!link->is_derived) continue;
        if (constant == RATE)
            link->bytes_per_s *= factor;
        else
            link->latency_s *= factor;
        has_changed = true;
    }
    return has_changed;
}

/* A row for a constant, unless nothing changes with it. */
static emp_status try_change(struct study *s, change *by, int32_t model, int32_t constant,
                             emp_sensitivity_row row, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *m = NULL;

    if (s->out->row_count == EMP_SENSITIVITY_ROWS) return EMP_OK;
    for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++) {
        emp_machine_destroy(m);
        m = emp_machine_copy(s->problem->machine);
        if (m == NULL) EMP_FAIL(EMP_ENOMEM, "a copy of a machine");
        if (!by(m, model, constant, emp_sensitivity_factor[k])) goto cleanup;
        EMP_TRY(emp_problem_time_routes(s->problem, m, err));
        EMP_TRY(simulate_both(s, m, &row.winner_s[k], &row.other_s[k], err));
        row.turns[k] =
            (row.other_s[k] < row.winner_s[k]) != (s->out->other_s < s->out->winner_s);
    }
    s->out->row[s->out->row_count++] = row;
    s->out->turn_count += row.turns[0] || row.turns[1];

cleanup:
    emp_machine_destroy(m);
    return st;
}

static emp_status try_all(struct study *s, emp_error *err)
{
    const emp_machine *m = s->problem->machine;
    int32_t            count;

    for (int32_t i = 0; i < m->model_count; i++) {
        const emp_config_field *constants =
            emp_device_constants(m->model[i].kind, &count);
        for (int32_t k = 0; k < count; k++) {
            const emp_sensitivity_row row = {.model = m->model[i].name,
                                             .constant = constants[k].key};
            if ((m->model[i].derived >> k & 1) != 0)
                EMP_CHECK(try_change(s, change_model, i, k, row, err));
        }
    }
    for (int32_t k = RATE; k <= LATENCY; k++) {
        const emp_sensitivity_row row = {.model = "links", .constant = link_constants[k]};
        EMP_CHECK(try_change(s, change_links, 0, k, row, err));
    }
    return EMP_OK;
}

emp_status emp_sensitivity_check(const emp_problem *problem, emp_error *err)
{
    const emp_machine *m = problem->machine;
    bool               has_derived = false;

    if (problem->graph->stated != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the graph states the times of its ops, so that no constant of "
                         "machine %s counts",
                         m->name);
    for (int32_t i = 0; i < m->model_count; i++)
        has_derived = has_derived || m->model[i].derived != 0;
    for (int32_t i = 0; i < m->link_count; i++)
        has_derived = has_derived || m->link[i].is_derived;
    if (has_derived) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "machine %s has no derived constant whose influence could be "
                     "studied: all of its models state theirs",
                     m->name);
}

emp_status emp_sensitivity_find(emp_sensitivity *out, const emp_problem *problem,
                                const emp_decision *winner, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct study s = {.out = out, .problem = problem, .winner = winner};

    *out = (emp_sensitivity){.other_s = NAN};
    EMP_CHECK(emp_sensitivity_check(problem, err));
    EMP_TRY(find_other(&s, err));
    EMP_TRY(simulate_both(&s, problem->machine, &out->winner_s, &out->other_s, err));
    EMP_TRY(try_all(&s, err));

cleanup:
    emp_record_clear(&s.other);
    return st;
}
