/** \file policy/go/fit.h
 * Mends the likeliest placement where its devices lack memory. All nodes get their devices at once,
 * so none knows what the others leave of a device.
 *
 * As long as search/room.h says that memory is missing, one node leaves a device that lacks it for
 * another one. Of the likeliest such moves the first after which nothing is missing is made, or
 * else the one that leaves the least missing. No step is simulated. Nodes should be groups of ops
 * that belong together: a variable that leaves its reader behind is copied back, so that one small
 * node alone frees nothing.
 */
#ifndef EMP_POLICY_GO_FIT_H
#define EMP_POLICY_GO_FIT_H

#include "base/work/stop.h"
#include "policy/features/transferable.h"
#include "search/room.h"

typedef struct {
    const emp_node_graph   *nodes; /**< borrowed, as the next two */
    const emp_transferable *features;
    const emp_problem      *problem;
    int32_t                 choices; /**< columns of p */
    const atomic_int       *stop;    /**< OPTIONAL: no more moves, once it is set */
    emp_room                room;
    emp_device_id          *device_of_node, *device_of_op; /* scratch */
    struct emp_go_move     *move;                          /* [position][choice] */
    emp_arrays              arrays;
} emp_go_fit;

/** \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_go_fit_init(emp_go_fit *fit, const emp_node_graph *nodes,
                           const emp_transferable *features, const emp_problem *problem,
                           int32_t choices, emp_error *err);
void       emp_go_fit_clear(emp_go_fit *fit);

/** Changes \a choice [position] until it fits, no move helps or 64 moves are made. A move is looked for by
 * at most 256 calls of emp_room_missing().
 * \param p  [position][choices] how likely each device is.
 * \return what is missing then, as emp_room_missing() says it. */
double emp_go_fit_mend(emp_go_fit *fit, uint8_t *choice, const emp_real *p);

#endif /* EMP_POLICY_GO_FIT_H */
