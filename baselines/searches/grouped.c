// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/searches/grouped.h"

#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/rng.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/method.h"

/* Largest group over the mean: a layer is a better group than an equal share. */
static const double IMBALANCE = 2.0;

emp_status emp_grouped_init(emp_grouped *g, const emp_problem *problem,
                            const emp_grouped_options *options,
                            const emp_method_params *params, emp_error *err)
{
    const emp_class_groups_params groups = {.kind = options->kind,
                                            .count = options->count,
                                            .imbalance = IMBALANCE,
                                            .seed = params->seed,
                                            .stop = params->stop};

    *g = (emp_grouped){.problem = problem,
                       .device_count = problem->machine->device_count,
                       .own_hash = EMP_HASH_SEED};
    EMP_CHECK(emp_class_groups_ops(&g->ops, &g->own_hash, problem, &groups, err));
    g->groups_hash = (int64_t)g->own_hash;
    g->metric[1].name = "mean_cost_s";
    g->metric[2] = (emp_method_metric){"groups", g->ops.group_count};
    return EMP_OK;
}

void emp_grouped_clear(emp_grouped *g) { emp_members_clear(&g->ops); }

emp_status emp_grouped_check(const emp_grouped *g, const char *method, emp_error *err)
{
    if ((uint64_t)g->groups_hash != g->own_hash) {
        return EMP_ERROR(
            EMP_EFORMAT,
            "groups of ops are others here than where the saved state of %s comes "
            "from; begin anew",
            method);
    }
    return EMP_OK;
}

void emp_grouped_place(const emp_grouped *g, const int32_t *device_of_group,
                       emp_device_id *device_of_op)
{
    memset(device_of_op, 0, (size_t)g->problem->graph->op_count * sizeof *device_of_op);
    emp_members_spread(&g->ops, device_of_group, device_of_op);
}

emp_status emp_grouped_begin_tell(emp_grouped *g, const emp_score *scores, int32_t count,
                                  double *cost_s, emp_error *err)
{
    double mean_s = 0.0;

    if (count != g->sample_count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         g->sample_count);
    for (int32_t k = 0; k < count; k++) {
        cost_s[k] = emp_penalized_s(&scores[k]);
        mean_s += cost_s[k] / count;
    }
    g->metric[1].value = mean_s;
    return EMP_OK;
}

const emp_method_metric *emp_grouped_metrics(const void *state, int32_t *count)
{
    *count = EMP_GROUPED_METRICS;
    return ((const emp_grouped *)state)->metric;
}

/* A biased random-key genetic algorithm (Goncalves and Resende, 2011), the search that
 * REGAL (Paliwal et al., ICLR 2020) gives hints to.
 *
 * A chromosome is a key in [0, 1) for each group and device; a group goes to the device of
 * its highest key. A generation consists of the elite of the one before, of mutants, which
 * are drawn afresh, and of children: each key comes from an elite parent with probability
 * 0.7, else from another parent. REGAL also has keys that order ops; the runtime orders
 * them by itself here, so there are none. */

/* Tolerance for a share that a person has written, times a count. */
static const double ROUNDING = 1e-6;

typedef struct {
    emp_grouped_options groups;

    int32_t population;
    double  elite, mutants; /* shares of it */
    double  bias;           /* share of keys from the elite parent */
} brkga_options;

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t generation;
    int64_t next; /* member of the generation that is to be scored next */
} brkga_progress;

typedef struct {
    emp_grouped   groups; /* first */
    brkga_options options;
    uint64_t      seed;
    int32_t       key_count;                 /* of a chromosome */
    int32_t       elite_count, mutant_count; /* of a generation */

    brkga_progress at;
    double        *key, *next_key;  /* [member][group][device] */
    double        *cost_s;          /* [member] */
    emp_keyed     *rank;            /* members by their cost */
    int32_t       *device_of_group; /* of the latest candidate */
} brkga;

static void clear(void *state)
{
    brkga *b = state;

    emp_grouped_clear(&b->groups);
    emp_free(b->key);
    emp_free(b->next_key);
    emp_free(b->cost_s);
    emp_free(b->rank);
    emp_free(b->device_of_group);
}

static emp_status divide_population(brkga *b, emp_error *err)
{
    const brkga_options *o = &b->options;

    b->elite_count = (int32_t)ceil(o->population * o->elite - ROUNDING);
    b->mutant_count = (int32_t)floor(o->population * o->mutants + ROUNDING);
    if (b->elite_count + b->mutant_count < o->population) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "brkga: an elite of %g and mutants of %g of a population leave no "
                     "room for children",
                     o->elite, o->mutants);
}

static double *chromosome(const brkga *b, double *keys, int64_t member)
{
    return keys + (size_t)member * (size_t)b->key_count;
}

static void draw_keys(const brkga *b, emp_rng *rng, double *keys)
{
    for (int32_t i = 0; i < b->key_count; i++) keys[i] = emp_rng_uniform(rng);
}

static void draw_population(brkga *b)
{
    emp_rng rng;

    for (int64_t i = 0; i < b->options.population; i++) {
        emp_rng_init(&rng, b->seed, 0, (uint32_t)i);
        draw_keys(b, &rng, chromosome(b, b->key, i));
    }
}

static emp_status allocate(brkga *b, emp_error *err)
{
    size_t members = (size_t)b->options.population;

    EMP_CHECK(EMP_ALLOC(b->key, members * (size_t)b->key_count));
    EMP_CHECK(EMP_ALLOC(b->next_key, members * (size_t)b->key_count));
    EMP_CHECK(EMP_ALLOC(b->cost_s, members));
    EMP_CHECK(EMP_ALLOC(b->rank, members));
    EMP_CHECK(EMP_ALLOC(b->device_of_group, (size_t)b->groups.ops.group_count));
    return EMP_OK;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    brkga *b = state;

    EMP_CHECK(emp_method_options_parse(&b->options, &emp_method_brkga, params, err));
    EMP_CHECK(divide_population(b, err));
    b->seed = params->seed;
    EMP_CHECK(emp_grouped_init(&b->groups, problem, &b->options.groups, params, err));
    b->key_count = b->groups.ops.group_count * b->groups.device_count;
    EMP_CHECK(allocate(b, err));
    draw_population(b);
    return EMP_OK;
}

/* ---- ask --------------------------------------------------------------------------- */

static bool are_numbers(const double *value, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (isnan(value[i])) return false;
    return true;
}

/* A restored state may come from anywhere; any keys are good. */
static emp_status check_state(const brkga *b, emp_error *err)
{
    EMP_CHECK(emp_grouped_check(&b->groups, "brkga", err));
    if (!emp_count_is_valid(b->at.generation) || b->at.next < 0 ||
        b->at.next >= b->options.population ||
        !are_numbers(b->cost_s, b->options.population))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of brkga is damaged");
    return EMP_OK;
}

static void decode(brkga *b, int64_t member, emp_device_id *device_of_op)
{
    const double *key = chromosome(b, b->key, member);

    for (int32_t g = 0; g < b->groups.ops.group_count;
         g++, key += b->groups.device_count) {
        int32_t best = 0;
        for (int32_t d = 1; d < b->groups.device_count; d++)
            if (key[d] > key[best]) best = d;
        b->device_of_group[g] = best;
    }
    emp_grouped_place(&b->groups, b->device_of_group, device_of_op);
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    brkga *b = state;

    EMP_CHECK(check_state(b, err));
    int64_t room = b->options.population - b->at.next;
    *count = room < max ? (int32_t)room : max;
    b->groups.sample_count = *count;
    for (int32_t k = 0; k < *count; k++)
        decode(b, b->at.next + k, candidates[k].device_of_op);
    return EMP_OK;
}

/* ---- tell -------------------------------------------------------------------------- */

/* Each key from the elite parent with probability bias. */
static void cross(const brkga *b, emp_rng *rng, const double *elite, const double *other,
                  double *child)
{
    const double bias = b->options.bias;

    for (int32_t i = 0; i < b->key_count; i++)
        child[i] = emp_rng_uniform(rng) < bias ? elite[i] : other[i];
}

/* The elite first, best first, with its costs; then mutants, then children. */
static void breed(brkga *b)
{
    const int32_t members = b->options.population, elite = b->elite_count;
    emp_rng       rng;

    for (int32_t i = 0; i < members; i++) b->rank[i] = (emp_keyed){b->cost_s[i], i};
    emp_keyed_sort(b->rank, (size_t)members);
    b->at.generation++;
    for (int32_t i = 0; i < members; i++) {
        double *child = chromosome(b, b->next_key, i);
        emp_rng_init(&rng, b->seed, (uint32_t)b->at.generation, (uint32_t)i);
        if (i < elite) {
            memcpy(child, chromosome(b, b->key, b->rank[i].number),
                   (size_t)b->key_count * sizeof *child);
            b->cost_s[i] = b->rank[i].key;
        } else if (i < elite + b->mutant_count) {
            draw_keys(b, &rng, child);
        } else {
            int32_t mother = (int32_t)emp_rng_below(&rng, (uint32_t)elite);
            int32_t father =
                elite + (int32_t)emp_rng_below(&rng, (uint32_t)(members - elite));
            cross(b, &rng, chromosome(b, b->key, b->rank[mother].number),
                  chromosome(b, b->key, b->rank[father].number), child);
        }
    }
    double *swapped = b->key;
    b->key = b->next_key;
    b->next_key = swapped;
    b->at.next = elite;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    brkga *b = state;

    EMP_CHECK(
        emp_grouped_begin_tell(&b->groups, scores, count, b->cost_s + b->at.next, err));
    b->at.next += count;
    if (b->at.next == b->options.population) breed(b);
    b->groups.metric[0] = (emp_method_metric){"generation", (double)b->at.generation};
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    brkga                *b = state;
    size_t                members = (size_t)b->options.population;
    const emp_named_array list[] = {
        {"progress", EMP_ARRAY_INT64, sizeof b->at / sizeof(int64_t), &b->at},
        {"keys", EMP_ARRAY_DOUBLE, members * (size_t)b->key_count, b->key},
        {"cost_s", EMP_ARRAY_DOUBLE, members, b->cost_s},
        {"groups_hash", EMP_ARRAY_INT64, 1, &b->groups.groups_hash}};

    memcpy(arrays, list, sizeof list);
    return sizeof list / sizeof *list;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("population", brkga_options, population, 3, 1 << 14,
                       "placements of a generation", 50),
    EMP_REAL_OPTION("elite", brkga_options, elite, 0.01, 0.5,
                    "share of them that live on", 0.2),
    EMP_REAL_OPTION("mutants", brkga_options, mutants, 0, 0.5,
                    "share of them that are drawn afresh", 0.1),
    EMP_REAL_OPTION("bias", brkga_options, bias, 0.5, 1,
                    "share of the keys of a child that are those of its elite parent",
                    0.7),
    EMP_GROUPED_OPTIONS(brkga_options, groups),
    EMP_NO_OPTION};

const emp_method emp_method_brkga = {
    .options = option_list,
    .name = "brkga",
    .description = "biased random-key genetic algorithm on groups (Goncalves and Resende "
                   "2011; Paliwal et al. 2020)",
    .advice = "a comparison with a genetic algorithm",
    .uses_budget = true,
    .uses_seed = true,
    .state_bytes = sizeof(brkga),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_grouped_metrics,
    .list_state = list_state,
};
