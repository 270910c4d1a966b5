// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers of plans and of results of replays.
#include "replay/plan/plan.h"
#include "replay/result.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char       *path = fuzz_file(bytes, size);
    emp_replay_plan  *plan = NULL;
    emp_replay_result result = {0};

    (void)emp_replay_plan_load(&plan, path, NULL);
    emp_replay_plan_destroy(plan);
    (void)emp_replay_result_load(&result, path, NULL);
    emp_replay_result_clear(&result);
    return 0;
}
