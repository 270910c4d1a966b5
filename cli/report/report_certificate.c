// SPDX-License-Identifier: GPL-3.0-or-later
/* A certificate of a bound: the times that it is computed from, the lemma, and its prices, for scripts/bounds/check-bound. */
#include <jansson.h>
#include <stdio.h>

#include "cli/format.h"
#include "cli/report/report.h"
#include "sim/bounds/paths/model.h"

static const char *const kind_key[EMP_DEVICE_KINDS] = {
    [EMP_DEVICE_CPU] = "cpu", [EMP_DEVICE_GPU] = "gpu"};

static const char *const lemma_key[] = {
#define X(name, key, words) key,
    EMP_BOUND_LEMMA_LIST(X)
#undef X
};

/* Times of an op in nanoseconds; null: it may not be there, or it is folded and never runs. */
static json_t *json_op(const emp_bound_model *model, emp_op_id id)
{
    const emp_graph    *g = model->problem->graph;
    const emp_bound_op *op = &model->op[id];
    json_t             *o =
        json_pack("{s:s, s:i}", "name", g->name[id], "class", g->op[id].colocation_class);

    if (g->op[id].is_folded) {
        json_object_set_new(o, "kinds", json_array());
        return o;
    }
    json_t *kinds = json_array();
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (emp_bound_may(op, k)) json_array_append_new(kinds, json_string(kind_key[k]));
    json_object_set_new(o, "kinds", kinds);
    json_object_set_new(o, "issue_ns", json_integer(op->issue_ns));
    json_object_set_new(o, "gpu_ns", json_integer(op->run_ns[EMP_DEVICE_GPU]));
    json_object_set_new(o, "cpu_ns", json_integer(op->run_ns[EMP_DEVICE_CPU]));
    json_object_set_new(o, "core_ns", json_integer(op->core_ns));
    json_object_set_new(o, "bytes", json_integer(op->bytes[EMP_DEVICE_GPU]));
    return o;
}

/* The delays of an edge by the kinds of its ends: after told, after done (-1: that may come later), in order. */
static json_t *json_edge(const emp_bound_edge *edge)
{
    json_t *o = json_pack("{s:i, s:i, s:b}", "from", edge->from, "to", edge->to,
                          "control", emp_bound_is_control(edge));

    for (int32_t way = 0; way < EMP_DEVICE_KINDS * EMP_DEVICE_KINDS; way++) {
        const int32_t from = way / EMP_DEVICE_KINDS, to = way % EMP_DEVICE_KINDS;
        char          key[] = "cpu-cpu";
        snprintf(key, sizeof key, "%s-%s", kind_key[from], kind_key[to]);
        const emp_bound_delay d = emp_bound_delay_of(edge, from, to, EMP_BOUND_ANY_TWO);
        json_object_set_new(o, key,
                            json_pack("[I, I, b]", (json_int_t)d.after_told_ns,
                                      (json_int_t)d.after_done_ns, d.is_in_order));
    }
    return o;
}

static json_t *json_model(const emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;
    json_t          *ops = json_array(), *edges = json_array();
    json_t          *memory = json_object(), *largest = json_object();

    for (emp_op_id op = 0; op < g->op_count; op++)
        json_array_append_new(ops, json_op(model, op));
    for (int64_t e = 0; e < model->edge_offset[g->op_count]; e++)
        json_array_append_new(edges, json_edge(&model->edge[e]));
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (model->memory_bytes[k] < 0) continue;
        json_object_set_new(memory, kind_key[k], json_integer(model->memory_bytes[k]));
        json_object_set_new(largest, kind_key[k], json_integer(model->most_bytes[k]));
    }
    return json_pack(
        "{s:b, s:I, s:[f, f, f], s:[f, f, f], s:o, s:o, s:o, s:o}", "host_threads",
        model->has_thread, "step_ns", (json_int_t)model->step_ns, "capacity",
        model->capacity[EMP_BOUND_THREAD], model->capacity[EMP_BOUND_STREAM],
        model->capacity[EMP_BOUND_CORES], "unit", model->unit[EMP_BOUND_THREAD],
        model->unit[EMP_BOUND_STREAM], model->unit[EMP_BOUND_CORES], "memory_bytes",
        memory, "largest_memory_bytes", largest, "ops", ops, "edges", edges);
}

static json_t *json_claim(const emp_bounds *bounds, const emp_bounds_why *why)
{
    json_t *o = json_pack("{s:s, s:I}", "lemma", lemma_key[why->lemma], "bound_ns",
                          (json_int_t)bounds->best_ns);

    if (why->is_refuted)
        json_object_set_new(o, "refuted_ns", json_integer(why->bound_ns - 1));
    if (why->lemma == EMP_BOUND_BY_WINDOW)
        json_object_set_new(o, "window_ns",
                            json_pack("[f, f]", why->window.before, why->window.after));
    if (why->lemma == EMP_BOUND_BY_WINDOW || why->lemma == EMP_BOUND_BY_AREA) {
        json_t *prices = json_array();
        for (int32_t i = 0; i < EMP_AREA_PRICES; i++)
            json_array_append_new(prices, json_real(why->price[i]));
        json_object_set_new(o, "prices", prices);
    }
    return o;
}

emp_status cli_certificate_json(json_t **out, const emp_problem *problem,
                                emp_time_ns *certified_ns, emp_error *err)
{
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT, .is_plain = true};
    emp_status               st = EMP_OK;
    emp_bound_model          model = {0};
    emp_bounds               bounds;
    emp_bounds_why           why = {0};

    if (problem->runtime.rules != EMP_RULES_EVENTS)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "certificates are for runtimes with the rules "
                 "\"events\", and %s has others",
                 problem->runtime.name);
    EMP_TRY(emp_bounds_explain(&bounds, &why, NULL, problem, &how, err));
    if (why.lemma == EMP_BOUND_BY_NONE)
        EMP_FAIL(EMP_EUNSUPPORTED, "no placement fits in memory, so there is no bound to "
                                   "certify");
    EMP_TRY(emp_bound_model_init(&model, problem, false, err));
    *out = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "format", "emplace-certificate-1",
                     "spec", problem->workload, "machine", problem->machine->name,
                     "runtime", problem->runtime.name, "claim", json_claim(&bounds, &why),
                     "model", json_model(&model));
    *certified_ns = bounds.best_ns;
    if (*out == NULL) EMP_FAIL(EMP_ENOMEM, "certificate");

cleanup:
    emp_bounds_why_clear(&why);
    emp_bound_model_clear(&model);
    return st;
}
