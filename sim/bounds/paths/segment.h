/** \file sim/bounds/paths/segment.h
 * How long one op starts after another is done, both on GPUs, because of all that is between them: it takes turns on
 * one GPU or shares several, and copies lead there and back. docs/bounds.md, lemma 8.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_SEGMENT_H
#define EMP_SIM_BOUNDS_PATHS_SEGMENT_H

#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

/** Adds links to the model where segments are longer than paths, and raises its floors. Heads are found anew. Does
 * nothing where rules are not `events`.
 * \param near  How many of those that an op waits for are looked at.
 * \param tries  How many segments end at an op at most.
 * O(V near (near + tries)). \retval EMP_ENOMEM */
emp_status emp_bound_segments(emp_bound_model *model, emp_bound_paths *paths,
                              int32_t near, int32_t tries, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_SEGMENT_H */
