/** \file policy/go/naming.h
 * What the GPUs of an example are called.
 *
 * Which of two equal GPUs is the first says nothing, and a policy that draws all nodes at once
 * cannot learn what says nothing: so an example's GPUs are named anew, in one of two ways.
 *
 *     used     in the order in which the nodes first use them
 *     matched  so that the network finds the example as likely as it can: an assignment
 *              problem, solved anew at every step
 *
 * Matched names of several graphs agree where the network sees likeness, whatever comes first.
 */
#ifndef EMP_POLICY_GO_NAMING_H
#define EMP_POLICY_GO_NAMING_H

#include "policy/features/node_graph.h"
#include "policy/nn/real.h"

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

#endif /* EMP_POLICY_GO_NAMING_H */
