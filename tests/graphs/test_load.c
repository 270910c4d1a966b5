// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a spec or a file made into the graphs that its front end makes, without a leak? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(load, .init = scratch_create, .fini = scratch_remove);

Test(load, spec_gives_the_graph_and_its_step)
{
    emp_graph         *step = NULL, *whole = NULL;
    emp_import_devices devices = {.cpu_count = 7};
    emp_error          err = {0};

    cr_assert_eq(emp_source_load(&step, &whole, &devices, "rnnlm:steps=2", &err), EMP_OK,
                 "%s", err.msg);
    cr_expect_gt(whole->op_count, step->op_count);
    cr_expect_eq(devices.cpu_count, 0);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(load, file_is_read_when_no_family_has_its_name)
{
    static const char text[] = "node { name: \"a\" op: \"NoOp\" }\n";
    emp_graph        *step = NULL;
    emp_error         err = {0};

    scratch_write("text.pbtxt", text, strlen(text));
    cr_assert_eq(emp_source_load(&step, NULL, NULL, scratch_path("text.pbtxt"), &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(step->op_count, 1);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(load, neither_spec_nor_file_names_the_families)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_expect_eq(emp_source_load(&step, NULL, NULL, "nmtt", &err), EMP_EIO);
    cr_expect_str_eq(err.msg,
                     "\"nmtt\" is neither a file nor a workload family "
                     "(did you mean \"nmt\"?) (nmt, rnnlm, inception_v3, resnet, "
                     "transformer, bert, transformer_xl, wavenet, cells, enas, giph)");
}

Test(load, survives_every_allocation_failure)
{
    emp_graph *step = NULL, *whole = NULL;
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_source_load(&step, &whole, NULL, "rnnlm:steps=1,layers=1", NULL),
        emp_graph_destroy(step);
        emp_graph_destroy(whole));
    emp_graph_destroy(step);
    emp_graph_destroy(whole);
}
