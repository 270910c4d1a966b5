// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/contradictions.h"

#include <criterion/criterion.h>

#include "tests/graphs/graphs.h"

/* Shapes inferred without the file's shapes must not contradict them. */
static int32_t count_contradictions(const emp_graph *inferred, const emp_graph *stated,
                                    const char *name)
{
    int32_t wrong = 0;

    for (emp_op_id op = 0; op < stated->op_count; op++) {
        int32_t known = stated->output_offset[op + 1] - stated->output_offset[op];
        int32_t count = inferred->output_offset[op + 1] - inferred->output_offset[op];
        for (int32_t i = 0; i < known && i < count; i++) {
            const emp_shape *want = stated->tensor[stated->output_offset[op] + i].shape;
            const emp_shape *got =
                inferred->tensor[inferred->output_offset[op] + i].shape;
            bool differs = want->rank >= 0 && got->rank >= 0 && want->rank != got->rank;
            for (int32_t d = 0; !differs && d < want->rank && d < got->rank; d++)
                differs =
                    want->dim[d] >= 0 && got->dim[d] >= 0 && want->dim[d] != got->dim[d];
            if (differs && wrong++ < 5)
                cr_log_warn("%s: %s (%s), output %d", name, stated->name[op],
                            stated->type_name[stated->type[op]], i);
        }
    }
    return wrong;
}

void expect_no_contradiction(const char *path)
{
    emp_import_params params = emp_import_params_default();
    emp_graph        *stated = graph_import(path, NULL, NULL), *inferred = NULL;

    params.ignore_output_shapes = true;
    ASSERT_OK(emp_import_load(&inferred, NULL, path, &params, &err));
    cr_expect_eq(count_contradictions(inferred, stated, path), 0, "%s", path);
    emp_graph_destroy(stated);
    emp_graph_destroy(inferred);
}
