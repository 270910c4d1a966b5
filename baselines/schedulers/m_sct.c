// SPDX-License-Identifier: GPL-3.0-or-later
/* m-SCT of Baechi (Jeon et al., SoCC 2020): m-ETF that knows each task's favourite child, by
 * the linear program of small communication times, rounded. */
#include "baselines/baselines.h"
#include "baselines/schedulers/baechi.h"
#include "baselines/schedulers/sct_lp.h"

/* Below a half a child is the favourite. Of several claims to a child the last one stands, by
 * (parent, child); who loses it has none. */
static void round_favourites(const emp_sct_solution *lp, int32_t task_count,
                             int32_t *parent, int32_t *child)
{
    for (int32_t i = 0; i < task_count; i++) parent[i] = child[i] = -1;
    for (int32_t e = 0; e < lp->edge_count; e++) { /* by (child, parent) */
        if (lp->apart[e] < 0.5) parent[lp->edge[e].to] = lp->edge[e].from;
    }
    for (int32_t j = 0; j < task_count; j++) {
        if (parent[j] >= 0) child[parent[j]] = j;
    }
}

emp_status emp_schedule_m_sct(emp_list_schedule *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    int32_t          count = s->graph->task_count;
    emp_sct_solution lp = {0};
    emp_arrays       arrays = {0};
    int32_t         *parent = EMP_ADD_ARRAY(&arrays, int32_t, (size_t)count);
    int32_t         *child = EMP_ADD_ARRAY(&arrays, int32_t, (size_t)count);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "favourites of %d tasks", count);
    EMP_TRY(emp_sct_solve(&lp, s->graph, err));
    round_favourites(&lp, count, parent, child);
    EMP_TRY(emp_baechi_schedule(s, child, err));

cleanup:
    emp_sct_solution_clear(&lp);
    emp_arrays_clear(&arrays);
    return st;
}

const emp_method emp_method_m_sct = {
    .name = "m-sct",
    .description =
        "m-SCT, m-ETF with favourite children by a linear program (Baechi 2020)",
    .advice = "short memory: slower than m-etf, and at times better",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_FUSED, emp_schedule_m_sct},
};
