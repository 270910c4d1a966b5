// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/drain.h"

#include <string.h>

#include "base/mem.h"

/* A group that is on the longest path so often pays in any case. */
enum { LEAST_DRAINS = 2 };
/* Ops that are looked at for one that read a tensor before. */
enum { NEAR = 64 };

static const int32_t cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;

/* `from` makes a tensor that `first` and `second` read; `to` reads what `first` makes, and
 * waits for `second`. */
typedef struct {
    const emp_bound_edge *to_first, *to_second, *onward;
    emp_tensor_id         other; /**< what `first` reads besides; -1 = nothing */
} fork;

/* ---- what is one ---- */

static bool is_in_gpu_memory(const emp_bound_edge *edge)
{
    return !emp_bound_is_control(edge) && !edge->is_on_host && !edge->is_read_on_host;
}

/* Whether an op reads the tensor in GPU memory and at most one more, which is returned in \a other. */
static bool reads_one_more(const emp_bound_model *model, emp_op_id op,
                           emp_tensor_id tensor, emp_tensor_id *other)
{
    const emp_graph *g = model->problem->graph;

    *other = -1;
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (!g->op[g->control[i]].is_folded) return false;
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        if (g->op[g->tensor[g->input[i]].producer].is_folded) continue;
        if (emp_op_reads_on_host(&g->op[op], i - g->input_offset[op]))
            return false; /* a copy that it waits for, or arrivals in two memories */
        if (g->input[i] == tensor) continue;
        if (*other >= 0 && *other != g->input[i]) return false;
        *other = g->input[i];
    }
    return true;
}

/* The edge by which an op reads a tensor in GPU memory, or NULL. */
static const emp_bound_edge *find_reading(const emp_bound_model *model, emp_op_id op,
                                          emp_tensor_id tensor)
{
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(model, op); edge < end; edge++)
        if (edge->tensor == tensor) return is_in_gpu_memory(edge) ? edge : NULL;
    return NULL;
}

static bool find_fork(const emp_bound_model *model, const emp_bound_edge *onward,
                      emp_op_id second, fork *f)
{
    const emp_graph *g = model->problem->graph;
    const emp_op_id  first = onward->from;

    if (second == first || g->op[second].is_folded) return false;
    for (int32_t i = g->input_offset[first]; i < g->input_offset[first + 1]; i++) {
        *f = (fork){.onward = onward,
                    .to_first = find_reading(model, first, g->input[i]),
                    .to_second = find_reading(model, second, g->input[i])};
        if (f->to_first != NULL && f->to_second != NULL &&
            reads_one_more(model, first, g->input[i], &f->other))
            return true;
    }
    return false;
}

/* ---- what is there before ---- */

/* Whether an op that reads the tensor in GPU memory is before another by tensors in GPU memory, all on GPUs.
 * Looks at the nearest few. */
static bool is_read_before(const emp_bound_model *model, emp_tensor_id tensor,
                           emp_op_id op)
{
    emp_op_id near[NEAR] = {op};
    int32_t   count = 1;

    for (int32_t i = 0; i < count; i++) {
        const emp_bound_edge *end = emp_bound_first_edge(model, near[i] + 1);
        if (find_reading(model, near[i], tensor) != NULL) return true;
        for (const emp_bound_edge *edge = emp_bound_first_edge(model, near[i]);
             edge < end && count < NEAR; edge++) {
            bool is_new =
                is_in_gpu_memory(edge) && emp_bound_is_on_gpu(model, edge->from);
            for (int32_t j = 0; j < count && is_new; j++) is_new = near[j] != edge->from;
            if (is_new) near[count++] = edge->from;
        }
    }
    return false;
}

/* Whether what a reader of the tensor reads besides is in its memory for sure when `from` is told, with both on one of
 * two GPUs: an op f before `from` reads it. If f is on the same GPU it was there for f. If not, and it is made on f's GPU, its
 * copy is sent before f is told, so before all that f leads to is copied on the same stream. */
static bool is_there_before(const emp_bound_model *model, const emp_bound_edge *reading,
                            emp_tensor_id other)
{
    const emp_op_id from = reading->from;
    const emp_op_id maker = model->problem->graph->tensor[other].producer;

    return model->count[gpu] <= 2 &&
           emp_runtime_events_of(&model->problem->runtime)->copy_streams &&
           emp_bound_is_on_gpu(model, from) && emp_bound_is_on_gpu(model, maker) &&
           find_reading(model, reading->to, other) != NULL &&
           is_read_before(model, other, from);
}

/* Whether the second has all but the tensor for sure when `from` is told, with both on one GPU, and is issued there
 * before anything that comes later. */
static bool is_second_at_once(const emp_bound_model *model, const fork *f)
{
    const emp_bound_edge *reading = f->to_second;
    emp_tensor_id         other;

    return !model->any_order &&
           reads_one_more(model, reading->to, reading->tensor, &other) &&
           (other < 0 || is_there_before(model, reading, other));
}

/* ---- how long it takes ---- */

/* From when the tensor is done, or in host memory told, until it is where it is read. */
static emp_time_ns cross(const emp_bound_edge *edge, int32_t from, int32_t to)
{
    const emp_bound_delay d = emp_bound_delay_of(edge, from, to, EMP_BOUND_APART);

    return from == gpu ? emp_time_later(d.after_done_ns, 0) : d.after_told_ns;
}

static emp_time_ns message(const emp_bound_model *model)
{
    emp_time_ns least =
        emp_time_sooner(model->message_ns[cpu][gpu], model->message_ns[gpu][cpu]);

    if (model->count[gpu] > 1)
        least = emp_time_sooner(least, model->message_ns[gpu][gpu]);
    return emp_runtime_events_of(&model->problem->runtime)->control_latency ? least : 0;
}

/* Until the second is told to `to`, with `to` on the GPU of `from` and the second elsewhere. */
static emp_time_ns around(const emp_bound_model *model, const fork *f)
{
    const emp_bound_op *second = &model->op[f->to_second->to];
    const emp_time_ns   back_ns = message(model) + model->op[f->onward->to].issue_ns;
    emp_time_ns         least_ns = EMP_COST_LIMIT_NS;

    if (emp_bound_may(second, gpu) && model->count[gpu] > 1)
        least_ns = cross(f->to_second, gpu, gpu) + second->issue_ns + back_ns;
    if (emp_bound_may(second, cpu))
        least_ns = emp_time_sooner(least_ns, cross(f->to_second, gpu, cpu) +
                                                 second->run_ns[cpu] + back_ns);
    return least_ns;
}

/* All of first and last on the GPU of `from`; by where the second is. \a is_exception: the copy for a second
 * elsewhere need not wait for the kernels of the first. */
static emp_time_ns with_second(const emp_bound_model *model, const fork *f,
                               bool is_exception)
{
    const emp_bound_op *second = &model->op[f->to_second->to];
    const emp_time_ns   run_ns = model->op[f->to_first->to].run_ns[gpu];
    const emp_time_ns   around_ns = around(model, f);
    const emp_time_ns   elsewhere_ns = is_exception ? emp_time_later(run_ns, around_ns)
                                                    : emp_bound_add(run_ns, around_ns);

    if (!emp_bound_may(second, gpu)) return elsewhere_ns;
    return emp_time_sooner(elsewhere_ns, run_ns + second->run_ns[gpu]);
}

/* First on the CPU, the last on a GPU. */
static emp_time_ns by_cpu(const emp_bound_model *model, const fork *f)
{
    const emp_bound_op *first = &model->op[f->to_first->to];

    if (!emp_bound_may(first, cpu)) return EMP_COST_LIMIT_NS;
    return emp_bound_add(first->run_ns[cpu],
                         cross(f->onward, cpu, gpu) + model->op[f->onward->to].issue_ns);
}

/* The first beside `from`, the last on another GPU, from when the first is done: what the first makes is copied. If the
 * second is beside the first, that copy is sent once both are issued, so it waits for the kernels of both. \a
 * is_exception: as in with_second(). */
static emp_time_ns hop(const emp_bound_model *model, const fork *f, bool is_exception)
{
    const emp_bound_op *second = &model->op[f->to_second->to];
    const emp_time_ns   run_ns = model->op[f->to_first->to].run_ns[gpu];
    const emp_time_ns   onward_ns = cross(f->onward, gpu, gpu);
    emp_time_ns         around_ns = EMP_COST_LIMIT_NS, least_ns = EMP_COST_LIMIT_NS;

    if (emp_bound_may(second, gpu)) {
        around_ns = cross(f->to_second, gpu, gpu) + second->issue_ns;
        least_ns = onward_ns + (is_second_at_once(model, f) ? second->run_ns[gpu] : 0);
    }
    if (emp_bound_may(second, cpu))
        around_ns = emp_time_sooner(around_ns, cross(f->to_second, gpu, cpu) +
                                                   second->run_ns[cpu] + message(model));
    if (is_exception) around_ns = emp_time_later(0, around_ns - run_ns);
    return emp_time_sooner(least_ns, emp_time_later(onward_ns, around_ns));
}

/* The first or the last on another GPU than `from`. */
static emp_time_ns apart(const emp_bound_model *model, const fork *f, bool is_thorough,
                         bool is_exception)
{
    const emp_bound_op *first = &model->op[f->to_first->to];
    const emp_time_ns   onward_ns =
        is_thorough ? hop(model, f, is_exception) : cross(f->onward, gpu, gpu);

    return emp_bound_add(
        first->run_ns[gpu],
        emp_time_sooner(emp_bound_add(onward_ns, model->op[f->onward->to].issue_ns),
                        cross(f->to_first, gpu, gpu) + first->issue_ns));
}

static emp_bound_drain measure(const emp_bound_model *model, const fork *f,
                               bool is_thorough)
{
    const emp_bound_op *first = &model->op[f->to_first->to];
    emp_bound_drain     d = {.from = f->to_first->from,
                             .to = f->onward->to,
                             .first = f->to_first->to,
                             .second = f->to_second->to,
                             .tensor = f->to_first->tensor};
    emp_time_ns         least_ns, exception_ns;

    least_ns = exception_ns = cross(f->to_first, gpu, cpu) + by_cpu(model, f);
    d.after_ns[cpu] = by_cpu(model, f);
    if (emp_bound_may(first, gpu)) {
        const bool any_order = model->any_order;
        least_ns = emp_time_sooner(least_ns, with_second(model, f, any_order));
        exception_ns = emp_time_sooner(exception_ns, with_second(model, f, true));
        d.after_ns[cpu] =
            emp_time_sooner(d.after_ns[cpu], cross(f->to_first, cpu, gpu) +
                                                 first->issue_ns + first->run_ns[gpu]);
    }
    if (emp_bound_may(first, gpu) && model->count[gpu] > 1) {
        least_ns =
            emp_time_sooner(least_ns, apart(model, f, is_thorough, model->any_order));
        exception_ns = emp_time_sooner(exception_ns, apart(model, f, is_thorough, true));
    }
    d.after_ns[gpu] = least_ns;
    d.gain_ns = least_ns - exception_ns;
    return d;
}

/* ---- all of them ---- */

/* Keeps the longest of an op. \a group_of [tensor]: of what `first` reads besides. */
static void add_drain(emp_bound_drains *s, const emp_bound_model *model, const fork *f,
                      int32_t *group_of)
{
    emp_bound_drain d = measure(model, f, s->is_thorough);
    int32_t         at = s->of_op[d.to];

    if (d.after_ns[gpu] >= EMP_COST_LIMIT_NS / EMP_MAX_DEVICES)
        return; /* may be nowhere */
    if (d.after_ns[gpu] <= model->op[f->to_first->to].run_ns[gpu]) return;
    if (!emp_bound_may(&model->op[d.to], gpu)) return;
    if (at >= 0 && s->drain[at].after_ns[gpu] >= d.after_ns[gpu]) return;
    d.group = -1;
    if (f->other >= 0 && d.gain_ns > 0 &&
        !is_there_before(model, f->to_first, f->other)) {
        if (group_of[f->other] < 0) group_of[f->other] = s->group_count++;
        d.group = group_of[f->other];
    }
    if (at < 0) at = s->of_op[d.to] = s->count++;
    s->drain[at] = d;
}

/* The second is a control input of the op, or of one of its control inputs. */
static void find_drains_to(emp_bound_drains *s, const emp_bound_model *model,
                           emp_op_id op, int32_t *group_of)
{
    const emp_graph      *g = model->problem->graph;
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);
    fork                  f;

    for (const emp_bound_edge *onward = emp_bound_first_edge(model, op); onward < end;
         onward++) {
        if (!is_in_gpu_memory(onward)) continue;
        for (int32_t k = g->control_offset[op]; k < g->control_offset[op + 1]; k++) {
            const emp_op_id n = g->control[k];
            if (g->op[n].is_folded) continue;
            if (find_fork(model, onward, n, &f)) add_drain(s, model, &f, group_of);
            for (int32_t j = g->control_offset[n]; j < g->control_offset[n + 1]; j++)
                if (find_fork(model, onward, g->control[j], &f))
                    add_drain(s, model, &f, group_of);
        }
    }
}

static void sum_losses(emp_bound_drains *s, const emp_bound_model *model)
{
    for (int32_t i = 0; i < s->group_count; i++) s->gain_ns[i] = 0;
    for (int32_t i = 0; i < s->count; i++) {
        emp_time_ns *most = s->drain[i].group < 0 ? NULL : &s->gain_ns[s->drain[i].group];
        if (most != NULL) *most = emp_time_later(*most, s->drain[i].gain_ns);
    }
    s->loss_ns = 0;
    for (int32_t i = 0; i < s->group_count; i++)
        if (s->is_used[i])
            s->loss_ns = emp_bound_add(s->loss_ns, model->count[gpu] * s->gain_ns[i]);
}

emp_status emp_bound_drains_link(const emp_bound_drains *s, emp_bound_model *model,
                                 emp_error *err)
{
    for (int32_t i = 0; i < s->count; i++) {
        const emp_bound_drain *d = &s->drain[i];
        const emp_bound_link   link = {.from = d->from,
                                       .to = d->to,
                                       .is_drain = true,
                                       .after_ns = d->after_ns[gpu] -
                                                   (d->group >= 0 ? d->gain_ns : 0)};
        if (!emp_bound_is_on_gpu(model, d->from) || !emp_bound_is_on_gpu(model, d->to))
            continue;
        EMP_CHECK(emp_bound_link_ops(model->links, link, err));
        emp_bound_drains_note(s, model, d->to, link.after_ns, true);
    }
    return EMP_OK;
}

void emp_bound_drains_note(const emp_bound_drains *s, const emp_bound_model *model,
                           emp_op_id op, emp_time_ns ns, bool is_link)
{
    const emp_bound_drain *d = &s->drain[s->of_op[op]];

    emp_proof_add(model->proof, (emp_proof_step){.rule = EMP_PROOF_DRAIN,
                                                 .op = op,
                                                 .from = d->from,
                                                 .first = d->first,
                                                 .second = d->second,
                                                 .tensor = d->tensor,
                                                 .is_link = is_link,
                                                 .ns = ns});
}

bool emp_bound_drains_have_exceptions(const emp_bound_drains *s)
{
    for (int32_t i = 0; i < s->group_count; i++)
        if (s->is_used[i]) return true;
    return false;
}

emp_time_ns emp_bound_drains_start(const emp_bound_drains *s,
                                   const emp_bound_model  *model,
                                   const emp_bound_paths *paths, emp_op_id op,
                                   bool for_sure)
{
    emp_time_ns least_ns = EMP_COST_LIMIT_NS;

    if (s->of_op[op] < 0) return 0;
    const emp_bound_drain *d = &s->drain[s->of_op[op]];
    const bool may_fail = d->group >= 0 && (for_sure || !s->is_used[d->group]);
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (!emp_bound_may(&model->op[d->from], k)) continue;
        const emp_time_ns after_ns =
            d->after_ns[k] - (may_fail && k == gpu ? d->gain_ns : 0);
        least_ns = emp_time_sooner(
            least_ns, emp_bound_add(paths->head[d->from][k].done_ns, after_ns));
    }
    return least_ns;
}

/* ---- which pay ---- */

/* Ops of which the longest path is kept. */
enum { BLOCK = 64 };

/* Heads that a choice of groups has changed. */
typedef struct {
    emp_bound_head head[EMP_DEVICE_KINDS];
    emp_op_id      op;
} changed_head;

typedef struct {
    emp_bound_model *model;
    emp_bound_paths *paths;
    changed_head    *changed; /**< the heads from before, in topological order */
    int32_t          count;
    bool            *is_changed; /**< [op] */
    /* [group] where its first drain ends in topological order, and where the last few begin to, which are enough to
     * pay. */
    int32_t     *first, *late;
    emp_time_ns *longest_ns; /**< [block] the longest path through one of its ops */
    emp_time_ns *before_ns;  /**< [block] likewise before the last change */
    size_t       blocks;
} chooser;

static void find_longest_of_block(const chooser *c, int32_t block)
{
    const int32_t first = block * BLOCK, ops = c->model->problem->graph->op_count;
    emp_time_ns   longest_ns = 0;

    for (emp_op_id op = first; op < ops && op < first + BLOCK; op++)
        longest_ns = emp_time_later(
            longest_ns, emp_bound_paths_through_at_least(c->paths, c->model, op));
    c->longest_ns[block] = longest_ns;
}

/* emp_bound_paths_longest() */
static emp_time_ns find_longest(const chooser *c)
{
    emp_time_ns longest_ns = 0;

    for (size_t b = 0; b < c->blocks; b++)
        longest_ns = emp_time_later(longest_ns, c->longest_ns[b]);
    return longest_ns;
}

/* Once heads have changed. */
static void find_longest_of_changed(const chooser *c)
{
    int32_t last = -1;

    memcpy(c->before_ns, c->longest_ns, c->blocks * sizeof *c->before_ns);
    for (int32_t i = 0; i < c->count; i++) {
        const int32_t block = c->changed[i].op / BLOCK;
        if (block != last) find_longest_of_block(c, block);
        last = block;
    }
}

/* The heads of an op with the drains that are used. */
static void find_heads(const emp_bound_drains *s, const chooser *c, emp_op_id op)
{
    if (emp_bound_may(&c->model->op[op], gpu))
        c->model->floor[op].queued_ns =
            emp_bound_drains_start(s, c->model, c->paths, op, false);
    if (c->model->op[op].kinds != 0) emp_bound_paths_find_heads(c->paths, c->model, op);
    c->model->floor[op] = (emp_bound_floor){0};
}

/* Whether the heads of an op may change with the use of a group. */
static bool may_change(const emp_bound_drains *s, const chooser *c, emp_op_id op,
                       int32_t group)
{
    const emp_bound_edge *end = emp_bound_first_edge(c->model, op + 1);

    if (s->of_op[op] >= 0) {
        const emp_bound_drain *d = &s->drain[s->of_op[op]];
        if (d->group == group || c->is_changed[d->from]) return true;
    }
    for (const emp_bound_edge *edge = emp_bound_first_edge(c->model, op); edge < end;
         edge++)
        if (c->is_changed[edge->from]) return true;
    return false;
}

/* Finds the heads that change as drains of a group that end at that rank or later are no longer used. */
static void change(const emp_bound_drains *s, chooser *c, int32_t group, int32_t rank)
{
    const emp_graph *g = c->model->problem->graph;

    c->count = 0;
    for (int32_t i = rank; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        if (!may_change(s, c, op, group)) continue;
        changed_head *before = &c->changed[c->count];
        before->op = op;
        memcpy(before->head, c->paths->head[op], sizeof before->head);
        find_heads(s, c, op);
        c->is_changed[op] =
            memcmp(before->head, c->paths->head[op], sizeof before->head) != 0;
        c->count += c->is_changed[op];
    }
    for (int32_t i = 0; i < c->count; i++) c->is_changed[c->changed[i].op] = false;
    find_longest_of_changed(c);
}

static void change_back(const chooser *c)
{
    for (int32_t i = 0; i < c->count; i++)
        memcpy(c->paths->head[c->changed[i].op], c->changed[i].head,
               sizeof c->changed[i].head);
    memcpy(c->longest_ns, c->before_ns, c->blocks * sizeof *c->before_ns);
}

/* Finds where the drains of each group that is used end. */
static void find_ranks(const emp_bound_drains *s, chooser *c, int32_t *count_of_group)
{
    const emp_graph *g = c->model->problem->graph;

    for (int32_t i = 0; i < g->op_count; i++) {
        const int32_t at = s->of_op[g->topo[i]];
        const int32_t group = at >= 0 ? s->drain[at].group : -1;
        if (group < 0 || !s->is_used[group]) continue;
        if (c->late[group] == 0) c->first[group] = i;
        if (count_of_group[group]-- >= LEAST_DRAINS * c->model->count[gpu])
            c->late[group] = i;
    }
}

/* Finds the heads with the drains that are used. */
static void find_all_heads(const emp_bound_drains *s, const chooser *c)
{
    const emp_graph *g = c->model->problem->graph;

    for (int32_t i = 0; i < g->op_count; i++) find_heads(s, c, g->topo[i]);
    for (size_t b = 0; b < c->blocks; b++) find_longest_of_block(c, (int32_t)b);
}

/* The longest path without the drains of a group that end at that rank or later, less all losses. Heads change. */
static emp_time_ns value_without(const emp_bound_drains *s, chooser *c, int32_t group,
                                 int32_t rank)
{
    change(s, c, group, rank);
    return find_longest(c) - s->loss_ns;
}

/* Leaves out a group, unless it gains more than it loses. Paths are shortest without all drains of the group, so the
 * last few are looked at first. */
static void leave_out(emp_bound_drains *s, chooser *c, int32_t group,
                      emp_time_ns *best_ns)
{
    s->is_used[group] = false;
    sum_losses(s, c->model);
    emp_time_ns without_ns = value_without(s, c, group, c->late[group]);
    if (without_ns > *best_ns) {
        change_back(c);
        without_ns = value_without(s, c, group, c->first[group]);
    }
    if (without_ns > *best_ns) {
        *best_ns = without_ns;
        return;
    }
    s->is_used[group] = true;
    change_back(c);
}

/* Starts with groups of more drains than exceptions; leaves out each that loses more than
 * it gains. */
static void choose(emp_bound_drains *s, chooser *c, int32_t *count_of_group)
{
    for (int32_t i = 0; i < s->count; i++)
        if (s->drain[i].group >= 0) count_of_group[s->drain[i].group]++;
    for (int32_t i = 0; i < s->group_count; i++)
        s->is_used[i] = count_of_group[i] >= LEAST_DRAINS * c->model->count[gpu];
    sum_losses(s, c->model);
    find_ranks(s, c, count_of_group);
    find_all_heads(s, c);
    emp_time_ns best_ns = find_longest(c) - s->loss_ns;
    for (int32_t i = 0; i < s->group_count; i++)
        if (s->is_used[i]) leave_out(s, c, i, &best_ns);
    sum_losses(s, c->model);
}

/* \a model, \a paths: their floors and heads change. */
static emp_status choose_groups(emp_bound_drains *s, emp_bound_model *model,
                                emp_bound_paths *paths, int32_t *count_of_group,
                                emp_error *err)
{
    const size_t     ops = (size_t)model->problem->graph->op_count;
    const size_t     groups = (size_t)s->group_count, blocks = ops / BLOCK + 1;
    emp_bound_floor *floor = model->floor;
    emp_arrays       scratch = {0};
    chooser          c = {.model = model,
                          .paths = paths,
                          .changed = EMP_ADD_ARRAY(&scratch, changed_head, ops),
                          .is_changed = EMP_ADD_ARRAY(&scratch, bool, ops),
                          .first = EMP_ADD_ARRAY(&scratch, int32_t, groups),
                          .late = EMP_ADD_ARRAY(&scratch, int32_t, groups),
                          .longest_ns = EMP_ADD_ARRAY(&scratch, emp_time_ns, blocks),
                          .before_ns = EMP_ADD_ARRAY(&scratch, emp_time_ns, blocks),
                          .blocks = blocks};
    emp_status       st = EMP_OK;

    model->floor = EMP_ADD_ARRAY(&scratch, emp_bound_floor, ops);
    if (scratch.is_short)
        st = EMP_ERROR(EMP_ENOMEM, "drains of %zu ops", ops);
    else
        choose(s, &c, count_of_group);
    model->floor = floor;
    emp_arrays_clear(&scratch);
    return st;
}

static bool have_drains(const emp_runtime *rt)
{
    return rt->rules == EMP_RULES_EVENTS && rt->events.serial_issue &&
           rt->events.drain_copies && rt->events.share_copies;
}

emp_status emp_bound_drains_init(emp_bound_drains *s, emp_bound_model *model,
                                 emp_bound_paths *paths, bool is_thorough, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;
    const size_t     ops = (size_t)g->op_count, tensors = (size_t)g->tensor_count + 1;
    emp_arrays       scratch = {0};
    int32_t         *group_of = EMP_ADD_ARRAY(&scratch, int32_t, tensors);
    int32_t         *count_of_group = EMP_ADD_ARRAY(&scratch, int32_t, tensors);

    *s = (emp_bound_drains){.is_thorough = is_thorough};
    s->drain = EMP_ADD_ARRAY(&s->arrays, emp_bound_drain, ops);
    s->of_op = EMP_ADD_ARRAY(&s->arrays, int32_t, ops);
    s->is_used = EMP_ADD_ARRAY(&s->arrays, bool, tensors);
    s->gain_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, tensors);
    if (scratch.is_short || s->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "drains of %d ops", g->op_count);
    for (size_t t = 0; t < tensors; t++) group_of[t] = -1;
    for (size_t v = 0; v < ops; v++) s->of_op[v] = -1;
    if (!have_drains(&model->problem->runtime) || model->count[gpu] == 0) goto cleanup;
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded) find_drains_to(s, model, op, group_of);
    if (s->group_count > 0) EMP_TRY(choose_groups(s, model, paths, count_of_group, err));

cleanup:
    emp_arrays_clear(&scratch);
    return st;
}

void emp_bound_drains_clear(emp_bound_drains *s)
{
    emp_arrays_clear(&s->arrays);
    *s = (emp_bound_drains){0};
}
