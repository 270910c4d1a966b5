/** \file baselines/partitioners/ideals.h
 * All ideals of a graph of blocks (blocks.h): the sets of blocks that hold with each block all
 * that it waits for. Contiguous splits are chains of them. There are exponentially many in the
 * width of the graph, two for a block more where nothing waits.
 */
#ifndef EMP_BASELINES_PARTITIONERS_IDEALS_H
#define EMP_BASELINES_PARTITIONERS_IDEALS_H

#include "baselines/partitioners/blocks.h"

/** One block more makes an ideal of an ideal. */
typedef struct {
    int32_t block, ideal;
} emp_ideal_step;

/** Ideals are numbered by size: 0 is empty, the last is all blocks. */
typedef struct {
    int32_t         count;
    int32_t        *step_offset; /**< [ideal + 1] */
    emp_ideal_step *step;        /**< to larger ones, by block */
    emp_ideal_step *origin;      /**< [ideal] one step that led to it; of 0: none */
} emp_ideals;

/** Finds all; sets \a *is_whole to whether they are no more than \a limit: else there are
 * some, of no use. A step takes O(blocks / 64), and an ideal blocks / 8 bytes. \retval EMP_ENOMEM */
emp_status emp_ideals_init(emp_ideals *ideals, bool *is_whole, const emp_blocks *blocks,
                           int32_t limit, emp_error *err);

/** Those of one order alone: block i after blocks 0 to i - 1. \retval EMP_ENOMEM */
emp_status emp_ideals_init_line(emp_ideals *ideals, int32_t block_count, emp_error *err);

void emp_ideals_clear(emp_ideals *ideals); /**< legal after a failed init */

#endif /* EMP_BASELINES_PARTITIONERS_IDEALS_H */
