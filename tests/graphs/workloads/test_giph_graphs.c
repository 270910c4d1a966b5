// SPDX-License-Identifier: GPL-3.0-or-later
/* Are GiPH's graphs those that its released generator draws? Their numbers are written out here. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/graph/graph.h"

typedef struct {
    const char *spec;
    int32_t     ops, edges;
    int64_t     first_ns, last_ns, sum_ns, sum_bytes;
    int64_t     shape; /* of all edges (from + 1) (to + 7)^2 */
    char        first_type[8], last_type[8];
} drawn;

static const drawn graphs[] = {
    {"giph", 32, 73, 101952540, 106111613, 3308276822, 7223933680, 873784, "Type0",
     "Type4"},
    {"giph:v=10,alpha=0.1,p=0.2,seed=25", 39, 168, 114804965, 116547033, 3937366555,
     16714756059, 2538546, "Type2", "Type3"},
    {"giph:v=15,alpha=0.3,p=0.2,seed=7", 23, 60, 83052332, 98113717, 2295828319,
     6063218068, 312970, "Type1", "Type3"},
    {"giph:v=40,alpha=1,p=0.3,seed=3", 51, 320, 102031916, 109052780, 5158677198,
     32136186226, 10806817, "Type1", "Type3"},
};

static void expect_graph(const drawn *want)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    int64_t    sum_ns = 0, sum_bytes = 0, shape = 0;

    cr_assert_eq(emp_source_load(&g, NULL, NULL, want->spec, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(g->op_count, want->ops, "%s: %d ops", want->spec, g->op_count);
    cr_expect_eq(g->edge_count, want->edges, "%s: %d edges", want->spec, g->edge_count);
    for (emp_op_id to = 0; to < g->op_count; to++) {
        sum_ns += g->stated[to].gpu_ns;
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            const emp_tensor *t = &g->tensor[g->input[i]];
            sum_bytes += t->copy_bytes;
            shape += (int64_t)(t->producer + 1) * (to + 7) * (to + 7);
            cr_expect_eq(t->bytes, 0, "nothing is held");
        }
    }
    cr_expect_eq(g->stated[0].gpu_ns, want->first_ns, "%s", want->spec);
    cr_expect_eq(g->stated[want->ops - 1].cpu_ns, want->last_ns, "%s", want->spec);
    cr_expect_eq(sum_ns, want->sum_ns, "%s", want->spec);
    cr_expect_eq(sum_bytes, want->sum_bytes, "%s", want->spec);
    cr_expect_eq(shape, want->shape, "%s", want->spec);
    cr_expect_str_eq(g->type_name[g->type[0]], want->first_type);
    cr_expect_str_eq(g->type_name[g->type[want->ops - 1]], want->last_type);
    emp_graph_destroy(g);
}

Test(giph_graphs, are_the_released_programs)
{
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) expect_graph(&graphs[i]);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(giph_graphs, survive_every_allocation_failure)
{
    emp_graph *g = NULL;
    emp_status st = EMP_ENOMEM;
    long       allowed = 0;

    for (; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_source_load(&g, NULL, NULL, "giph:v=10", NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld: %s", allowed, emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), 0, "leaks after %ld", allowed);
    }
    cr_expect_gt(allowed, 10);
    emp_graph_destroy(g);
}

Test(giph_graphs, refuse_what_is_out_of_range)
{
    static const char *const specs[] = {"giph:v=0",   "giph:v=501",   "giph:alpha=0",
                                        "giph:p=1.5", "giph:seed=-1", "giph:width=3"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_expect_eq(emp_source_load(&g, NULL, NULL, specs[i], &err), EMP_EINVAL, "%s",
                     specs[i]);
        cr_expect_null(g);
        cr_expect_neq(err.msg[0], '\0');
    }
}
