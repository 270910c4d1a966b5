/** \file search/one_shot.h
 * The state of a method that proposes exactly one placement: it is computed when the
 * method is created, given by the first ask, and nothing follows. A method adds only its
 * function that places; ask, tell and destroy of its table are the ones below.
 */
#ifndef EMP_SEARCH_ONE_SHOT_H
#define EMP_SEARCH_ONE_SHOT_H

#include "search/placer.h"

/** Fills device_of_op[op_count]; need not be legal. */
typedef emp_status emp_one_shot_place(const emp_problem       *problem,
                                      const emp_placer_params *params,
                                      emp_device_id *device_of_op, emp_error *err);

emp_status emp_one_shot_create(void **state, const emp_problem *problem,
                               const emp_placer_params *params, emp_one_shot_place *place,
                               emp_error *err);
emp_status emp_one_shot_ask(void *state, emp_device_id *const *candidates, int32_t max,
                            int32_t *count, emp_error *err);
emp_status emp_one_shot_tell(void *state, const emp_score *scores, int32_t count,
                             emp_error *err);
void       emp_one_shot_destroy(void *state);

#endif /* EMP_SEARCH_ONE_SHOT_H */
