// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/bounds.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "sim/bounds/inside.h"
#include "sim/bounds/paths/drain.h"
#include "sim/bounds/paths/path.h"
#include "sim/bounds/queue.h"
#include "sim/bounds/why.h"

/* Bounds that hold for every placement that takes at most a given time. Fixed cost of the step
 * excluded. */
typedef struct {
    emp_time_ns path_ns, joined_ns, drained_ns, area_ns, class_ns, window_ns, queue_ns;
    bool        is_infeasible;
} bound_facts;

enum { ROUNDS = 4, JOINED_ROUNDS = 2 };
/* That end at an op, at effort 0. */
enum { SEGMENTS = 1 };

/* How many of the ops before one joins look at. */
static int32_t near_of(int32_t effort) { return 10 << 2 * effort; }

/* Whether drains count both readers of a tensor wherever they are, and lengthen tails, too. */
static bool is_thorough(int32_t effort) { return effort >= EMP_BOUNDS_MOST_EFFORT; }

typedef struct {
    emp_bound_model
        model; /**< its ops are ours, and, if joins are tried again, its floors and links */
    int32_t
        effort; /**< of joins and segments for every time that is tried; 0 = those of the model */
    emp_bound_op   *op; /**< [op] of the model */
    emp_bound_paths paths;
    emp_area_item  *of_class, *of_op;
    emp_area_table  classes; /**< of_class; where each may be is of the last facts */
    emp_time_ns     target_ns;
    /* The facts about the best bound, if asked for, and the last facts. */
    emp_bounds_why  *why;
    emp_area         area;
    emp_window_proof window;
    emp_queue_proof  queue;
    double          *queue_work; /* [op] */
    emp_bound_op    *op_before;  /* [op] before the last kinds were taken */
    /** [op][kind] the longest path through it, before a time is tried; 0 where it may not be */
    emp_time_ns (*through_ns)[EMP_DEVICE_KINDS];
    emp_time_ns most_through_ns;
} search;

/* One for all bounds of a problem. \a has_why: it is asked for. */
static emp_status search_init(search *s, const emp_bound_model *model, bool has_why,
                              emp_error *err)
{
    const emp_graph *g = model->problem->graph;
    const size_t     ops = (size_t)g->op_count;

    *s = (search){0};
    EMP_CHECK(EMP_ALLOC(s->op, ops));
    EMP_CHECK(EMP_ALLOC(s->of_class, (size_t)g->class_count));
    EMP_CHECK(EMP_ALLOC(s->through_ns, ops));
    EMP_CHECK(emp_area_table_init(&s->classes, g->class_count, true, err));
    emp_bound_sum_classes(model, s->of_class);
    for (int32_t c = 0; c < g->class_count; c++)
        emp_area_table_set(&s->classes, c, &s->of_class[c]);
    if (has_why) EMP_CHECK(EMP_ALLOC(s->of_op, ops));
    if (has_why) EMP_CHECK(EMP_ALLOC(s->op_before, ops));
    if (has_why) EMP_CHECK(EMP_ALLOC(s->queue_work, ops));
    return emp_bound_paths_init(&s->paths, model, err);
}

/* Takes the ops of a model as they are. \param why  NULL is allowed. */
static void search_take(search *s, const emp_bound_model *model, emp_bounds_why *why)
{
    s->model = *model;
    s->model.op = s->op;
    memcpy(s->op, model->op, (size_t)model->problem->graph->op_count * sizeof *s->op);
    s->target_ns = EMP_COST_LIMIT_NS;
    s->why = why;
}

/* Joins and segments are tried again for every time. */
static emp_status search_join_again(search *s, int32_t effort, emp_error *err)
{
    const int32_t ops = s->model.problem->graph->op_count;

    s->effort = effort;
    s->model.floor = NULL;
    s->model.links = NULL;
    return EMP_ALLOC(s->model.floor, (size_t)ops);
}

static void search_join_no_more(search *s)
{
    if (s->effort == 0) return;
    emp_free(s->model.floor);
    emp_bound_links_clear(s->model.links);
    s->effort = 0;
}

static void search_clear(search *s)
{
    emp_free(s->op);
    emp_free(s->op_before);
    emp_free(s->queue_work);
    emp_free(s->of_class);
    emp_free(s->of_op);
    emp_free(s->through_ns);
    emp_area_table_clear(&s->classes);
    emp_bound_paths_clear(&s->paths);
}

/* Where the op may not be, 0. */
static emp_time_ns through(const search *s, emp_op_id op, int32_t kind)
{
    return emp_bound_may(&s->model.op[op], kind)
               ? emp_bound_paths_through(&s->paths, op, kind)
               : 0;
}

/* Notes the longest paths before a time is tried. All paths of the model are found. */
static void find_through(search *s)
{
    const int32_t ops = s->model.problem->graph->op_count;

    s->most_through_ns = 0;
    if (!s->model.has_paths) return;
    for (emp_op_id op = 0; op < ops; op++) {
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            s->through_ns[op][k] = through(s, op, k);
            s->most_through_ns = emp_time_later(s->most_through_ns, s->through_ns[op][k]);
        }
    }
}

/* An op that has no kind left; -1: all have one. */
static emp_op_id find_lost(const search *s)
{
    const emp_graph *g = s->model.problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && s->model.op[op].kinds == 0) return op;
    return -1;
}

/* Notes what has proven a bound, if that is asked. */
static emp_status note(search *s, emp_bound_lemma lemma, emp_time_ns bound_ns,
                       emp_error *err)
{
    emp_bound_model    model = s->model;
    emp_bound_evidence evidence = {.model = &model,
                                   .paths = &s->paths,
                                   .of_class = s->of_class,
                                   .of_op = s->of_op,
                                   .area = &s->area,
                                   .window = &s->window,
                                   .queue = &s->queue,
                                   .queue_work = s->queue_work,
                                   .lost = -1};

    if (s->why == NULL) return EMP_OK;
    if (lemma == EMP_BOUND_BY_PATH) evidence.lost = find_lost(s);
    if (evidence.lost >= 0) model.op = s->op_before;
    EMP_CHECK(emp_bounds_why_take(s->why, &evidence, lemma, err));
    EMP_CHECK(emp_proof_copy(&s->why->proof, s->model.proof, err));
    s->why->is_refuted = s->target_ns < EMP_COST_LIMIT_NS;
    s->why->bound_ns = bound_ns;
    return EMP_OK;
}

/* Notes the lemma that the facts make the highest bound, as far as it is above a time. */
static emp_status note_facts(search *s, const bound_facts *facts, emp_time_ns above_ns,
                             emp_error *err)
{
    const emp_time_ns value_ns[] = {
        [EMP_BOUND_BY_NONE] = above_ns,           [EMP_BOUND_BY_PATH] = facts->drained_ns,
        [EMP_BOUND_BY_AREA] = facts->area_ns,     [EMP_BOUND_BY_CLASS] = facts->class_ns,
        [EMP_BOUND_BY_WINDOW] = facts->window_ns, [EMP_BOUND_BY_QUEUE] = facts->queue_ns};
    emp_bound_lemma most = EMP_BOUND_BY_NONE;

    if (facts->is_infeasible) return note(s, EMP_BOUND_BY_MEMORY, s->target_ns + 1, err);
    for (emp_bound_lemma i = EMP_BOUND_BY_PATH; i <= EMP_BOUND_BY_QUEUE; i++)
        if (value_ns[i] > value_ns[most]) most = i;
    if (most == EMP_BOUND_BY_NONE) return EMP_OK;
    return note(s, most,
                s->target_ns < EMP_COST_LIMIT_NS ? s->target_ns + 1 : value_ns[most],
                err);
}

/* Takes kinds from ops whose paths are too long. \a is_first: in a try, so that paths are known. \a is_lost: an op has
 * none left. */
static bool restrict_by_paths(search *s, bool is_first, bool *is_lost)
{
    const size_t ops = (size_t)s->model.problem->graph->op_count;
    bool         has_changed = false;

    if (!s->model.has_paths) return false;
    if (!is_first || s->why != NULL) emp_bound_paths_find(&s->paths, &s->model);
    if (s->why != NULL) memcpy(s->op_before, s->model.op, ops * sizeof *s->op_before);
    for (emp_op_id op = 0; op < (emp_op_id)ops; op++) {
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            const emp_time_ns ns = is_first ? s->through_ns[op][k] : through(s, op, k);
            if (ns <= s->target_ns) continue;
            s->model.op[op].kinds &= ~(1u << k);
            has_changed = true;
        }
    }
    *is_lost = has_changed && !emp_bound_restrict(&s->model, s->of_class);
    return has_changed;
}

/* Raises the floors of the model by what holds with exceptions, of which the loss is taken off. */
static emp_status drain(emp_bound_model *model, emp_bound_paths *paths,
                        const emp_bound_drains *drains, int32_t near,
                        emp_time_ns *drained_ns, emp_error *err)
{
    emp_status       st = EMP_OK;
    const size_t     ops = (size_t)model->problem->graph->op_count;
    emp_bound_floor *joined = model->floor;

    EMP_TRY(EMP_ALLOC(model->floor, ops));
    emp_proof_add(model->proof, (emp_proof_step){.rule = EMP_PROOF_EXCEPTIONS});
    EMP_TRY(emp_bound_join(model, paths, drains, joined, near, err));
    *drained_ns =
        emp_time_later(0, emp_bound_paths_longest(paths, model) - drains->loss_ns);
    for (size_t v = 0; v < ops; v++) {
        const emp_bound_floor *most = &model->floor[v];
        joined[v].ready_ns =
            emp_time_later(joined[v].ready_ns, most->ready_ns - drains->loss_ns);
        joined[v].queued_ns =
            emp_time_later(joined[v].queued_ns, most->queued_ns - drains->loss_ns);
    }

cleanup:
    emp_free(model->floor);
    model->floor = joined;
    return st;
}

/* Raises the floors of the model by joins and drains, and finds all paths. Adds to facts. Floors change no tails. */
static emp_status raise_heads(emp_bound_model *model, emp_bound_paths *paths,
                              int32_t effort, bound_facts *facts, emp_error *err)
{
    emp_status       st = EMP_OK;
    const int32_t    near = near_of(effort);
    emp_bound_drains drains = {0};

    emp_bound_paths_find(paths, model);
    facts->path_ns = facts->joined_ns = facts->drained_ns =
        emp_bound_paths_longest(paths, model);
    emp_proof_add(model->proof, (emp_proof_step){.rule = EMP_PROOF_SWEEP});
    EMP_TRY(emp_bound_drains_init(&drains, model, paths, is_thorough(effort), err));
    if (is_thorough(effort)) {
        EMP_TRY(emp_bound_drains_link(&drains, model, err));
        emp_bound_paths_find(paths, model);
    }
    EMP_TRY(emp_bound_join(model, paths, &drains, NULL, near, err));
    facts->joined_ns = facts->drained_ns = emp_bound_paths_longest(paths, model);
    if (emp_bound_drains_have_exceptions(&drains)) {
        EMP_TRY(drain(model, paths, &drains, near, &facts->drained_ns, err));
        emp_bound_paths_find_all_heads(paths, model);
    }
    facts->drained_ns = emp_time_later(facts->drained_ns, facts->joined_ns);

cleanup:
    emp_bound_drains_clear(&drains);
    return st;
}

/* All bounds for the kinds that are left. */
static emp_status find_facts(search *s, bound_facts *facts, emp_error *err)
{
    emp_area         *area = &s->area;
    double            window_ns = 0.0;
    const emp_time_ns enough_ns = s->target_ns;

    *facts = (bound_facts){0};
    for (int32_t c = 0; c < s->classes.count; c++)
        emp_area_table_bar(&s->classes, c, s->of_class[c].kinds);
    if (s->model.has_paths)
        facts->drained_ns = emp_bound_paths_longest(&s->paths, &s->model);
    facts->class_ns = emp_bound_longest_class(&s->model, s->of_class);
    EMP_CHECK(emp_area_solve(area, &s->classes, s->model.capacity, 1e-5,
                             s->why == NULL ? (double)enough_ns : INFINITY, err));
    facts->area_ns = (emp_time_ns)ceil(area->value);
    facts->is_infeasible = area->is_infeasible;
    if (!s->model.has_paths || facts->is_infeasible || facts->area_ns > enough_ns)
        return EMP_OK;
    EMP_CHECK(emp_bound_window(&window_ns, s->why != NULL ? &s->window : NULL, s->of_op,
                               &s->model, &s->paths, facts->drained_ns, area->price,
                               (double)enough_ns, err));
    facts->window_ns = (emp_time_ns)ceil(window_ns);
    return EMP_OK;
}

/* \param is_first  In a try. \param[out] is_lost  An op has no kind left. \return whether any kind is taken. */
static bool take_kinds(search *s, bool is_first, bool *is_lost)
{
    bool has_any = false;

    *is_lost = false;
    for (int32_t i = 0; i < ROUNDS && !*is_lost; i++) {
        if (!restrict_by_paths(s, is_first && i == 0, is_lost)) return has_any;
        has_any = true;
    }
    if (s->model.has_paths && !*is_lost) emp_bound_paths_find(&s->paths, &s->model);
    return has_any;
}

/* As the model is. */
static emp_status begin_try(search *s, const emp_bound_model *model, emp_error *err)
{
    const int32_t ops = model->problem->graph->op_count;

    memcpy(s->model.op, model->op, (size_t)ops * sizeof *model->op);
    if (s->effort == 0) return EMP_OK;
    memcpy(s->model.floor, model->floor, (size_t)ops * sizeof *model->floor);
    emp_bound_links_clear(s->model.links);
    return emp_bound_links_init(&s->model.links, ops, err);
}

/* Joins, drains and segments for the kinds that are left. */
static emp_status join_again(search *s, emp_error *err)
{
    bound_facts paths = {0};

    EMP_CHECK(raise_heads(&s->model, &s->paths, s->effort, &paths, err));
    return emp_bound_segments(&s->model, &s->paths, near_of(s->effort),
                              SEGMENTS << s->effort, err);
}

/* Whether no placement takes at most that long. All classes of the model have a kind. */
static emp_status try_time(search *s, const emp_bound_model *model, emp_time_ns target_ns,
                           bool *is_refuted, emp_error *err)
{
    const emp_proof_step limit = {.rule = EMP_PROOF_LIMIT, .ns = target_ns};
    bound_facts          facts;
    bool                 is_lost = false, has_changed = true;

    s->target_ns = target_ns;
    *is_refuted = s->most_through_ns > target_ns; /* else all bounds are as they were */
    if (!*is_refuted) return EMP_OK;
    EMP_CHECK(begin_try(s, model, err));
    emp_proof_add(model->proof, limit);
    (void)take_kinds(s, true, &is_lost);
    if (is_lost) return note(s, EMP_BOUND_BY_PATH, target_ns + 1, err);
    for (int32_t i = 0; i < JOINED_ROUNDS && s->effort > 0 && has_changed; i++) {
        EMP_CHECK(join_again(s, err));
        emp_proof_add(model->proof, limit);
        has_changed = take_kinds(s, false, &is_lost);
        if (is_lost) return note(s, EMP_BOUND_BY_PATH, target_ns + 1, err);
    }
    EMP_CHECK(find_facts(s, &facts, err));
    *is_refuted = facts.is_infeasible || facts.drained_ns > target_ns ||
                  facts.area_ns > target_ns || facts.class_ns > target_ns ||
                  facts.window_ns > target_ns;
    return *is_refuted ? note_facts(s, &facts, target_ns, err) : EMP_OK;
}

/* The bounds that need no guess; the model loses kinds that memory rules out, and gets
 * floors. */
static emp_status find_all_facts(search *s, bound_facts *facts, emp_bound_model *model,
                                 int32_t effort, emp_bounds_why *why, emp_error *err)
{
    bound_facts paths = {0};

    *facts = (bound_facts){0};
    facts->is_infeasible = !emp_bound_restrict(model, s->of_class);
    if (facts->is_infeasible) return EMP_OK;
    search_take(s, model, why);
    if (model->has_paths) EMP_CHECK(raise_heads(model, &s->paths, effort, &paths, err));
    EMP_CHECK(find_facts(s, facts, err));
    facts->path_ns = paths.path_ns;
    facts->joined_ns = paths.joined_ns;
    facts->drained_ns = paths.drained_ns;
    return note_facts(s, facts, 0, err);
}

/* Raises \a least_ns, a bound, as far as times can be refuted: within \a accuracy,
 * relative: the longest time within which a step cannot be done, docs/bounds.md, lemma 5.
 * The paths of the search are those of the model. */
static emp_status raise_bound(search *s, emp_time_ns *least_ns,
                              const emp_bound_model *model, int32_t effort,
                              double accuracy, emp_bounds_why *why, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_time_ns possible_ns = 0; /* not refuted, once it is above 0 */

    search_take(s, model, why);
    find_through(s);
    const emp_proof_mark before = emp_proof_now(model->proof);
    if (effort > EMP_BOUNDS_EFFORT) EMP_TRY(search_join_again(s, effort, err));
    for (;;) {
        emp_time_ns least = *least_ns, step_ns = least / 4 + 1;
        bool        is_refuted = false;
        if (possible_ns > 0) step_ns = (possible_ns - least) / 2;
        if (step_ns <= 0 || (double)step_ns < accuracy * (double)least) break;
        if (least + step_ns >= EMP_COST_LIMIT_NS) break;
        EMP_TRY(try_time(s, model, least + step_ns, &is_refuted, err));
        emp_proof_take_back(model->proof, before);
        if (is_refuted)
            *least_ns = least + step_ns + 1;
        else
            possible_ns = least + step_ns;
    }

cleanup:
    search_join_no_more(s);
    return st;
}

/* ---- bounds ---- */

/* Relative accuracy of the refuted time. */
static const double ACCURACY = 4e-3;

static emp_time_ns highest(const bound_facts *facts)
{
    return emp_time_later(emp_time_later(facts->drained_ns, facts->area_ns),
                          emp_time_later(facts->class_ns, facts->window_ns));
}

static emp_time_ns or_none(emp_time_ns bound_ns, emp_time_ns step_ns)
{
    return bound_ns > 0 ? emp_bound_add(bound_ns, step_ns) : 0;
}

static emp_status refute(search *s, emp_time_ns *best_ns, const emp_bound_model *model,
                         int32_t effort, emp_bounds_why *why, emp_error *err)
{
    const char *before = emp_stage_set("refuting step times");
    emp_status  st = raise_bound(s, best_ns, model, effort, ACCURACY, why, err);

    (void)emp_stage_set(before);
    return st;
}

/* Whether an op may be on a GPU and on a CPU. */
static bool may_leave_gpus(const emp_bound_model *model)
{
    const uint32_t both = EMP_KIND_CPU | EMP_KIND_GPU;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        if ((model->op[op].kinds & both) == both) return true;
    return false;
}

/* Takes the CPU from each op that may be on a GPU, unless the placement has it on a CPU. */
static void keep_gpu_kernels(emp_bound_model *model, const emp_device_id *device_of_op)
{
    const uint32_t     both = EMP_KIND_CPU | EMP_KIND_GPU;
    const emp_problem *p = model->problem;

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        if ((model->op[op].kinds & both) != both) continue;
        if (device_of_op != NULL && !p->graph->op[op].is_folded &&
            p->machine->device[device_of_op[op]].kind == EMP_DEVICE_CPU)
            continue;
        model->op[op].kinds = EMP_KIND_GPU;
    }
}

/* Adds the bound by queues to the others. */
static emp_status find_queue(search *s, const emp_bound_model *model, bound_facts *facts,
                             emp_error *err)
{
    const emp_time_ns known_ns = emp_time_later(
        facts->drained_ns, emp_time_later(facts->area_ns, facts->window_ns));

    if (!model->has_paths) return EMP_OK;
    EMP_CHECK(emp_bound_queue(&s->queue, model, &s->paths, (double)known_ns,
                              s->queue_work, err));
    facts->queue_ns = (emp_time_ns)ceil(s->queue.value);
    return EMP_OK;
}

/* Finds joins, drains and segments. Segments raise heads, so that ops downstream need new floors; this is done at the
 * most effort. Adds to facts. */
static emp_status raise_by_segments(emp_bound_model *model, emp_bound_paths *paths,
                                    int32_t effort, bound_facts *facts, emp_error *err)
{
    EMP_CHECK(raise_heads(model, paths, effort, facts, err));
    EMP_CHECK(emp_bound_segments(model, paths, near_of(effort), SEGMENTS << effort, err));
    if (is_thorough(effort)) return raise_heads(model, paths, effort, facts, err);
    emp_bound_paths_find(paths, model);
    return EMP_OK;
}

/* Raises \a best_ns, a bound over all placements, to one over those that keep GPU kernels off the CPUs; -1 if none
 * of them fits. The floors of the model hold for fewer placements, too. */
static emp_status raise_for_gpu_kernels(search *s, emp_time_ns *best_ns,
                                        emp_bound_model          *model,
                                        const emp_bounds_options *options,
                                        emp_bounds_why *why, emp_error *err)
{
    const emp_time_ns known_ns = *best_ns;
    bound_facts       facts;
    bound_facts       paths = {0};

    *best_ns = -1;
    keep_gpu_kernels(model, options->device_of_op);
    emp_proof_add(model->proof, (emp_proof_step){.rule = EMP_PROOF_ON_GPUS});
    if (!emp_bound_restrict(model, s->of_class)) return EMP_OK;
    search_take(s, model, why);
    if (model->has_paths)
        EMP_CHECK(raise_by_segments(model, &s->paths, options->effort, &paths, err));
    EMP_CHECK(find_facts(s, &facts, err));
    if (facts.is_infeasible) return EMP_OK;
    facts.drained_ns = emp_time_later(facts.drained_ns, paths.drained_ns);
    if (is_thorough(options->effort)) EMP_CHECK(find_queue(s, model, &facts, err));
    EMP_CHECK(note_facts(s, &facts, known_ns, err));
    *best_ns = emp_time_later(emp_time_later(known_ns, highest(&facts)), facts.queue_ns);
    if (options->device_of_op == NULL || *best_ns == 0) return EMP_OK;
    return refute(s, best_ns, model, options->effort, why, err);
}

emp_status emp_bounds_explain(emp_bounds *out, emp_bounds_why *all, emp_bounds_why *gpus,
                              const emp_problem        *problem,
                              const emp_bounds_options *options, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_bound_model model = {0};
    emp_proof       proof = {0};
    search          s = {0};
    bound_facts     facts;
    emp_time_ns     best_ns = 0;

    *out = (emp_bounds){0};
    EMP_TRY(emp_bound_model_init(&model, problem, options->any_order, err));
    if (options->has_proof) model.proof = &proof;
    EMP_TRY(search_init(&s, &model, all != NULL || gpus != NULL, err));
    EMP_TRY(find_all_facts(&s, &facts, &model, options->effort, all, err));
    out->is_infeasible = facts.is_infeasible;
    if (facts.is_infeasible) goto cleanup; /* there is no step to bound */
    best_ns = highest(&facts);
    out->path_ns = or_none(facts.path_ns, model.step_ns);
    out->joined_ns = or_none(facts.joined_ns, model.step_ns);
    out->drained_ns = or_none(facts.drained_ns, model.step_ns);
    out->area_ns = or_none(facts.area_ns, model.step_ns);
    out->class_ns = or_none(facts.class_ns, model.step_ns);
    out->window_ns = or_none(facts.window_ns, model.step_ns);
    if (best_ns > 0) EMP_TRY(refute(&s, &best_ns, &model, options->effort, all, err));
    out->refuted_ns = or_none(best_ns, model.step_ns);
    out->best_ns = emp_bound_add(best_ns, model.step_ns);
    const bool has_choice = may_leave_gpus(&model);
    EMP_TRY(raise_for_gpu_kernels(&s, &best_ns, &model, options, gpus, err));
    if (best_ns >= 0) out->gpu_kernels_ns = emp_bound_add(best_ns, model.step_ns);
    if (!has_choice) out->best_ns = emp_time_later(out->best_ns, out->gpu_kernels_ns);

cleanup:
    search_clear(&s);
    emp_bound_model_clear(&model);
    emp_proof_clear(&proof);
    return st;
}

emp_status emp_bounds_compute(emp_bounds *out, const emp_problem *problem,
                              const emp_bounds_options *options, emp_error *err)
{
    return emp_bounds_explain(out, NULL, NULL, problem, options, err);
}

double emp_bounds_gap(emp_time_ns bound_ns, emp_time_ns step_time_ns)
{
    if (bound_ns <= 0) return 0.0;
    return (double)step_time_ns / (double)bound_ns - 1.0;
}
