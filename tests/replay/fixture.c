// SPDX-License-Identifier: GPL-3.0-or-later
#undef NDEBUG
#include "tests/replay/fixture.h"

#include <assert.h>

#include "base/collections.h"
#include "base/mem.h"
#include "replay/planner/planner.h"

static void place(task *f, int32_t seed)
{
    const emp_graph *g = f->graph;
    uint64_t         devices = (uint64_t)f->machine->device_count;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        uint64_t hash =
            emp_hash_u64((uint64_t)(int64_t)seed, (uint64_t)g->op[op].colocation_class);
        f->device_of_op[op] = seed < 0 ? -seed - 1 : (int32_t)((hash >> 32) % devices);
    }
    emp_problem_legalize(f->problem, f->device_of_op);
}

void replay_fixture_create_on(task *f, const char *spec, int32_t seed,
                              const char *machine, const char *runtime)
{
    task_create(f, spec, machine, runtime);
    place(f, seed);
}

void replay_fixture_create(task *f, const char *spec, int32_t seed)
{
    replay_fixture_create_on(f, spec, seed, "cpu2", "replay-cpu");
}

emp_replay_plan *replay_fixture_plan(const task *f)
{
    emp_replay_plan *plan = NULL;
    emp_error        err = {0};

    assert(emp_replay_plan_from_problem(&plan, f->problem, f->device_of_op, &err) ==
           EMP_OK);
    return plan;
}

emp_replay_plan *replay_fixture_kernel(const emp_kernel *kernel, int64_t floats)
{
    emp_replay_plan *p = NULL;
    emp_error        err = {0};
    const int64_t    bytes = floats * (int64_t)sizeof(float);

    assert(emp_replay_plan_create(&p, 2, 3, 1, 3, 0, 1, &err) == EMP_OK);
    p->device_count = 2;
    for (int32_t d = 0; d < 2; d++)
        p->device[d] = (emp_replay_device){
            .is_cpu = true, .host = d, .cores = 1, .memory_bytes = 8 * bytes + 65536};
    p->op[0] = (emp_replay_op){
        .kernel = {.kind = EMP_KERNEL_FILL}, .device = 0, .name = "first", .type = "T"};
    p->op[1] =
        (emp_replay_op){.kernel = *kernel, .device = 1, .name = "second", .type = "T"};
    for (int32_t i = 0; i < 3; i++) {
        p->input[i] = (emp_replay_input){.place = 3, .bytes = bytes, .element_bytes = 4};
        p->tensor[i] = (emp_replay_tensor){.producer = i > 0,
                                           .storage = -1,
                                           .buffer_bytes = bytes,
                                           .bytes = bytes,
                                           .element_bytes = 4};
    }
    p->input_offset[2] = p->output_offset[2] = 3;
    p->output_offset[1] = 1;
    p->copy[0] = (emp_replay_copy){.tensor = 0, .to = 1, .bytes = bytes};
    for (int32_t t = 1; t <= 3; t++) p->copy_offset[t] = 1;
    return p;
}

const replay_case replay_cases[REPLAY_CASES] = {
    {REPLAY_SMALL_NMT, 0},
    {REPLAY_SMALL_NMT, 1},
    {REPLAY_SMALL_NMT, -2}, /* all on a GPU, but for what has no kernel there */
    {"nmt:layers=1,units=16,batch=4,steps=3,vocab=100,dropout=1,per_step_softmax=0", 3},
    {"rnnlm:layers=1,units=32,batch=4,steps=3,vocab=200,sampled=64", 4},
    {"rnnlm:layers=1,units=32,batch=4,steps=3,vocab=200,sampled=0,dropout=1", 5},
    {REPLAY_SMALL_NMT, -1}, /* all on the CPU */
};

emp_status replay_fixture_execute(const emp_replay_plan    *plan,
                                  const emp_replay_backend *backend,
                                  const emp_replay_options *options,
                                  emp_replay_result *result, emp_error *err)
{
    emp_replay *replay = NULL;
    emp_status  st = emp_replay_create(&replay, plan, backend, options, err);

    if (st == EMP_OK) st = emp_replay_run(replay, result, err);
    emp_replay_destroy(replay);
    return st;
}
