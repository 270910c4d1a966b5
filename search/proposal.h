/** \file search/proposal.h
 * What a placement method proposes: the device of each op and, where the order is decided, too,
 * its level (emp_decision).
 */
#ifndef EMP_SEARCH_PROPOSAL_H
#define EMP_SEARCH_PROPOSAL_H

#include "sim/problem/problem.h"

/** What is decided of a step: bits of a mask. */
typedef enum {
    EMP_DECIDES_DEVICES = 1, /**< every method does */
    EMP_DECIDES_ORDER = 2
} emp_decides;

typedef struct {
    emp_device_id *device_of_op; /**< [op] */
    uint8_t *level_of_op; /**< [op] below EMP_LEVELS; NULL: the order is not decided */
} emp_proposal;

/** Room for the proposal of \a op_count ops, all 0; clear it afterwards, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_proposal_init(emp_proposal *proposal, int32_t op_count, bool has_order,
                             emp_error *err);
void       emp_proposal_clear(emp_proposal *proposal);

/** Levels only where both have them. O(ops). */
void emp_proposal_copy(const emp_proposal *to, const emp_proposal *from,
                       int32_t op_count);

/** Whether all devices and levels are such. O(ops). */
bool emp_proposal_is_valid(const emp_proposal *proposal, int32_t op_count,
                           int32_t device_count);

#endif /* EMP_SEARCH_PROPOSAL_H */
