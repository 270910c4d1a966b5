// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the updates that `emplace bench policy` times lose as much as PyTorch's? */
#include <criterion/criterion.h>

#include "bench/speed/speed.h"
#include "bench/speed/torch.h"

/* Of the losses. DOPPLER scales columns of nodes that are nearly alike, which leaves much of what was
 * rounded, and that differs from CPU to CPU. */
static double tolerance(emp_stand_kind kind)
{
    return kind == EMP_STAND_DOPPLER ? 5e-5 : 1e-5;
}

/* On one thread: PyTorch's wait for each other actively, which takes minutes where other
 * programs run. */
Test(pytorch, loses_as_much)
{
    static emp_speed_report report;
    const emp_speed_params  params = {.networks = (1u << EMP_STAND_COUNT) - 1,
                                      .hidden = {12},
                                      .hidden_count = 1,
                                      .samples = {1, 3},
                                      .samples_count = 2,
                                      .threads = {1},
                                      .threads_count = 1,
                                      .groups = 8,
                                      .ops = 300,
                                      .nodes = 600, /* the third segment is a part */
                                      .sets = 60,
                                      .steps = 20,
                                      .repeats = 4,
                                      .has_torch = true,
                                      .seed = 1};
    emp_error               err = {0};

    if (emp_torch_find() == NULL) cr_skip_test("python3-torch is not installed");
    cr_assert_eq(emp_speed_measure(&report, &params, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(report.row_count, 8);
    for (int32_t i = 0; i < report.row_count; i++) {
        const emp_speed_row *row = &report.row[i];
        cr_expect_geq(row->ratio.count, 3, "a slow machine makes fewer rounds");
        cr_expect_lt(row->disagreement, tolerance(row->network.kind), "%s: %g",
                     emp_stand_name(row->network.kind), row->disagreement);
    }
}
