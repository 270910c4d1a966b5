// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of placement files, JSON and YAML.
#include <stdlib.h>

#include "sim/graph/graph_builder.h"
#include "sim/problem/placement.h"
#include "tests/support/fuzz_file.h"

enum { OPS = 4 };

static emp_graph   *graph;
static emp_machine *machine;
static emp_problem *problem;

static void set_up(void)
{
    static const char *const names[OPS] = {"a", "scope/b", "scope/c", "d_1"};
    emp_graph_builder       *b = NULL;
    emp_op_attrs             attrs = {0};
    emp_runtime              runtime = {0};
    emp_op_id                op;

    if (emp_graph_builder_create(&b, NULL) != EMP_OK) abort();
    for (int i = 0; i < OPS; i++)
        if (emp_graph_builder_add(b, names[i], "NoOp", &attrs, NULL, 0, NULL, 0, &op,
                                  NULL) != EMP_OK)
            abort();
    if (emp_graph_builder_finish(b, &graph, NULL) != EMP_OK ||
        emp_machine_load(&machine, "k40x2", NULL) != EMP_OK ||
        emp_problem_create(&problem, graph, machine, &runtime, "fuzz", NULL) != EMP_OK)
        abort();
    emp_graph_builder_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_owned_decision   decision;
    emp_placement_report report = {0};

    if (problem == NULL) set_up();
    const char *path = fuzz_file(bytes, size);
    (void)emp_placement_read(&decision, path, problem, &report, NULL);
    emp_decision_clear(&decision);
    (void)emp_placement_run(path);
    return 0;
}
