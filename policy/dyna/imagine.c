// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/dyna/dyna.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/categorical.h"

/* Substreams of a step's number, beside the weights' substreams. */
enum { STREAM_PICK = 16, STREAM_CHOOSE };

/* Log gains as the judge sees them: in fiftieths, as most moves near a good placement change the step by a few percent,
 * and no larger than this, so that one bad move does not outweigh the others. */
static const double GAIN_UNIT = 0.02, MOST_GAIN = 3.0;

static size_t ops_of(const emp_imagination *im)
{
    return (size_t)im->problem->graph->op_count;
}

/* ---- creation ---------------------------------------------------------------------- */

/* Not all rules can be explained, and not all machines estimated. */
static emp_status create_models(emp_imagination *im, emp_error *err)
{
    emp_error unsaid = {0};

    if (im->problem->runtime.rules != EMP_RULES_EVENTS) return EMP_OK;
    EMP_CHECK(emp_sim_create(&im->sim, im->problem, err));
    EMP_CHECK(emp_blamer_create(&im->blamer, im->problem, im->sim, err));
    emp_status st =
        emp_surrogate_create(&im->surrogate, im->problem, EMP_SURROGATE_FASTEST, &unsaid);
    if (st == EMP_OK || st == EMP_EUNSUPPORTED) return EMP_OK;
    return EMP_ERROR(st, "%s", unsaid.msg);
}

emp_status emp_imagination_init(emp_imagination *im, const emp_problem *problem,
                                const emp_imagine_options *options, int32_t hidden,
                                uint64_t seed, emp_error *err)
{
    *im = (emp_imagination){.problem = problem, .options = *options, .seed = seed};
    EMP_CHECK(emp_moves_init(&im->moves, problem, &options->moves, seed, err));
    if (emp_moves_count(&im->moves) < 1)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "nothing can be moved: no op may run on a GPU");
    EMP_CHECK(emp_proposer_init(&im->proposer, problem, &im->moves, hidden, seed, err));
    im->proposer.hides_blame = !options->blame;
    EMP_CHECK(create_models(im, err));
    EMP_CHECK(EMP_ALLOC(im->blame_s, ops_of(im)));
    EMP_CHECK(EMP_ALLOC(im->end_frac, ops_of(im)));
    EMP_CHECK(EMP_ALLOC(im->here, ops_of(im)));
    EMP_CHECK(EMP_ALLOC(im->block, EMP_IMAGINED_BLOCK * ops_of(im)));
    return EMP_ALLOC(im->known, EMP_IMAGINED_KNOWN);
}

void emp_imagination_clear(emp_imagination *im)
{
    emp_proposer_clear(&im->proposer);
    emp_moves_clear(&im->moves);
    emp_blamer_destroy(im->blamer);
    emp_sim_destroy(im->sim);
    emp_surrogate_destroy(im->surrogate);
    emp_free(im->blame_s);
    emp_free(im->end_frac);
    emp_free(im->here);
    emp_free(im->block);
    emp_free(im->known);
    *im = (emp_imagination){0};
}

/* ---- what is known ----------------------------------------------------------------- */

/* A placement's hash is the sum of these over its ops, so that a move changes few. The mixer is SplitMix64's
 * (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t hash_of_op(emp_op_id op, emp_device_id device)
{
    uint64_t z = ((uint64_t)op << 32 | (uint32_t)device) + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t hash_of(const emp_imagination *im, const emp_device_id *device_of_op)
{
    uint64_t hash = 0;

    for (emp_op_id op = 0; op < im->problem->graph->op_count; op++)
        hash += hash_of_op(op, device_of_op[op]);
    return hash;
}

static uint64_t hash_after(uint64_t hash, const emp_move *m,
                           const emp_device_id *device_of_op)
{
    const emp_members *g = m->groups;

    for (int32_t i = g->first[m->group]; i < g->first[m->group + 1]; i++) {
        const emp_op_id     op = g->member[i];
        const emp_device_id from = device_of_op[op];
        if (from != m->to) hash += hash_of_op(op, m->to) - hash_of_op(op, from);
    }
    return hash;
}

static bool is_known(const emp_imagination *im, uint64_t hash)
{
    return hash == im->here_hash || im->known[hash % EMP_IMAGINED_KNOWN] == (int64_t)hash;
}

static void know(emp_imagination *im, uint64_t hash)
{
    im->known[hash % EMP_IMAGINED_KNOWN] = (int64_t)hash;
}

void emp_imagination_know(emp_imagination *im, const emp_device_id *device_of_op)
{
    know(im, hash_of(im, device_of_op));
}

/* ---- the parent -------------------------------------------------------------------- */

static emp_status weigh_groups(emp_imagination *im, emp_error *err)
{
    return emp_moves_weigh(&im->moves, im->blame_s,
                           im->options.blame ? im->options.alike : 1.0, err);
}

static emp_status trace_parent(emp_imagination *im, emp_error *err)
{
    if (im->sim == NULL) return EMP_OK;
    EMP_CHECK(emp_blamer_run(im->blamer, im->blame_s, im->end_frac,
                             &(emp_decision){.device_of_op = im->here}, err));
    EMP_CHECK(weigh_groups(im, err));
    if (im->surrogate == NULL) return EMP_OK;
    EMP_CHECK(emp_surrogate_set_order(im->surrogate, im->end_frac, err));
    return emp_surrogate_run(im->surrogate, &im->here, 1, &im->here_guess_s, err);
}

emp_status emp_imagination_see(emp_imagination *im, emp_error *err)
{
    emp_problem_legalize(im->problem, im->here);
    const uint64_t hash = hash_of(im, im->here);
    if (im->is_seen && hash == im->here_hash) return EMP_OK;
    im->here_hash = hash;
    im->is_seen = false;
    im->here_guess_s = im->here_s;
    EMP_CHECK(trace_parent(im, err));
    emp_proposer_see(&im->proposer, im->here, im->here_s,
                     im->sim != NULL ? im->blame_s : NULL,
                     im->sim != NULL ? im->end_frac : NULL);
    im->is_seen = true;
    return EMP_OK;
}

emp_status emp_imagination_grow(emp_imagination *im, int64_t grown, emp_error *err)
{
    emp_moves *m = &im->moves;

    if (m->grown >= grown) return EMP_OK;
    while (m->grown < grown && m->grown < m->size_count)
        EMP_CHECK(emp_moves_grow(m, err));
    EMP_CHECK(emp_proposer_grow(&im->proposer, err));
    return im->is_seen && im->sim != NULL ? weigh_groups(im, err) : EMP_OK;
}

/* ---- a step of a walk -------------------------------------------------------------- */

typedef struct {
    emp_device_id *device_of_op; /* [op] where the walk stands */
    uint64_t       hash;
    double         guess_s;
    int64_t        number; /* of the step, among all */
    emp_move       pick[EMP_PROPOSER_MOVES];
    uint64_t       pick_hash[EMP_PROPOSER_MOVES];
    emp_real       p[EMP_PROPOSER_MOVES];      /* by the policy, of each pick */
    int32_t        count;                      /* picks */
    int32_t        chosen[EMP_IMAGINED_BLOCK]; /* of the picks */
    double         chosen_s[EMP_IMAGINED_BLOCK];
    double expected[EMP_IMAGINED_BLOCK]; /* gain by the surrogate, as the judge sees it */
    int32_t chosen_count;
} stride;

/* Moves that lead to where the oracle was not yet. */
static void pick_moves(emp_imagination *im, stride *s)
{
    emp_rng rng;

    emp_rng_init(&rng, im->seed, (uint32_t)s->number, STREAM_PICK);
    s->count = 0;
    for (int32_t i = 0; i < 2 * im->options.picks && s->count < im->options.picks; i++) {
        const emp_move m = emp_moves_pick(&im->moves, &rng, s->device_of_op);
        const uint64_t hash = hash_after(s->hash, &m, s->device_of_op);
        bool           is_new = hash != s->hash && !is_known(im, hash);
        for (int32_t j = 0; is_new && j < s->count; j++) is_new = s->pick_hash[j] != hash;
        if (!is_new) continue;
        s->pick[s->count] = m;
        s->pick_hash[s->count++] = hash;
    }
}

/* `most` of the picks, drawn without replacement from the softmax of their logits: those with the largest sums of
 * logit and Gumbel number. */
static void choose_moves(emp_imagination *im, stride *s, int32_t most)
{
    double  key[EMP_PROPOSER_MOVES];
    emp_rng rng;

    emp_rng_init(&rng, im->seed, (uint32_t)s->number, STREAM_CHOOSE);
    emp_proposer_weigh(&im->proposer, s->pick, s->count);
    for (int32_t i = 0; i < s->count; i++) {
        const double logit = (double)im->proposer.policy.out[i] / im->options.temperature;
        s->p[i] = (emp_real)logit;
        key[i] = logit - log(-log(emp_rng_uniform(&rng) + 1e-300));
        if (isnan(key[i]))
            key[i] = -INFINITY; /* of weights that were read: not a number means drawn */
    }
    emp_categorical_softmax(s->p, s->count);
    s->chosen_count = s->count < most ? s->count : most;
    for (int32_t k = 0; k < s->chosen_count; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < s->count; i++)
            if (!isnan(key[i]) && (best < 0 || key[i] > key[best])) best = i;
        s->chosen[k] = best;
        key[best] = NAN;
    }
}

double emp_imagined_units(double log_gain)
{
    return fmax(fmin(log_gain / GAIN_UNIT, MOST_GAIN), -MOST_GAIN);
}

static emp_status estimate_moves(emp_imagination *im, stride *s, emp_error *err)
{
    emp_device_id *placement[EMP_IMAGINED_BLOCK];

    for (int32_t k = 0; k < s->chosen_count; k++) {
        placement[k] = im->block + (size_t)k * ops_of(im);
        memcpy(placement[k], s->device_of_op, ops_of(im) * sizeof *placement[k]);
        emp_move_make(&s->pick[s->chosen[k]], placement[k]);
    }
    EMP_CHECK(
        emp_surrogate_run(im->surrogate, placement, s->chosen_count, s->chosen_s, err));
    for (int32_t k = 0; k < s->chosen_count; k++)
        s->expected[k] = emp_imagined_units(log(s->guess_s / s->chosen_s[k]));
    return EMP_OK;
}

static const emp_real *row_of(const emp_imagination *im, int32_t pick)
{
    return im->proposer.x + (size_t)pick * EMP_PROPOSER_FEATURES;
}

/* The policy learns from the ranks of the estimates: the best `elite` of them weigh as much as the others. */
static void learn_ranks(emp_imagination *im, const stride *s)
{
    emp_real      x[EMP_IMAGINED_BLOCK][EMP_PROPOSER_FEATURES];
    double        weight[EMP_IMAGINED_BLOCK];
    const int32_t n = s->chosen_count, elites = (int32_t)ceil(n * im->options.elite);

    if (n < 2 || elites < 1 || elites >= n || im->options.estimate <= 0.0) return;
    for (int32_t k = 0; k < n; k++) {
        int32_t rank = 0;
        for (int32_t j = 0; j < n; j++)
            rank += s->chosen_s[j] < s->chosen_s[k] ||
                    (s->chosen_s[j] == s->chosen_s[k] && j < k);
        weight[k] = im->options.estimate / im->options.temperature *
                    (rank < elites ? 1.0 / elites : -1.0 / (n - elites));
        memcpy(x[k], row_of(im, s->chosen[k]), sizeof x[k]);
    }
    emp_move_net_learn(&im->proposer.policy, im->proposer.policy.params.gradient, x[0],
                       weight, n);
}

/* d log p(made) / d logit(i) is ((i = made) - p(i)) / temperature. */
static void add_score(emp_imagination *im, const stride *s, int32_t made, emp_real *score)
{
    double weight[EMP_PROPOSER_MOVES];

    for (int32_t i = 0; i < s->count; i++)
        weight[i] = ((i == made) - (double)s->p[i]) / im->options.temperature;
    emp_move_net_learn(&im->proposer.policy, score, row_of(im, 0), weight, s->count);
}

/* The rank correlation of the policy's moves with their estimates. */
static void note_insight(emp_imagination *im, const stride *s)
{
    double logit[EMP_IMAGINED_BLOCK], gain[EMP_IMAGINED_BLOCK];

    for (int32_t k = 0; k < s->chosen_count; k++) {
        logit[k] = (double)im->proposer.policy.out[s->chosen[k]];
        gain[k] = -s->chosen_s[k];
    }
    const double tau = emp_kendall_of(logit, gain, s->chosen_count);
    if (isnan(tau)) return;
    im->insight += tau;
    im->blocks++;
}

static int32_t least_of(const stride *s)
{
    int32_t best = 0;

    for (int32_t k = 1; k < s->chosen_count; k++)
        if (s->chosen_s[k] < s->chosen_s[best]) best = k;
    return best;
}

static void fill_inputs(const emp_imagination *im, const stride *s, int32_t k,
                        emp_real input[EMP_JUDGE_INPUTS])
{
    memcpy(input, row_of(im, s->chosen[k]), EMP_PROPOSER_FEATURES * sizeof *input);
    input[EMP_PROPOSER_FEATURES] = (emp_real)s->expected[k];
}

/* The move of the largest gain by the judge; that gain through \a gain. */
static int32_t ask_judge(emp_imagination *im, const stride *s, double *gain)
{
    emp_move_net *judge = &im->proposer.judge;
    emp_real      input[EMP_IMAGINED_BLOCK][EMP_JUDGE_INPUTS];
    int32_t       best = 0;

    for (int32_t k = 0; k < s->chosen_count; k++) fill_inputs(im, s, k, input[k]);
    emp_move_net_forward(judge, input[0], s->chosen_count);
    for (int32_t k = 1; k < s->chosen_count; k++)
        if (judge->out[k] > judge->out[best]) best = k;
    *gain = (double)judge->out[best];
    return best;
}

/* Has the models see the chosen moves; sets which is the best, and whether it is expected to help. */
static emp_status choose_best(emp_imagination *im, emp_imagine_rule rule, stride *s,
                              int32_t *best, bool *is_good, emp_error *err)
{
    double gain = 0.0;

    *best = 0;
    *is_good = true;
    memset(s->expected, 0, sizeof s->expected);
    s->chosen_s[0] = NAN;
    if (rule == EMP_IMAGINE_BLIND) return EMP_OK;
    if (im->surrogate != NULL) {
        EMP_CHECK(estimate_moves(im, s, err));
        note_insight(im, s);
        learn_ranks(im, s);
    }
    if (rule == EMP_IMAGINE_JUDGE) {
        *best = ask_judge(im, s, &gain);
        *is_good = gain > 0.0;
    } else {
        *best = least_of(s);
        *is_good = s->chosen_s[*best] < s->guess_s;
    }
    return EMP_OK;
}

/* ---- walks ------------------------------------------------------------------------- */

static void make(emp_imagination *im, emp_imagined_walk *w, stride *s, int32_t k)
{
    const emp_move *m = &s->pick[s->chosen[k]];

    fill_inputs(im, s, k, w->x[w->count]);
    add_score(im, s, s->chosen[k], w->score);
    w->move[w->count++] = *m;
    emp_move_make(m, s->device_of_op);
    emp_proposer_move(&im->proposer, m);
    s->hash = s->pick_hash[s->chosen[k]];
    s->guess_s = im->surrogate != NULL ? s->chosen_s[k] : NAN;
}

emp_status emp_imagine(emp_imagination *im, emp_imagined_walk *w, emp_imagine_rule rule,
                       int32_t most, emp_device_id *device_of_op, emp_error *err)
{
    stride s = {
        .device_of_op = device_of_op, .hash = im->here_hash, .guess_s = im->here_guess_s};

    *w = (emp_imagined_walk){.rule = rule, .score = w->score};
    memset(w->score, 0, im->proposer.policy.params.count * sizeof *w->score);
    memcpy(device_of_op, im->here, ops_of(im) * sizeof *device_of_op);
    emp_proposer_return(&im->proposer);
    for (int32_t i = 0; i < most; i++) {
        int32_t best;
        bool    is_good;
        s.number = im->steps++;
        pick_moves(im, &s);
        if (s.count == 0) break;
        choose_moves(im, &s, rule == EMP_IMAGINE_BLIND ? 1 : EMP_IMAGINED_BLOCK);
        EMP_CHECK(choose_best(im, rule, &s, &best, &is_good, err));
        if (i > 0 && !is_good) break;
        make(im, w, &s, best);
    }
    w->guess_s = s.guess_s;
    know(im, s.hash);
    return EMP_OK;
}
