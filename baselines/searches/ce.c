// SPDX-License-Identifier: GPL-3.0-or-later
/* The cross-entropy method (Rubinstein 1999; for placement: Post, Gao et al. 2018) on
 * groups of ops, from coarse to fine.
 *
 * The policy is a table: p[group][device], groups independent. Each batch is drawn from
 * it, the best placements so far that fit in memory are kept (the elite), and the table
 * moves towards their frequencies:
 *
 *     p <- (1 - rate) p + rate [(1 - e) frequency in the elite + e / devices]
 *
 * e leaves a sample some groups away from the elite on average, so that the search never
 * ends. It begins with a dozen groups (emp_clusters), uniformly; that settles
 * the large questions in a few hundred samples. As much depends on the groups, several
 * groupings are tried, each with twice as many as the one before. The best goes on with its
 * fine groups, near the best placement. */
#include "baselines/searches/grouped.h"

#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/rng.h"
#include "baselines/baselines.h"
#include "search/groups/class_groups.h"
#include "search/method.h"

emp_status emp_elites_init(emp_elites *e, int32_t capacity, int32_t max_width,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    *e = (emp_elites){.capacity = capacity, .max_width = max_width, .width = max_width};
    EMP_TRY(EMP_ALLOC(e->choice, (size_t)capacity * (size_t)max_width));
    EMP_TRY(EMP_ALLOC(e->step_time_s, (size_t)capacity));

cleanup:
    if (st != EMP_OK) emp_elites_clear(e);
    return st;
}

void emp_elites_clear(emp_elites *e)
{
    emp_free(e->choice);
    emp_free(e->step_time_s);
    *e = (emp_elites){0};
}

void emp_elites_restart(emp_elites *e, int32_t width)
{
    e->count = 0;
    e->width = width;
}

bool emp_elites_keep(emp_elites *e, const int32_t *choice, double step_time_s)
{
    size_t  width = (size_t)e->width, bytes = width * sizeof *e->choice;
    int64_t place = e->count, moved;

    while (place > 0 && e->step_time_s[place - 1] > step_time_s) place--;
    if (place > 0 && e->step_time_s[place - 1] == step_time_s) return false;
    if (place == e->capacity) return false;
    if (e->count < e->capacity) e->count++;
    moved = e->count - 1 - place;
    int32_t *at = e->choice + (size_t)place * width;
    memmove(at + width, at, (size_t)moved * bytes);
    memmove(&e->step_time_s[place + 1], &e->step_time_s[place],
            (size_t)moved * sizeof *e->step_time_s);
    memcpy(at, choice, bytes);
    e->step_time_s[place] = step_time_s;
    return true;
}

const int32_t *emp_elites_at(const emp_elites *e, int64_t index)
{
    return e->choice + (size_t)index * (size_t)e->width;
}

bool emp_elites_are_valid(const emp_elites *e, int32_t choices)
{
    if (e->count < 0 || e->count > e->capacity) return false;
    if (e->width < 0 || e->width > e->max_width) return false;
    return emp_choices_are_valid(e->choice, e->count * e->width, choices);
}

enum { MOST_STARTS = 8, METRICS = 4 };

/* Largest group over the mean; groupings take them in turn. By trial, as the defaults of the
 * options: baselines/README.md. */
static const double IMBALANCE[] = {2.0, 4.0};

typedef struct {
    int32_t samples, elites; /* per batch; kept */
    int32_t coarse, fine;    /* groups: of the first start; about */
    int32_t starts, start_samples;
    double  rate;
    double  strays, strays_first; /* groups of a sample that leave the elite: always, and
                                     when the fine groups begin */
} ce_options;

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t asked;      /* samples in all */
    int64_t begun_at;   /* asked, when the stage began */
    int64_t stage;      /* number of the start; starts: fine */
    int64_t best_start; /* -1 = none has run */
} ce_progress;

typedef struct {
    const emp_problem *problem;
    ce_options         options;
    uint64_t           seed;
    int32_t            device_count, most_groups;
    emp_clusters      *clusters[MOST_STARTS];
    uint64_t           hash_of_groups; /* of all clusters */

    ce_progress       at;
    int32_t           sample_count; /* of the last ask */
    double           *p;            /* [group][device] */
    int32_t          *sample;       /* [sample][group] device */
    emp_elites        elites;       /* choices: device of each group */
    int32_t          *best;         /* [coarse group] device, of the best start */
    double            best_s;       /* its step time */
    int64_t           groups_hash;  /* hash_of_groups, or a restored state's */
    emp_method_metric metric[METRICS];
} ce;

static void clear(void *state)
{
    ce *c = state;

    for (int i = 0; i < MOST_STARTS; i++) emp_clusters_destroy(c->clusters[i]);
    emp_free(c->p);
    emp_free(c->sample);
    emp_elites_clear(&c->elites);
    emp_free(c->best);
}

static bool is_fine(const ce *c) { return c->at.stage == c->options.starts; }

static const emp_clusters *clusters_of_stage(const ce *c)
{
    return c->clusters[is_fine(c) ? (c->at.best_start < 0 ? 0 : c->at.best_start)
                                  : c->at.stage];
}

static int32_t group_count(const ce *c)
{
    const emp_clusters *clusters = clusters_of_stage(c);

    return is_fine(c) ? clusters->fine_count : clusters->coarse_count;
}

/* As a share of all groups, at most half. */
static double share_of(const ce *c, double groups)
{
    return fmin(0.5, groups / fmax(1.0, group_count(c)));
}

static void spread_evenly(ce *c)
{
    for (int32_t i = 0; i < c->most_groups * c->device_count; i++)
        c->p[i] = 1.0 / c->device_count;
}

/* The fine groups begin where the best start left their coarse ones. */
static void begin_fine(ce *c)
{
    const emp_clusters *clusters = clusters_of_stage(c);
    double              stray = share_of(c, c->options.strays_first);

    if (c->at.best_start < 0) return;
    for (int32_t g = 0; g < clusters->fine_count; g++) {
        int32_t device = c->best[clusters->coarse_of_fine[g]];
        for (int32_t d = 0; d < c->device_count; d++)
            c->p[g * c->device_count + d] =
                stray / c->device_count + (d == device ? 1.0 - stray : 0.0);
        c->sample[g] = device;
    }
    emp_elites_keep(&c->elites, c->sample, c->best_s);
}

static void begin_stage(ce *c)
{
    c->at.begun_at = c->at.asked;
    emp_elites_restart(&c->elites, c->most_groups);
    spread_evenly(c);
    if (is_fine(c)) begin_fine(c);
}

static emp_status create_clusters(ce *c, const atomic_int *stop, emp_error *err)
{
    for (int32_t i = 0; i < c->options.starts; i++) {
        EMP_CHECK(emp_clusters_create(
            &c->clusters[i], c->problem, c->options.fine, c->options.coarse << i,
            IMBALANCE[(size_t)i % (sizeof IMBALANCE / sizeof *IMBALANCE)],
            c->seed * MOST_STARTS + (uint64_t)i, stop, err));
        if (c->clusters[i]->fine_count > c->most_groups)
            c->most_groups = c->clusters[i]->fine_count;
    }
    return EMP_OK;
}

static uint64_t hash_clusters(const ce *c)
{
    uint64_t hash = EMP_HASH_SEED;

    for (int32_t i = 0; i < c->options.starts; i++) {
        const emp_clusters *clusters = c->clusters[i];
        for (int32_t k = 0; k < clusters->class_count; k++)
            hash = emp_hash_u64(hash, (uint64_t)clusters->fine_of_class[k]);
        for (int32_t k = 0; k < clusters->fine_count; k++)
            hash = emp_hash_u64(hash, (uint64_t)clusters->coarse_of_fine[k]);
    }
    return hash;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    ce *c = state;

    c->problem = problem;
    c->seed = params->seed;
    c->device_count = problem->machine->device_count;
    EMP_CHECK(emp_method_options_parse(&c->options, &emp_method_ce, params, err));
    EMP_CHECK(create_clusters(c, params->stop, err));
    size_t groups = (size_t)c->most_groups;
    EMP_CHECK(EMP_ALLOC(c->p, groups * (size_t)c->device_count));
    EMP_CHECK(EMP_ALLOC(c->sample, (size_t)c->options.samples * groups));
    EMP_CHECK(emp_elites_init(&c->elites, c->options.elites, c->most_groups, err));
    EMP_CHECK(EMP_ALLOC(c->best, groups));
    c->hash_of_groups = hash_clusters(c);
    c->groups_hash = (int64_t)c->hash_of_groups;
    c->at.best_start = -1;
    begin_stage(c);
    return EMP_OK;
}

static int32_t draw_device(const ce *c, int32_t group, emp_rng *rng)
{
    const double *p = &c->p[group * c->device_count];
    double        u = emp_rng_uniform(rng);
    int32_t       d = 0;

    for (; d < c->device_count - 1 && u >= p[d]; d++) u -= p[d];
    return d;
}

/* Classes in no group go to device 0, from which legalization sends them on. */
static void draw_candidate(ce *c, int32_t *device_of_group, emp_device_id *device_of_op)
{
    const emp_graph    *graph = c->problem->graph;
    const emp_clusters *clusters = clusters_of_stage(c);
    const int32_t       groups = group_count(c);
    emp_rng             rng;

    emp_rng_init(&rng, c->seed, (uint32_t)c->at.asked++, 0);
    for (int32_t g = 0; g < groups; g++) device_of_group[g] = draw_device(c, g, &rng);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t group = clusters->fine_of_class[graph->op[op].colocation_class];
        if (group >= 0 && !is_fine(c)) group = clusters->coarse_of_fine[group];
        device_of_op[op] = group < 0 ? 0 : device_of_group[group];
    }
}

/* A restored state may come from anywhere. */
static emp_status check_state(const ce *c, emp_error *err)
{
    const ce_progress *at = &c->at;
    const ce_options  *o = &c->options;

    if ((uint64_t)c->groups_hash != c->hash_of_groups)
        return EMP_ERROR(EMP_EFORMAT,
                         "METIS makes other groups here than where the saved state of "
                         "ce comes from; begin anew");
    if (!emp_count_is_valid(at->asked) || !emp_count_is_valid(at->begun_at) ||
        at->stage < 0 || at->stage > o->starts || at->best_start < -1 ||
        at->best_start >= o->starts ||
        !emp_elites_are_valid(&c->elites, c->device_count) ||
        !emp_choices_are_valid(c->best, c->most_groups, c->device_count)) {
        return EMP_ERROR(EMP_EFORMAT, "the saved state of ce is damaged");
    }
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    ce *c = state;

    EMP_CHECK(check_state(c, err));
    *count = c->options.samples < max ? c->options.samples : max;
    c->sample_count = *count;
    for (int32_t k = 0; k < *count; k++)
        draw_candidate(c, c->sample + (size_t)k * (size_t)c->most_groups,
                       candidates[k].device_of_op);
    return EMP_OK;
}

static void move_table(ce *c)
{
    const double  rate = c->options.rate;
    const double  stray = share_of(c, c->options.strays), n = (double)c->elites.count;
    const int32_t groups = group_count(c);

    if (c->elites.count == 0) return;
    for (int32_t g = 0; g < groups; g++) {
        double  count[EMP_MAX_DEVICES] = {0};
        double *p = &c->p[g * c->device_count];
        for (int64_t i = 0; i < c->elites.count; i++)
            count[emp_elites_at(&c->elites, i)[g]] += 1.0;
        for (int32_t d = 0; d < c->device_count; d++) {
            double wanted = (1.0 - stray) * count[d] / n + stray / c->device_count;
            p[d] += rate * (wanted - p[d]);
        }
    }
}

/* A start is over: remembers it if it is the best, and goes on. */
static void end_start(ce *c)
{
    const emp_elites *e = &c->elites;
    bool              is_best =
        e->count > 0 && (c->at.best_start < 0 || e->step_time_s[0] < c->best_s);

    if (is_best) {
        c->at.best_start = c->at.stage;
        c->best_s = e->step_time_s[0];
        memcpy(c->best, emp_elites_at(e, 0), (size_t)c->most_groups * sizeof *c->best);
    }
    c->at.stage++;
    begin_stage(c);
}

/* Mean entropy of a group's device, nats. */
static double entropy(const ce *c)
{
    double  sum = 0.0;
    int32_t groups = group_count(c);

    for (int32_t i = 0; i < groups * c->device_count; i++)
        if (c->p[i] > 0.0) sum -= c->p[i] * log(c->p[i]);
    return groups > 0 ? sum / groups : 0.0;
}

static void report(ce *c)
{
    const emp_method_metric metric[METRICS] = {
        {"stage", (double)c->at.stage},
        {"groups", group_count(c)},
        {"entropy", entropy(c)},
        {"elite_worst_s",
         c->elites.count > 0 ? c->elites.step_time_s[c->elites.count - 1] : NAN}};

    memcpy(c->metric, metric, sizeof metric);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    ce *c = state;

    if (count != c->sample_count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         c->sample_count);
    for (int32_t k = 0; k < count; k++) {
        if (scores[k].is_feasible)
            emp_elites_keep(&c->elites, c->sample + (size_t)k * (size_t)c->most_groups,
                            scores[k].step_time_s);
    }
    move_table(c);
    report(c);
    if (!is_fine(c) && c->at.asked - c->at.begun_at >= c->options.start_samples)
        end_start(c);
    return EMP_OK;
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    *count = METRICS;
    return ((const ce *)state)->metric;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    ce                   *c = state;
    size_t                groups = (size_t)c->most_groups;
    emp_elites           *e = &c->elites;
    size_t                elites = (size_t)e->capacity;
    const emp_named_array list[] = {
        {"progress", EMP_ARRAY_INT64, sizeof c->at / sizeof(int64_t), &c->at},
        {"p", EMP_ARRAY_DOUBLE, groups * (size_t)c->device_count, c->p},
        {"elite_count", EMP_ARRAY_INT64, 1, &e->count},
        {"elite", EMP_ARRAY_INT32, elites * groups, e->choice},
        {"elite_s", EMP_ARRAY_DOUBLE, elites, e->step_time_s},
        {"best", EMP_ARRAY_INT32, groups, c->best},
        {"best_s", EMP_ARRAY_DOUBLE, 1, &c->best_s},
        {"groups_hash", EMP_ARRAY_INT64, 1, &c->groups_hash}};

    memcpy(arrays, list, sizeof list);
    return sizeof list / sizeof *list;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("samples", ce_options, samples, 1, EMP_MAX_BATCH,
                       "placements a batch", 8),
    EMP_INTEGER_OPTION("elites", ce_options, elites, 1, 1024,
                       "best placements that are kept", 5),
    EMP_INTEGER_OPTION("coarse", ce_options, coarse, 1, 64,
                       "groups of the first start; each further one has twice as many",
                       12),
    EMP_INTEGER_OPTION("fine", ce_options, fine, 1, 1 << 14, "groups in the end, about",
                       1024),
    EMP_INTEGER_OPTION("starts", ce_options, starts, 1, MOST_STARTS,
                       "groupings that are tried", 3),
    EMP_INTEGER_OPTION("start_samples", ce_options, start_samples, 1, 1 << 30,
                       "placements for each of them", 400),
    EMP_REAL_OPTION("rate", ce_options, rate, 0.01, 1,
                    "share of the way that the table moves towards the elite", 0.2),
    EMP_REAL_OPTION("strays", ce_options, strays, 0, 1 << 16,
                    "groups of a sample that leave the elite on average", 1),
    EMP_REAL_OPTION("strays_first", ce_options, strays_first, 0, 1 << 16,
                    "the same when the fine groups begin", 6),
    EMP_NO_OPTION};

const emp_method emp_method_ce = {
    .options = option_list,
    .name = "ce",
    .description =
        "cross-entropy method on METIS groups, from coarse to fine (Rubinstein "
        "1999; Gao et al. 2018)",
    .advice = "a search over probabilities of devices, not one placement",
    .uses_budget = true,
    .uses_seed = true,
    .state_bytes = sizeof(ce),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = list_state,
};
