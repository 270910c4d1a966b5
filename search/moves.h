/** \file search/moves.h
 * Moves: small changes of a placement, which every walk over placements is made of.
 *
 * A move sends a colocation class, or a group of classes, to another device. Groups are
 * made in several sizes: large ones move what belongs together, small ones balance the
 * load. The device is that of a class which the group exchanges tensors with, or is drawn
 * in proportion to peak FLOP/s. A third kind copies the device of a class to a
 * neighbour, to a neighbour of that one, and so on (FlexFlow's propagation; Jia et al.,
 * SysML 2019).
 *
 * A placement is device_of_op as the oracle takes it. A move touches the ops of its group
 * and nothing else: O(group).
 *
 * Threads. Read-only after creation; share it freely.
 */
#ifndef EMP_SEARCH_MOVES_H
#define EMP_SEARCH_MOVES_H

#include "base/rng.h"
#include "search/groups/members.h"
#include "search/method_options.h"
#include "search/odds.h"
#include "search/partition/partition_graph.h"

enum { EMP_MOVES_MAX_LEVELS = 32, EMP_MOVES_OPTIONS = 6 };

typedef enum {
    EMP_MOVES_OPS, /**< single classes */
    EMP_MOVES_GROUPS,
    EMP_MOVES_MIXED /**< both: single classes are one size more */
} emp_move_kind;

typedef struct {
    int64_t kind;             /**< emp_move_kind */
    int64_t groups;           /**< how they are made: emp_class_grouping; 4 = all but
                                   COLOCRL and Scotch */
    int64_t coarsest, finest; /**< groups: of the first level, twice as many in each
                                   further one, at most finest */
    int64_t near;             /**< percent of moves that go where a neighbour is */
    int64_t propagate;        /**< percent of moves that copy a device along edges */
} emp_move_options;

/** Defaults, and the options that overwrite them. */
void emp_move_options_list(emp_move_options *options, emp_option list[EMP_MOVES_OPTIONS]);
/* Their help; what a method begins with may differ. */
#define EMP_MOVE_OPTIONS_TEXT(moves, finest)                                       \
    "moves\t" moves "\twhat is moved: ops, groups, or mixed\n"                     \
    "groups\tall\tmetis, scotch, colocrl (its rules), names (layer x direction x " \
    "8 steps), or all: metis and names\n"                                          \
    "coarsest\t8\tgroups of the first size; each further one has twice as many\n"  \
    "finest\t" finest "\tgroups at most\n"                                         \
    "near\t50\tpercent of moves that go to a neighbour's device\n"                 \
    "propagate\t10\tpercent of moves that copy a device along edges\n"

typedef struct {
    emp_move_options     options;
    emp_device_odds      odds;
    const emp_graph     *graph;     /**< borrowed */
    emp_partition_graph *neighbors; /**< vertices: classes */
    emp_members          ops_of_vertex;
    int32_t              level_count;
    emp_members level[EMP_MOVES_MAX_LEVELS]; /**< ops of groups; coarse to fine */
    uint64_t    groups_hash;                 /**< of all of them */
} emp_moves;

/** Groups the classes of \a problem, whose graph is borrowed.
 * \retval EMP_EINVAL  coarsest > finest. \retval EMP_ENOMEM, and those of class_groups.h */
emp_status emp_moves_init(emp_moves *moves, const emp_problem *problem,
                          const emp_move_options *options, uint64_t seed, emp_error *err);
void       emp_moves_clear(emp_moves *moves); /**< legal after a failed init */

/** Changes a placement by a drawn move. Draws again, a few times, if that changes
 * nothing; returns whether it did. */
bool emp_moves_draw(const emp_moves *moves, emp_rng *rng, emp_device_id *device_of_op);

/** All moves of a group to a device; without those along edges. */
int64_t emp_moves_count(const emp_moves *moves);
/** Makes move \a index of 0 .. emp_moves_count() - 1; returns whether it changes
 * anything. */
bool emp_moves_make(const emp_moves *moves, int64_t index, emp_device_id *device_of_op);

/** Puts every group of the coarsest size on a drawn device, all else on device 0. */
void emp_moves_scatter(const emp_moves *moves, emp_rng *rng, emp_device_id *device_of_op);

#endif /* EMP_SEARCH_MOVES_H */
