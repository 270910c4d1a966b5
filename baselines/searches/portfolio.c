// SPDX-License-Identifier: GPL-3.0-or-later
/* Many methods in one run: those that propose at once, each with one evaluation, and then refine
 * until the budget ends, which begins at the best proposal.
 *
 * The order of the proposers counts when the budget is shorter than their list. Two that propose
 * at once are left out because they take minutes on large graphs: m-sct, and dp-contiguous where it
 * may cut in many ways. A member that cannot place the problem is passed over, and so are methods that
 * know only memory, unless devices of a kind differ.
 *
 * The 8,192 bundles of refine were chosen on NMT with 8 layers, by step times of seeds 1 and 2; 4,096 and
 * 6,000 were worse there. Graphs of fewer classes have no bundles. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/method.h"

/* X(method, its options). The last one is the search, whose cuts of large graphs would take longer than all else. */
#define MEMBER_LIST(X)              \
    X(expert, NULL)                 \
    X(m_etf, NULL)                  \
    X(metis, "repair=1")            \
    X(mincut, "repair=1")           \
    X(gpu, "on=fastest")            \
    X(cpu, NULL)                    \
    X(acyclic, "repair=1")          \
    X(scotch, "repair=1")           \
    X(heft, NULL)                   \
    X(peft, NULL)                   \
    X(etf, NULL)                    \
    X(m_topo, NULL)                 \
    X(dp_contiguous, "ideals=5000") \
    X(memory_split, NULL)           \
    X(first_fit, NULL)              \
    X(refine, "bundles=8192")

static const emp_method *const members[] = {
#define X(name, options) &emp_method_##name,
    MEMBER_LIST(X)
#undef X
        NULL};

static const char *const options_of_member[] = {MEMBER_LIST(EMP_LIST_SECOND)};

enum {
    MEMBERS = sizeof options_of_member / sizeof *options_of_member,
    SEARCH = MEMBERS - 1, /* position of refine */
    PROPOSERS = SEARCH
};

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t next;   /* member to begin; MEMBERS: refine has begun */
    int64_t asked;  /* member of the last candidates */
    int64_t winner; /* member of the best placement; -1: there is none */
} portfolio_progress;

/* An emp_score as doubles. */
typedef struct {
    double step_time_s, is_feasible, overflow_frac;
} kept_score;

typedef struct {
    const emp_problem *problem;
    emp_method_params  params; /* of members, but for their options */
    portfolio_progress at;
    kept_score         best_score;
    emp_device_id     *best;        /* [op] of the proposals */
    emp_device_id     *proposed;    /* [op] the last proposal */
    bool               is_complete; /* the search has been created, if it can be */
    void              *search;      /* NULL: refine cannot work on this problem */
} portfolio;

static void clear(void *state)
{
    portfolio *p = state;

    emp_method_destroy(&emp_method_refine, p->search);
    emp_free(p->best);
    emp_free(p->proposed);
}

/* ---- creation ---------------------------------------------------------------------- */

/* Statuses of methods that do not suit the problem. */
static bool is_unsuited(emp_status st)
{
    return st == EMP_EUNSUPPORTED || st == EMP_EINFEASIBLE || st == EMP_EEXTERNAL;
}

/* Where devices are alike, methods that know only memory seldom have anything to add. */
static bool is_wanted(const emp_problem *problem, const emp_method *member)
{
    return emp_cost_is_unlike(problem->costs) ||
           (member != &emp_method_memory_split && member != &emp_method_first_fit);
}

static int32_t count_proposers(const emp_problem *problem)
{
    int32_t count = 0;

    for (int32_t i = 0; i < PROPOSERS; i++) count += is_wanted(problem, members[i]);
    return count;
}

/* Passes on what has gone wrong with a member, unless the member is unsuited. */
static emp_status pass_over(emp_status st, const emp_error *said, emp_error *err)
{
    return st == EMP_OK || is_unsuited(st) ? EMP_OK : EMP_ERROR(st, "%s", said->msg);
}

/* Creates the search, which takes long on large graphs: only when it is due. */
static emp_status complete(void *state, emp_error *err)
{
    portfolio        *p = state;
    emp_method_params params = p->params;
    emp_error         said = {0};

    if (p->is_complete) return EMP_OK;
    if (p->problem->machine->device_count < 2) return EMP_OK; /* there is one placement */
    params.options = options_of_member[SEARCH];
    if (params.budget_evaluations > 0) {
        params.budget_evaluations -= count_proposers(p->problem);
        if (params.budget_evaluations < 1) params.budget_evaluations = 1;
    }
    emp_status st =
        emp_method_create(&p->search, &emp_method_refine, p->problem, &params, &said);
    EMP_CHECK(pass_over(st, &said, err));
    p->is_complete = true;
    return EMP_OK;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    portfolio *p = state;
    size_t     ops = (size_t)problem->graph->op_count;

    EMP_CHECK(emp_method_options_parse(NULL, &emp_method_portfolio, params, err));
    p->problem = problem;
    p->params = *params;
    p->params.warn = NULL; /* members are many, and the best of them counts */
    p->at.winner = -1;
    p->best_score.step_time_s = INFINITY;
    EMP_CHECK(EMP_ALLOC(p->best, ops));
    return EMP_ALLOC(p->proposed, ops);
}

/* ---- asking ------------------------------------------------------------------------ */

/* A restored state may come from anywhere. */
static bool is_damaged(const portfolio *p)
{
    const portfolio_progress *at = &p->at;
    const int32_t             ops = p->problem->graph->op_count;

    return at->next < 0 || at->next > MEMBERS || at->asked < 0 || at->asked >= MEMBERS ||
           at->winner < -1 || at->winner >= MEMBERS ||
           !emp_choices_are_valid(p->best, ops, p->problem->machine->device_count);
}

/* Has the next proposer propose; the count stays 0 if it is unsuited. One that was stopped is the next
 * again. */
static emp_status propose(portfolio *p, emp_device_id *device_of_op, int32_t *count,
                          emp_error *err)
{
    const size_t      ops = (size_t)p->problem->graph->op_count;
    const int64_t     next = p->at.next;
    const emp_method *member = members[next];
    emp_method_params params = p->params;
    emp_error         said = {0};
    emp_status        st = EMP_EUNSUPPORTED;

    params.options = options_of_member[next];
    if (is_wanted(p->problem, member))
        st = member->place(member, p->problem, &params,
                           &(emp_owned_decision){.device_of_op = p->proposed}, &said);
    EMP_CHECK(pass_over(st, &said, err));
    p->at.asked = next;
    p->at.next = next + 1;
    if (st != EMP_OK) return EMP_OK;
    memcpy(device_of_op, p->proposed, ops * sizeof *device_of_op);
    *count = 1;
    return EMP_OK;
}

static emp_score score_of(const kept_score *kept)
{
    return (emp_score){.step_time_s = kept->step_time_s,
                       .is_feasible = kept->is_feasible != 0.0,
                       .overflow_frac = kept->overflow_frac};
}

static void begin_search(portfolio *p)
{
    const emp_score best = score_of(&p->best_score);

    if (p->at.winner >= 0) emp_refine_begin_at(p->search, p->best, &best);
    p->at.asked = SEARCH;
    p->at.next = MEMBERS;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    portfolio *p = state;

    if (is_damaged(p))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of portfolio is damaged");
    *count = 0;
    while (*count == 0 && p->at.next < PROPOSERS)
        EMP_CHECK(propose(p, candidates[0].device_of_op, count, err));
    if (*count > 0) return EMP_OK;
    EMP_CHECK(complete(p, err));
    if (p->search == NULL) return EMP_OK;
    if (p->at.next == SEARCH) begin_search(p);
    return emp_method_refine.ask(p->search, candidates, max, count, err);
}

/* ---- telling ----------------------------------------------------------------------- */

static void keep_best(portfolio *p, const emp_score *score)
{
    const emp_score best = score_of(&p->best_score);

    if (!emp_score_is_better(score, &best)) return;
    p->best_score =
        (kept_score){score->step_time_s, score->is_feasible, score->overflow_frac};
    p->at.winner = p->at.asked;
    if (p->at.asked != SEARCH)
        memcpy(p->best, p->proposed,
               (size_t)p->problem->graph->op_count * sizeof *p->best);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    portfolio *p = state;

    for (int32_t k = 0; k < count; k++) keep_best(p, &scores[k]);
    if (p->at.asked != SEARCH) return EMP_OK;
    return emp_method_refine.tell(p->search, scores, count, err);
}

static const emp_method *winner(const void *state)
{
    const portfolio *p = state;

    return p->at.winner >= 0 ? members[p->at.winner] : NULL;
}

/* ---- checkpoints ------------------------------------------------------------------- */

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    portfolio *p = state;
    size_t     ops = (size_t)p->problem->graph->op_count;
    int32_t    count =
        p->search != NULL ? emp_method_refine.list_state(p->search, arrays) : 0;

    arrays[count++] = (emp_named_array){"portfolio", EMP_ARRAY_INT64,
                                        sizeof p->at / sizeof(int64_t), &p->at};
    arrays[count++] =
        (emp_named_array){"best_score", EMP_ARRAY_DOUBLE,
                          sizeof p->best_score / sizeof(double), &p->best_score};
    arrays[count++] = (emp_named_array){"best_proposal", EMP_ARRAY_INT32, ops, p->best};
    return count;
}

const emp_method emp_method_portfolio = {
    .name = "portfolio",
    .description = "quick methods in turn, then refine from the best of their placements",
    .advice = "a good placement without a choice of your own",
    .uses_budget = true,
    .uses_seed = true,
    .members = members,
    .winner = winner,
    .state_bytes = sizeof(portfolio),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .complete = complete,
    .list_state = list_state,
};
