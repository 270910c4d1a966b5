// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/exact/exact.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/bounds/bounds.h"
#include "sim/bounds/inside.h"
#include "sim/bounds/paths/drain.h"
#include "sim/engine/sim.h"
#include "sim/exact/relax.h"

enum { NEAR = 160, ROOT_EFFORT = 2, PROBED = 8, TARGETS = 4 };
_Static_assert((int)EMP_EXACT_MOST_DEVICES <= (int)EMP_EXACT_DEVICES, "room of relax.h");

typedef struct {
    const emp_problem *problem;
    emp_sim           *sim;
    emp_bound_model    model;
    emp_relax          relax;
    int32_t           *order; /* classes with ops that run, the heaviest first */
    int32_t            order_count;
    uint32_t         **level;        /* [depth][class] devices */
    uint32_t          *probe;        /* [class] */
    emp_device_id     *trial, *best; /* [op] */
    int64_t            most_nodes;
    const atomic_int  *stop;
    emp_time_ns        target_ns;
    emp_exact_result   result;
} tree;

static emp_device_id lowest(uint32_t mask)
{
    emp_device_id d = 0;

    while (!(mask >> d & 1u)) d++;
    return d;
}

static bool is_fixed(uint32_t mask) { return (mask & (mask - 1u)) == 0; }

/* ---- leaves ---- */

/* Simulates the trial placement, and keeps it if it is the best. */
static emp_status simulate(tree *t, emp_error *err)
{
    const size_t   ops = (size_t)t->problem->graph->op_count;
    emp_sim_result r;

    EMP_CHECK(emp_sim_run(t->sim, t->trial, &r, err));
    t->result.leaves++;
    if (!r.is_feasible || (t->result.best_ns >= 0 && r.step_time_ns >= t->result.best_ns))
        return EMP_OK;
    t->result.best_ns = r.step_time_ns;
    memcpy(t->best, t->trial, ops * sizeof *t->best);
    return EMP_OK;
}

/* Ops of classes that run nowhere are where the first device is. */
static emp_status simulate_permuted(tree *t, const uint32_t *devices,
                                    const emp_device_id *to, emp_error *err)
{
    const emp_graph *g = t->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const uint32_t mask = devices[g->op[op].colocation_class];
        t->trial[op] = mask != 0 ? to[lowest(mask)] : 0;
    }
    return simulate(t, err);
}

/* All permutations of the GPUs among the devices from \a first. */
static emp_status permute(tree *t, const uint32_t *devices, emp_device_id *to,
                          int32_t first, emp_error *err)
{
    const emp_machine *m = t->problem->machine;

    while (first < m->device_count && m->device[first].kind != EMP_DEVICE_GPU) first++;
    if (first == m->device_count) return simulate_permuted(t, devices, to, err);
    for (int32_t d = first; d < m->device_count; d++) {
        if (m->device[d].kind != EMP_DEVICE_GPU) continue;
        const emp_device_id a = to[first], b = to[d];
        to[first] = b;
        to[d] = a;
        EMP_CHECK(permute(t, devices, to, first + 1, err));
        to[first] = a;
        to[d] = b;
    }
    return EMP_OK;
}

static emp_status score_leaf(tree *t, const uint32_t *devices, emp_error *err)
{
    emp_device_id to[EMP_MAX_DEVICES];

    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) to[d] = d;
    return permute(t, devices, to, 0, err);
}

/* ---- nodes ---- */

/* Whether two GPUs are alike in all that the node knows. */
static bool are_alike(const tree *t, const uint32_t *devices, int32_t a, int32_t b)
{
    const emp_device *device = t->problem->machine->device;

    if (device[a].kind != EMP_DEVICE_GPU || device[b].kind != EMP_DEVICE_GPU)
        return false;
    if (device[a].memory_bytes != device[b].memory_bytes) return false;
    for (int32_t i = 0; i < t->order_count; i++) {
        const uint32_t mask = devices[t->order[i]];
        if ((mask >> a & 1u) != (mask >> b & 1u)) return false;
    }
    return true;
}

/* The devices of a class but for those that are like one before them. */
static uint32_t choices(const tree *t, const uint32_t *devices, int32_t class)
{
    uint32_t left = devices[class];

    for (int32_t b = 1; b < t->relax.device_count; b++)
        for (int32_t a = 0; a < b; a++)
            if ((left >> a & 1u) && (left >> b & 1u) && are_alike(t, devices, a, b))
                left &= ~(1u << b);
    return left;
}

/* Whether a step within the target may have this class there. */
static bool is_possible(tree *t, const uint32_t *devices, int32_t class, int32_t device)
{
    memcpy(t->probe, devices, (size_t)t->relax.class_count * sizeof *devices);
    t->probe[class] = 1u << device;
    t->result.nodes++;
    return emp_relax_propagate(&t->relax, t->probe, t->target_ns);
}

/* Takes from the heaviest classes the devices where they cannot be, as far as the limit of nodes allows. \return false
 * if one has none left. */
static bool probe(tree *t, uint32_t *devices)
{
    int32_t probed = 0;

    for (int32_t i = 0; i < t->order_count && probed < PROBED; i++) {
        const int32_t class = t->order[i];
        if (is_fixed(devices[class])) continue;
        const uint32_t tried = choices(t, devices, class), before = devices[class];
        uint32_t       left = before;
        probed++;
        for (int32_t d = 0; d < t->relax.device_count; d++) {
            if (t->result.nodes >= t->most_nodes) return true;
            if (!(tried >> d & 1u) || is_possible(t, devices, class, d)) continue;
            for (int32_t b = d; b < t->relax.device_count; b++)
                if ((before >> b & 1u) && (b == d || are_alike(t, devices, d, b)))
                    left &= ~(1u << b);
        }
        if (left == before) continue;
        devices[class] = left;
        if (left == 0 || !emp_relax_propagate(&t->relax, devices, t->target_ns))
            return false;
    }
    return true;
}

static emp_status open_level(tree *t, int32_t depth, const uint32_t *devices,
                             emp_error *err)
{
    const size_t classes = (size_t)t->relax.class_count;

    if (t->level[depth] == NULL) EMP_CHECK(EMP_ALLOC(t->level[depth], classes));
    memcpy(t->level[depth], devices, classes * sizeof *devices);
    return EMP_OK;
}

/* Tries all placements on these devices. False in \a is_done: the limit was reached. */
static emp_status visit(tree *t, int32_t depth, bool *is_done, emp_error *err)
{
    uint32_t *devices = t->level[depth];
    int32_t   at = 0;

    if (t->result.nodes >= t->most_nodes ||
        (t->stop != NULL && atomic_load(t->stop) != 0)) {
        *is_done = false;
        return EMP_OK;
    }
    t->result.nodes++;
    if (!emp_relax_propagate(&t->relax, devices, t->target_ns) || !probe(t, devices))
        return EMP_OK;
    while (at < t->order_count && is_fixed(devices[t->order[at]])) at++;
    if (at == t->order_count) return score_leaf(t, devices, err);
    const int32_t class = t->order[at];
    for (uint32_t left = choices(t, devices, class); left != 0 && *is_done;
         left &= left - 1u) {
        EMP_CHECK(open_level(t, depth + 1, devices, err));
        t->level[depth + 1][class] = 1u << lowest(left);
        EMP_CHECK(visit(t, depth + 1, is_done, err));
    }
    return EMP_OK;
}

/* ---- all ---- */

static void order_classes(tree *t)
{
    for (int32_t c = 0; c < t->relax.class_count; c++) {
        int32_t at = t->order_count;
        if (t->relax.first[c] == 0) continue;
        for (;
             at > 0 && t->relax.class_weight[t->order[at - 1]] < t->relax.class_weight[c];
             at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = c;
        t->order_count++;
    }
}

/* The model, whose heads have joins and drains that hold of all placements. */
static emp_status prepare_model(tree *t, bool *can_fit, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_bound_paths  paths = {0};
    emp_bound_drains drains = {0};
    emp_area_item   *item = NULL;

    EMP_TRY(emp_bound_model_init(&t->model, t->problem, false, err));
    EMP_TRY(EMP_ALLOC(item, (size_t)t->problem->graph->class_count));
    emp_bound_sum_classes(&t->model, item);
    *can_fit = emp_bound_restrict(&t->model, item);
    if (!*can_fit) goto cleanup;
    EMP_TRY(emp_bound_paths_init(&paths, &t->model, err));
    emp_bound_paths_find(&paths, &t->model);
    EMP_TRY(emp_bound_drains_init(&drains, &t->model, &paths, false, err));
    EMP_TRY(emp_bound_join(&t->model, &paths, &drains, NULL, NEAR, err));

cleanup:
    emp_free(item);
    emp_bound_drains_clear(&drains);
    emp_bound_paths_clear(&paths);
    return st;
}

static emp_status tree_init(tree *t, bool *can_fit, emp_error *err)
{
    const emp_graph *g = t->problem->graph;
    const size_t     classes = (size_t)g->class_count, ops = (size_t)g->op_count;

    EMP_CHECK(prepare_model(t, can_fit, err));
    EMP_CHECK(emp_relax_init(&t->relax, &t->model, err));
    EMP_CHECK(EMP_ALLOC(t->order, classes));
    EMP_CHECK(EMP_ALLOC(t->level, classes + 1));
    EMP_CHECK(EMP_ALLOC(t->probe, classes));
    EMP_CHECK(EMP_ALLOC(t->trial, ops));
    EMP_CHECK(EMP_ALLOC(t->best, ops));
    order_classes(t);
    return emp_sim_create(&t->sim, t->problem, err);
}

static void tree_clear(tree *t)
{
    const int32_t levels = t->level != NULL ? t->relax.class_count + 1 : 0;

    for (int32_t i = 0; i < levels; i++) emp_free(t->level[i]);
    emp_free(t->level);
    emp_free(t->order);
    emp_free(t->probe);
    emp_free(t->trial);
    emp_free(t->best);
    emp_relax_clear(&t->relax);
    emp_bound_model_clear(&t->model);
    emp_sim_destroy(t->sim);
}

/* The longest time that leaves the gap, without the fixed cost of a step. */
static emp_time_ns last_target(const tree *t, double gap)
{
    const double bound = ceil((double)t->result.best_ns / (1.0 + gap));

    return (emp_time_ns)bound - 1 - t->model.step_ns;
}

static emp_status try_target(tree *t, emp_time_ns target_ns, bool *is_done,
                             emp_error *err)
{
    EMP_CHECK(open_level(t, 0, t->relax.first, err));
    t->target_ns = target_ns;
    *is_done = true;
    EMP_CHECK(visit(t, 0, is_done, err));
    if (!*is_done) return EMP_OK;
    const emp_time_ns refuted_ns = target_ns + 1 + t->model.step_ns;
    t->result.bound_ns = emp_time_sooner(refuted_ns, t->result.best_ns);
    return EMP_OK;
}

/* Targets between the bound and the last one. */
static emp_status search(tree *t, double gap, emp_error *err)
{
    bool is_done = true;

    for (int32_t i = 1; i <= TARGETS && is_done; i++) {
        const emp_time_ns known_ns = t->result.bound_ns - 1 - t->model.step_ns;
        const emp_time_ns last_ns = last_target(t, gap);
        if (last_ns <= known_ns) break;
        EMP_CHECK(try_target(t, known_ns + (last_ns - known_ns) / (TARGETS + 1 - i),
                             &is_done, err));
    }
    t->result.is_proven =
        last_target(t, gap) <= t->result.bound_ns - 1 - t->model.step_ns;
    return EMP_OK;
}

static emp_status check_support(const emp_problem *problem, emp_error *err)
{
    const int32_t devices = problem->machine->device_count;

    if (devices > EMP_EXACT_MOST_DEVICES)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "branch and bound takes machines of at most %d devices, and %s "
                         "has %d",
                         EMP_EXACT_MOST_DEVICES, problem->machine->name, devices);
    if (problem->runtime.rules == EMP_RULES_MSR_LOAD)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "branch and bound takes no max-load, whose steps follow no edges");
    if (problem->sequence != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "branch and bound takes no units that follow one another");
    return EMP_OK;
}

emp_status emp_exact_solve(emp_exact_result *out, emp_device_id *device_of_op,
                           const emp_problem *problem, const emp_exact_options *options,
                           emp_error *err)
{
    const size_t ops = (size_t)problem->graph->op_count;
    emp_status   st = EMP_OK;
    emp_bounds   bounds;
    tree         t = {.problem = problem,
                      .most_nodes = options->most_nodes,
                      .stop = options->stop,
                      .result = {.best_ns = -1}};
    bool         can_fit = true;

    EMP_TRY(check_support(problem, err));
    EMP_TRY(emp_bounds_compute(&bounds, problem,
                               &(emp_bounds_options){.effort = ROOT_EFFORT}, err));
    EMP_TRY(tree_init(&t, &can_fit, err));
    t.result.bound_ns = t.result.root_ns = bounds.best_ns;
    for (size_t op = 0; op < ops; op++)
        t.trial[op] = options->start != NULL ? options->start[op]
                                             : problem->machine->device_count > 1;
    if (options->start == NULL) emp_problem_legalize(problem, t.trial);
    EMP_TRY(simulate(&t, err));
    if (t.result.best_ns < 0 || !can_fit)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "branch and bound begins at a placement that fits, and "
                 "this one is out of memory");
    EMP_TRY(search(&t, options->gap, err));
    memcpy(device_of_op, t.best, ops * sizeof *device_of_op);
    *out = t.result;

cleanup:
    tree_clear(&t);
    return st;
}
