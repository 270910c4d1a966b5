/** \file policy/features/rows.h
 * What a learned placer decides for: the colocation classes that more than one device of the
 * machine may run. Each such class with an op that is not folded is a *row*.
 */
#ifndef EMP_POLICY_FEATURES_ROWS_H
#define EMP_POLICY_FEATURES_ROWS_H

#include "sim/problem/problem.h"

/** Numbers the rows of a problem by the lowest op of each that is not folded.
 * \param[out] row_of_class  [class]; -1: no row.
 * \param[out] op_of_row     OPTIONAL [row] that lowest op.
 * \return the number of rows. O(ops + classes). */
int32_t emp_rows_number(const emp_problem *problem, int32_t *row_of_class,
                        emp_op_id *op_of_row);

#endif /* EMP_POLICY_FEATURES_ROWS_H */
