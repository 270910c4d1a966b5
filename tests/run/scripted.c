// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/run/scripted.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tests/test.h"

scripted_plan script;

void scripted_set_up(task *t, int64_t elements, int32_t batch)
{
    emp_store_silence();
    scratch_create();
    *t = task_chain(elements);
    script = (scripted_plan){.batch = batch};
}

void scripted_tear_down(task *t)
{
    task_destroy(t);
    scratch_remove();
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

struct state {
    const emp_problem *problem;
    uint64_t           seed;
    int64_t            proposed;
    emp_method_metric  metric[2];
};

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    struct state *s = (struct state *)state;

    (void)err;
    s->problem = problem;
    s->seed = params->seed;
    script.asked = script.told = 0;
    script.is_told_order = true;
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    struct state *s = (struct state *)state;

    if (s->proposed < 0)
        return EMP_ERROR(EMP_EFORMAT, "the saved state of scripted is damaged");
    for (*count = 0; *count < max && *count < script.batch; ++*count, s->proposed++) {
        emp_rng rng;
        if (script.end_after > 0 && s->proposed == script.end_after) break;
        emp_rng_init(&rng, s->seed, (uint32_t)s->proposed, 0);
        for (emp_op_id op = 0; op < s->problem->graph->op_count; op++) {
            candidates[*count].device_of_op[op] =
                script.device_count > 0 ? script.device[s->proposed % script.device_count]
                                        : (emp_device_id)emp_rng_below(&rng, 3);
        }
    }
    script.asked += *count;
    if (script.stop_after > 0 && script.asked >= script.stop_after) script.stop = 1;
    return script.is_given_up && script.stop != 0 ? EMP_EINTERRUPTED : EMP_OK;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    struct state *s = (struct state *)state;

    if (script.give_up_after > 0 && script.told + count >= script.give_up_after) {
        script.stop = 1;
        return EMP_EINTERRUPTED;
    }
    script.told += count;
    if (script.told != script.asked) {
        script.is_told_order = false;
    }
    s->metric[0] = (emp_method_metric){"first_s", scores[0].step_time_s};
    s->metric[1] = (emp_method_metric){"proposed", (double)s->proposed};
    script.overflow_frac = scores[0].overflow_frac;
    if (script.fail_tell != EMP_OK) {
        return EMP_ERROR(script.fail_tell, "scripted failure");
    }
    return EMP_OK;
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    *count = 2;
    return ((const struct state *)state)->metric;
}

/* The next proposals follow from the seed and from how many came before. */
static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    struct state *s = (struct state *)state;

    arrays[0] = (emp_named_array){"proposed", EMP_ARRAY_INT64, 1, &s->proposed};
    return 1;
}

const emp_method scripted_method = {
    .name = "scripted",
    .description = "for tests",
    .uses_budget = true,
    .uses_seed = true,
    .presets = "paper",
    .state_bytes = sizeof(struct state),
    .init = init,
    .ask = ask,
    .tell = tell,
    .metrics = metrics,
    .list_state = list_state,
};

emp_run_params scripted_params(int64_t budget, int32_t threads)
{
    return (emp_run_params){.method = &scripted_method,
                            .placer = {.seed = 7, .threads = threads},
                            .budget_evaluations = budget};
}
