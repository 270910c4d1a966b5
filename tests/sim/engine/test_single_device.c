// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the model as far off published single-device step times as is known, with every constant
 * global to the machine and none of a GPU fitted to these; are memory verdicts the published
 * ones? Mirhoseini et al., ICLR 2018, Table 1: seconds on the CPU and on one K40; 0 = does not
 * fit. Inception-V3 has one image here, which is nearer to the published times than 32 are. */
#include "tests/support/problems.h"
#include "tests/support/survive.h"

struct cell {
    const char *spec;
    int         device;
    double      published_s;
    double      off_percent; /* of the model */
};

/* clang-format off */
static const struct cell cells[] = {
    {"inception_v3:batch=1", 0, 0.61, +43},  {"inception_v3:batch=1", 1, 0.15, +2},
    {"resnet", 1, 1.18, +13},
    {"rnnlm", 0, 6.89, -27},        {"rnnlm", 1, 1.57, -44},
    {"nmt:layers=2", 0, 6.46, +11}, {"nmt:layers=4", 0, 10.68, -13},
    {"nmt:layers=8", 0, 11.52, +18},
    {"nmt:layers=2", 1, 0, 0},      {"nmt:layers=4", 1, 0, 0},  {"nmt:layers=8", 1, 0, 0},
};
/* clang-format on */

enum {
    MARGIN_PERCENT = 1,
    ROUNDING_PERCENT = 1
}; /* of the GPU's memory, between a peak and the limit */

static void expect_cell(const struct cell *c)
{
    OWN_TASK t;

    task_create(&t, c->spec, "k40x1", "tf-r1.3");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = c->device;
    emp_problem_legalize(t.problem, t.device_of_op);
    emp_sim_result r = task_run(&t);
    double         seconds = (double)r.step_time_ns * 1e-9;
    cr_expect_eq(r.is_feasible, c->published_s > 0.0, "%s on device %d: %s", c->spec,
                 c->device, r.is_feasible ? "fits" : "does not fit");
    if (c->published_s > 0.0) {
        double off = 100.0 * (seconds / c->published_s - 1.0);
        cr_expect_float_eq(off, c->off_percent, ROUNDING_PERCENT,
                           "%s on device %d: %.3f s, published %.2f s, off %+.1f %%",
                           c->spec, c->device, seconds, c->published_s, off);
    }
    if (c->device == 1) {
        double used = (double)r.peak_bytes[1] / (double)t.machine->device[1].memory_bytes;
        cr_expect_gt(100.0 * fabs(used - 1.0), MARGIN_PERCENT, "%s: %.1f %% of memory",
                     c->spec, 100.0 * used);
    }
}

Test(single_device, is_off_the_published_time_as_known, .fini = expect_all_freed)
{
    for (size_t i = 0; i < COUNT(cells); i++) expect_cell(&cells[i]);
}
