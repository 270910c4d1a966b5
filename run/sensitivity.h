/** \file run/sensitivity.h
 * The influence of unmeasured constants on an answer: the step times of a placement, and of the best
 * other one that quick methods find, with each derived constant of the machine at 0.8 and 1.2 times.
 *
 * Derived constants are those that rules made of a data sheet (sim/machine/card.h), also the links of its
 * bus. Each changes by itself, in all devices of its model.
 */
#ifndef EMP_RUN_SENSITIVITY_H
#define EMP_RUN_SENSITIVITY_H

#include "sim/engine/sim.h"

enum { EMP_SENSITIVITY_FACTORS = 2, EMP_SENSITIVITY_ROWS = 256 };

/** 0.8 and 1.2. */
extern const double emp_sensitivity_factor[EMP_SENSITIVITY_FACTORS];

/** One constant. Times are infinite where the placement does not fit in memory. */
typedef struct {
    const char *model, *constant; /**< "rtx4090", "stream"; "links", "rate"; borrowed */
    double      winner_s[EMP_SENSITIVITY_FACTORS];
    double other_s[EMP_SENSITIVITY_FACTORS]; /**< of the runner-up; NaN = there is none */
    bool
        turns[EMP_SENSITIVITY_FACTORS]; /**< whether the ranking of both is another one */
} emp_sensitivity_row;

typedef struct {
    double winner_s;
    const char
           *other; /**< the method that found the runner-up; NULL = none found another */
    double  other_s;
    int32_t row_count, turn_count;
    emp_sensitivity_row row[EMP_SENSITIVITY_ROWS];
} emp_sensitivity;

/** Whether there is something to study.
 * \retval EMP_EUNSUPPORTED  The graph has costs of its own, or the machine has no derived constant. */
emp_status emp_sensitivity_check(const emp_problem *problem, emp_error *err);

/** Simulates a decision and the runner-up on the changed machines. The problem's costs must be those that
 * its machine and runtime give: times of a user's, or of the graph, do not change with constants.
 * O(derived constants x (V cores + two steps)).
 * \retval EMP_EUNSUPPORTED  As emp_sensitivity_check(). */
emp_status emp_sensitivity_find(emp_sensitivity *out, const emp_problem *problem,
                                const emp_decision *winner, emp_error *err);

#endif /* EMP_RUN_SENSITIVITY_H */
