/** \file search/proposal.h
 * What a placement method proposes: the device of each op. Where the order is decided, too, its
 * level; where the fusion is, its leader (emp_decision).
 */
#ifndef EMP_SEARCH_PROPOSAL_H
#define EMP_SEARCH_PROPOSAL_H

#include "base/rng.h"
#include "sim/problem/problem.h"

/** What is decided of a step: bits of a mask. */
typedef enum {
    EMP_DECIDES_DEVICES = 1, /**< every method does */
    EMP_DECIDES_ORDER = 2,
    EMP_DECIDES_FUSION = 4,
    EMP_DECIDES_MORE = EMP_DECIDES_ORDER | EMP_DECIDES_FUSION
} emp_decides;

/** In place of a leader: the op joins the set of its readers if that is legal
 * (sim/problem/fusion.h), else it stays alone. The scoring puts the leader there. */
enum { EMP_JOINS_READERS = -1 };

typedef struct {
    emp_device_id *device_of_op; /**< [op] */
    uint8_t *level_of_op; /**< [op] below EMP_LEVELS; NULL: the order is not decided */
    /** [op] itself: it stays alone; EMP_JOINS_READERS, or any other op: it joins its readers.
     * NULL: the fusion is not decided. */
    emp_op_id *leader_of_op;
} emp_proposal;

/** Room for the proposal of \a op_count ops, devices and levels 0 and all ops alone; clear it
 * afterwards, also after a failure.
 * \param decides  A mask of emp_decides.
 * \retval EMP_ENOMEM */
emp_status emp_proposal_init(emp_proposal *proposal, int32_t op_count, int32_t decides,
                             emp_error *err);
void       emp_proposal_clear(emp_proposal *proposal);

/** Levels and leaders only where both have them. O(ops). */
void emp_proposal_copy(const emp_proposal *to, const emp_proposal *from,
                       int32_t op_count);

/** Has every op stand alone, if the fusion is decided. O(ops). */
void emp_proposal_part(const emp_proposal *proposal, int32_t op_count);

/** Draws how many ops join their readers, and which. O(ops). */
void emp_proposal_draw_leaders(emp_op_id *leader_of_op, int32_t op_count, emp_rng *rng);

/** Whether all devices, levels and leaders are such. O(ops). */
bool emp_proposal_is_valid(const emp_proposal *proposal, int32_t op_count,
                           int32_t device_count);

#endif /* EMP_SEARCH_PROPOSAL_H */
