/** \file graphs/import/pytorch/pt2_weights.h
 * Which weights of an archive of torch.export are one tensor, as a head and an embedding are that are tied.
 *
 * The list of weights gives each name a file, sizes, strides and an offset. Names that have all of these in common
 * share a tensor. Weights of a model on "meta" are all in one empty file, so that such an archive does not say it.
 * The struct is open and belongs to the caller: {0} is an archive that has no list.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PT2_WEIGHTS_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PT2_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strmap.h"

typedef struct {
    emp_strmap tensor_of_name;
    int32_t    tensor_count;
    bool is_silent; /**< some names may share a tensor, and the archive does not say it */
    emp_arena texts;
} emp_pt2_weights;

/** Reads the list of the archive in \a bytes, if it has one. O(size) expected. The caller clears \a weights, also
 * after a failure. \retval EMP_EFORMAT  The list is damaged or no JSON. \retval EMP_ENOMEM */
emp_status emp_pt2_weights_read(emp_pt2_weights *weights, const char *bytes, size_t size,
                                emp_error *err);
void       emp_pt2_weights_clear(emp_pt2_weights *weights);

/** The number of the tensor of that name, below tensor_count, which names that share it have in common; -1: the archive
 * does not say. O(1) expected. */
int32_t emp_pt2_weights_tensor(const emp_pt2_weights *weights, const char *name);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PT2_WEIGHTS_H */
