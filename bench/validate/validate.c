// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/validate.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "sim/cost/given.h"
#include "sim/engine/sim.h"
#include "sim/surrogate/surrogate.h"

static bool is_in_use(const emp_replay_result *r, int32_t device)
{
    return r->device[device].busy_s > EMP_VALIDATION_IN_USE * r->median_s;
}

static bool is_shared(const emp_replay_result *r)
{
    for (int32_t d = 0; d < r->device_count; d++) {
        for (int32_t e = 0; e < d; e++) {
            if (is_in_use(r, d) && is_in_use(r, e) &&
                strcmp(r->device[d].runs_on, r->device[e].runs_on) == 0)
                return true;
        }
    }
    return false;
}

void emp_validation_case_measured(emp_validation_case *out, const char *name,
                                  const emp_replay_result *measured)
{
    *out = (emp_validation_case){.is_feasible = measured->is_feasible,
                                 .is_shared = is_shared(measured),
                                 .keeps_rates = measured->keeps_rates,
                                 .measured_s = measured->median_s,
                                 .low_s = measured->low_s,
                                 .high_s = measured->high_s,
                                 .device_count = measured->device_count};
    snprintf(out->name, sizeof out->name, "%s", name);
    for (int32_t d = 0; d < measured->device_count; d++) {
        out->busy_s[d] = measured->device[d].busy_s;
        out->peak_bytes[d] = measured->device[d].peak_bytes;
    }
}

void emp_validation_case_predicted(emp_validation_case  *out,
                                   const emp_sim_result *predicted)
{
    out->is_predicted_feasible = predicted->is_feasible;
    out->predicted_s = (double)predicted->step_time_ns * 1e-9;
    for (int32_t d = 0; d < out->device_count; d++) {
        out->predicted_busy_s[d] = (double)predicted->busy_ns[d] * 1e-9;
        out->predicted_peak_bytes[d] = predicted->peak_bytes[d];
    }
}

void emp_validation_case_rescale(emp_validation_case *c, double factor)
{
    c->measured_s *= factor;
    c->low_s *= factor;
    c->high_s *= factor;
    c->scheduled_s *= factor;
    for (int32_t d = 0; d < c->device_count; d++) c->busy_s[d] *= factor;
}

uint64_t emp_validation_hash(const emp_graph *graph, const emp_device_id *device_of_op)
{
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, graph->hash);

    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (!graph->op[op].is_folded)
            hash = emp_hash_u64(hash, (uint64_t)device_of_op[op]);
    return hash;
}

double emp_validation_spread(const emp_validation_case *c)
{
    return c->is_feasible && c->measured_s > 0.0 ? (c->high_s - c->low_s) / c->measured_s
                                                 : 0.0;
}

/* ---- rounds ---- */

/* One value of a placement's rounds, which are every \a stride-th case. */
static double pooled(double *value, const emp_validation_case *cases, int32_t rounds,
                     int32_t stride, size_t offset, double share)
{
    for (int32_t r = 0; r < rounds; r++)
        memcpy(&value[r], (const char *)&cases[r * stride] + offset, sizeof *value);
    return emp_replay_quantile(value, rounds, share);
}

static void pool_devices(emp_validation_case *to, double *value,
                         const emp_validation_case *cases, int32_t rounds, int32_t stride)
{
    const size_t busy = offsetof(emp_validation_case, busy_s);

    for (int32_t d = 0; d < to->device_count; d++) {
        to->busy_s[d] =
            pooled(value, cases, rounds, stride, busy + (size_t)d * sizeof *value, 0.5);
        for (int32_t r = 1; r < rounds; r++)
            if (cases[r * stride].peak_bytes[d] > to->peak_bytes[d])
                to->peak_bytes[d] = cases[r * stride].peak_bytes[d];
    }
}

static void pool_placement(emp_validation_case *to, double *value,
                           const emp_validation_case *cases, int32_t rounds,
                           int32_t stride)
{
    const size_t measured = offsetof(emp_validation_case, measured_s);

    for (int32_t r = 0; r < rounds; r++) {
        to->is_feasible = to->is_feasible && cases[r * stride].is_feasible;
        to->is_shared = to->is_shared || cases[r * stride].is_shared;
    }
    if (!to->is_feasible) return;
    for (int32_t r = 0; r < rounds; r++)
        value[r] = cases[r * stride].scheduled_s / cases[r * stride].measured_s;
    double scheduled = emp_replay_quantile(value, rounds, 0.5);
    to->measured_s = pooled(value, cases, rounds, stride, measured, 0.5);
    to->low_s = pooled(value, cases, rounds, stride, measured, 0.25);
    to->high_s = pooled(value, cases, rounds, stride, measured, 0.75);
    to->scheduled_s = scheduled * to->measured_s;
    pool_devices(to, value, cases, rounds, stride);
}

emp_status emp_validation_pool(double *noise_frac, emp_validation_case *cases,
                               int32_t *count, int32_t placements, emp_error *err)
{
    int32_t pooled_count = *count < placements ? *count : placements, rest = 0;
    int32_t most_rounds = (*count + placements - 1) / placements;
    double  sum = 0.0, *value = NULL;

    *noise_frac = NAN;
    if (*count == 0) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(value, (size_t)most_rounds));
    for (int32_t i = 0; i < pooled_count; i++) {
        int32_t             rounds = (*count - i + placements - 1) / placements;
        emp_validation_case to = cases[i];
        pool_placement(&to, value, &cases[i], rounds, placements);
        for (int32_t r = 0; r < rounds && to.is_feasible && rounds > 1; r++, rest++)
            sum += fabs(cases[i + r * placements].measured_s / to.measured_s - 1.0);
        cases[i] = to;
    }
    *noise_frac = sum / rest; /* NaN of none */
    *count = pooled_count;
    emp_free(value);
    return EMP_OK;
}

/* ---- a summary --------------------------------------------------------------------- */

static bool fits(const emp_validation_case *c)
{
    return c->is_predicted_feasible && c->is_feasible;
}

static bool is_timed(const emp_validation_case *c) { return fits(c) && !c->is_shared; }

static double farther(double a, double b) { return fabs(a) > fabs(b) ? a : b; }

static void compare_pairs(emp_validation_summary *s, const double *predicted,
                          const double *measured)
{
    for (int32_t i = 0; i < s->timed_count; i++) {
        for (int32_t j = 0; j < s->timed_count; j++) {
            if (measured[j] <= (1.0 + EMP_VALIDATION_APART) * measured[i]) continue;
            s->apart_count++;
            s->apart_in_order += predicted[j] > predicted[i];
        }
    }
}

/* Times of the steps that count, and guesses of them; all [timed_count]. */
struct times {
    double *measured, *predicted, *roofline, *copies, *alike;
};

/* Step times of those cases that have both. */
static emp_status collect_times(emp_validation_summary    *s,
                                const emp_validation_case *cases, int32_t count,
                                struct times *t, emp_error *err)
{
    double sum = 0.0, abs_sum = 0.0, roofline_sum = 0.0;

    for (int32_t i = 0; i < count; i++) {
        if (!is_timed(&cases[i])) continue;
        if (!(cases[i].measured_s > 0.0)) {
            char text[EMP_UNITS_TEXT_BYTES];
            return EMP_ERROR(
                EMP_EINVAL, "placement %s: measured %s, which is no step time",
                cases[i].name,
                emp_units_format_seconds(cases[i].measured_s, text, sizeof text));
        }
        int32_t k = s->timed_count++;
        t->measured[k] = cases[i].measured_s;
        t->predicted[k] = cases[i].predicted_s;
        t->roofline[k] = cases[i].roofline_s;
        t->copies[k] = cases[i].copies_s;
        t->alike[k] = 1.0;
        double error = t->predicted[k] / t->measured[k] - 1.0;
        sum += error;
        abs_sum += fabs(error);
        roofline_sum += fabs(t->roofline[k] / t->measured[k] - 1.0);
        s->worst_error_frac = farther(error, s->worst_error_frac);
        s->least_s = fmin(s->least_s, t->measured[k]);
        s->most_s = fmax(s->most_s, t->measured[k]);
    }
    s->mean_abs_error_frac = abs_sum / s->timed_count; /* NaN of none */
    s->bias_frac = sum / s->timed_count;
    s->roofline_error_frac = roofline_sum / s->timed_count;
    s->constant_s =
        emp_guess_scale(&s->constant_error_frac, t->alike, t->measured, s->timed_count);
    s->scale =
        emp_guess_scale(&s->scaled_error_frac, t->predicted, t->measured, s->timed_count);
    return EMP_OK;
}

static emp_status compare_ranks(emp_validation_summary *s, const struct times *t,
                                emp_error *err)
{
    emp_agreement a;

    s->spearman = s->kendall = s->roofline_spearman = s->copies_spearman = NAN;
    if (s->timed_count < 2) return EMP_OK;
    EMP_CHECK(emp_agreement_of(&a, t->predicted, t->measured, s->timed_count, err));
    s->spearman = a.spearman;
    s->kendall = a.kendall;
    EMP_CHECK(emp_agreement_of(&a, t->roofline, t->measured, s->timed_count, err));
    s->roofline_spearman = a.spearman;
    EMP_CHECK(emp_agreement_of(&a, t->copies, t->measured, s->timed_count, err));
    s->copies_spearman = a.spearman;
    compare_pairs(s, t->predicted, t->measured);
    return EMP_OK;
}

static void compare_shared(emp_validation_summary *s, const emp_validation_case *cases,
                           int32_t count)
{
    double sum = 0.0;

    for (int32_t i = 0; i < count; i++)
        if (fits(&cases[i]) && cases[i].is_shared)
            sum += fabs(cases[i].predicted_s / cases[i].measured_s - 1.0);
    s->shared_error_frac = sum / s->shared_count; /* NaN of none */
}

/* The part of the error that is due to kernels, and the rest. */
static void compare_schedules(emp_validation_summary *s, const emp_validation_case *cases,
                              int32_t count)
{
    double kernel_sum = 0.0, schedule_sum = 0.0, sum = 0.0;

    for (int32_t i = 0; i < count; i++) {
        const emp_validation_case *c = &cases[i];
        if (!is_timed(c) || !(c->scheduled_s > 0.0)) continue;
        double error = c->scheduled_s / c->measured_s - 1.0;
        s->scheduled_count++;
        kernel_sum += fabs(c->predicted_s / c->scheduled_s - 1.0);
        schedule_sum += fabs(error);
        sum += error;
    }
    s->kernel_error_frac = kernel_sum / s->scheduled_count; /* NaN of none */
    s->schedule_error_frac = schedule_sum / s->scheduled_count;
    s->schedule_bias_frac = sum / s->scheduled_count;
}

static void compare_busy(emp_validation_summary *s, const emp_validation_case *cases,
                         int32_t count)
{
    double off_s = 0.0, busy_s = 0.0;

    for (int32_t i = 0; i < count; i++) {
        const emp_validation_case *c = &cases[i];
        for (int32_t d = 0; is_timed(c) && d < c->device_count; d++) {
            off_s += fabs(c->predicted_busy_s[d] - c->busy_s[d]);
            busy_s += c->busy_s[d];
        }
    }
    s->busy_error_frac = off_s / busy_s;
}

static int64_t sum_of_peaks(const emp_validation_case *c)
{
    int64_t sum = 0;

    for (int32_t d = 0; d < c->device_count; d++) sum += c->peak_bytes[d];
    return sum;
}

static void compare_peaks(emp_validation_summary *s, const emp_validation_case *cases,
                          int32_t count)
{
    double  sum = 0.0;
    int32_t peaks = 0;

    for (int32_t i = 0; i < count; i++) {
        const emp_validation_case *c = &cases[i];
        double                     least = EMP_VALIDATION_PEAK * (double)sum_of_peaks(c);
        for (int32_t d = 0; fits(c) && d < c->device_count; d++) {
            double peak = (double)c->peak_bytes[d];
            if (peak <= 0.0 || peak < least) continue;
            double error = (double)c->predicted_peak_bytes[d] / peak - 1.0;
            sum += fabs(error);
            s->worst_peak_error_frac = farther(error, s->worst_peak_error_frac);
            peaks++;
        }
    }
    s->peak_error_frac = sum / peaks;
}

emp_status emp_validation_summarize(emp_validation_summary    *out,
                                    const emp_validation_case *cases, int32_t count,
                                    emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_arrays   arrays = {0};
    size_t       room = (size_t)count;
    struct times t = {
        EMP_ADD_ARRAY(&arrays, double, room), EMP_ADD_ARRAY(&arrays, double, room),
        EMP_ADD_ARRAY(&arrays, double, room), EMP_ADD_ARRAY(&arrays, double, room),
        EMP_ADD_ARRAY(&arrays, double, room)};

    *out = (emp_validation_summary){.least_s = INFINITY, .repeat_error_frac = NAN};
    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "times of %d placements", count);
    for (int32_t i = 0; i < count; i++) {
        bool is_predicted = cases[i].is_predicted_feasible;
        out->both_fit += cases[i].is_feasible && is_predicted;
        out->both_oom += !cases[i].is_feasible && !is_predicted;
        out->missed_oom += !cases[i].is_feasible && is_predicted;
        out->false_oom += cases[i].is_feasible && !is_predicted;
        out->shared_count += fits(&cases[i]) && cases[i].is_shared;
        double spread = emp_validation_spread(&cases[i]);
        out->unsteady_count += spread > EMP_VALIDATION_SPREAD;
        out->worst_spread = fmax(out->worst_spread, spread);
    }
    EMP_TRY(collect_times(out, cases, count, &t, err));
    EMP_TRY(compare_ranks(out, &t, err));
    if (out->timed_count == 0) out->least_s = out->most_s = NAN;
    compare_shared(out, cases, count);
    compare_schedules(out, cases, count);
    compare_busy(out, cases, count);
    compare_peaks(out, cases, count);

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

/* ---- types of ops ------------------------------------------------------------------ */

/* The entry of a type; the last one takes all for which there is no room. */
static emp_validation_type *find_type(emp_validation_types *types, const char *name)
{
    for (int32_t i = 0; i < types->count; i++)
        if (strcmp(types->type[i].type, name) == 0) return &types->type[i];
    if (types->count == EMP_VALIDATION_TYPES) return &types->type[types->count - 1];
    emp_validation_type *type = &types->type[types->count++];
    snprintf(type->type, sizeof type->type, "%s",
             types->count == EMP_VALIDATION_TYPES ? "(others)" : name);
    return type;
}

static double predicted_op_s(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    return 1e-9 * (double)emp_problem_op_time_ns(p, op, device);
}

emp_status emp_validation_add_ops(emp_validation_types *types, const emp_problem *problem,
                                  const emp_device_id     *device_of_op,
                                  const emp_replay_result *measured, double factor,
                                  emp_error *err)
{
    const emp_graph *g = problem->graph;
    int32_t          at = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) at += !g->op[op].is_folded;
    if (at != measured->op_count)
        return EMP_ERROR(EMP_EINVAL, "a result of %d ops; the step has %d",
                         measured->op_count, at);
    at = 0;
    for (int32_t i = 0; i < g->op_count; i++) { /* plans have the topological order */
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        double seconds = (double)measured->op_s[at++];
        if (seconds <= 0.0) continue;
        emp_validation_type *type = find_type(types, g->type_name[g->type[op]]);
        type->count++;
        type->measured_s += factor * seconds;
        type->predicted_s += predicted_op_s(problem, op, device_of_op[op]);
    }
    return EMP_OK;
}

static int compare_types(const void *a, const void *b)
{
    const emp_validation_type *x = a, *y = b;

    if (x->measured_s != y->measured_s) return x->measured_s < y->measured_s ? 1 : -1;
    return strcmp(x->type, y->type);
}

void emp_validation_sort_types(emp_validation_types *types)
{
    qsort(types->type, (size_t)types->count, sizeof *types->type, compare_types);
}

/* ---- guesses ---- */

double emp_guess_scale(double *error_frac, const double *guess_s,
                       const double *measured_s, int32_t count)
{
    double best = NAN;

    *error_frac = NAN;
    for (int32_t i = 0; i < count; i++) {
        const double scale = measured_s[i] / guess_s[i];
        double       sum = 0.0;
        for (int32_t k = 0; k < count; k++)
            sum += fabs(scale * guess_s[k] / measured_s[k] - 1.0);
        if (sum / count >= *error_frac) continue; /* NaN is not below */
        *error_frac = sum / count;
        best = scale;
    }
    return best;
}

double emp_guess_roofline_s(const emp_problem *problem, const emp_device_id *device_of_op)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    double             busy_s[EMP_MAX_DEVICES] = {0}, longest_s = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_op_cost *c = g->op[op].cost;
        const emp_device  *d = &m->device[device_of_op[op]];
        if (g->op[op].is_folded || c->op_class == EMP_OP_KERNELLESS) continue;
        busy_s[device_of_op[op]] +=
            c->flops / d->peak_flops_per_s +
            ((double)c->bytes_read + (double)c->bytes_written) / d->memory_bytes_per_s;
    }
    for (int32_t d = 0; d < m->device_count; d++) longest_s = fmax(longest_s, busy_s[d]);
    return longest_s;
}

double emp_guess_copies_s(const emp_replay_plan *plan)
{
    double sum_s = 0.0;

    for (int32_t c = 0; c < plan->copy_count; c++) {
        const emp_replay_copy  *copy = &plan->copy[c];
        int32_t                 from = emp_replay_memory_of_place(plan, copy->tensor);
        const emp_replay_route *route =
            &plan->route[from * plan->device_count + copy->to];
        sum_s += route->latency_s;
        if (route->bytes_per_s > 0.0) sum_s += (double)copy->bytes / route->bytes_per_s;
    }
    return sum_s;
}

/* ---- kernels or their schedule ---- */

/* The time of an op on a device beside its kernel, which the cost on that device has and a measured kernel has
 * not: the work of a group of cores that stands for a GPU. A cost on a CPU gets it from the runtime. */
static double overhead_s(const emp_machine *machine, emp_device_id device)
{
    const emp_device *d = &machine->device[device];

    return d->kind == EMP_DEVICE_GPU && d->has_core ? d->core.op_s : 0.0;
}

/* Times of ops are medians, times of devices are means: where something else took the cores now and then, each op's
 * median lacks it. So ops that are too short together for what their device was busy become longer. */
static double stretch(const emp_problem *p, const emp_device_id *device_of_op,
                      const emp_replay_result *measured, emp_device_id device)
{
    const emp_graph *g = p->graph;
    double           sum_s = 0.0;
    int32_t          at = 0;

    for (int32_t i = 0; i < g->op_count && at < measured->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        double seconds = (double)measured->op_s[at++];
        if (device_of_op[op] == device && seconds > 0.0) sum_s += seconds;
    }
    return sum_s > 0.0 ? fmax(1.0, measured->device[device].busy_s / sum_s) : 1.0;
}

/* The times of ops that were timed, in the order of the plan, which is the graph's without folded ops.
 * \return their number, or -1: the result is of another step. */
static int32_t list_times(emp_given_time *time, const emp_problem *p,
                          const emp_device_id     *device_of_op,
                          const emp_replay_result *measured)
{
    const emp_graph *g = p->graph;
    int32_t          at = 0, count = 0;
    double           factor[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < p->machine->device_count; d++)
        factor[d] = stretch(p, device_of_op, measured, d);
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        if (at == measured->op_count) return -1;
        double seconds = (double)measured->op_s[at++];
        if (seconds <= 0.0) continue;
        seconds =
            seconds * factor[device_of_op[op]] + overhead_s(p->machine, device_of_op[op]);
        time[count++] = (emp_given_time){g->name[op], strlen(g->name[op]),
                                         device_of_op[op], 1e6 * seconds};
    }
    return at == measured->op_count ? count : -1;
}

static emp_status simulate(double *step_s, const emp_problem *problem,
                           const emp_device_id *device_of_op, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_sim_result result;

    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
    if (result.is_feasible) *step_s = 1e-9 * (double)result.step_time_ns;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

emp_status emp_validation_schedule(double *step_s, const emp_problem *problem,
                                   const emp_device_id     *device_of_op,
                                   const emp_replay_result *measured, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_problem    *own = NULL;
    emp_given_time *time = NULL;
    emp_given_costs given;

    *step_s = NAN;
    if (!measured->is_feasible) goto cleanup;
    EMP_TRY(EMP_ALLOC(time, (size_t)problem->graph->op_count));
    int32_t count = list_times(time, problem, device_of_op, measured);
    if (count < 0)
        EMP_FAIL(EMP_EINVAL, "a result of %d ops, which is not of this step",
                 measured->op_count);
    if (count == 0) goto cleanup;
    EMP_TRY(emp_problem_create(&own, problem->graph, problem->given, &problem->runtime,
                               problem->workload, err));
    EMP_TRY(emp_given_times_apply(&given, own->costs, own->graph, own->machine,
                                  &own->runtime, time, count, "the measured step", err));
    EMP_TRY(simulate(step_s, own, device_of_op, err));

cleanup:
    emp_problem_destroy(own);
    emp_free(time);
    return st;
}
