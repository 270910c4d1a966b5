// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/run/tiny.h"

#include <criterion/criterion.h>

#include "base/mem.h"
#include "base/rng.h"
#include "sim/graph/graph_builder.h"
#include "tests/support/scratch.h"

tiny_script tiny_placer_script;

tiny tiny_create(int64_t elements)
{
    tiny               t = {0};
    emp_error          err = {0};
    emp_runtime        runtime;
    emp_graph_builder *b = NULL;
    emp_port           last = {-1, 0};
    const emp_op_attrs input = {
        .dtype = EMP_DTYPE_FLOAT, .shape = EMP_SHAPE(elements), .has_shape = true};
    const emp_op_attrs unary = {.dtype = EMP_DTYPE_FLOAT};
    char               name[16];

    cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_graph_builder_add(b, "input", "Placeholder", &input, NULL, 0, NULL,
                                       0, &last.op, &err),
                 EMP_OK, "%s", err.msg);
    for (int i = 0; i < TINY_CHAIN; i++) {
        emp_op_id op = -1;
        snprintf(name, sizeof name, "relu%d", i);
        cr_assert_eq(
            emp_graph_builder_add(b, name, "Relu", &unary, &last, 1, NULL, 0, &op, &err),
            EMP_OK, "%s", err.msg);
        last.op = op;
    }
    emp_graph_builder_set_target(b, last.op);
    cr_assert_eq(emp_graph_builder_finish(b, &t.graph, &err), EMP_OK, "%s", err.msg);
    emp_graph_builder_destroy(b);
    cr_assert_eq(emp_machine_load(&t.machine, "k40x2", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_load(&runtime, "tf-r1.3", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(
        emp_problem_create(&t.problem, t.graph, t.machine, &runtime, "tiny", &err),
        EMP_OK, "%s", err.msg);
    return t;
}

void tiny_destroy(tiny *t)
{
    emp_problem_destroy(t->problem);
    emp_machine_destroy(t->machine);
    emp_graph_destroy(t->graph);
}

void tiny_set_up(tiny *t, int64_t elements, int32_t batch)
{
    emp_store_silence();
    scratch_create();
    *t = tiny_create(elements);
    tiny_placer_script = (tiny_script){.batch = batch};
}

void tiny_tear_down(tiny *t)
{
    tiny_destroy(t);
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
    tiny_placer_script.asked = tiny_placer_script.told = 0;
    tiny_placer_script.is_told_order = true;
    return EMP_OK;
}

static emp_status ask(void *state, emp_device_id *const *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    struct state      *s = (struct state *)state;
    const tiny_script *script = &tiny_placer_script;

    (void)err;
    for (*count = 0; *count < max && *count < script->batch; ++*count, s->proposed++) {
        emp_rng rng;
        if (script->end_after > 0 && s->proposed == script->end_after) break;
        emp_rng_init(&rng, s->seed, (uint32_t)s->proposed, 0);
        for (emp_op_id op = 0; op < s->problem->graph->op_count; op++) {
            candidates[*count][op] =
                script->device_count > 0
                    ? script->device[s->proposed % script->device_count]
                    : (emp_device_id)emp_rng_below(&rng, 3);
        }
    }
    tiny_placer_script.asked += *count;
    return EMP_OK;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    struct state *s = (struct state *)state;

    tiny_placer_script.told += count;
    if (tiny_placer_script.told != tiny_placer_script.asked) {
        tiny_placer_script.is_told_order = false;
    }
    s->metric[0] = (emp_method_metric){"first_s", scores[0].step_time_s};
    s->metric[1] = (emp_method_metric){"proposed", (double)s->proposed};
    tiny_placer_script.overflow_frac = scores[0].overflow_frac;
    if (tiny_placer_script.fail_tell != EMP_OK) {
        return EMP_ERROR(tiny_placer_script.fail_tell, "scripted failure");
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

const emp_method tiny_placer = {
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

emp_run_params tiny_params(int64_t budget, int32_t threads)
{
    return (emp_run_params){.method = &tiny_placer,
                            .placer = {.seed = 7, .threads = threads},
                            .budget_evaluations = budget};
}
