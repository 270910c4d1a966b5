/** \file sim/engine/caching.h
 * PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, its defaults): a GPU's memory comes from
 * the driver as segments, which are cut into blocks. Only sizes and addresses, no memory.
 *
 * - Requests are rounded up to 512 bytes. Those of at most 1 MiB are small.
 * - A request takes the smallest free block that is large enough, of several the one at the lowest
 *   address. Small ones and others have segments of their own. A block is split if the rest has at least
 *   512 bytes; of one that is not small, more than 1 MiB.
 * - If there is none a segment is made: of 2 MiB for a small request, of 20 MiB for one below 10 MiB,
 *   else of the request rounded up to 2 MiB.
 * - If that does not fit all segments without a block in use go back, and it is tried once more.
 * - Free neighbours are joined. A segment stays until memory is short.
 */
#ifndef EMP_SIM_ENGINE_CACHING_H
#define EMP_SIM_ENGINE_CACHING_H

#include <stdint.h>

#include "base/error.h"

typedef struct emp_caching emp_caching;

/** \a request_limit: requests between two resets, of all devices together. */
emp_status emp_caching_create(emp_caching **out, int32_t device_count,
                              int64_t request_limit, emp_error *err);
/** NULL is allowed. */
void emp_caching_destroy(emp_caching *caching);

/** Forgets all segments. O(devices). */
void emp_caching_reset(emp_caching *caching);
/** What the driver has for a device; after a reset. */
void emp_caching_set_memory(emp_caching *caching, int32_t device, int64_t bytes);

/** \param bytes  Above 0. \return a block, or -1 if there is no memory for it. O(free blocks of its bin). */
int32_t emp_caching_allocate(emp_caching *caching, int32_t device, int64_t bytes);
/** O(free blocks of its bin). */
void emp_caching_free(emp_caching *caching, int32_t block);

/** Bytes of all segments of a device: what other programs do not have. */
int64_t emp_caching_reserved(const emp_caching *caching, int32_t device);

#endif /* EMP_SIM_ENGINE_CACHING_H */
