/** \file search/room.h
 * A guess of whether a placement fits in memory, which asks no simulator: a method that proposes
 * once can mend what it proposes.
 *
 * All ops run one after another in the graph's topological order. An op's device holds its
 * persistent bytes from the start. A tensor is at home from its op on until its last reader has
 * run, and in every other memory that reads it from its op on until the last reader there has.
 * Output 0 of an alias op shares the buffer of input 0 where both have one home. Buffers are
 * rounded up as the simulator does it. Workspaces, reuse in place and the holes of an allocator
 * are not counted, and an order by time needs other peaks: the guess errs both ways.
 *
 *     emp_room room;
 *     EMP_TRY(emp_room_init(&room, problem, err));
 *     missing_frac = emp_room_missing(&room, device_of_op);
 *     emp_room_clear(&room);
 */
#ifndef EMP_SEARCH_ROOM_H
#define EMP_SEARCH_ROOM_H

#include "base/mem.h"
#include "sim/problem/problem.h"

typedef struct {
    const emp_problem *problem;    /**< borrowed */
    int32_t           *position;   /**< [op] in the topological order */
    int64_t           *peak_bytes; /**< [device] of the last placement */

    /* Private. */
    int64_t       *used_bytes; /* [device] */
    emp_tensor_id *root;       /* [tensor] whose buffer it shares; its own */
    int32_t       *last;       /* [tensor] position of the last op that needs a root's */
    int32_t *first_held; /* [position] what is freed behind it, plus 1; 0: nothing */
    struct emp_room_buffer *held;
    emp_arrays              arrays;
} emp_room;

/** \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_room_init(emp_room *room, const emp_problem *problem, emp_error *err);
void       emp_room_clear(emp_room *room);

/** Sets peak_bytes; \return what is missing, over a device's own memory, summed over devices: 0 if
 * the placement fits. The placement is legal. O(E + tensors devices), and inputs^2 of each op with inputs on the host;
 * without allocating. */
double emp_room_missing(emp_room *room, const emp_device_id *device_of_op);

#endif /* EMP_SEARCH_ROOM_H */
