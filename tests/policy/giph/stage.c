// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/giph/stage.h"

#include "policy/giph/giph.h"
#include "tests/support/status.h"

void stage_open(stage *s, const char *source, const char *machine, const char *runtime)
{
    task_create(&s->h, source, machine, runtime);
    cr_assert_leq(s->h.graph->op_count, STAGE_OPS);
    MUST(emp_sim_create(&s->sim, s->h.problem, &why));
}

void stage_close(stage *s)
{
    emp_sim_destroy(s->sim);
    task_destroy(&s->h);
}

void stage_agent(const stage *s, emp_giph_agent *agent, const char *preset,
                 const char *text, uint64_t seed, int32_t threads)
{
    const emp_method_params params = {
        .seed = seed, .threads = threads, .preset = preset, .options = text};
    emp_giph_options options = {0};

    MUST(emp_method_options_parse(&options, &emp_method_giph, &params, &why));
    MUST(emp_giph_agent_init(agent, s->h.problem, &options, &params, &why));
}

void stage_score(stage *s, int32_t k)
{
    const emp_decision  decision = {.device_of_op = s->device[k]};
    const emp_sim_times times = {s->start_ns[k], s->end_ns[k]};

    emp_problem_legalize(s->h.problem, s->device[k]);
    MUST(emp_sim_run_timed(s->sim, &decision, &times, &s->result[k], &why));
    s->score[k] = (emp_score){.step_time_s = 1e-9 * (double)s->result[k].step_time_ns,
                              .is_feasible = s->result[k].is_feasible,
                              .overflow_frac = s->result[k].is_feasible ? 0.0 : 0.5,
                              .result = &s->result[k],
                              .start_ns = s->start_ns[k],
                              .end_ns = s->end_ns[k]};
}

void stage_ask(stage *s, emp_giph_agent *agent, int32_t most)
{
    emp_owned_decision candidate[STAGE_EPISODES];

    memset(s->device, 0, sizeof s->device);
    for (int32_t k = 0; k < STAGE_EPISODES; k++)
        candidate[k] = (emp_owned_decision){.device_of_op = s->device[k]};
    MUST(emp_giph_agent_ask(agent, candidate, most, &s->count, &why));
    for (int32_t k = 0; k < s->count; k++) stage_score(s, k);
}

void stage_play(stage *s, emp_giph_agent *agent, int32_t rounds)
{
    for (int32_t i = 0; i < rounds; i++) {
        stage_ask(s, agent, STAGE_EPISODES);
        MUST(emp_giph_agent_tell(agent, s->score, s->count, NULL));
    }
}
