// SPDX-License-Identifier: GPL-3.0-or-later
/* Does any machine or runtime refuse an ordinary step of a language model? Each of them gives a step time
 * and a memory verdict for the default training step, prompt and decoding of ten models. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/engine/sim.h"
#include "tests/graphs/import/models/known.h"
#include "tests/support/scratch.h"

TestSuite(ordinary, .init = scratch_create, .fini = scratch_remove);

/* 0.6 to 671 billion parameters; dense models and mixtures of experts. */
static const char *const models[] = {"Qwen--Qwen3-0.6B",
                                     "Qwen--Qwen3-1.7B",
                                     "Llama-2-7b",
                                     "meta-llama--Meta-Llama-3.1-8B",
                                     "openai--gpt-oss-20b",
                                     "Qwen--Qwen3-30B-A3B",
                                     "meta-llama--Meta-Llama-3.1-70B",
                                     "mistralai--Mixtral-8x22B-v0.1",
                                     "meta-llama--Meta-Llama-3.1-405B",
                                     "deepseek-ai--DeepSeek-V3"};
static const char *const phases[] = {"", ",phase=prefill", ",phase=decode"};

enum { MODELS = sizeof models / sizeof *models, PHASES = sizeof phases / sizeof *phases };

static const char *config_of(const char *file)
{
    for (int32_t i = 0; i < known_model_count; i++)
        if (known_models[i].file != NULL && strcmp(known_models[i].file, file) == 0)
            return known_models[i].config;
    cr_assert_fail("no model %s", file);
    return NULL;
}

static emp_graph *load_step(const char *model, const char *options)
{
    char       text[4096], spec[512];
    emp_graph *step = NULL;
    emp_error  err = {0};

    snprintf(text, sizeof text, "{%s}", config_of(model));
    scratch_write("config.json", text, strlen(text));
    snprintf(spec, sizeof spec, "hf:path=%s%s", scratch_path("config.json"), options);
    cr_assert_eq(emp_source_load(&step, NULL, NULL, spec, &err), EMP_OK, "%s", err.msg);
    return step;
}

/* All ops on one device, and a piece of the graph on each. */
static void place(emp_problem *p, emp_device_id *device_of_op, int32_t kind)
{
    const emp_graph *g = p->graph;
    const int32_t    devices = p->machine->device_count;

    for (emp_op_id op = 0; op < g->op_count; op++)
        device_of_op[op] =
            kind < devices ? kind : (int32_t)((int64_t)op * devices / g->op_count);
    emp_problem_legalize(p, device_of_op);
}

static void expect_step(emp_sim *sim, emp_problem *p, const emp_device_id *device_of_op)
{
    emp_sim_result r = {0};
    emp_error      err = {0};
    const char    *runtime = p->runtime.name;

    cr_expect_eq(emp_sim_run_traced(sim, device_of_op, NULL, &r, &err), EMP_OK, "%s: %s",
                 runtime, err.msg);
    cr_expect_gt(r.step_time_ns, 0, "%s", runtime);
    cr_expect(r.is_feasible ? r.oom_device < 0 : r.oom_device >= 0 && r.oom_bytes > 0,
              "%s on %s: no verdict", runtime, p->machine->name);
}

static void expect_steps(const emp_graph *g, const emp_machine *m, const char *runtime)
{
    emp_runtime    profile;
    emp_problem   *p = NULL;
    emp_sim       *sim = NULL;
    emp_error      err = {0};
    emp_device_id *device_of_op = calloc((size_t)g->op_count, sizeof *device_of_op);

    cr_assert_not_null(device_of_op);
    cr_assert_eq(emp_runtime_init(&profile, runtime, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_problem_create(&p, g, m, &profile, "ordinary", &err), EMP_OK,
                 "%s on %s: %s", runtime, m->name, err.msg);
    cr_expect_eq(emp_sim_create(&sim, p, &err), EMP_OK, "%s on %s: %s", runtime, m->name,
                 err.msg);
    const int32_t last = m->device_count - 1;
    for (int32_t i = 0; sim != NULL && i < 3; i++) {
        place(p, device_of_op, i == 0 ? 0 : i == 1 ? last : last + 1);
        expect_step(sim, p, device_of_op);
    }
    emp_sim_destroy(sim);
    emp_problem_destroy(p);
    free(device_of_op);
}

static void expect_on_every_machine(const char *model, const char *phase)
{
    emp_graph     *g = load_step(model, phase);
    emp_data_names machines, runtimes;

    emp_data_find(&machines, "machines");
    emp_data_find(&runtimes, "runtimes");
    cr_assert(machines.count >= 20 && runtimes.count >= 10);
    for (int32_t i = 0; i < machines.count; i++) {
        emp_machine *m = NULL;
        cr_assert_eq(emp_machine_load(&m, machines.name[i], NULL), EMP_OK);
        for (int32_t r = 0; r < runtimes.count; r++) expect_steps(g, m, runtimes.name[r]);
        emp_machine_destroy(m);
    }
    emp_graph_destroy(g);
}

Test(ordinary, no_machine_or_runtime_refuses_a_step)
{
    for (int32_t i = 0; i < MODELS; i++)
        for (int32_t phase = 0; phase < PHASES; phase++)
            expect_on_every_machine(models[i], phases[phase]);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
