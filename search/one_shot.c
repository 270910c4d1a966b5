// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/one_shot.h"

#include <string.h>

#include "base/mem.h"

typedef struct {
    emp_device_id *device_of_op;
    int32_t        op_count;
    bool           is_given;
} one_shot;

emp_status emp_one_shot_create(void **state, const emp_problem *problem,
                               const emp_placer_params *params, emp_one_shot_place *place,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    op_count = problem->graph->op_count;
    one_shot  *s = EMP_NEW(one_shot);

    *state = NULL;
    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "state of a placement method");
    s->op_count = op_count;
    s->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
    if (s->device_of_op == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %d ops", op_count);
    EMP_TRY(place(problem, params, s->device_of_op, err));

    *state = s;
    s = NULL;

cleanup:
    emp_one_shot_destroy(s);
    return st;
}

emp_status emp_one_shot_ask(void *state, emp_device_id *const *candidates, int32_t max,
                            int32_t *count, emp_error *err)
{
    one_shot *s = state;

    (void)err;
    *count = 0;
    if (s->is_given || max < 1) return EMP_OK;
    memcpy(candidates[0], s->device_of_op, (size_t)s->op_count * sizeof *s->device_of_op);
    s->is_given = true;
    *count = 1;
    return EMP_OK;
}

emp_status emp_one_shot_tell(void *state, const emp_score *scores, int32_t count,
                             emp_error *err)
{
    (void)state, (void)scores, (void)count,
        (void)err; /* nothing is learned from a score */
    return EMP_OK;
}

void emp_one_shot_destroy(void *state)
{
    one_shot *s = state;

    if (s == NULL) return;
    emp_free(s->device_of_op);
    emp_free(s);
}
