/** \file sim/engine/allocator.h
 * The allocators of GPU memory that runtimes have, as sizes and addresses without memory: TensorFlow's emp_bfc
 * and PyTorch's emp_caching. Requests and frees cost O(free blocks of a bin).
 */
#ifndef EMP_SIM_ENGINE_ALLOCATOR_H
#define EMP_SIM_ENGINE_ALLOCATOR_H

#include <stdint.h>

#include "base/error.h"

/** TensorFlow's best-fit allocator with coalescing (v1.3.0, bfc_allocator.cc): one region per GPU, cut into chunks. A
 * request takes the smallest free chunk that is large enough, by bins of doubling size; the chunk is split only if it
 * is at least twice the request; free neighbours are joined. */
typedef struct emp_bfc emp_bfc;

/** \a live_limit: chunks that may be in use at one time, in all regions together. \retval EMP_ENOMEM */
emp_status emp_bfc_create(emp_bfc **out, int32_t region_count, int64_t live_limit,
                          emp_error *err);
void       emp_bfc_destroy(emp_bfc *bfc); /**< NULL is allowed */

/** Forgets all regions. O(regions). */
void emp_bfc_reset(emp_bfc *bfc);
/** Makes a region one free chunk; once for each region after the creation or a reset. O(1). */
void emp_bfc_add_region(emp_bfc *bfc, int32_t region, int64_t bytes);

/** \param bytes  A multiple of 256, above 0. \return a chunk; -1 if no free one is large enough. */
int32_t emp_bfc_allocate(emp_bfc *bfc, int32_t region, int64_t bytes);
void    emp_bfc_free(emp_bfc *bfc, int32_t chunk);

/** The end of a chunk, in bytes from the start of its region. */
int64_t emp_bfc_end(const emp_bfc *bfc, int32_t chunk);

/** PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, its defaults): a GPU's memory comes from
 * the driver as segments, which are cut into blocks.
 *
 * - Requests are rounded up to 512 bytes. Those of at most 1 MiB are small.
 * - A request takes the smallest free block that is large enough, and of equals the one at the lowest
 *   address. Small requests and others have segments of their own. A block is split if the rest has at least
 *   512 bytes; for other than small requests, more than 1 MiB.
 * - If there is none, a segment is made: of 2 MiB for a small request, of 20 MiB for one below 10 MiB,
 *   else of the request rounded up to 2 MiB.
 * - If the segment does not fit, all segments without a block in use go back, and it is tried once more.
 * - Free neighbours are joined. A segment stays until memory is short. */
typedef struct emp_caching emp_caching;

/** \a request_limit: requests between two resets, of all devices together. \retval EMP_ENOMEM */
emp_status emp_caching_create(emp_caching **out, int32_t device_count,
                              int64_t request_limit, emp_error *err);
void       emp_caching_destroy(emp_caching *caching); /**< NULL is allowed */

/** Forgets all segments. O(devices). */
void emp_caching_reset(emp_caching *caching);
/** Sets the memory that the driver has for a device; after a reset. */
void emp_caching_set_memory(emp_caching *caching, int32_t device, int64_t bytes);

/** \param bytes  Above 0. \return a block; -1 if there is no memory for it. */
int32_t emp_caching_allocate(emp_caching *caching, int32_t device, int64_t bytes);
void    emp_caching_free(emp_caching *caching, int32_t block);

/** Bytes of all segments of a device, which other programs cannot have. */
int64_t emp_caching_reserved(const emp_caching *caching, int32_t device);

#endif /* EMP_SIM_ENGINE_ALLOCATOR_H */
