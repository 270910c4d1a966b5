/** \file search/moves.h
 * Moves: small changes of a placement, which every walk over placements is made of.
 *
 * A move sends a colocation class, or a group of classes, to another device. Groups are
 * made in several sizes: large ones move what belongs together, small ones balance the
 * load. The device is taken from a class which the group exchanges tensors with, or is drawn
 * in proportion to peak FLOP/s. A third kind copies the device of a class to a
 * neighbour, to a neighbour of that one, and so on (FlexFlow's propagation; Jia et al.,
 * SysML 2019).
 *
 * Where layers have experts, a layer's experts are a group as well, which goes to a CPU or back at once.
 *
 * From a legal placement every move leads to a legal one: classes that only a CPU can run
 * stay, and where CPUs are forbidden no class goes to one.
 *
 * Groups of a large graph take long to make. So a search may begin
 * with some levels of them, and make the others one at a time, by emp_moves_grow().
 *
 * A placement is device_of_op as the oracle takes it. A move touches the ops of its group
 * and nothing else: O(group).
 *
 * Threads. emp_moves_weigh() and emp_moves_grow() change the moves: an object that they are
 * called for belongs to one thread. All else reads only.
 */
#ifndef EMP_SEARCH_MOVES_H
#define EMP_SEARCH_MOVES_H

#include <stdatomic.h>

#include "base/rng.h"
#include "base/text/options.h"
#include "search/groups/class_groups.h"
#include "search/partition/partition_graph.h"
#include "sim/machine/machine.h"

/* Draws devices in proportion to their peak FLOP/s: searches try fast devices more often.
 * Devices of other kinds than the searches may use are never drawn. */

typedef struct {
    int32_t       device_count;            /**< that may be drawn */
    emp_device_id device[EMP_MAX_DEVICES]; /**< their numbers, rising */
    double        up_to[EMP_MAX_DEVICES];  /**< running sum of shares; the last is 1 */
} emp_device_odds;

/** \param kinds  A mask of EMP_KIND_; the machine has a device of one of them. */
emp_device_odds emp_device_odds_of(const emp_machine *machine, uint32_t kinds);

/** One uniform number of \a rng. O(devices). */
emp_device_id emp_device_odds_draw(const emp_device_odds *odds, emp_rng *rng);

enum {
    EMP_MOVES_MAX_CUTS = 16,
    /** Two ways, 1 .. 1 << 14; experts. */
    EMP_MOVES_MAX_LEVELS = (2 * 15 + 1) * EMP_MOVES_MAX_CUTS
};

typedef enum {
    EMP_MOVES_OPS, /**< single classes */
    EMP_MOVES_GROUPS,
    EMP_MOVES_MIXED /**< both: single classes are one size more */
} emp_move_kind;

typedef struct {
    emp_move_kind kind;
    int32_t       groups; /**< how they are made: emp_class_grouping, or EMP_MOVES_ALL */
    int32_t       coarsest, finest; /**< groups: of the first level, twice as many in each
                                         further one, at most finest */
    double  near;      /**< share of moves that go where a neighbour is, to the percent */
    double  propagate; /**< share of moves that copy a device along edges, likewise */
    int32_t cuts;      /**< groupings of each size, by other seeds; 0 = one */
    double  imbalance; /**< METIS, Scotch: largest group over the mean; 0 = 2 */
    int32_t at_once;   /**< levels that are made at creation; 0 = all */
    int32_t
                      bundles; /**< METIS, Scotch: classes are bundled into about so many before they are cut, if there are
                        * more; 0 = they are not */
    const atomic_int *stop;    /**< ends a cut when it is set; NULL: nothing does */
} emp_move_options;

enum { EMP_MOVES_ALL = EMP_CLASS_GROUPS_ALL };

/** Rows of a method's options; \a at is the emp_move_options in its struct \a type. */
#define EMP_MOVE_OPTIONS(type, at, moves, most)                                       \
    EMP_WORD_OPTION("moves", type, at.kind, "ops|groups|mixed",                       \
                    "what is moved: single ops, groups, or both", moves),             \
        EMP_WORD_OPTION("groups", type, at.groups, EMP_CLASS_GROUPING_WORDS "|all",   \
                        "how groups are made; colocrl: by its rules, names: layer x " \
                        "direction x 8 steps, all: metis, names, experts of a layer", \
                        EMP_MOVES_ALL),                                               \
        EMP_INTEGER_OPTION("coarsest", type, at.coarsest, 1, 1 << 14,                 \
                           "groups of the first size; each further one has twice as " \
                           "many",                                                    \
                           8),                                                        \
        EMP_INTEGER_OPTION("finest", type, at.finest, 1, 1 << 14, "groups at most",   \
                           most),                                                     \
        EMP_REAL_OPTION("near", type, at.near, 0, 1,                                  \
                        "share of moves that go to a neighbour's device", 0.5),       \
        EMP_REAL_OPTION("propagate", type, at.propagate, 0, 1,                        \
                        "share of moves that copy a device along edges", 0.1)

/** A level of groups that is or will be made, unless it is no finer than the one before. */
typedef struct {
    emp_class_grouping kind;
    int32_t            count, cut;
    bool               is_spare; /**< was no finer: has no level, in no cut */
} emp_moves_size;

typedef struct {
    emp_move_options     options;
    const emp_problem   *problem; /**< borrowed */
    uint64_t             seed;
    emp_device_odds      odds;
    const emp_graph     *graph;     /**< borrowed */
    emp_partition_graph *neighbors; /**< vertices: classes */
    emp_partition_graph *bundles;   /**< of them; NULL = there are none */
    int32_t             *bundle_of_vertex;
    emp_members          ops_of_vertex;
    int32_t              size_count, grown; /**< of these `grown` are made, or spare */
    emp_moves_size       size[EMP_MOVES_MAX_LEVELS];
    int32_t              level_count;
    emp_members
            level[EMP_MOVES_MAX_LEVELS]; /**< ops of groups; of each cut coarse to fine */
    double *up_to
        [EMP_MOVES_MAX_LEVELS]; /**< [group] running sum of the probabilities that it is
                                                drawn; NULL = all groups alike */
    int32_t   *group_of_op[EMP_MOVES_MAX_LEVELS]; /**< [op]; NULL until weighed */
    emp_op_id *heavy;                             /**< [op] room for those that weigh */
    uint64_t   groups_hash;                       /**< of all of them */
} emp_moves;

/** A group that goes to a device. */
typedef struct {
    const emp_members *groups;
    int32_t            group;
    emp_device_id      to;
} emp_move;

/** Groups the classes of \a problem, which is borrowed.
 * \retval EMP_EINVAL  coarsest > finest. \retval EMP_ENOMEM, and as for class_groups.h */
emp_status emp_moves_init(emp_moves *moves, const emp_problem *problem,
                          const emp_move_options *options, uint64_t seed, emp_error *err);
void       emp_moves_clear(emp_moves *moves); /**< legal after a failed init */

/** Makes the next level, whose groups are alike until they are weighed; nothing if there is no
 * further one. \retval EMP_ENOMEM, and as for class_groups.h */
emp_status emp_moves_grow(emp_moves *moves, emp_error *err);

/** From now on groups, not single classes, are drawn in proportion to the \a weight [op] of
 * their ops, none of which is negative, but of \a alike of the draws, in which all groups of
 * a size are alike. O(V x levels). \retval EMP_ENOMEM */
emp_status emp_moves_weigh(emp_moves *moves, const double *weight, double alike,
                           emp_error *err);

/** Draws a size, all alike, a group of it and a device for it. There is a move to draw:
 * emp_moves_count() is at least 1. */
emp_move emp_moves_pick(const emp_moves *moves, emp_rng *rng,
                        const emp_device_id *device_of_op);
/** Makes a move; returns whether that changes anything. O(group). */
bool emp_move_make(const emp_move *move, emp_device_id *device_of_op);

/** Changes a placement by a drawn move, of a group or along edges. Draws again, a few times, if that changes
 * nothing; returns whether it did. */
bool emp_moves_draw(const emp_moves *moves, emp_rng *rng, emp_device_id *device_of_op);

/** Gives a drawn group a drawn level of the order; likewise. */
bool emp_moves_draw_level(const emp_moves *moves, emp_rng *rng, uint8_t *level_of_op);

/** Has the ops of a drawn group join their readers, or stay by themselves; likewise. */
bool emp_moves_draw_fusion(const emp_moves *moves, emp_rng *rng, emp_op_id *leader_of_op);

/** Draws how many of all ops join their readers, and which. O(ops). */
void emp_moves_draw_leaders(emp_rng *rng, emp_op_id *leader_of_op, int32_t op_count);

/** All moves of a group to a device; without those along edges. */
int64_t emp_moves_count(const emp_moves *moves);
/** Makes move \a index of 0 .. emp_moves_count() - 1; returns whether it changes
 * anything. */
bool emp_moves_make(const emp_moves *moves, int64_t index, emp_device_id *device_of_op);

/** Puts every group of the coarsest size on a drawn device, all else on device 0. */
void emp_moves_scatter(const emp_moves *moves, emp_rng *rng, emp_device_id *device_of_op);

#endif /* EMP_SEARCH_MOVES_H */
