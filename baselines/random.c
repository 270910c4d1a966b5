// SPDX-License-Identifier: GPL-3.0-or-later
/* Uniform random placements, a fresh one for every evaluation of the budget.
 *
 * Each colocation class goes to a uniformly drawn device. With groups=N, classes are
 * first put into N random groups, once, and each candidate draws a device per group: the
 * random grouping that learned placers are compared with. Candidate i draws from the
 * stream (seed, i), whatever the size of the batches. Where the fusion is decided, each
 * candidate also draws how many ops join their readers, and which. */
#include "base/mem.h"
#include "base/rng.h"
#include "baselines/baselines.h"
#include "search/moves.h"

enum { CANDIDATE_STREAM, GROUP_STREAM, FUSION_STREAM }; /* substreams */

/* Ctrl-C waits for a batch, and random placements are slow to simulate. So the candidates of a batch have
 * at most MOST_OPS ops together. There are LEAST_CANDIDATES in any case, for as many threads to share; more
 * threads would wait. Rows of the curve are batches, which must not depend on threads. */
enum { MOST_OPS = 1 << 21, LEAST_CANDIDATES = 8 };

typedef struct {
    int32_t groups; /* 0: every class on its own */
} random_options;

typedef struct {
    const emp_problem *problem;
    uint64_t           seed;
    uint32_t           candidate_count; /* proposed so far */
    int32_t            group_count;
    int32_t           *group_of_class;
    emp_device_id     *device_of_group; /* of the latest candidate */
} random_placer;

static void clear(void *state)
{
    random_placer *r = state;

    emp_free(r->group_of_class);
    emp_free(r->device_of_group);
}

static void draw_groups(random_placer *r, int32_t class_count, bool is_grouped)
{
    emp_rng rng;

    emp_rng_init(&rng, r->seed, 0, GROUP_STREAM);
    for (int32_t c = 0; c < class_count; c++) {
        r->group_of_class[c] =
            is_grouped ? (int32_t)emp_rng_below(&rng, (uint32_t)r->group_count) : c;
    }
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    int32_t        class_count = problem->graph->class_count;
    random_options options;
    random_placer *r = state;

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_random, params, err));
    r->problem = problem;
    r->seed = params->seed;
    r->group_count = options.groups == 0 ? class_count : options.groups;
    EMP_CHECK(EMP_ALLOC(r->group_of_class, (size_t)class_count));
    EMP_CHECK(EMP_ALLOC(r->device_of_group, (size_t)r->group_count));
    draw_groups(r, class_count, options.groups != 0);
    return EMP_OK;
}

static void draw_candidate(random_placer *r, emp_device_id *device_of_op)
{
    const emp_graph *graph = r->problem->graph;
    uint32_t         device_count = (uint32_t)r->problem->machine->device_count;
    emp_rng          rng;

    emp_rng_init(&rng, r->seed, r->candidate_count++, CANDIDATE_STREAM);
    for (int32_t g = 0; g < r->group_count; g++)
        r->device_of_group[g] = (emp_device_id)emp_rng_below(&rng, device_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        device_of_op[op] =
            r->device_of_group[r->group_of_class[graph->op[op].colocation_class]];
    }
}

static void draw_fusion(const random_placer *r, uint32_t candidate,
                        emp_op_id *leader_of_op)
{
    emp_rng rng;

    emp_rng_init(&rng, r->seed, candidate, FUSION_STREAM);
    emp_moves_draw_leaders(&rng, leader_of_op, r->problem->graph->op_count);
}

static int32_t batch_size(const random_placer *r, int32_t max)
{
    int32_t most = MOST_OPS / r->problem->graph->op_count;

    if (most < LEAST_CANDIDATES) most = LEAST_CANDIDATES;
    return max < most ? max : most;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    random_placer *r = state;

    (void)err;
    *count = batch_size(r, max);
    for (int32_t i = 0; i < *count; i++) {
        if (candidates[i].leader_of_op != NULL)
            draw_fusion(r, r->candidate_count, candidates[i].leader_of_op);
        draw_candidate(r, candidates[i].device_of_op);
    }
    return EMP_OK;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("groups", random_options, groups, 0, 1 << 20,
                       "random groups that move together; 0: none", 0),
    EMP_NO_OPTION};

const emp_method emp_method_random = {
    .options = option_list,
    .name = "random",
    .description = "uniform random devices, afresh until the budget ends; groups=N",
    .advice = "a control that every search must beat",
    .uses_budget = true,
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_FUSION,
    .state_bytes = sizeof(random_placer),
    .init = init,
    .ask = ask,
    .clear = clear,
};
