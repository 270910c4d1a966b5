// SPDX-License-Identifier: GPL-3.0-or-later
/* A placer whose second answer is wrong in the way that its options begin with; with the options "best" none is, and
 * from the second on all of its placements are the best of the first answer, by the scores that it got. */
#include <emplace/emplace.h>
#include <emplace/placer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char              fault[16];
    int               rounds, best;
    emp_placer_params params;
} placer;

static bool is(const placer *p, const char *fault)
{
    return p->rounds == 2 && strncmp(p->fault, fault, strlen(fault)) == 0;
}

static emp_status init(void *state, const emp_placer_params *params, emp_error *err)
{
    placer *p = state;

    (void)err;
    p->params = *params;
    snprintf(p->fault, sizeof p->fault, "%s", params->options);
    return strcmp(p->fault, "init") == 0 ? EMP_EINFEASIBLE : EMP_OK;
}

/* Another placement for each number. */
static void fill(const placer *p, emp_device_id *device_of_op, int number)
{
    const int32_t ops = emp_graph_op_count(p->params.graph);
    const int32_t devices = emp_machine_device_count(p->params.machine);

    for (int32_t op = 0; op < ops; op++) device_of_op[op] = op / (number + 1) % devices;
}

static emp_status tell(void *state, const emp_placer_score *scores, int32_t count,
                       emp_error *err)
{
    placer *p = state;

    (void)err;
    for (int32_t i = 0; p->rounds == 1 && i < count; i++)
        if (scores[i].is_feasible &&
            scores[i].step_time_ns < scores[p->best].step_time_ns)
            p->best = i;
    return EMP_OK;
}

static emp_status ask(void *state, emp_device_id *const *device_of_op, int32_t max,
                      int32_t *count, emp_error *err)
{
    placer *p = state;

    p->rounds++;
    *count = is(p, "many") ? 65 : max;
    if (strcmp(p->fault, "best") == 0)
        for (int32_t i = 0; i < max; i++)
            fill(p, device_of_op[i], p->rounds == 1 ? i : p->best);
    if (is(p, "device")) device_of_op[0][0] = 9;
    if (is(p, "crash")) raise(SIGSEGV);
    if (is(p, "exit")) _exit(3);
    if (is(p, "hang")) sleep(600);
    if (is(p, "say")) snprintf(err->msg, sizeof err->msg, "the placer says no");
    if (is(p, "interrupted")) return EMP_EINTERRUPTED;
    if (is(p, "elsewhere")) return EMP_EELSEWHERE;
    if (is(p, "number")) return (emp_status)77;
    return is(p, "say") || is(p, "status") ? EMP_EIO : EMP_OK;
}

const emp_placer_type emp_placer = {
    .abi = EMP_PLACER_ABI,
    .name = "faulty",
    .state_bytes = sizeof(placer),
    .init = init,
    .ask = ask,
    .tell = tell,
};
