/** \file policy/go/choices.h
 * Devices of nodes from GO's distributions: draws of nodes together, the likeliest placement mended
 * where its devices lack memory, and names for the GPUs of an example.
 */
#ifndef EMP_POLICY_GO_CHOICES_H
#define EMP_POLICY_GO_CHOICES_H

#include "base/mem.h"
#include "base/rng.h"
#include "base/work.h"
#include "policy/features/transferable.h"
#include "search/method.h"
#include "search/room.h"

/* Mends the likeliest placement where its devices lack memory. All nodes get their devices at once,
 * so none knows what the others leave of a device.
 *
 * As long as search/room.h says that memory is missing, one node leaves a device that lacks it for
 * another one. It makes the likeliest such move after which no memory is missing, or else
 * the one that leaves the least missing. No step is simulated. Nodes should be groups of ops
 * that belong together: a variable that leaves its reader behind is copied back, so that one small
 * node by itself frees nothing. */

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

/* How nodes are drawn together. A draw takes the device with the largest ln p + G, where G are
 * Gumbel numbers: each node's device then has the probability p, whoever shares G. Independent
 * draws give each node its own G. Coupled draws give one to each group of a METIS cut, so that
 * neighbours with alike distributions get one device. Each sample takes one of the cuts, which
 * have 4, 8, 16, ... groups, or none. */

enum { EMP_GO_MAX_CUTS = 20 };

typedef struct {
    int32_t    count;     /**< of nodes */
    int32_t    cut_count; /**< 0: all draws are independent */
    int32_t    group_count[EMP_GO_MAX_CUTS];
    int32_t   *group[EMP_GO_MAX_CUTS]; /**< [position] */
    emp_arrays arrays;
} emp_coupling;

/** Independent draws. */
emp_coupling emp_coupling_none(int32_t count);
/** Cuts of the nodes, fewer than half as many groups as there are nodes.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and as for METIS */
emp_status emp_coupling_init(emp_coupling *coupling, const emp_node_graph *nodes,
                             const emp_transferable *features, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err);
void       emp_coupling_clear(emp_coupling *coupling);

/** Draws \a choice [position] from \a p [position][device]; \a gumbel is scratch of as many
 * numbers as \a p. */
void emp_coupling_draw(const emp_coupling *coupling, uint8_t *choice, const emp_real *p,
                       int32_t devices, float *gumbel, emp_rng *rng);

/** The likeliest devices. */
void emp_coupling_argmax(uint8_t *choice, const emp_real *p, int32_t count,
                         int32_t devices);

/* The names of an example's GPUs.
 *
 * Which of two equal GPUs is the first says nothing, and a policy that draws all nodes at once
 * cannot learn what says nothing: so an example's GPUs are named anew, in one of two ways.
 *
 *     used     in the order in which the nodes first use them
 *     matched  so that the network finds the example as likely as it can: an assignment
 *              problem, solved anew at every step
 *
 * Matched names of several graphs agree where the network sees likeness, whatever comes first. */

typedef enum { EMP_NAMES_USED, EMP_NAMES_MATCHED } emp_go_names;

typedef struct {
    const emp_machine    *machine;
    const emp_node_graph *nodes;
    const emp_device_id  *device_of_node; /**< the example */
    const emp_real       *p;              /**< [position][choice]; of `matched` alone */
    int32_t               choices;
} emp_go_naming;

/** \param[out] name_of_device  [EMP_MAX_DEVICES]; other devices than GPUs keep theirs. */
void emp_go_name_devices(const emp_go_naming *naming, emp_go_names how,
                         uint8_t *name_of_device);

/** The assignment of rows to columns with the greatest sum, by the Hungarian method, O(count^3).
 * \param gain  [row][EMP_MAX_DEVICES]
 * \param[out] column_of_row  [count] */
void emp_go_assign(double gain[][EMP_MAX_DEVICES], int32_t count, int32_t *column_of_row);

#endif /* EMP_POLICY_GO_CHOICES_H */
