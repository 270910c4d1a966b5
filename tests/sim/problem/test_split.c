// SPDX-License-Identifier: GPL-3.0-or-later
/* Are splits of instances read right, and refused in one sentence? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "sim/problem/placement.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { OPS = 4, ROOMY = 1 << 20 };

/* node0 and its backward op share a class; the machine has 2 CPUs and 2 GPUs. */
static const stated_op ops[OPS] = {
    {.color = 1}, {.color = 2}, {.color = 3}, {"gradients/node7", .color = 1}};

static task p;

static void set_up(void)
{
    scratch_create();
    task_create_stated(&p, ops, OPS, NULL, 0, 2, 2, ROOMY, "msr-load");
}

static void tear_down(void)
{
    task_destroy(&p);
    scratch_remove();
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(split, .init = set_up, .fini = tear_down);

static emp_status load(emp_device_id *device_of_op, const char *text, emp_error *err)
{
    scratch_write("split.json", text, strlen(text));
    return emp_placement_load(device_of_op, scratch_path("split.json"), p.problem, err);
}

static void expect(const char *text, const emp_device_id *want)
{
    emp_device_id device[OPS];

    ASSERT_OK(load(device, text, &err));
    for (int32_t op = 0; op < OPS; op++) cr_expect_eq(device[op], want[op], "op %d", op);
}

Test(split, puts_nodes_on_devices_by_number)
{
    expect("{\"fpgas\": [{\"nodes\": [0, 7]}, {\"nodes\": [2], \"load\": 5}],"
           " \"cpus\": [{\"nodes\": []}, {\"nodes\": [1]}], \"maxLoad\": -1}",
           (emp_device_id[]){2, 1, 3, 2});
}

Test(split, of_a_forward_pass_takes_the_backward_pass_along)
{
    expect("{\"fpgas\": [{\"nodes\": [1, 2]}, {\"nodes\": [0]}], \"cpus\": []}",
           (emp_device_id[]){3, 2, 2, 3});
}

static const struct {
    const char *text, *wants;
} faults[] = {
    {"{\"fpgas\": [{\"nodes\": [0, 1, 2, 5]}], \"cpus\": []}", "no op 'node5'"},
    {"{\"fpgas\": [{\"nodes\": [0, 1, 2, 0]}], \"cpus\": []}", "'node0' is placed twice"},
    {"{\"fpgas\": [{\"nodes\": [0, 1]}], \"cpus\": []}", "'node2' is not placed"},
    {"{\"fpgas\": [{\"nodes\": [\"0\"]}], \"cpus\": []}", "no whole number"},
    {"{\"fpgas\": [{\"knots\": [0]}], \"cpus\": []}", "no list \"nodes\""},
    {"{\"fpgas\": [7], \"cpus\": []}", "an entry of \"fpgas\" has no list"},
    {"{\"fpgas\": [{\"nodes\": []}, {\"nodes\": []}, {\"nodes\": []}], \"cpus\": []}",
     "\"fpgas\" has 3 entries; machine 'tiny' has 2 such devices"},
};

Test(split, faults_are_one_sentence)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        emp_device_id device[OPS];
        emp_error     err = {0};
        cr_expect_eq(load(device, faults[i].text, &err), EMP_EFORMAT, "%s",
                     faults[i].text);
        cr_expect_not_null(strstr(err.msg, faults[i].wants), "%s", err.msg);
        cr_expect_not_null(strstr(err.msg, "split.json"), "%s", err.msg);
    }
}

Test(split, survives_every_allocation_failure)
{
    emp_device_id device[OPS];

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load(device, "{\"fpgas\": [{\"nodes\": [0, 1, 2]}], \"cpus\": []}", NULL), );
}
