// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/placer.h"

#include <string.h>

#include "base/mem.h"

/* State of a method with place(). */
typedef struct {
    emp_device_id *device_of_op;
    int32_t        op_count;
    bool           is_given;
} placed;

bool emp_score_is_better(const emp_score *score, const emp_score *than)
{
    if (score->is_feasible != than->is_feasible) return score->is_feasible;
    return score->step_time_s < than->step_time_s;
}

emp_status emp_placer_options_parse(void *options, const emp_placer_type *type,
                                    const emp_placer_params *params, emp_error *err)
{
    const emp_option_table table = {type->name, type->presets, type->options};

    return emp_options_parse(options, &table, params->preset, params->options, err);
}

emp_status emp_placer_create(void **state, const emp_placer_type *type,
                             const emp_problem *problem, const emp_placer_params *params,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    op_count = problem->graph->op_count;
    placed    *p = NULL;

    if (type->place == NULL) return type->create(state, problem, params, err);
    *state = p = EMP_NEW(placed);
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "state of a placement method");
    p->op_count = op_count;
    p->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
    if (p->device_of_op == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %d ops", op_count);
    EMP_TRY(type->place(type, problem, params, p->device_of_op, err));
    return EMP_OK;

cleanup:
    emp_placer_destroy(type, p);
    *state = NULL;
    return st;
}

emp_status emp_placer_ask(const emp_placer_type *type, void *state,
                          emp_device_id *const *candidates, int32_t max, int32_t *count,
                          emp_error *err)
{
    placed *p = state;

    if (type->place == NULL) return type->ask(state, candidates, max, count, err);
    *count = !p->is_given && max > 0;
    if (*count == 0) return EMP_OK;
    memcpy(candidates[0], p->device_of_op, (size_t)p->op_count * sizeof *p->device_of_op);
    p->is_given = true;
    return EMP_OK;
}

emp_status emp_placer_tell(const emp_placer_type *type, void *state,
                           const emp_score *scores, int32_t count, emp_error *err)
{
    return type->tell != NULL ? type->tell(state, scores, count, err) : EMP_OK;
}

void emp_placer_destroy(const emp_placer_type *type, void *state)
{
    placed *p = state;

    if (type->place == NULL) {
        type->destroy(state);
    } else if (p != NULL) {
        emp_free(p->device_of_op);
        emp_free(p);
    }
}
