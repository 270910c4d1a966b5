/** \file graphs/import/hlo/collectives.h
 * What a module says of its collectives: how many devices take part, and with how many bytes.
 *
 *     replica_groups={{0,1},{2,3}}     groups of 2
 *     replica_groups=[2,4]<=[8]        2 groups of 4
 *     replica_groups={}                all devices that run the module
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_COLLECTIVES_H
#define EMP_GRAPHS_IMPORT_HLO_COLLECTIVES_H

#include "graphs/import/hlo/module.h"
#include "sim/graph/graph.h"

/** Describes the part of one device in the collective \a i; false: it is of no kind that has a time of its
 * own, such as collective-permute. */
bool emp_hlo_collective_of(emp_collective_part *part, const emp_hlo_module *m,
                           const emp_hlo_instruction *i);

#endif /* EMP_GRAPHS_IMPORT_HLO_COLLECTIVES_H */
