// SPDX-License-Identifier: GPL-3.0-or-later
/* Local search with restarts (as in Tarnawski et al., NeurIPS 2020, who move single
 * classes and take the best move): all moves of a group to a device are tried in an order
 * drawn at random, until none of them makes the step faster.
 *
 * pick=first goes on as soon as a batch has a faster sample, pick=best when all moves have
 * been tried. Local optima are left by some random moves away from the best one
 * (kicks=N), or for another random placement (kicks=0). */
#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/restored.h"

typedef enum { PICK_FIRST, PICK_BEST } local_pick;

typedef struct {
    emp_walk_options walk;
    local_pick       pick;
    int32_t          kicks;
} local_options;

/* Streams of the walk's seed, away from those of its moves: substreams from 16 on. */
enum { STREAM_ORDER = 16, STREAM_RESTART };

/* What a checkpoint must keep. */
typedef struct {
    int64_t restarts;
    int64_t step_at; /* drafts, when the walk last went on: after as many more as there
                        are moves it stands in a local optimum */
    int64_t best;    /* the draft that did best since then; -1 = none is faster */
} local_progress;

typedef struct {
    emp_walk       walk; /* first: make_move() is handed it */
    local_options  options;
    int32_t        move_count;
    int32_t       *order;    /* [move] */
    int64_t        order_of; /* the restart for which it was drawn; -1 = none yet */
    local_progress at;
    double         best_s; /* cost of at.best, or of where the walk stands */
} local_search;

static void clear(void *state)
{
    local_search *s = state;

    emp_walk_clear(&s->walk);
    emp_free(s->order);
}

static bool make_move(emp_walk *walk, int64_t draft, const emp_owned_decision *at)
{
    const local_search *s = (const local_search *)walk;

    return emp_moves_make(&walk->moves, s->order[draft % s->move_count],
                          at->device_of_op);
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    local_search *s = state;

    EMP_CHECK(emp_method_options_parse(&s->options, &emp_method_local, params, err));
    EMP_CHECK(emp_walk_init(&s->walk, problem, &s->options.walk, params, err));
    s->walk.make = make_move;
    int64_t moves = emp_moves_count(&s->walk.moves);
    if (moves < 1 || moves > INT32_MAX)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "method local can make %lld moves of a class or group to a device, want "
            "1 to %d",
            (long long)moves, INT32_MAX);
    s->move_count = (int32_t)moves;
    s->order_of = s->at.best = -1;
    EMP_CHECK(EMP_ALLOC(s->order, (size_t)moves));
    return EMP_OK;
}

/* By Fisher and Yates, from the number of the restart. */
static void draw_order(local_search *s)
{
    emp_rng rng;

    if (s->order_of == s->at.restarts) return;
    s->order_of = s->at.restarts;
    emp_rng_init(&rng, s->walk.seed, (uint32_t)s->at.restarts, STREAM_ORDER);
    for (int32_t i = 0; i < s->move_count; i++) {
        int32_t other = (int32_t)emp_rng_below(&rng, (uint32_t)i + 1);
        s->order[i] = s->order[other];
        s->order[other] = i;
    }
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    local_search *s = state;

    /* A restored state may come from anywhere. */
    if (!emp_count_is_valid(s->at.restarts) || !emp_count_is_valid(s->at.step_at) ||
        s->at.best < -1)
        return EMP_ERROR(EMP_EFORMAT, "the saved state of local is damaged");
    draw_order(s);
    return emp_walk_ask(&s->walk, "local", candidates, max, count, err);
}

/* From now on all moves are tried anew. */
static void begin_sweep(local_search *s)
{
    s->at.step_at = s->walk.at.drafted;
    s->at.best = -1;
    s->best_s = s->walk.cost.here_s;
}

/* Leaves a local optimum for a placement whose cost the next ask will find. */
static void restart(local_search *s)
{
    emp_walk *w = &s->walk;
    emp_rng   rng;

    emp_rng_init(&rng, w->seed, (uint32_t)s->at.restarts++, STREAM_RESTART);
    emp_walk_return(w);
    for (int32_t i = 0; i < s->options.kicks; i++)
        emp_moves_draw(&w->moves, &rng, w->here.device_of_op);
    if (s->options.kicks == 0) emp_moves_scatter(&w->moves, &rng, w->here.device_of_op);
    w->at.is_new = 1;
}

/* The best of a batch becomes the best of the sweep if it is. */
static void look_at(local_search *s, const emp_score *scores, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        double cost_s = emp_penalized_s(&scores[k]);
        emp_walk_keep_best(&s->walk, k, cost_s);
        if (cost_s >= s->best_s) continue;
        s->best_s = cost_s;
        s->at.best = s->walk.draft[k];
    }
}

static void go_on(local_search *s)
{
    const bool is_over = s->walk.at.drafted - s->at.step_at >= s->move_count;

    if (s->at.best >= 0 && (is_over || s->options.pick == PICK_FIRST)) {
        emp_walk_step(&s->walk, s->at.best, s->best_s);
        begin_sweep(s);
    } else if (is_over) {
        restart(s);
    }
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    local_search *s = state;
    bool          is_new;

    EMP_CHECK(emp_walk_begin(&s->walk, scores, count, &is_new, err));
    if (is_new) {
        begin_sweep(s);
    } else {
        look_at(s, scores, count);
        go_on(s);
    }
    double tried = (double)(s->walk.at.drafted - s->at.step_at);
    emp_walk_report(&s->walk,
                    (emp_method_metric){"tried_frac", tried / (double)s->move_count},
                    (emp_method_metric){"restarts", (double)s->at.restarts});
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    local_search *s = state;
    int32_t       count = emp_walk_list_state(&s->walk, arrays);

    arrays[count++] = (emp_named_array){"search", EMP_ARRAY_INT64,
                                        sizeof s->at / sizeof(int64_t), &s->at};
    arrays[count++] = (emp_named_array){"sweep_s", EMP_ARRAY_DOUBLE, 1, &s->best_s};
    return count;
}

static const emp_option option_list[] = {
    EMP_WORD_OPTION("pick", local_options, pick, "first|best",
                    "go on with the first batch that has a faster sample, or the best of "
                    "all moves",
                    PICK_FIRST),
    EMP_INTEGER_OPTION("kicks", local_options, kicks, 0, 1 << 20,
                       "random moves away from the best that leave a local optimum; 0: "
                       "another random placement",
                       2),
    /* Of single ops there are too many moves. */
    EMP_WALK_OPTIONS(local_options, walk, EMP_MOVES_GROUPS, 128), EMP_NO_OPTION};

const emp_method emp_method_local = {
    .options = option_list,
    .name = "local",
    .description = "local search by moves of ops and groups, with restarts (as in "
                   "Tarnawski et al. 2020)",
    .advice = "long searches, which begin anew where they are stuck",
    .uses_budget = true,
    .uses_seed = true,
    .has_start = true,
    .state_bytes = sizeof(local_search),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_walk_metrics,
    .list_state = list_state,
};
