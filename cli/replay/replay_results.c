// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/replay/replay_results.h"

#include "base/mem.h"

emp_status cli_replay_results_load(cli_replay_results *r, const char *const *paths,
                                   int32_t count, emp_error *err)
{
    if (count == 0) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(r->result, (size_t)count));
    r->count = count;
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_replay_result_load(&r->result[i], paths[i], err));
    return EMP_OK;
}

void cli_replay_results_clear(cli_replay_results *r)
{
    for (int32_t i = 0; i < r->count; i++) emp_replay_result_clear(&r->result[i]);
    emp_free(r->result);
    *r = (cli_replay_results){0};
}

const emp_replay_result *cli_replay_results_find(const cli_replay_results *r,
                                                 const emp_replay_plan    *plan)
{
    uint64_t hash = emp_replay_plan_hash(plan);

    for (int32_t i = 0; i < r->count; i++)
        if (r->result[i].plan_hash == hash) return &r->result[i];
    return NULL;
}
