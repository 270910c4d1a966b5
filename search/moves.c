// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/moves.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "search/groups/class_groups.h"
#include "search/partition/partition_graph.h"
#include "sim/problem/problem.h"

emp_device_odds emp_device_odds_of(const emp_machine *machine, uint32_t kinds)
{
    emp_device_odds odds = {0};
    double          sum = 0.0;

    for (emp_device_id d = 0; d < machine->device_count; d++) {
        if ((kinds >> machine->device[d].kind & 1u) == 0) continue;
        sum += machine->device[d].peak_flops_per_s;
        odds.device[odds.device_count] = d;
        odds.up_to[odds.device_count++] = sum;
    }
    for (int32_t i = 0; i < odds.device_count; i++) odds.up_to[i] /= sum;
    return odds;
}

emp_device_id emp_device_odds_draw(const emp_device_odds *odds, emp_rng *rng)
{
    double  u = emp_rng_uniform(rng);
    int32_t i = 0;

    while (i < odds->device_count - 1 && u >= odds->up_to[i]) i++;
    return odds->device[i];
}

/* A drawn move may change nothing: so many are tried. */
enum { MOST_DRAWS = 20 };

/* A copy along edges goes on with this probability, as in FlexFlow; so far at most. */
static const double CONTINUE = 0.75;
enum { LONGEST_PATH = 32 };

/* Largest group over the mean, unless options say: a layer is a better group than an equal
 * share. */
static const double IMBALANCE = 2.0;

/* ---- creation ---------------------------------------------------------------------- */

/* The seed belongs to the size, and to its cut beyond the first. */
static emp_status add_level(emp_moves *m, const emp_moves_size *size, emp_error *err)
{
    const double             imbalance = m->options.imbalance;
    const emp_class_vertices vertices = {m->neighbors, m->bundles, m->bundle_of_vertex};
    const emp_class_groups_params params = {
        .kind = size->kind,
        .count = size->count,
        .imbalance = imbalance > 0.0 ? imbalance : IMBALANCE,
        .seed = m->seed + (uint64_t)(size->count + 10007 * size->cut),
        .stop = m->options.stop,
        .vertices = &vertices};

    EMP_CHECK(emp_class_groups_ops(&m->level[m->level_count], &m->groups_hash, m->problem,
                                   &params, err));
    m->level_count++;
    return EMP_OK;
}

/* Whether the last level has as many groups as the one before it, of the same kind. */
static bool is_no_finer(const emp_moves *m)
{
    const emp_members *last = &m->level[m->level_count - 1];

    return m->grown > 1 && m->level_count > 1 &&
           m->size[m->grown - 2].kind == m->size[m->grown - 1].kind &&
           last[-1].group_count == last->group_count;
}

static int32_t sizes_a_cut(const emp_moves *m)
{
    return m->size_count / (m->options.cuts > 1 ? m->options.cuts : 1);
}

emp_status emp_moves_grow(emp_moves *m, emp_error *err)
{
    if (m->grown == m->size_count) return EMP_OK;
    emp_moves_size *size = &m->size[m->grown++];
    if (m->size[(m->grown - 1) % sizes_a_cut(m)].is_spare) return EMP_OK;
    const emp_status st = add_level(m, size, err);
    if (st != EMP_OK) m->grown--;
    EMP_CHECK(st);
    if (size->cut > 0 || !is_no_finer(m)) return EMP_OK;
    size->is_spare = true;
    emp_members_clear(&m->level[--m->level_count]);
    return EMP_OK;
}

/* Groups of one kind in all sizes. */
static void list_sizes(emp_moves *m, emp_class_grouping kind, int32_t cut)
{
    for (int32_t count = m->options.coarsest; count <= m->options.finest; count *= 2)
        m->size[m->size_count++] = (emp_moves_size){kind, count, cut, false};
}

static void list_all_sizes(emp_moves *m)
{
    const int32_t groups = m->options.groups;
    const bool    has_experts = groups == EMP_MOVES_ALL && emp_has_experts(m->graph);

    for (int32_t cut = 0; cut == 0 || cut < m->options.cuts; cut++) {
        if (groups == EMP_MOVES_ALL) list_sizes(m, EMP_CLASS_GROUPS_NAMES, cut);
        if (has_experts)
            m->size[m->size_count++] =
                (emp_moves_size){EMP_CLASS_GROUPS_EXPERTS, 1, cut, false};
        list_sizes(m,
                   groups == EMP_MOVES_ALL ? EMP_CLASS_GROUPS_METIS
                                           : (emp_class_grouping)groups,
                   cut);
    }
}

/* Kinds of devices that a class which can be moved may have. CPUs are forbidden to all of
 * these classes or to none. */
static uint32_t kinds_of_vertices(const emp_moves *m)
{
    uint32_t kinds = 0;

    for (int32_t v = 0; v < m->neighbors->vertex_count; v++)
        kinds |= m->problem->kinds_of_class[m->neighbors->class_of_vertex[v]];
    return kinds;
}

static emp_status list_vertices(emp_moves *m, emp_error *err)
{
    return emp_members_init_ops(&m->ops_of_vertex, m->graph,
                                m->neighbors->vertex_of_class, m->neighbors->vertex_count,
                                err);
}

static emp_status bundle(emp_moves *m, emp_error *err)
{
    const emp_partition_graph *g = m->neighbors;

    if (m->options.bundles == 0 || g->vertex_count <= m->options.bundles) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(m->bundle_of_vertex, (size_t)g->vertex_count));
    return emp_partition_graph_bundle(&m->bundles, g, m->options.bundles,
                                      m->bundle_of_vertex, err);
}

emp_status emp_moves_init(emp_moves *m, const emp_problem *problem,
                          const emp_move_options *options, uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;

    *m = (emp_moves){.options = *options,
                     .problem = problem,
                     .seed = seed,
                     .graph = problem->graph,
                     .groups_hash = EMP_HASH_SEED};
    if (options->coarsest > options->finest) {
        EMP_FAIL(EMP_EINVAL, "coarsest=%d groups are more than finest=%d",
                 options->coarsest, options->finest);
    }
    EMP_TRY(emp_partition_graph_create(&m->neighbors, problem, false, err));
    m->odds = emp_device_odds_of(problem->machine, kinds_of_vertices(m));
    EMP_TRY(list_vertices(m, err));
    EMP_TRY(bundle(m, err));
    list_all_sizes(m);
    while (m->grown < m->size_count &&
           (options->at_once == 0 || m->grown < options->at_once))
        EMP_TRY(emp_moves_grow(m, err));

cleanup:
    if (st != EMP_OK) emp_moves_clear(m);
    return st;
}

void emp_moves_clear(emp_moves *m)
{
    emp_partition_graph_destroy(m->neighbors);
    emp_partition_graph_destroy(m->bundles);
    emp_free(m->bundle_of_vertex);
    emp_members_clear(&m->ops_of_vertex);
    for (int32_t i = 0; i < m->level_count; i++) {
        emp_members_clear(&m->level[i]);
        emp_free(m->up_to[i]);
        emp_free(m->group_of_op[i]);
    }
    emp_free(m->heavy);
    *m = (emp_moves){0};
}

/* ---- weights ----------------------------------------------------------------------- */

/* If all weights are 0, all groups are alike. Most ops weigh nothing: `heavy` are the others, in
 * rising order, which is also the order of a group's members. */
static void share_out(const emp_members *groups, const int32_t *group_of_op,
                      const double *weight, const emp_op_id *heavy, int32_t heavy_count,
                      double alike, double *up_to)
{
    double all = 0.0, sum = 0.0, even = 1.0 / groups->group_count;

    memset(up_to, 0, ((size_t)groups->group_count + 1) * sizeof *up_to);
    for (int32_t i = 0; i < heavy_count; i++)
        up_to[group_of_op[heavy[i]]] += weight[heavy[i]];
    for (int32_t g = 0; g < groups->group_count; g++) all += up_to[g];
    for (int32_t g = 0; g < groups->group_count; g++) {
        double share = all > 0.0 ? up_to[g] / all : even;
        sum += alike * even + (1.0 - alike) * share;
        up_to[g] = sum;
    }
}

/* Ops of no group are in one behind the last. */
static void fill_groups(int32_t *group_of_op, int32_t op_count, const emp_members *groups)
{
    for (emp_op_id op = 0; op < op_count; op++) group_of_op[op] = groups->group_count;
    for (int32_t g = 0; g < groups->group_count; g++) {
        for (int32_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            group_of_op[groups->member[i]] = g;
    }
}

/* Prepares emp_moves_weigh(), once. */
static emp_status prepare_weights(emp_moves *m, emp_error *err)
{
    const size_t ops = (size_t)m->graph->op_count;

    if (m->heavy == NULL) EMP_CHECK(EMP_ALLOC(m->heavy, ops));
    for (int32_t i = 0; i < m->level_count; i++) {
        const size_t groups = (size_t)m->level[i].group_count;
        if (m->up_to[i] != NULL) continue;
        if (m->group_of_op[i] == NULL) EMP_CHECK(EMP_ALLOC(m->group_of_op[i], ops));
        fill_groups(m->group_of_op[i], m->graph->op_count, &m->level[i]);
        EMP_CHECK(EMP_ALLOC(m->up_to[i], groups + 1));
    }
    return EMP_OK;
}

emp_status emp_moves_weigh(emp_moves *m, const double *weight, double alike,
                           emp_error *err)
{
    int32_t heavy = 0;

    EMP_CHECK(prepare_weights(m, err));
    for (emp_op_id op = 0; op < m->graph->op_count; op++) {
        m->heavy[heavy] = op;
        heavy += weight[op] > 0.0;
    }
    for (int32_t i = 0; i < m->level_count; i++)
        share_out(&m->level[i], m->group_of_op[i], weight, m->heavy, heavy, alike,
                  m->up_to[i]);
    return EMP_OK;
}

/* ---- moves ------------------------------------------------------------------------- */

bool emp_move_make(const emp_move *move, emp_device_id *device_of_op)
{
    const emp_members *groups = move->groups;
    bool               has_changed = false;

    for (int32_t i = groups->first[move->group]; i < groups->first[move->group + 1];
         i++) {
        emp_device_id *device = &device_of_op[groups->member[i]];
        has_changed |= *device != move->to;
        *device = move->to;
    }
    return has_changed;
}

static bool send(const emp_members *groups, int32_t group, emp_device_id to,
                 emp_device_id *device_of_op)
{
    return emp_move_make(&(emp_move){groups, group, to}, device_of_op);
}

static int32_t below(emp_rng *rng, int32_t bound)
{
    return (int32_t)emp_rng_below(rng, (uint32_t)bound);
}

/* Whether a hundredth, drawn evenly, lies within the share. */
static bool happens(emp_rng *rng, double share)
{
    return emp_rng_below(rng, 100) + 0.5 < 100.0 * share;
}

static emp_device_id device_of_vertex(const emp_moves *m, int32_t vertex,
                                      const emp_device_id *device_of_op)
{
    return device_of_op[m->ops_of_vertex.member[m->ops_of_vertex.first[vertex]]];
}

/* A neighbor of a vertex, drawn in proportion to traffic; -1 = it has none. */
static int32_t draw_neighbor(const emp_moves *m, int32_t vertex, emp_rng *rng)
{
    const emp_partition_graph *g = m->neighbors;
    const int32_t              first = g->row[vertex], end = g->row[vertex + 1];
    uint32_t                   sum = 0;

    for (int32_t i = first; i < end; i++) sum += (uint32_t)g->traffic[i];
    if (sum == 0) return -1;
    uint32_t u = emp_rng_below(rng, sum);
    int32_t  i = first;
    for (; u >= (uint32_t)g->traffic[i]; i++) u -= (uint32_t)g->traffic[i];
    return g->neighbor[i];
}

/* The device of a neighbor of an op of the group. */
static emp_device_id draw_near(const emp_moves *m, const emp_members *groups,
                               int32_t group, const emp_device_id *device_of_op,
                               emp_rng *rng)
{
    const int32_t first = groups->first[group], end = groups->first[group + 1];
    emp_op_id     op = groups->member[first + below(rng, end - first)];
    int32_t vertex = m->neighbors->vertex_of_class[m->graph->op[op].colocation_class];
    int32_t other = draw_neighbor(m, vertex, rng);

    return other < 0 ? emp_device_odds_draw(&m->odds, rng)
                     : device_of_vertex(m, other, device_of_op);
}

/* The device of a class to a neighbor, from there to the next: classes that were passed
 * keep theirs. */
static bool copy_along_edges(const emp_moves *m, emp_rng *rng,
                             emp_device_id *device_of_op)
{
    int32_t path[LONGEST_PATH] = {below(rng, m->neighbors->vertex_count)}, length = 1;
    const emp_device_id to = device_of_vertex(m, path[0], device_of_op);
    bool                has_changed = false;

    do {
        int32_t next = draw_neighbor(m, path[length - 1], rng);
        for (int32_t i = 0; i < length; i++)
            if (next == path[i]) next = -1;
        if (next < 0) break;
        has_changed |= send(&m->ops_of_vertex, next, to, device_of_op);
        path[length++] = next;
    } while (length < LONGEST_PATH && emp_rng_uniform(rng) < CONTINUE);
    return has_changed;
}

/* A level that `kind` allows, single classes before groups; NULL beyond the last. */
static const emp_members *allowed_level(const emp_moves *m, int32_t index)
{
    int32_t singles = m->options.kind == EMP_MOVES_GROUPS ? 0 : 1;
    int32_t groups = m->options.kind == EMP_MOVES_OPS ? 0 : m->level_count;

    if (index < singles) return &m->ops_of_vertex;
    return index - singles < groups ? &m->level[index - singles] : NULL;
}

/* The first group whose sum is above a uniform number. */
static int32_t draw_weighed(const double *up_to, int32_t count, emp_rng *rng)
{
    const double u = emp_rng_uniform(rng);
    int32_t      low;

    EMP_COUNT_FIRST(low, count - 1, i, up_to[i] <= u);
    return low;
}

/* A move that does not say where to yet. */
static emp_move draw_group(const emp_moves *m, emp_rng *rng)
{
    emp_move move = {0};
    int32_t  count = 0;

    while (allowed_level(m, count) != NULL) count++;
    move.groups = allowed_level(m, below(rng, count));
    const double *up_to =
        move.groups == &m->ops_of_vertex ? NULL : m->up_to[move.groups - m->level];
    move.group = up_to == NULL ? below(rng, move.groups->group_count)
                               : draw_weighed(up_to, move.groups->group_count, rng);
    return move;
}

emp_move emp_moves_pick(const emp_moves *m, emp_rng *rng,
                        const emp_device_id *device_of_op)
{
    emp_move move = draw_group(m, rng);

    move.to = happens(rng, m->options.near)
                  ? draw_near(m, move.groups, move.group, device_of_op, rng)
                  : emp_device_odds_draw(&m->odds, rng);
    return move;
}

bool emp_moves_draw(const emp_moves *m, emp_rng *rng, emp_device_id *device_of_op)
{
    if (m->neighbors->vertex_count == 0) return false;
    for (int i = 0; i < MOST_DRAWS; i++) {
        if (happens(rng, m->options.propagate)) {
            if (copy_along_edges(m, rng, device_of_op)) return true;
            continue;
        }
        const emp_move move = emp_moves_pick(m, rng, device_of_op);
        if (emp_move_make(&move, device_of_op)) return true;
    }
    return false;
}

bool emp_moves_draw_level(const emp_moves *m, emp_rng *rng, uint8_t *level_of_op)
{
    if (m->neighbors->vertex_count == 0) return false;
    const emp_move   move = draw_group(m, rng);
    const emp_op_id *first = &move.groups->member[move.groups->first[move.group]];
    const emp_op_id *end = &move.groups->member[move.groups->first[move.group + 1]];
    const uint8_t    level = (uint8_t)below(rng, EMP_LEVELS);
    bool             has_changed = false;

    for (const emp_op_id *op = first; op < end; op++) {
        has_changed |= level_of_op[*op] != level;
        level_of_op[*op] = level;
    }
    return has_changed;
}

bool emp_moves_draw_fusion(const emp_moves *m, emp_rng *rng, emp_op_id *leader_of_op)
{
    if (m->neighbors->vertex_count == 0) return false;
    const emp_move   move = draw_group(m, rng);
    const emp_op_id *first = &move.groups->member[move.groups->first[move.group]];
    const emp_op_id *end = &move.groups->member[move.groups->first[move.group + 1]];
    const bool       joins = below(rng, 2) == 1;
    bool             has_changed = false;

    for (const emp_op_id *op = first; op < end; op++) {
        has_changed |= (leader_of_op[*op] != *op) != joins;
        leader_of_op[*op] = joins ? EMP_JOINS_READERS : *op;
    }
    return has_changed;
}

void emp_moves_draw_leaders(emp_rng *rng, emp_op_id *leader_of_op, int32_t op_count)
{
    const double share = emp_rng_uniform(rng);

    for (emp_op_id op = 0; op < op_count; op++)
        leader_of_op[op] = emp_rng_uniform(rng) < share ? EMP_JOINS_READERS : op;
}

/* ---- all moves --------------------------------------------------------------------- */

int64_t emp_moves_count(const emp_moves *m)
{
    const emp_members *groups;
    int64_t            count = 0;

    for (int32_t i = 0; (groups = allowed_level(m, i)) != NULL; i++)
        count += (int64_t)groups->group_count * m->odds.device_count;
    return count;
}

bool emp_moves_make(const emp_moves *m, int64_t index, emp_device_id *device_of_op)
{
    const emp_members *groups;

    for (int32_t i = 0; (groups = allowed_level(m, i)) != NULL; i++) {
        int64_t count = (int64_t)groups->group_count * m->odds.device_count;
        if (index < count)
            return send(groups, (int32_t)(index / m->odds.device_count),
                        m->odds.device[index % m->odds.device_count], device_of_op);
        index -= count;
    }
    return false;
}

void emp_moves_scatter(const emp_moves *m, emp_rng *rng, emp_device_id *device_of_op)
{
    const emp_members *groups = m->level_count > 0 ? &m->level[0] : &m->ops_of_vertex;

    memset(device_of_op, 0, (size_t)m->graph->op_count * sizeof *device_of_op);
    for (int32_t g = 0; g < groups->group_count; g++)
        send(groups, g, emp_device_odds_draw(&m->odds, rng), device_of_op);
}
