// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/partitioners/memory_repair.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "base/work.h"
#include "search/groups/class_groups.h"
#include "sim/engine/sim.h"

enum { GROUPS = 256 };
static const double group_imbalance = 2.0;

typedef struct {
    const emp_problem *problem;
    const emp_graph   *graph;
    const atomic_int  *stop;
    emp_sim           *sim;
    emp_members        groups;         /* of ops */
    int32_t           *group_of_op;    /* [op]; -1 = must stay */
    uint32_t          *kinds_of_group; /* [group] EMP_KIND_ mask that all its ops allow */
    emp_device_id     *device_of_op;   /* [op] as it is now */
    emp_device_id     *before;         /* [op] as it was before the round */
    uint64_t          *barred;         /* [group] bit d: did not help when it left d */
    int64_t           *live;   /* [tensor] bytes at the peak of the device at hand */
    int64_t           *seen;   /* [tensor] the judgement that met it last */
    emp_arrays         arrays; /* all of these */
    int64_t            judgement;
    emp_sim_result     result;                /* of the last run */
    int64_t            room[EMP_MAX_DEVICES]; /* bytes left, by estimate */
} repair;

/* A group leaves a device for another. */
typedef struct {
    int32_t       group; /* -1 = none */
    emp_device_id from, to;
    double        traffic_bytes; /* added; may be negative */
    int64_t       freed_bytes, taken_bytes;
} move;

static int64_t memory_of(const repair *r, emp_device_id d)
{
    return r->problem->machine->device[d].memory_bytes;
}

static emp_status run(repair *r, emp_error *err)
{
    EMP_CHECK(emp_sim_run(r->sim, r->device_of_op, &r->result, err));
    for (emp_device_id d = 0; d < r->problem->machine->device_count; d++)
        r->room[d] = memory_of(r, d) - r->result.peak_bytes[d];
    return EMP_OK;
}

/* ---- what is held at a peak -------------------------------------------------------- */

typedef struct {
    repair       *r;
    emp_device_id device;
    bool          is_done;
} snapshot;

static void add_live(void *context, emp_tensor_id tensor, bool is_copy, int64_t bytes)
{
    snapshot *s = context;

    (void)is_copy;
    s->r->live[tensor] += bytes;
}

static void on_memory(void *context, emp_device_id device, emp_time_ns at, int64_t bytes)
{
    snapshot *s = context;
    repair   *r = s->r;

    (void)at, (void)bytes;
    if (s->is_done || device != s->device ||
        emp_sim_live_get(r->sim, device).peak_bytes < r->result.peak_bytes[device])
        return;
    emp_sim_live_each(r->sim, device, add_live, s);
    s->is_done = true;
}

/* Fills live. Rules that tell nothing of memory as it changes count as if all lived. */
static emp_status look_at_peak(repair *r, emp_device_id device, emp_error *err)
{
    snapshot       s = {r, device, false};
    emp_sim_trace  trace = {.context = &s, .memory = on_memory};
    emp_sim_result same;

    memset(r->live, 0, (size_t)r->graph->tensor_count * sizeof *r->live);
    emp_sim_live_reset(r->sim);
    EMP_CHECK(emp_sim_run_traced(r->sim, r->device_of_op, &trace, &same, err));
    for (int32_t t = 0; t < r->graph->tensor_count && !s.is_done; t++)
        r->live[t] = r->graph->tensor[t].bytes;
    return EMP_OK;
}

/* ---- one move ---------------------------------------------------------------------- */

static bool moves_with(const repair *r, const move *m, emp_op_id op)
{
    return r->group_of_op[op] == m->group && r->device_of_op[op] == m->from;
}

/* Where a tensor is needed before and after a move, as sets of devices: at home, and
 * wherever it is read. */
typedef struct {
    uint64_t home, readers;
} place;

static void find_places(const repair *r, const move *m, emp_tensor_id t, place *before,
                        place *after)
{
    const emp_graph *g = r->graph;
    emp_op_id        producer = g->tensor[t].producer;

    *before = (place){.home = UINT64_C(1) << r->device_of_op[producer]};
    *after =
        (place){.home = moves_with(r, m, producer) ? UINT64_C(1) << m->to : before->home};
    for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++) {
        emp_op_id reader = g->consumer[i];
        if (g->op[reader].is_folded) continue;
        uint64_t at = UINT64_C(1) << r->device_of_op[reader];
        before->readers |= at;
        after->readers |= moves_with(r, m, reader) ? UINT64_C(1) << m->to : at;
    }
}

static int32_t copies_of(place p)
{
    return (int32_t)__builtin_popcountll(p.readers & ~p.home);
}

static bool is_held(place p, emp_device_id device)
{
    return ((p.home | p.readers) >> device & 1) != 0;
}

static void judge_tensor(repair *r, move *m, emp_tensor_id t)
{
    place before, after;

    if (r->seen[t] == r->judgement ||
        r->graph->op[r->graph->tensor[t].producer].is_folded)
        return;
    r->seen[t] = r->judgement;
    find_places(r, m, t, &before, &after);
    m->traffic_bytes +=
        (double)r->graph->tensor[t].copy_bytes * (copies_of(after) - copies_of(before));
    if (is_held(before, m->from) && !is_held(after, m->from))
        m->freed_bytes += r->live[t];
    if (!is_held(before, m->to) && is_held(after, m->to)) m->taken_bytes += r->live[t];
}

/* The effect of moving a group; frees 0 bytes if it has nothing there. */
static move judge(repair *r, int32_t group, emp_device_id from, emp_device_id to)
{
    const emp_graph *g = r->graph;
    move             m = {.group = group, .from = from, .to = to};

    r->judgement++;
    for (int32_t i = r->groups.first[group]; i < r->groups.first[group + 1]; i++) {
        emp_op_id op = r->groups.member[i];
        if (r->device_of_op[op] != from || g->op[op].is_folded) continue;
        m.freed_bytes += g->op[op].persistent_bytes;
        m.taken_bytes += g->op[op].persistent_bytes;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            judge_tensor(r, &m, t);
        for (int32_t k = g->input_offset[op]; k < g->input_offset[op + 1]; k++)
            judge_tensor(r, &m, g->input[k]);
    }
    return m;
}

static bool is_better(const move *m, const move *than)
{
    return than->group < 0 || m->traffic_bytes * (double)than->freed_bytes <
                                  than->traffic_bytes * (double)m->freed_bytes;
}

/* The best move from a device to one of a kind. */
static move find_move(repair *r, emp_device_id from, emp_device_kind kind)
{
    const emp_machine *machine = r->problem->machine;
    const uint32_t     bit = kind == EMP_DEVICE_GPU ? EMP_KIND_GPU : EMP_KIND_CPU;
    move               best = {.group = -1};

    for (int32_t group = 0; group < r->groups.group_count; group++) {
        if ((r->barred[group] >> from & 1) != 0) continue;
        if ((r->kinds_of_group[group] & bit) == 0) continue;
        for (emp_device_id to = 0; to < machine->device_count; to++) {
            if (to == from || machine->device[to].kind != kind) continue;
            move m = judge(r, group, from, to);
            if (m.freed_bytes > 0 && m.taken_bytes <= r->room[to] && is_better(&m, &best))
                best = m;
        }
    }
    return best;
}

static void apply(repair *r, const move *m)
{
    for (int32_t i = r->groups.first[m->group]; i < r->groups.first[m->group + 1]; i++) {
        emp_op_id op = r->groups.member[i];
        if (r->device_of_op[op] == m->from) r->device_of_op[op] = m->to;
    }
    r->room[m->from] += m->freed_bytes;
    r->room[m->to] -= m->taken_bytes;
}

/* ---- rounds ------------------------------------------------------------------------ */

static int64_t missing_bytes(const repair *r)
{
    int64_t missing = 0;

    for (emp_device_id d = 0; d < r->problem->machine->device_count; d++) {
        int64_t over = r->result.peak_bytes[d] - memory_of(r, d);
        if (over > 0) missing += over;
    }
    return missing;
}

static emp_device_id fullest_device(const repair *r)
{
    emp_device_id fullest = 0;

    for (emp_device_id d = 1; d < r->problem->machine->device_count; d++) {
        if (r->result.peak_bytes[d] - memory_of(r, d) >
            r->result.peak_bytes[fullest] - memory_of(r, fullest))
            fullest = d;
    }
    return fullest;
}

/* At most \a limit moves away from a device. \return their number; \a last is the last. */
static int32_t relieve(repair *r, emp_device_id from, int32_t limit, move *last)
{
    int32_t count = 0;

    while (r->room[from] < 0 && count < limit) {
        move m = find_move(r, from, EMP_DEVICE_GPU);
        if (m.group < 0) m = find_move(r, from, EMP_DEVICE_CPU);
        if (m.group < 0) break;
        apply(r, &m);
        *last = m;
        count++;
    }
    return count;
}

static void copy_placement(const repair *r, emp_device_id *to, const emp_device_id *from)
{
    memcpy(to, from, (size_t)r->graph->op_count * sizeof *to);
}

static emp_status fail_without_room(const repair *r, const char *method, emp_error *err)
{
    emp_device_id d = fullest_device(r);
    char          missing[32];
    int64_t       over = r->result.peak_bytes[d] - memory_of(r, d);

    emp_units_format_bytes(over, missing, sizeof missing);
    return EMP_ERROR(
        EMP_EINFEASIBLE,
        "method %s: repair=1 ends with %s missing on %s, and no group of ops whose "
        "move would help has room elsewhere; it takes more memory or more devices",
        method, missing, r->problem->machine->device[d].name);
}

/* Rounds until it fits. Each ends with less memory missing, or with one move fewer that may
 * be tried. */
static emp_status repair_in_rounds(repair *r, const char *method, emp_error *err)
{
    int32_t limit = INT32_MAX;
    move    last = {.group = -1};

    while (!r->result.is_feasible) {
        emp_device_id from = fullest_device(r);
        int64_t       missing = missing_bytes(r);
        if (emp_stop_is_set(r->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
        copy_placement(r, r->before, r->device_of_op);
        EMP_CHECK(look_at_peak(r, from, err));
        int32_t count = relieve(r, from, limit, &last);
        if (count == 0) EMP_CHECK(fail_without_room(r, method, err));
        EMP_CHECK(run(r, err));
        bool is_less = r->result.is_feasible || missing_bytes(r) < missing;
        limit = is_less ? INT32_MAX : count > 1 ? count / 2 : 1;
        if (is_less) continue;
        if (count == 1) r->barred[last.group] |= UINT64_C(1) << from;
        copy_placement(r, r->device_of_op, r->before);
        EMP_CHECK(run(r, err));
    }
    return EMP_OK;
}

static emp_status make_groups(repair *r, uint64_t seed, emp_error *err)
{
    const emp_class_groups_params params = {.kind = EMP_CLASS_GROUPS_METIS,
                                            .count = GROUPS,
                                            .imbalance = group_imbalance,
                                            .seed = seed,
                                            .stop = r->stop};
    uint64_t                      hash = 0;

    EMP_CHECK(emp_class_groups_ops(&r->groups, &hash, r->problem, &params, err));
    r->barred = EMP_ADD_ARRAY(&r->arrays, uint64_t, (size_t)r->groups.group_count);
    r->kinds_of_group =
        EMP_ADD_ARRAY(&r->arrays, uint32_t, (size_t)r->groups.group_count);
    r->group_of_op = EMP_ADD_ARRAY(&r->arrays, int32_t, (size_t)r->graph->op_count);
    r->before = EMP_ADD_ARRAY(&r->arrays, emp_device_id, (size_t)r->graph->op_count);
    r->live = EMP_ADD_ARRAY(&r->arrays, int64_t, (size_t)r->graph->tensor_count);
    r->seen = EMP_ADD_ARRAY(&r->arrays, int64_t, (size_t)r->graph->tensor_count);
    if (r->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "memory repair of %d ops", r->graph->op_count);
    for (emp_op_id op = 0; op < r->graph->op_count; op++) r->group_of_op[op] = -1;
    for (int32_t group = 0; group < r->groups.group_count; group++) {
        r->kinds_of_group[group] = EMP_KIND_CPU | EMP_KIND_GPU;
        for (int32_t i = r->groups.first[group]; i < r->groups.first[group + 1]; i++) {
            const emp_op_id op = r->groups.member[i];
            const int32_t class = r->problem->class_of_op[op];
            r->group_of_op[op] = group;
            if (class >= 0) r->kinds_of_group[group] &= r->problem->kinds_of_class[class];
        }
    }
    return EMP_OK;
}

emp_status emp_memory_repair(const emp_problem *problem, const char *method,
                             uint64_t seed, const atomic_int *stop,
                             emp_device_id *device_of_op, emp_error *err)
{
    emp_status st = EMP_OK;
    repair     r = {.problem = problem, .graph = problem->graph, .stop = stop};

    r.device_of_op =
        EMP_ADD_ARRAY(&r.arrays, emp_device_id, (size_t)problem->graph->op_count);
    if (r.arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "placement of %d ops", problem->graph->op_count);
    copy_placement(&r, r.device_of_op, device_of_op);
    emp_problem_legalize(problem, r.device_of_op);
    EMP_TRY(emp_sim_create(&r.sim, problem, err));
    EMP_TRY(run(&r, err));
    if (r.result.is_feasible) goto cleanup;
    EMP_TRY(make_groups(&r, seed, err));
    EMP_TRY(repair_in_rounds(&r, method, err));
    copy_placement(&r, device_of_op, r.device_of_op);

cleanup:
    emp_sim_destroy(r.sim);
    emp_members_clear(&r.groups);
    emp_arrays_clear(&r.arrays);
    return st;
}
