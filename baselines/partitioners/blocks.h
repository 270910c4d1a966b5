/** \file baselines/partitioners/blocks.h
 * What a contiguous split keeps together, as Tarnawski et al. (NeurIPS 2020) contract a graph.
 *
 * A split is of the forward pass; the backward op of a colocation class follows its forward ops. So does one that is
 * named after its forward op, as "NAME/grad_weight" is, because a pipeline has both in one stage.
 * Classes wait for each other as their forward ops do; a class of only backward ops as its mirror
 * image would, against the edges to and from other backward ops. Classes that then wait for each
 * other in a circle are one *block*. A table that is tied to the head would make a circle of the whole model. So in a
 * circle, no op waits for the values that such a class looks up for the step's inputs: it is in the head's block. So is what costs no time with its only neighbour, as nothing
 * is gained, but memory, by a copy between them. Blocks are numbered topologically.
 *
 * A *net* is an op with readers in other blocks: its result is copied between a GPU and host
 * memory once by each GPU that has some but not all of the net's blocks.
 */
#ifndef EMP_BASELINES_PARTITIONERS_BLOCKS_H
#define EMP_BASELINES_PARTITIONERS_BLOCKS_H

#include "base/mem.h"
#include "sim/problem/problem.h"

typedef struct {
    int64_t bytes; /**< persistent, and of all results */
    /* Where CPUs are forbidden, a block may have classes for GPUs alone beside others for CPUs alone. It is one for GPUs,
     * and legalization leaves the latter with the host. */
    bool has_gpu; /**< no class of it needs a CPU, or some class needs a GPU */
    bool has_cpu; /**< no class of it needs a GPU */
} emp_block;

typedef struct {
    int32_t    count;
    emp_block *block;
    int32_t   *block_of_op; /**< -1 = folded */
    int32_t   *wait_offset; /**< [block + 1] */
    int32_t   *wait;        /**< lower blocks that a block waits for, ascending */

    int32_t    net_count;
    emp_op_id *op_of_net;  /**< [net] */
    int32_t   *pin_offset; /**< [net + 1] */
    int32_t   *pin;        /**< blocks of a net, ascending, two at least */
    int32_t   *net_offset; /**< [block + 1] */
    int32_t   *net;        /**< nets that a block is in, ascending */
    emp_arrays arrays;     /**< all of these */
} emp_blocks;

/** O((V + E) log E) for each length of a chain of ops without cost. \retval EMP_ENOMEM */
emp_status emp_blocks_init(emp_blocks *blocks, const emp_problem *problem,
                           emp_error *err);
void       emp_blocks_clear(emp_blocks *blocks); /**< legal after a failed init */

/** The times of the blocks on a device, one op after the other: time_ns[block count]. O(V). */
void emp_blocks_time(emp_time_ns *time_ns, const emp_blocks *blocks,
                     const emp_problem *problem, emp_device_id device);

/** Times a copy of each net between a GPU and host memory: copy_ns[net count]. A copy takes what the graph
 * states, or as long as its bytes at the rate that the runtime's rules have, or else the machine. O(V). */
void emp_blocks_time_copies(emp_time_ns *copy_ns, const emp_blocks *blocks,
                            const emp_problem *problem, emp_device_id gpu);

/* All ideals of a graph of blocks (blocks.h): the sets of blocks that hold with each block all
 * that it waits for. Contiguous splits are chains of them. There are exponentially many in the
 * width of the graph, two for a block more where nothing waits. */

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

/** Lists the ideals of a line of blocks: block i comes after blocks 0 to i - 1. \retval EMP_ENOMEM */
emp_status emp_ideals_init_line(emp_ideals *ideals, int32_t block_count, emp_error *err);

void emp_ideals_clear(emp_ideals *ideals); /**< legal after a failed init */

#endif /* EMP_BASELINES_PARTITIONERS_BLOCKS_H */
