// SPDX-License-Identifier: GPL-3.0-or-later
/* The contiguous split of least greatest load, by the dynamic program of Tarnawski et al. (NeurIPS
 * 2020) over ideals (emp_ideals):
 *
 *     best(J, n) = min over ideals I within J and groups g of max(best(I, n less a device of g), load of J \ I on g)
 *
 * where n counts the devices of each group that are used; best(all, ...) is wanted. The devices of a group are alike, so
 * that a machine of like GPUs has two groups, its GPUs and its CPUs. A GPU's load is the time of its ops and of the
 * copies in and out (blocks.h), and it has a memory; a CPU's is the time of its ops.
 *
 * One order of the blocks, whose ideals are few, comes first. Its result is a limit: for each I
 * only those J are looked at for whose ops by themselves a device takes less, and only those states kept
 * from which the devices that are left could do the rest. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/blocks.h"

typedef enum { ORDER_ANY, ORDER_ONE, ORDER_EITHER } order;

enum { MAX_STATES = 1 << 26 };

/* No load yet. */
static const emp_time_ns NEVER = INT64_MAX;

/* Devices that take as long for every block and have as much memory. */
typedef struct {
    bool          is_gpu;
    int32_t       count;
    emp_device_id device[EMP_MAX_DEVICES];
    int32_t       stride; /* of its count in the number of a state */
    int64_t       memory_bytes;
    emp_time_ns  *time_ns; /* [block] */
    emp_time_ns  *copy_ns; /* [net]; NULL: a CPU */
    double        share;   /* time of the first group that its time stands for at most */
} group;

/* The blocks between two ideals. */
typedef struct {
    emp_time_ns time_ns[EMP_MAX_DEVICES], copy_ns[EMP_MAX_DEVICES]; /* [group] */
    int64_t     bytes;
    int32_t     cpu_only; /* blocks that have to be on a CPU */
    int32_t     gpu_only; /* blocks that may not be on one */
    int32_t    *inside;   /* [net] its blocks that are among them */
} part;

typedef struct {
    int32_t ideal, next_step, block;
} level;

typedef struct {
    const emp_blocks *blocks;
    const emp_ideals *ideals;
    int32_t     group_count, state_count; /* a state is how many of each group are used */
    group       group[EMP_MAX_DEVICES];   /* GPUs first */
    emp_time_ns limit_ns;                 /* all loads are below */
    const atomic_int *stop;               /* once set, a run ends; NULL: never */
    double *room_ns; /* [state] time of the first group that the other devices have */
    double
        *rest_ns; /* [ideal] time of the first group of the blocks that are not in it */
    emp_time_ns *load_ns; /* [ideal][state] */
    int32_t   *from; /* [ideal][state] I times the groups, plus the last device's group */
    part       part;
    int32_t   *seen; /* [ideal] the I from which it was seen last, plus 1 */
    level     *stack;
    emp_arrays arrays, of_groups;
} split;

/* ---- parts ---- */

/* Adds the block (sign 1) or takes it out (-1). A net is copied where it is cut: some of its
 * blocks are in the part and some are not. */
static void change_part(split *s, int32_t block, int32_t sign)
{
    const emp_blocks *b = s->blocks;
    part             *p = &s->part;

    for (int32_t g = 0; g < s->group_count; g++)
        p->time_ns[g] += sign * s->group[g].time_ns[block];
    p->bytes += sign * b->block[block].bytes;
    p->cpu_only += sign * !b->block[block].has_gpu;
    p->gpu_only += sign * !b->block[block].has_cpu;
    for (int32_t i = b->net_offset[block]; i < b->net_offset[block + 1]; i++) {
        int32_t net = b->net[i], pins = b->pin_offset[net + 1] - b->pin_offset[net];
        int32_t before = p->inside[net], after = before + sign;
        bool    was_cut = before > 0 && before<pins, is_cut = after> 0 && after < pins;
        p->inside[net] = after;
        for (int32_t g = 0; g < s->group_count && is_cut != was_cut; g++)
            if (s->group[g].is_gpu)
                p->copy_ns[g] += (is_cut - was_cut) * s->group[g].copy_ns[net];
    }
}

static bool fits(const split *s, int32_t g)
{
    if (!s->group[g].is_gpu) return s->part.gpu_only == 0;
    return s->part.cpu_only == 0 && s->part.bytes <= s->group[g].memory_bytes;
}

/* Copies left out: with more blocks there may be fewer. */
static bool can_grow(const split *s)
{
    for (int32_t g = 0; g < s->group_count; g++)
        if (fits(s, g) && s->part.time_ns[g] < s->limit_ns) return true;
    return false;
}

/* ---- the recurrence ---- */

static size_t at(const split *s, int32_t ideal) /* its first state */
{
    return (size_t)ideal * (size_t)s->state_count;
}

/* How many devices of the group a state uses. */
static int32_t used(const split *s, int32_t state, int32_t g)
{
    return state / s->group[g].stride % (s->group[g].count + 1);
}

static void offer(split *s, int32_t ideal, int32_t state, emp_time_ns before_ns,
                  emp_time_ns load_ns, int32_t from)
{
    size_t      i = at(s, ideal) + (size_t)state;
    emp_time_ns worst_ns = before_ns > load_ns ? before_ns : load_ns;

    if (worst_ns >= s->limit_ns || worst_ns >= s->load_ns[i]) return;
    if (s->rest_ns[ideal] > s->room_ns[state]) return;
    s->load_ns[i] = worst_ns;
    s->from[i] = from;
}

/* The part is what \a large has beyond \a small. */
static void relax(split *s, int32_t small, int32_t large)
{
    const part        *p = &s->part;
    const emp_time_ns *before_ns = &s->load_ns[at(s, small)];

    for (int32_t g = 0; g < s->group_count; g++) {
        const group *of = &s->group[g];
        if (!fits(s, g)) continue;
        for (int32_t state = 0; state < s->state_count; state++)
            if (before_ns[state] != NEVER && used(s, state, g) < of->count)
                offer(s, large, state + of->stride, before_ns[state],
                      p->time_ns[g] + p->copy_ns[g], small * s->group_count + g);
    }
}

static bool is_reached(const split *s, int32_t ideal)
{
    for (int32_t state = 0; state < s->state_count; state++)
        if (s->load_ns[at(s, ideal) + (size_t)state] != NEVER) return true;
    return false;
}

/* All ideals around \a small that one device more can lead to, each once. */
static void go_on_from(split *s, int32_t small)
{
    const emp_ideals *ideals = s->ideals;
    int32_t           depth = 0;

    s->stack[0] = (level){small, ideals->step_offset[small], -1};
    while (depth >= 0) {
        level *top = &s->stack[depth];
        if (top->next_step == ideals->step_offset[top->ideal + 1]) {
            if (top->block >= 0) change_part(s, top->block, -1);
            depth--;
            continue;
        }
        emp_ideal_step step = ideals->step[top->next_step++];
        if (s->seen[step.ideal] == small + 1) continue;
        s->seen[step.ideal] = small + 1;
        change_part(s, step.block, 1);
        if (!can_grow(s)) {
            change_part(s, step.block, -1);
            continue;
        }
        relax(s, small, step.ideal);
        s->stack[++depth] =
            (level){step.ideal, ideals->step_offset[step.ideal], step.block};
    }
}

/* ---- bounds ---- */

/* How much time of the first group a device of this one stands for at most, in the same time. */
static double share_of(const split *s, int32_t g)
{
    const emp_time_ns *first_ns = s->group[0].time_ns, *own_ns = s->group[g].time_ns;
    double             share = 0.0;

    for (int32_t i = 0; i < s->blocks->count; i++) {
        if (first_ns[i] == 0) continue;
        if (own_ns[i] == 0) return INFINITY;
        share = fmax(share, (double)first_ns[i] / (double)own_ns[i]);
    }
    return share;
}

static void find_room(split *s)
{
    for (int32_t state = 0; state < s->state_count; state++) {
        s->room_ns[state] = 0.0;
        for (int32_t g = 0; g < s->group_count; g++) {
            const int32_t left = s->group[g].count - used(s, state, g);
            if (left > 0)
                s->room_ns[state] += left * s->group[g].share * (double)s->limit_ns;
        }
    }
}

static void find_rest(split *s)
{
    s->rest_ns[0] = 0.0;
    for (int32_t b = 0; b < s->blocks->count; b++)
        s->rest_ns[0] += (double)s->group[0].time_ns[b];
    for (int32_t i = 1; i < s->ideals->count; i++) {
        emp_ideal_step origin = s->ideals->origin[i];
        s->rest_ns[i] =
            s->rest_ns[origin.ideal] - (double)s->group[0].time_ns[origin.block];
    }
}

/* ---- groups ---- */

static bool is_like(const split *s, const group *g, const emp_time_ns *time_ns,
                    const emp_time_ns *copy_ns, int64_t memory_bytes)
{
    return g->memory_bytes == memory_bytes &&
           memcmp(g->time_ns, time_ns, (size_t)s->blocks->count * sizeof *time_ns) == 0 &&
           (!g->is_gpu || memcmp(g->copy_ns, copy_ns,
                                 (size_t)s->blocks->net_count * sizeof *copy_ns) == 0);
}

/* Adds the device to the group that it is like, or begins one. */
static emp_status add_device(split *s, const emp_problem *p, emp_device_id d,
                             emp_error *err)
{
    const bool    is_gpu = p->machine->device[d].kind == EMP_DEVICE_GPU;
    const int64_t memory = is_gpu ? emp_problem_memory_bytes(p, d) : EMP_SIM_ENDLESS;
    group        *last = &s->group[s->group_count];

    *last = (group){.is_gpu = is_gpu, .memory_bytes = memory};
    last->time_ns = EMP_ADD_ARRAY(&s->of_groups, emp_time_ns, (size_t)s->blocks->count);
    last->copy_ns =
        EMP_ADD_ARRAY(&s->of_groups, emp_time_ns, (size_t)s->blocks->net_count);
    if (s->of_groups.is_short) return EMP_ERROR(EMP_ENOMEM, "times of blocks");
    emp_blocks_time(last->time_ns, s->blocks, p, d);
    if (is_gpu) emp_blocks_time_copies(last->copy_ns, s->blocks, p, d);
    int32_t g = 0;
    while (g < s->group_count &&
           (s->group[g].is_gpu != is_gpu ||
            !is_like(s, &s->group[g], last->time_ns, last->copy_ns, memory)))
        g++;
    s->group[g].device[s->group[g].count++] = d;
    s->group_count += g == s->group_count;
    return EMP_OK;
}

static emp_status find_groups(split *s, const emp_problem *p, emp_error *err)
{
    static const emp_device_kind kinds[] = {EMP_DEVICE_GPU, EMP_DEVICE_CPU};
    int64_t                      states = 1;

    for (int k = 0; k < 2; k++)
        for (emp_device_id d = 0; d < p->machine->device_count; d++)
            if (p->machine->device[d].kind == kinds[k])
                EMP_CHECK(add_device(s, p, d, err));
    for (int32_t g = s->group_count - 1; g >= 0; g--) {
        s->group[g].stride = (int32_t)states;
        s->group[g].share = share_of(s, g);
        states *= s->group[g].count + 1;
        if (states > MAX_STATES)
            return EMP_ERROR(EMP_EUNSUPPORTED,
                             "method dp-contiguous counts the devices of each group of "
                             "like ones, of which machine %s has %d: more than %d counts",
                             p->machine->name, s->group_count, MAX_STATES);
    }
    s->state_count = (int32_t)states;
    return EMP_OK;
}

/* ---- a run ---- */

static emp_status allocate(split *s, emp_error *err)
{
    size_t ideals = (size_t)s->ideals->count, states = (size_t)s->state_count;

    if (ideals * states > MAX_STATES)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%zu ideals with %zu counts of devices, %d at most", ideals,
                         states, MAX_STATES);
    s->room_ns = EMP_ADD_ARRAY(&s->arrays, double, states);
    s->rest_ns = EMP_ADD_ARRAY(&s->arrays, double, ideals);
    s->load_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, ideals * states);
    s->from = EMP_ADD_ARRAY(&s->arrays, int32_t, ideals * states);
    s->seen = EMP_ADD_ARRAY(&s->arrays, int32_t, ideals);
    s->stack = EMP_ADD_ARRAY(&s->arrays, level, (size_t)s->blocks->count + 1);
    s->part.inside = EMP_ADD_ARRAY(&s->arrays, int32_t, (size_t)s->blocks->net_count);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "loads of %zu ideals", ideals);
    return EMP_OK;
}

/* Goes back along the devices. Each is given a whole ideal, of which those before it then take
 * what is theirs. */
static void assign(const split *s, int32_t state, emp_device_id *device_of_block)
{
    for (int32_t ideal = s->ideals->count - 1; ideal > 0;) {
        int32_t from = s->from[at(s, ideal) + (size_t)state];
        int32_t small = from / s->group_count, g = from % s->group_count;
        state -= s->group[g].stride;
        emp_device_id device = s->group[g].device[used(s, state, g)];
        for (int32_t i = ideal; i > 0; i = s->ideals->origin[i].ideal)
            device_of_block[s->ideals->origin[i].block] = device;
        ideal = small;
    }
}

/* Finds the best split with loads below the limit, which becomes its greatest load; none:
 * both stay as they are. */
static emp_status run(split *s, emp_device_id *device_of_block, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    best = -1;

    s->part = (part){0};
    EMP_TRY(allocate(s, err));
    find_room(s);
    find_rest(s);
    for (size_t i = 0; i < at(s, s->ideals->count); i++) s->load_ns[i] = NEVER;
    s->load_ns[0] = 0;
    for (int32_t i = 0; i < s->ideals->count; i++) {
        if (emp_stop_is_set(s->stop)) EMP_TRY(EMP_EINTERRUPTED);
        if (is_reached(s, i)) go_on_from(s, i);
    }
    const emp_time_ns *last_ns = &s->load_ns[at(s, s->ideals->count - 1)];
    for (int32_t state = 0; state < s->state_count; state++)
        if (last_ns[state] != NEVER && (best < 0 || last_ns[state] < last_ns[best]))
            best = state;
    if (best < 0) goto cleanup;
    assign(s, best, device_of_block);
    s->limit_ns = last_ns[best];

cleanup:
    emp_arrays_clear(&s->arrays);
    return st;
}

/* ---- the method ---- */

typedef struct {
    order   order;
    int32_t ideals;
} options;

static emp_status find_split(emp_device_id *device_of_block, const emp_problem *problem,
                             const emp_blocks *blocks, const options *o,
                             const atomic_int *stop, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_ideals line = {0}, all = {0};
    bool       is_whole = true;
    split      s = {.blocks = blocks, .limit_ns = NEVER, .stop = stop};

    EMP_TRY(find_groups(&s, problem, err));
    if (o->order != ORDER_ONE)
        EMP_TRY(emp_ideals_init(&all, &is_whole, blocks, o->ideals, err));
    if (!is_whole && o->order == ORDER_ANY)
        EMP_FAIL(
            EMP_EINFEASIBLE,
            "method dp-contiguous gives up on a graph of %d blocks with more than %d "
            "ideals, between which it may be cut; --options order=one takes one order "
            "of the blocks, ideals=N more ideals",
            blocks->count, o->ideals);
    EMP_TRY(emp_ideals_init_line(&line, blocks->count, err));
    s.ideals = &line;
    EMP_TRY(run(&s, device_of_block, err));
    s.ideals = &all;
    if (o->order != ORDER_ONE && is_whole) EMP_TRY(run(&s, device_of_block, err));
    if (s.limit_ns == NEVER)
        EMP_FAIL(
            EMP_EINFEASIBLE,
            "method dp-contiguous finds no contiguous split of %d blocks whose parts "
            "fit into the memory of the devices that may have them",
            blocks->count);

cleanup:
    emp_ideals_clear(&line);
    emp_ideals_clear(&all);
    emp_arrays_clear(&s.of_groups);
    return st;
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    emp_status     st = EMP_OK;
    options        o;
    emp_blocks     blocks = {0};
    emp_device_id *device_of_block = NULL;

    EMP_TRY(emp_method_options_parse(&o, type, params, err));
    EMP_TRY(emp_blocks_init(&blocks, problem, err));
    EMP_TRY(EMP_ALLOC(device_of_block, (size_t)blocks.count));
    EMP_TRY(find_split(device_of_block, problem, &blocks, &o, params->stop, err));
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        int32_t block = blocks.block_of_op[op];
        proposal->device_of_op[op] = block < 0 ? 0 : device_of_block[block];
    }

cleanup:
    emp_free(device_of_block);
    emp_blocks_clear(&blocks);
    return st;
}

static const emp_option option_list[] = {
    EMP_WORD_OPTION("order", options, order, "any|one|either",
                    "splits in any order of the blocks; in one alone; or either: any "
                    "where that is not too much",
                    ORDER_ANY),
    EMP_INTEGER_OPTION("ideals", options, ideals, 2, 1 << 24,
                       "at most so many sets of blocks closed under what they wait for",
                       50000),
    EMP_NO_OPTION};

const emp_method emp_method_dp_contiguous = {
    .options = option_list,
    .name = "dp-contiguous",
    .description = "contiguous parts of the least greatest load, by dynamic program "
                   "(Tarnawski et al. 2020)",
    .advice = "pipelines (--objective max-load)",
    .place = place,
};
