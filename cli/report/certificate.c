// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report.h"

#include "base/text/options.h"
#include "sim/bounds/paths/model.h"

static const char *const kind_key[EMP_DEVICE_KINDS] = {
    [EMP_DEVICE_CPU] = "cpu", [EMP_DEVICE_GPU] = "gpu"};
static const char *const lemma_key[] = {EMP_BOUND_LEMMA_LIST(EMP_LIST_SECOND)};
static const char *const rule_key[] = {EMP_PROOF_RULE_LIST(EMP_LIST_SECOND)};
static const char *const rules_key[] = {EMP_RULES_LIST(EMP_LIST_SECOND)};

/* ---- the problem ---- */

/* Times of an op in nanoseconds; without kinds it is folded and never runs. */
static json_t *json_op(const emp_bound_model *model, emp_op_id id)
{
    const emp_graph    *g = model->problem->graph;
    const emp_bound_op *op = &model->op[id];
    json_t             *o =
        json_pack("{s:s, s:i}", "name", g->name[id], "class", g->op[id].colocation_class);
    json_t *kinds = json_array();

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (!g->op[id].is_folded && emp_bound_may(op, k))
            json_array_append_new(kinds, json_string(kind_key[k]));
    json_object_set_new(o, "kinds", kinds);
    if (g->op[id].is_folded) return o;
    json_object_set_new(o, "run_ns",
                        json_pack("[I, I]", (json_int_t)op->run_ns[EMP_DEVICE_CPU],
                                  (json_int_t)op->run_ns[EMP_DEVICE_GPU]));
    json_object_set_new(o, "issue_ns", json_integer(op->issue_ns));
    json_object_set_new(o, "core_ns", json_integer(op->core_ns));
    json_object_set_new(o, "gap_ns",
                        json_pack("[I, I]", (json_int_t)op->gap_ns[EMP_DEVICE_CPU],
                                  (json_int_t)op->gap_ns[EMP_DEVICE_GPU]));
    json_object_set_new(o, "bytes", json_integer(op->bytes[EMP_DEVICE_GPU]));
    return o;
}

static json_t *json_edge(const emp_bound_model *model, const emp_bound_edge *edge)
{
    const emp_graph *g = model->problem->graph;
    const bool       is_control = emp_bound_is_control(edge);
    json_t          *o = json_pack("{s:i, s:i}", "from", edge->from, "to", edge->to);

    json_object_set_new(o, "output",
                        is_control
                            ? json_null()
                            : json_integer(edge->tensor - g->output_offset[edge->from]));
    if (model->problem->runtime.rules != EMP_RULES_EVENTS) {
        const int32_t         cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;
        const emp_bound_delay there =
            emp_bound_delay_of(edge, cpu, gpu, EMP_BOUND_ANY_TWO);
        const emp_bound_delay back =
            emp_bound_delay_of(edge, gpu, cpu, EMP_BOUND_ANY_TWO);
        json_object_set_new(o, "across_ns",
                            json_pack("[I, I]", (json_int_t)there.after_told_ns,
                                      (json_int_t)back.after_told_ns));
    } else if (!is_control) {
        json_object_set_new(o, "bytes", json_integer(g->tensor[edge->tensor].copy_bytes));
        json_object_set_new(o, "on_host", json_boolean(edge->is_on_host));
        json_object_set_new(o, "read_on_host", json_boolean(edge->is_read_on_host));
    }
    return o;
}

static json_t *json_devices(const emp_bound_model *model)
{
    const emp_machine *m = model->problem->machine;
    const emp_runtime *rt = &model->problem->runtime;
    const bool         has_pool = rt->rules == EMP_RULES_EVENTS && rt->events.cpu_pool;
    json_t            *devices = json_array();

    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device *device = &m->device[d];
        json_t           *o =
            json_pack("{s:s, s:i}", "kind", kind_key[device->kind], "cores",
                      has_pool && device->kind == EMP_DEVICE_CPU ? device->cores : 1);
        json_object_set_new(o, "memory_bytes",
                            model->memory_bytes[device->kind] < 0
                                ? json_null()
                                : json_integer(device->memory_bytes));
        json_array_append_new(devices, o);
    }
    return devices;
}

/* Between memories of two kinds: the least latency, with what a copy takes besides, time of a byte, and latency. */
static json_t *json_routes(const emp_bound_model *model)
{
    json_t *routes = json_array();

    for (int32_t from = 0; from < EMP_DEVICE_KINDS; from++) {
        json_t *row = json_array();
        for (int32_t to = 0; to < EMP_DEVICE_KINDS; to++)
            json_array_append_new(
                row, json_pack("{s:I, s:f, s:I}", "fixed_ns",
                               (json_int_t)model->copy[from][to].fixed_ns, "ns_per_byte",
                               model->copy[from][to].ns_per_byte, "message_ns",
                               (json_int_t)model->message_ns[from][to]));
        json_array_append_new(routes, row);
    }
    return routes;
}

/* The runtime's rules that lemmas ask for. */
static json_t *json_rules(const emp_bound_model *model)
{
    const emp_runtime        *rt = &model->problem->runtime;
    const emp_runtime_events *events = emp_runtime_events_of(rt);

    return json_pack(
        "{s:s, s:b, s:b, s:b, s:b, s:b, s:I, s:I}", "of", rules_key[rt->rules],
        "host_threads", model->has_thread, "control_latency", events->control_latency,
        "copy_streams", events->copy_streams, "copies_wait",
        events->drain_copies && events->share_copies, "any_order", model->any_order,
        "send_ns", (json_int_t)model->send_ns, "step_ns", (json_int_t)model->step_ns);
}

static json_t *json_problem(const emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;
    json_t          *ops = json_array(), *edges = json_array();

    for (emp_op_id op = 0; op < g->op_count; op++)
        json_array_append_new(ops, json_op(model, op));
    for (int64_t e = 0; e < model->edge_offset[g->op_count]; e++)
        json_array_append_new(edges, json_edge(model, &model->edge[e]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "rules", json_rules(model), "devices",
                     json_devices(model), "routes", json_routes(model), "ops", ops,
                     "edges", edges);
}

/* ---- proofs ---- */

/* \a before  The fact before it, or NULL: near ops that are the same are left out. */
static json_t *json_fact(const emp_graph *g, const emp_proof *proof,
                         const emp_proof_step *s, const emp_proof_step *before)
{
    json_t *o = json_pack("{s:s, s:i, s:I}", "rule", rule_key[s->rule], "op", s->op, "ns",
                          (json_int_t)s->ns);

    if (s->rule == EMP_PROOF_JOIN) {
        json_object_set_new(o, "goal", json_string(s->is_ready ? "ready" : "start"));
    } else {
        json_object_set_new(o, "from", json_integer(s->from));
        json_object_set_new(o, "link", json_boolean(s->is_link));
    }
    if (s->rule == EMP_PROOF_DRAIN) {
        json_object_set_new(o, "readers", json_pack("[i, i]", s->first, s->second));
        json_object_set_new(o, "output",
                            json_integer(s->tensor - g->output_offset[s->from]));
        return o;
    }
    if (before != NULL && before->near == s->near && before->near_count == s->near_count)
        return o;
    json_t *near = json_array();
    for (int32_t i = 0; i < s->near_count; i++)
        json_array_append_new(near, json_integer(proof->near[s->near + i]));
    json_object_set_new(o, "near", near);
    return o;
}

/* Ops that may be on a GPU, which the placement at hand has on a CPU. */
static json_t *json_left_on_cpus(const emp_bound_model *model,
                                 const emp_device_id   *device_of_op)
{
    const emp_problem *p = model->problem;
    json_t            *ops = json_array();

    for (emp_op_id op = 0; device_of_op != NULL && op < p->graph->op_count; op++)
        if (!p->graph->op[op].is_folded &&
            p->machine->device[device_of_op[op]].kind == EMP_DEVICE_CPU)
            json_array_append_new(ops, json_integer(op));
    return ops;
}

static json_t *json_steps(const emp_bound_model *model, const emp_proof *proof,
                          const emp_bounds_options *how)
{
    json_t *steps = json_array(), *facts = NULL;

    for (int32_t i = 0; i < proof->count; i++) {
        const emp_proof_step *s = &proof->step[i], *before = i > 0 ? s - 1 : NULL;
        if (s->rule > EMP_PROOF_ON_GPUS) {
            json_array_append_new(facts, json_fact(model->problem->graph, proof, s,
                                                   before->rule > EMP_PROOF_DRAIN ||
                                                           before->rule == EMP_PROOF_JOIN
                                                       ? before
                                                       : NULL));
            continue;
        }
        json_t *o = json_pack("{s:s}", "rule", rule_key[s->rule]);
        if (s->rule == EMP_PROOF_LIMIT) json_object_set_new(o, "ns", json_integer(s->ns));
        if (s->rule == EMP_PROOF_ON_GPUS)
            json_object_set_new(o, "but", json_left_on_cpus(model, how->device_of_op));
        if (s->rule == EMP_PROOF_SWEEP || s->rule == EMP_PROOF_EXCEPTIONS)
            json_object_set_new(o, "facts", facts = json_array());
        json_array_append_new(steps, o);
    }
    return steps;
}

/* \a bound_ns  With the fixed cost of a step. */
static json_t *json_claim(const emp_bound_model *model, const char *of,
                          emp_time_ns bound_ns, const emp_bounds_why *why,
                          const emp_bounds_options *how)
{
    json_t *o = json_pack("{s:s, s:I, s:s}", "of", of, "bound_ns", (json_int_t)bound_ns,
                          "lemma", lemma_key[why->lemma]);

    if (why->lemma == EMP_BOUND_BY_WINDOW || why->lemma == EMP_BOUND_BY_QUEUE)
        json_object_set_new(o, "window_ns",
                            json_pack("[f, f]", why->window.before, why->window.after));
    if (why->lemma == EMP_BOUND_BY_WINDOW || why->lemma == EMP_BOUND_BY_AREA ||
        why->lemma == EMP_BOUND_BY_MEMORY) {
        json_t *prices = json_array();
        for (int32_t i = 0; i < EMP_AREA_PRICES; i++)
            json_array_append_new(prices, json_real(why->price[i]));
        json_object_set_new(o, "prices", prices);
    }
    json_object_set_new(o, "steps", json_steps(model, &why->proof, how));
    return o;
}

/* If no op may leave the GPUs, the bound of all placements may come from the other's proof. If the other is no higher,
 * its proof is the first. */
static json_t *json_claims(const emp_bound_model *model, const emp_bounds_options *how,
                           const emp_bounds *bounds, const emp_bounds_why *all,
                           const emp_bounds_why *gpus)
{
    const bool is_all = emp_bound_add(all->bound_ns, model->step_ns) >= bounds->best_ns;
    json_t    *claims = json_pack(
           "[o]", json_claim(model, "all", bounds->best_ns, is_all ? all : gpus, how));

    if (gpus->lemma != EMP_BOUND_BY_NONE)
        json_array_append_new(
            claims, json_claim(model, "on_gpus", bounds->gpu_kernels_ns, gpus, how));
    return claims;
}

emp_status cli_certificate_json(json_t **out, const emp_problem *problem,
                                const emp_bounds_options *how, const emp_bounds *bounds,
                                const emp_bounds_why *all, const emp_bounds_why *gpus,
                                emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_bound_model model = {0};

    if (bounds->is_infeasible || all->lemma == EMP_BOUND_BY_NONE)
        EMP_FAIL(EMP_EUNSUPPORTED, "there is no bound to certify: no placement fits in "
                                   "memory, or no op takes time");
    EMP_TRY(emp_bound_model_init(&model, problem, how->any_order, err));
    *out = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "format", "emplace-certificate-2",
                     "spec", problem->workload, "machine", problem->machine->name,
                     "runtime", problem->runtime.name, "problem", json_problem(&model),
                     "claims", json_claims(&model, how, bounds, all, gpus));
    if (*out == NULL) EMP_FAIL(EMP_ENOMEM, "certificate");

cleanup:
    emp_bound_model_clear(&model);
    return st;
}
