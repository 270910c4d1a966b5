// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/adversary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/rng.h"
#include "base/work.h"
#include "run/loop.h"
#include "run/sheet/sheet.h"
#include "sim/graph/graph_builder.h"
#include "sim/machine/machine.h"

/* Orders of magnitude, in powers of ten: seconds on a GPU and on a core, bytes of a result. */
static const double gpu_s[] = {-4, -2}, cpu_s[] = {-4, -1}, bytes[] = {3, 8};

/* How much worse a change may be at first, in logarithms of the ratio, and at the end. */
static const double hot = 0.15, cold = 0.005;

enum { FIRST = 10 /* random instances to begin with */ };

typedef struct {
    const emp_adversary_params *params;
    const emp_machine          *machine;
    emp_rng                     rng;
    emp_adversary_found        *out;
} hunt;

/* ---- instances ---- */

static double draw(emp_rng *rng, const double range[2])
{
    return pow(10, range[0] + (range[1] - range[0]) * emp_rng_uniform(rng));
}

static void draw_op(emp_adversary_instance *a, int32_t op, uint32_t part, emp_rng *rng)
{
    if (part == 0) a->op[op].gpu_ns = (int64_t)(1e9 * draw(rng, gpu_s));
    if (part == 1) a->op[op].cpu_ns = (int64_t)(1e9 * draw(rng, cpu_s));
    if (part == 2) a->op[op].bytes = (int64_t)draw(rng, bytes);
}

/* Each op reads from two others on average. */
static void draw_instance(emp_adversary_instance *a, int32_t ops, emp_rng *rng)
{
    memset(a, 0, sizeof *a);
    a->op_count = ops;
    for (int32_t op = 0; op < ops; op++) {
        for (uint32_t part = 0; part < 3; part++) draw_op(a, op, part, rng);
        for (int32_t from = 0; from < op; from++)
            a->reads[op][from] = emp_rng_uniform(rng) < 2.0 / ops;
    }
}

/* Changes one number, or adds or removes an edge. */
static void change(emp_adversary_instance *a, emp_rng *rng)
{
    const uint32_t what = emp_rng_below(rng, 4);
    const int32_t  op = (int32_t)emp_rng_below(rng, (uint32_t)a->op_count);

    if (what < 3)
        draw_op(a, op, what, rng);
    else if (op > 0) {
        bool *reads = &a->reads[op][emp_rng_below(rng, (uint32_t)op)];
        *reads = !*reads;
    }
}

/* ---- their scores ---- */

static emp_status build(emp_graph **out, const emp_adversary_instance *a, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *b = NULL;
    emp_op_id          id;
    char               name[16];

    EMP_TRY(emp_graph_builder_create(&b, err));
    for (int32_t op = 0; op < a->op_count; op++) {
        const emp_stated_op stated = {
            .cost = {a->op[op].gpu_ns, a->op[op].cpu_ns, -1, -1},
            .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
            .held_bytes = a->op[op].bytes,
            .copy_bytes = a->op[op].bytes};
        snprintf(name, sizeof name, "op%d", op);
        EMP_TRY(emp_graph_builder_state(b, name, "Op", &stated, &id, err));
        for (int32_t from = 0; from < op; from++)
            if (a->reads[op][from])
                EMP_TRY(emp_graph_builder_connect(b, (emp_port){from, 0}, op, err));
    }
    EMP_TRY(emp_graph_builder_finish(b, out, err));

cleanup:
    emp_graph_builder_destroy(b);
    return st;
}

/* The median step time over the seeds; NaN: some run finds nothing that fits, or the method does not take the
 * instance. */
static emp_status run_method(double *step_s, const hunt *h, const emp_method *method,
                             const emp_problem *problem, emp_error *err)
{
    const emp_adversary_params *p = h->params;
    const int32_t               runs = method->uses_seed ? p->seed_count : 1;
    double                      all[EMP_ADVERSARY_SEEDS];

    *step_s = NAN;
    for (int32_t s = 0; s < runs; s++) {
        emp_error            why = {0};
        emp_record           record;
        const emp_run_params run = {.method = method,
                                    .placer = {.seed = (uint64_t)s + 1, .threads = 1},
                                    .budget_evaluations =
                                        method->uses_budget ? p->budget : 0,
                                    .stop = p->stop};
        const emp_status     st = emp_run(&record, problem, &run, &why);
        const bool           is_found = st == EMP_OK && record.is_feasible;
        all[s] = is_found ? record.best_step_time_s : NAN;
        emp_record_clear(&record);
        if (st == EMP_ENOMEM || st == EMP_EEXTERNAL)
            return EMP_ERROR(st, "%s: %s", method->name, why.msg);
        if (!is_found) return EMP_OK;
    }
    *step_s = emp_summary_of(all, (size_t)runs).median;
    return EMP_OK;
}

static emp_status score(double step_s[2], const hunt *h, const emp_adversary_instance *a,
                        emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_graph   *graph = NULL;
    emp_problem *problem = NULL;

    step_s[0] = step_s[1] = NAN;
    EMP_TRY(build(&graph, a, err));
    EMP_TRY(emp_problem_create(&problem, graph, h->machine, h->params->runtime,
                               "adversary", err));
    for (int i = 1; i >= 0; i--) { /* the one that places at once, as a rule, first */
        EMP_TRY(run_method(&step_s[i], h, h->params->method[i], problem, err));
        if (isnan(step_s[i])) break;
    }

cleanup:
    emp_problem_destroy(problem);
    emp_graph_destroy(graph);
    return st;
}

static double log_ratio(const double step_s[2])
{
    const double ratio = step_s[0] / step_s[1];

    return isfinite(ratio) && ratio > 0 ? log(ratio) : -INFINITY;
}

/* ---- the search ---- */

static void keep_best(hunt *h, const emp_adversary_instance *a, const double step_s[2])
{
    emp_adversary_found *out = h->out;

    if (emp_stop_is_set(h->params->stop)) return; /* its runs are not whole */
    out->trials++;
    if (log_ratio(step_s) > -INFINITY &&
        !(step_s[0] / step_s[1] <= out->ratio)) { /* also where that is NaN */
        out->instance = *a;
        memcpy(out->step_s, step_s, sizeof out->step_s);
        out->ratio = step_s[0] / step_s[1];
    }
    if (h->params->on_trial != NULL)
        h->params->on_trial(h->params->context, out->trials, out->ratio);
}

static bool has_ended(const hunt *h)
{
    return h->out->ratio >= h->params->target || h->out->trials >= h->params->trials ||
           emp_stop_is_set(h->params->stop);
}

/* A change for the worse is taken with a probability that falls as the search goes on. */
static bool is_taken(hunt *h, double before, double after)
{
    const double done = (double)h->out->trials / h->params->trials;
    const double heat = hot * pow(cold / hot, done);

    return after >= before || emp_rng_uniform(&h->rng) < exp((after - before) / heat);
}

static emp_status anneal(hunt *h, int32_t ops, emp_error *err)
{
    emp_adversary_instance here, next;
    double                 step_s[2], here_log = -INFINITY;

    for (int i = 0; i < FIRST && !has_ended(h); i++) {
        draw_instance(&next, ops, &h->rng);
        EMP_CHECK(score(step_s, h, &next, err));
        keep_best(h, &next, step_s);
        if (i > 0 && log_ratio(step_s) <= here_log) continue;
        here = next;
        here_log = log_ratio(step_s);
    }
    while (!has_ended(h)) {
        next = here;
        for (int k = 0; k == 0 || emp_rng_below(&h->rng, 2) == 0; k++)
            change(&next, &h->rng);
        EMP_CHECK(score(step_s, h, &next, err));
        keep_best(h, &next, step_s);
        if (!is_taken(h, here_log, log_ratio(step_s))) continue;
        here = next;
        here_log = log_ratio(step_s);
    }
    return EMP_OK;
}

static emp_status check(const emp_adversary_params *p, int32_t ops, emp_error *err)
{
    if (ops < 2 || ops > EMP_ADVERSARY_OPS)
        return EMP_ERROR(EMP_EINVAL, "%d ops; give 2 to %d", ops, EMP_ADVERSARY_OPS);
    if (p->seed_count < 1 || p->seed_count > EMP_ADVERSARY_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_ADVERSARY_SEEDS);
    if (p->trials < 1)
        return EMP_ERROR(EMP_EINVAL, "%d trials; give 1 or more", p->trials);
    return EMP_OK;
}

emp_status emp_adversary_search(emp_adversary_found        *out,
                                const emp_adversary_params *params, int32_t op_count,
                                const emp_machine *machine, emp_error *err)
{
    hunt h = {.params = params, .machine = machine, .out = out};

    *out = (emp_adversary_found){.ratio = NAN};
    EMP_CHECK(check(params, op_count, err));
    emp_rng_init(&h.rng, params->seed, (uint32_t)op_count,
                 (uint32_t)machine->device_count);
    EMP_CHECK(anneal(&h, op_count, err));
    return emp_stop_is_set(params->stop) ? EMP_EINTERRUPTED : EMP_OK;
}

/* ---- the file ---- */

static void print_seconds(FILE *stream, int64_t ns)
{
    const int64_t second = 1000000000;

    fprintf(stream, "%" PRId64 ".%09" PRId64, ns / second, ns % second);
}

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const emp_adversary_instance *a = what;
    const char                   *comma = "";

    fputs("{\"format\": \"emplace-ops-1\",\n \"ops\": [", stream);
    for (int32_t op = 0; op < a->op_count; op++) {
        fprintf(stream, "%s\n  {\"name\": \"op%d\", \"gpu_s\": ", op == 0 ? "" : ",", op);
        print_seconds(stream, a->op[op].gpu_ns);
        fputs(", \"cpu_s\": ", stream);
        print_seconds(stream, a->op[op].cpu_ns);
        fprintf(stream, ", \"output_bytes\": %" PRId64 "}", a->op[op].bytes);
    }
    fputs("],\n \"edges\": [", stream);
    for (int32_t op = 0; op < a->op_count; op++)
        for (int32_t from = 0; from < op; from++) {
            if (!a->reads[op][from]) continue;
            fprintf(stream, "%s[\"op%d\", \"op%d\"]", comma, from, op);
            comma = ", ";
        }
    fputs("]}\n", stream);
    return ferror(stream) ? EMP_ERROR(EMP_EIO, "cannot write the instance") : EMP_OK;
}

emp_status emp_adversary_save(const char *path, const emp_adversary_found *found,
                              emp_error *err)
{
    return emp_atomic_file_write(path, print, &found->instance, err);
}
