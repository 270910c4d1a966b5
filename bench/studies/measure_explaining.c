// SPDX-License-Identifier: GPL-3.0-or-later
/* What do the choices of a learned policy depend on? GO imitates what a search finds. Then one part of what it
 * sees is mixed: each node gets that part of another node. The longer the step gets, the more the
 * choices depend on the part. This is permutation importance (Breiman, Random Forests, 2001, section 10). */
#include <string.h>

#include "base/mem.h"
#include "bench/studies/study.h"
#include "policy/go/go.h"
#include "run/methods.h"
#include "run/training.h"

enum { STREAM = 0x6d697865, NOTHING = EMP_TRANSFERABLE_PARTS, LINES = NOTHING + 1 };

/* Who is imitated, by whom, and in how many steps at most. */
static const char TEACHER[] = "refine";
static const char OPTIONS[] = "width=64,hidden=128,heads=4,max_nodes=512,lr=1e-3";
enum { MOST_STEPS = 300 };

typedef struct {
    const emp_measured *task;
    emp_examples        example; /* one */
    emp_go_agent        agent;
    emp_transferable    seen; /* by the agent, with nothing mixed */
    emp_owned_decision  placement;
    emp_sim            *sim;
    uint8_t            *choice; /* [position] with nothing mixed */
    double              loss_nats[EMP_MEASURE_SEEDS];
    /* The result for a mixed part, or for none. */
    double changed_frac[LINES][EMP_MEASURE_SEEDS];
    double ratio[LINES][EMP_MEASURE_SEEDS]; /* to the example's step time */
} stand;

/* ---- one policy ---- */

static emp_status find_example(stand *s, uint64_t seed, emp_error *err)
{
    emp_run_params params = {.budget_evaluations = s->task->budget,
                             .placer = {.seed = seed, .threads = 1}};

    EMP_CHECK(emp_method_find(&params.method, TEACHER, err));
    return emp_examples_make(&s->example, &s->task->problem, 1, &params, err);
}

static emp_status create_agent(stand *s, uint64_t seed, emp_error *err)
{
    const emp_problem      *problem = s->task->problem;
    const emp_method_params params = {.seed = seed, .threads = 1, .options = OPTIONS};
    emp_go_options          options = {0};

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_go, &params, err));
    EMP_CHECK(emp_go_agent_init(&s->agent, problem, &options, &params, err));
    EMP_CHECK(emp_transferable_init(&s->seen, s->agent.nodes, problem, err));
    return EMP_ALLOC(s->choice, (size_t)s->seen.count);
}

static void teach(stand *s, int32_t seed)
{
    const int64_t budget = s->task->budget;
    const int32_t steps = budget < MOST_STEPS ? (int32_t)budget : MOST_STEPS;

    for (int32_t i = 0; i < steps; i++) {
        (void)emp_go_agent_imitate(&s->agent, s->example.decision, &s->loss_nats[seed]);
        emp_measured_report(s->task, (seed + (i + 1.0) / steps) / s->task->seed_count);
    }
}

/* The likeliest placement by what the agent sees; infinite: it does not fit. */
static emp_status place(stand *s, double *step_s, emp_error *err)
{
    emp_go_agent_propose(&s->agent, 1);
    emp_go_agent_write(&s->agent, 0, &s->placement);
    emp_problem_legalize(s->task->problem, s->placement.device_of_op);
    return emp_trials_simulate(
        step_s, s->sim, &(emp_decision){.device_of_op = s->placement.device_of_op}, err);
}

static bool has_choice(uint64_t devices) { return (devices & (devices - 1)) != 0; }

/* The share of nodes with a choice that choose differently than before. */
static double share_changed(const stand *s)
{
    const uint8_t *now = s->agent.task[0].choice;
    int32_t        count = 0, changed = 0;

    for (int32_t i = 0; i < s->seen.count; i++) {
        if (!has_choice(s->seen.devices[i])) continue;
        count++;
        changed += now[i] != s->choice[i];
    }
    return (double)changed / count;
}

static emp_status mix_part(stand *s, int32_t part, int32_t seed, emp_error *err)
{
    double  step_s;
    emp_rng rng;

    emp_rng_init(&rng, (uint64_t)seed + 1, STREAM, (uint32_t)part);
    emp_transferable_mix(&s->agent.features, &s->seen, (emp_transferable_part)part, &rng);
    EMP_CHECK(place(s, &step_s, err));
    if (part == NOTHING)
        memcpy(s->choice, s->agent.task[0].choice, (size_t)s->seen.count);
    s->changed_frac[part][seed] = share_changed(s);
    s->ratio[part][seed] = step_s / s->example.step_time_s[0];
    return EMP_OK;
}

static emp_status mix_parts(stand *s, int32_t seed, emp_error *err)
{
    EMP_CHECK(mix_part(s, NOTHING, seed, err));
    for (int32_t part = 0; part < NOTHING; part++)
        EMP_CHECK(mix_part(s, part, seed, err));
    return EMP_OK;
}

static void clear_policy(stand *s)
{
    emp_examples_clear(&s->example);
    emp_go_agent_clear(&s->agent);
    emp_transferable_clear(&s->seen);
    emp_free(s->choice);
    s->choice = NULL;
}

static emp_status examine(stand *s, int32_t seed, emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(find_example(s, (uint64_t)seed + 1, err));
    EMP_TRY(create_agent(s, (uint64_t)seed + 1, err));
    teach(s, seed);
    EMP_TRY(mix_parts(s, seed, err));

cleanup:
    clear_policy(s);
    return st;
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_MEASURED_COLUMNS(EMP_SHEET_ACROSS),
    EMP_COLUMN("mixed", "", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("loss_nats", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("changed_frac", "changed", EMP_SHEET_SHARE, .low = "changed_low",
               .high = "changed_high", .width = 7),
    EMP_COLUMN("ratio", "ratio", EMP_SHEET_REAL, .form = "%.2f", .low = "ratio_low",
               .high = "ratio_high", .width = 6)};

static void add_line(emp_sheet *sheet, stand *s, int32_t part)
{
    const emp_measured *t = s->task;
    const int32_t       seeds = t->seed_count;

    EMP_SHEET_ADD(sheet, EMP_MEASURED_VALUES(t),
                  EMP_V(emp_transferable_part_name((emp_transferable_part)part)),
                  EMP_V(t->budget), EMP_V(seeds),
                  emp_measured_median(s->loss_nats, seeds),
                  emp_measured_range(s->changed_frac[part], seeds),
                  emp_measured_range(s->ratio[part], seeds));
}

static emp_status measure(emp_sheet *sheet, const emp_measured *task, emp_error *err)
{
    emp_status st = EMP_OK;
    stand     *s = EMP_NEW(stand);

    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "a measure");
    s->task = task;
    EMP_TRY(emp_decision_init(&s->placement, task->problem->graph->op_count, 0, err));
    EMP_TRY(emp_sim_create(&s->sim, task->problem, err));
    for (int32_t seed = 0; seed < task->seed_count; seed++)
        EMP_TRY(examine(s, seed, err));
    add_line(sheet, s, NOTHING);
    for (int32_t part = 0; part < NOTHING; part++) add_line(sheet, s, part);

cleanup:
    if (s != NULL) emp_decision_clear(&s->placement);
    if (s != NULL) emp_sim_destroy(s->sim);
    emp_free(s);
    return st;
}

static const char *const notes[] = {
    "GO imitates the best that Refine finds, on at most 512 nodes. It takes one step for "
    "each placement that Refine scored, and at most 300.",
    "Then one part of what GO sees is mixed: each node gets that of another node. "
    "Neighbours are drawn from all nodes.",
    "Changed: nodes whose likeliest device is another one then. Equal GPUs that change "
    "places count, too.",
    "Ratio: of the step time then to that of the placement imitated. OOM: it does not "
    "fit. Medians over seeds, with their range.",
    NULL};

const emp_measure emp_measure_explaining = EMP_MEASURE("explaining", 1000, 200);
