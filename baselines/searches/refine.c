// SPDX-License-Identifier: GPL-3.0-or-later
/* Local search that asks the simulator more than a step time.
 *
 * A sample is the best placement so far in which one group of ops has gone to another device.
 * Groups are Scotch's, of many sizes, and cut in several ways: large ones keep together what
 * belongs together, small ones balance the load. They are cut as the search goes on: on large
 * graphs all cuts take longer than a short search has. They are drawn by their share of the critical
 * path (sim/explain/explain.h): what is not on it can be anywhere. A part of the samples are the
 * drafts, among many, that the surrogate estimates to be fastest. A proposal is not repeated as
 * long as it is remembered.
 *
 * Where a search ends depends on where it begins more than on how long it lasts. So there are
 * several starts from random placements, which share half of the budget; the best of all is
 * refined to the end. */
#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/method.h"
#include "sim/explain/explain.h"
#include "sim/surrogate/surrogate.h"

/* Slots for the hashes of proposals; of two that share a slot the later one is remembered. A
 * tenth of 4,000 proposals is forgotten. */
enum { KNOWN = 1 << 14 };

/* Levels of groups that are made at once; the others are, one before every second batch. */
enum { FIRST_LEVELS = 3, BATCHES_A_LEVEL = 2 };

/* Most moves may be known: after so many draws the last one is taken as it is. */
enum { MOST_DRAWS = 20 };

enum { BLOCK = 16 /* drafts that are estimated at once */ };

/* Samples of all starts where no number of evaluations is given. */
enum { USUAL_START_SAMPLES = 2000, MOST_START_SAMPLES = 1 << 30 };

/* Streams of the walk's seed, away from its own: substreams from 16 on. */
enum { STREAM_MOVE = 16, STREAM_START };

/* Largest group of Scotch or METIS over the mean. */
static const double IMBALANCE = 3.0;

typedef struct {
    emp_walk_options walk;
    int32_t          starts, start_samples;
    double           alike, chosen; /* shares of moves, of samples */
    int32_t          filter;        /* drafts for each sample that is chosen */
} refine_options;

typedef struct {
    int64_t  number;
    emp_move move;
    uint64_t hash;   /* of the placement */
    bool     is_new; /* was not proposed before */
    double   guess_s;
} draft;

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t stage; /* number of the start; the number of starts: the last refinement */
    int64_t told;  /* samples of it */
    int64_t asked; /* batches of all */
    int64_t grown; /* of the moves */
} refine_progress;

typedef struct {
    emp_walk        walk; /* first */
    refine_options  options;
    refine_progress at;
    emp_sim        *sim;       /* NULL: these rules cannot be explained */
    emp_blamer     *blamer;    /* of this simulator */
    emp_surrogate  *surrogate; /* NULL: nothing can be estimated */
    double         *blame_s;   /* [op] */
    double         *end_frac;  /* [op] when it ends, of the step */
    int64_t        *known;     /* [hash % KNOWN] hash of a proposal, or 0 */
    uint64_t       *op_hash;   /* [device][op] hash_of_op() */
    draft          *draft;
    emp_device_id  *block;     /* [BLOCK][op] */
    uint64_t        here_hash; /* of where the walk stands ... */
    bool            is_seen;   /* ... which the simulator has looked at */
} refiner;

static void clear(void *state)
{
    refiner *r = state;

    emp_walk_clear(&r->walk);
    emp_blamer_destroy(r->blamer);
    emp_sim_destroy(r->sim);
    emp_surrogate_destroy(r->surrogate);
    emp_free(r->blame_s);
    emp_free(r->end_frac);
    emp_free(r->known);
    emp_free(r->op_hash);
    emp_free(r->draft);
    emp_free(r->block);
}

/* ---- what the simulator says ------------------------------------------------------- */

/* A placement's hash is the sum of these over its ops, so that a move changes few. Ops of a group are near each other,
 * and so are their hashes. */
static uint64_t hash_of_op(const refiner *r, emp_op_id op, emp_device_id device)
{
    return r
        ->op_hash[(size_t)device * (size_t)r->walk.problem->graph->op_count + (size_t)op];
}

static void fill_hashes(refiner *r)
{
    const int32_t devices = r->walk.problem->machine->device_count;
    uint64_t     *hash = r->op_hash;

    for (emp_device_id d = 0; d < devices; d++) {
        for (emp_op_id op = 0; op < r->walk.problem->graph->op_count; op++)
            *hash++ = emp_hash_u64(EMP_HASH_SEED, (uint64_t)op << 32 | (uint32_t)d);
    }
}

/* Simulates the walk's placement: one traced step. */
static emp_status ask_simulator(refiner *r, emp_error *err)
{
    const emp_walk *w = &r->walk;

    EMP_CHECK(emp_blamer_run(r->blamer, r->blame_s, r->end_frac,
                             &(emp_decision){.device_of_op = w->here.device_of_op}, err));
    if (r->surrogate == NULL) return EMP_OK;
    return emp_surrogate_set_order(r->surrogate, r->end_frac, err);
}

/* Has the simulator look at where the walk stands, if that is new. A restored state may come from
 * a run in which CPUs were not forbidden. */
static emp_status look(refiner *r, emp_error *err)
{
    const emp_walk *w = &r->walk;
    uint64_t        hash = 0;

    emp_problem_legalize(w->problem, w->here.device_of_op);
    for (emp_op_id op = 0; op < w->problem->graph->op_count; op++)
        hash += hash_of_op(r, op, w->here.device_of_op[op]);
    if (r->is_seen && hash == r->here_hash) return EMP_OK;
    r->here_hash = hash;
    r->is_seen = false;
    if (r->sim != NULL) {
        EMP_CHECK(ask_simulator(r, err));
        EMP_CHECK(emp_moves_weigh(&r->walk.moves, r->blame_s, r->options.alike, err));
    }
    r->is_seen = true;
    return EMP_OK;
}

/* ---- drafts ------------------------------------------------------------------------ */

static emp_move pick(const emp_walk *w, int64_t number, const emp_device_id *device_of_op)
{
    emp_rng rng;

    emp_rng_init(&rng, w->seed, (uint32_t)number, STREAM_MOVE);
    return emp_moves_pick(&w->moves, &rng, device_of_op);
}

static bool make_move(emp_walk *walk, int64_t number, const emp_owned_decision *at)
{
    const emp_move move = pick(walk, number, at->device_of_op);

    return emp_move_make(&move, at->device_of_op);
}

static uint64_t hash_of_move(const refiner *r, const emp_move *m)
{
    const emp_members *g = m->groups;
    uint64_t           hash = r->here_hash;

    for (int32_t i = g->first[m->group]; i < g->first[m->group + 1]; i++) {
        emp_op_id     op = g->member[i];
        emp_device_id from = r->walk.here.device_of_op[op];
        if (from != m->to) hash += hash_of_op(r, op, m->to) - hash_of_op(r, op, from);
    }
    return hash;
}

/* Neither where the walk stands, nor proposed before, nor among the first `count` drafts. */
static bool is_new(const refiner *r, uint64_t hash, int32_t count)
{
    if (hash == r->here_hash || r->known[hash % KNOWN] == (int64_t)hash) return false;
    for (int32_t i = 0; i < count; i++)
        if (r->draft[i].hash == hash) return false;
    return true;
}

static void draw_draft(refiner *r, int32_t index)
{
    draft *d = &r->draft[index];

    for (int i = 0; i == 0 || (i < MOST_DRAWS && !d->is_new); i++) {
        d->number = r->walk.at.drafted++;
        d->move = pick(&r->walk, d->number, r->walk.here.device_of_op);
        d->hash = hash_of_move(r, &d->move);
        d->is_new = is_new(r, d->hash, index);
    }
}

/* \a device_of_op is where the walk stands. */
static void make_draft(const draft *d, emp_device_id *device_of_op)
{
    (void)emp_move_make(&d->move, device_of_op);
}

/* And is again. */
static void take_back(const refiner *r, const draft *d, emp_device_id *device_of_op)
{
    const emp_members *g = d->move.groups;

    for (int32_t i = g->first[d->move.group]; i < g->first[d->move.group + 1]; i++)
        device_of_op[g->member[i]] = r->walk.here.device_of_op[g->member[i]];
}

/* Estimates up to BLOCK drafts. */
static emp_status estimate_block(refiner *r, draft *const *listed, int32_t count,
                                 emp_error *err)
{
    const size_t   ops = (size_t)r->walk.problem->graph->op_count;
    emp_device_id *placement[BLOCK];
    double         guess_s[BLOCK];

    for (int32_t i = 0; i < count; i++) {
        placement[i] = r->block + (size_t)i * ops;
        make_draft(listed[i], placement[i]);
    }
    const emp_status st = emp_surrogate_run(r->surrogate, placement, count, guess_s, err);
    for (int32_t i = 0; i < count; i++) {
        take_back(r, listed[i], placement[i]);
        if (st == EMP_OK) listed[i]->guess_s = guess_s[i];
    }
    return st;
}

/* Estimates the drafts from `first` to `end`. A proposal that is not new is the last to be chosen, and need
 * not be estimated. */
static emp_status estimate(refiner *r, int32_t first, int32_t end, emp_error *err)
{
    const size_t ops = (size_t)r->walk.problem->graph->op_count;

    for (size_t i = 0; i < BLOCK; i++)
        memcpy(r->block + i * ops, r->walk.here.device_of_op, ops * sizeof *r->block);
    while (first < end) {
        draft  *listed[BLOCK];
        int32_t count = 0;
        for (; first < end && count < BLOCK; first++) {
            r->draft[first].guess_s = INFINITY;
            if (r->draft[first].is_new) listed[count++] = &r->draft[first];
        }
        EMP_CHECK(estimate_block(r, listed, count, err));
    }
    return EMP_OK;
}

/* Brings the `chosen` drafts with the least estimates to `first` and after it. */
static void choose(refiner *r, int32_t first, int32_t end, int32_t chosen)
{
    for (int32_t k = first; k < first + chosen; k++) {
        int32_t best = k;
        for (int32_t i = k + 1; i < end; i++)
            if (r->draft[i].guess_s < r->draft[best].guess_s) best = i;
        const draft kept = r->draft[k];
        r->draft[k] = r->draft[best];
        r->draft[best] = kept;
    }
}

/* Fills the first `count` drafts, of which the last ones are chosen. */
static emp_status draw_samples(refiner *r, int32_t count, emp_error *err)
{
    const int32_t chosen =
        r->surrogate == NULL ? 0 : (int32_t)(count * r->options.chosen);
    const int32_t plain = count - chosen;
    const int32_t drafts = plain + chosen * r->options.filter;

    EMP_CHECK(look(r, err));
    for (int32_t i = 0; i < drafts; i++) draw_draft(r, i);
    if (chosen > 0) EMP_CHECK(estimate(r, plain, drafts, err));
    choose(r, plain, drafts, chosen);
    return EMP_OK;
}

/* ---- groups ------------------------------------------------------------------------ */

static emp_status grow_to(refiner *r, int64_t grown, emp_error *err)
{
    emp_moves *m = &r->walk.moves;

    if (m->grown >= grown) return EMP_OK;
    while (m->grown < grown) EMP_CHECK(emp_moves_grow(m, err));
    if (!r->is_seen || r->sim == NULL) return EMP_OK;
    return emp_moves_weigh(m, r->blame_s, r->options.alike, err);
}

/* The groups of the saved state first, which must be the same here. */
static emp_status grow(refiner *r, emp_error *err)
{
    emp_walk     *w = &r->walk;
    const int64_t due = FIRST_LEVELS + r->at.asked / BATCHES_A_LEVEL;

    EMP_CHECK(grow_to(r, r->at.grown, err));
    EMP_CHECK(emp_walk_check(w, "refine", err));
    EMP_CHECK(grow_to(r, due < w->moves.size_count ? due : w->moves.size_count, err));
    r->at.grown = w->moves.grown;
    w->groups_hash = (int64_t)w->moves.groups_hash;
    r->at.asked++;
    return EMP_OK;
}

static bool is_damaged(const refiner *r)
{
    const refine_progress *at = &r->at;

    return at->stage < 0 || at->stage > r->options.starts ||
           !emp_count_is_valid(at->told) || !emp_count_is_valid(at->asked) ||
           at->grown < 0 || at->grown > r->walk.moves.size_count;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    refiner  *r = state;
    emp_walk *w = &r->walk;

    if (is_damaged(r))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of refine is damaged");
    EMP_CHECK(grow(r, err));
    if (w->at.is_new) return emp_walk_ask(w, "refine", candidates, max, count, err);
    *count = w->sample_count = w->options.samples < max ? w->options.samples : max;
    EMP_CHECK(draw_samples(r, *count, err));
    for (int32_t k = 0; k < *count; k++) {
        const draft *d = &r->draft[k];
        w->draft[k] = d->number;
        memcpy(candidates[k].device_of_op, w->here.device_of_op,
               (size_t)w->problem->graph->op_count * sizeof *w->here.device_of_op);
        make_draft(d, candidates[k].device_of_op);
        r->known[d->hash % KNOWN] = (int64_t)d->hash;
    }
    return EMP_OK;
}

/* ---- stages ------------------------------------------------------------------------ */

/* The next start, or the refinement of the best of all. */
static void move_on(refiner *r)
{
    emp_walk *w = &r->walk;
    emp_rng   rng;

    if (r->at.stage == r->options.starts || r->at.told < r->options.start_samples) return;
    r->at.stage++;
    r->at.told = 0;
    if (r->at.stage == r->options.starts) {
        emp_walk_return(w);
        return;
    }
    emp_rng_init(&rng, w->seed, (uint32_t)r->at.stage, STREAM_START);
    emp_moves_scatter(&w->moves, &rng, w->here.device_of_op);
    w->at.is_new = 1;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    refiner *r = state;
    bool     is_new;
    int32_t  accepted = 0;

    EMP_CHECK(emp_walk_begin(&r->walk, scores, count, &is_new, err));
    if (!is_new) accepted = emp_walk_metropolis(&r->walk, scores, count, 0.0);
    r->at.told += count;
    emp_walk_report(&r->walk, (emp_method_metric){"stage", (double)r->at.stage},
                    (emp_method_metric){"accepted_frac", (double)accepted / count});
    move_on(r);
    return EMP_OK;
}

/* ---- creation ---------------------------------------------------------------------- */

/* Not all rules can be explained, and not all machines estimated. */
static emp_status create_simulators(refiner *r, const emp_problem *problem,
                                    emp_error *err)
{
    emp_error unsaid = {0};

    if (problem->runtime.rules != EMP_RULES_EVENTS) return EMP_OK;
    EMP_CHECK(emp_sim_create(&r->sim, problem, err));
    EMP_CHECK(emp_blamer_create(&r->blamer, problem, r->sim, err));
    emp_status st =
        emp_surrogate_create(&r->surrogate, problem, EMP_SURROGATE_FASTEST, &unsaid);
    if (st == EMP_OK || st == EMP_EUNSUPPORTED) return EMP_OK;
    return EMP_ERROR(st, "%s", unsaid.msg);
}

/* Half of the budget goes to the starts. */
static int32_t share_of_budget(int64_t budget, int32_t starts)
{
    const int64_t of_all = budget > 0 ? budget / 2 : USUAL_START_SAMPLES;
    const int64_t of_each = of_all / starts;

    if (of_each < 1) return 1;
    return of_each < MOST_START_SAMPLES ? (int32_t)of_each : MOST_START_SAMPLES;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    refiner *r = state;
    size_t   ops = (size_t)problem->graph->op_count;

    EMP_CHECK(emp_method_options_parse(&r->options, &emp_method_refine, params, err));
    const size_t drafts = (size_t)r->options.walk.samples * (size_t)r->options.filter;
    if (r->options.start_samples == 0)
        r->options.start_samples =
            share_of_budget(params->budget_evaluations, r->options.starts);
    r->options.walk.start = EMP_START_RANDOM;
    r->options.walk.moves.kind = EMP_MOVES_GROUPS;
    r->options.walk.moves.imbalance = IMBALANCE;
    r->options.walk.moves.at_once = FIRST_LEVELS;
    EMP_CHECK(emp_walk_init(&r->walk, problem, &r->options.walk, params, err));
    if (emp_moves_count(&r->walk.moves) < 1)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "nothing can be moved: no op may run on a GPU");
    r->walk.make = make_move;
    EMP_CHECK(create_simulators(r, problem, err));
    r->blame_s = EMP_NEW_ARRAY(double, ops);
    r->end_frac = EMP_NEW_ARRAY(double, ops);
    r->known = EMP_NEW_ARRAY(int64_t, KNOWN);
    r->op_hash = EMP_NEW_ARRAY(uint64_t, ops * (size_t)problem->machine->device_count);
    r->draft = EMP_NEW_ARRAY(draft, drafts);
    r->block = EMP_NEW_ARRAY(emp_device_id, BLOCK * ops);
    if (!r->blame_s || !r->end_frac || !r->known || !r->op_hash || !r->draft || !r->block)
        return EMP_ERROR(EMP_ENOMEM, "drafts of %zu ops", ops);
    fill_hashes(r);
    return EMP_OK;
}

void emp_refine_begin_at(void *refine, const emp_device_id *device_of_op,
                         const emp_score *score)
{
    emp_walk *w = &((refiner *)refine)->walk;

    memcpy(w->best.device_of_op, device_of_op,
           (size_t)w->problem->graph->op_count * sizeof *device_of_op);
    w->cost.best_s = emp_penalized_s(score);
    w->at.is_new = 0;
    emp_walk_return(w);
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    refiner *r = state;
    int32_t  count = emp_walk_list_state(&r->walk, arrays);

    arrays[count++] = (emp_named_array){"stage", EMP_ARRAY_INT64,
                                        sizeof r->at / sizeof(int64_t), &r->at};
    arrays[count++] = (emp_named_array){"known", EMP_ARRAY_INT64, KNOWN, r->known};
    return count;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("samples", refine_options, walk.samples, 1, EMP_MAX_BATCH,
                       "placements a batch", 8),
    EMP_INTEGER_OPTION("starts", refine_options, starts, 1, 64,
                       "times to begin at a random placement", 3),
    EMP_INTEGER_OPTION("start_samples", refine_options, start_samples, 0,
                       MOST_START_SAMPLES,
                       "samples of each; 0: half of the budget for all starts", 0),
    EMP_WORD_OPTION(
        "groups", refine_options, walk.moves.groups, EMP_CLASS_GROUPING_WORDS "|all",
        "how groups are made; colocrl: by its rules, names: layer x direction x "
        "8 steps, all: metis and names",
        EMP_CLASS_GROUPS_SCOTCH),
    EMP_INTEGER_OPTION("coarsest", refine_options, walk.moves.coarsest, 1, 1 << 14,
                       "groups of the first size; each further one has twice as many",
                       12),
    EMP_INTEGER_OPTION("finest", refine_options, walk.moves.finest, 1, 1 << 14,
                       "groups at most", 768),
    EMP_INTEGER_OPTION("cuts", refine_options, walk.moves.cuts, 1, EMP_MOVES_MAX_CUTS,
                       "groupings of each size", 8),
    EMP_INTEGER_OPTION(
        "bundles", refine_options, walk.moves.bundles, 0, 1 << 20,
        "metis, scotch: what exchanges most is bundled into so many before "
        "it is cut, which is quicker on large graphs; 0: it is not",
        0),
    EMP_REAL_OPTION("alike", refine_options, alike, 0, 1,
                    "share of moves of any group; others go by its share of the critical "
                    "path",
                    0.3),
    EMP_REAL_OPTION("chosen", refine_options, chosen, 0, 1,
                    "share of samples that the surrogate chooses", 0.5),
    EMP_INTEGER_OPTION("filter", refine_options, filter, 1, 1024,
                       "moves drawn for each of these", 64),
    EMP_NO_OPTION};

const emp_method emp_method_refine = {
    .options = option_list,
    .name = "refine",
    .description =
        "local search by moves of Scotch groups, led by the critical path and the "
        "surrogate",
    .advice = "the best placement that some minutes buy",
    .uses_budget = true,
    .uses_seed = true,
    .has_start = true,
    .state_bytes = sizeof(refiner),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_walk_metrics,
    .list_state = list_state,
};
