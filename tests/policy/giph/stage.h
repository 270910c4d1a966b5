/** \file tests/policy/giph/stage.h
 * A problem and its oracle, before which an agent plays episodes. Whatever fails aborts the test.
 */
#ifndef EMP_TESTS_POLICY_GIPH_STAGE_H
#define EMP_TESTS_POLICY_GIPH_STAGE_H

#include "policy/giph/giph.h"
#include "sim/engine/sim.h"
#include "tests/support/problems.h"

enum { STAGE_OPS = 4096, STAGE_EPISODES = 8 };

typedef struct {
    task           h;
    emp_sim       *sim;
    int32_t        count; /**< of the last round */
    emp_device_id  device[STAGE_EPISODES][STAGE_OPS];
    emp_time_ns    start_ns[STAGE_EPISODES][STAGE_OPS], end_ns[STAGE_EPISODES][STAGE_OPS];
    emp_sim_result result[STAGE_EPISODES];
    emp_score      score[STAGE_EPISODES];
} stage;

void stage_open(stage *s, const char *source, const char *machine, const char *runtime);
void stage_close(stage *s);

void stage_agent(const stage *s, emp_giph_agent *agent, const char *preset,
                 const char *options, uint64_t seed, int32_t threads);

/** Makes the placement of a row legal and scores it. */
void stage_score(stage *s, int32_t row);
/** Asks for at most \a most placements and scores them. */
void stage_ask(stage *s, emp_giph_agent *agent, int32_t most);
/** The same, and tells. */
void stage_play(stage *s, emp_giph_agent *agent, int32_t rounds);

#endif /* EMP_TESTS_POLICY_GIPH_STAGE_H */
