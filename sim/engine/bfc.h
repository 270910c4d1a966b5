/** \file sim/engine/bfc.h
 * TensorFlow's best-fit allocator with coalescing (v1.3.0, bfc_allocator.cc): a region per
 * GPU, cut into chunks. A request takes the smallest free chunk that is large enough, by
 * bins of doubling size; the chunk is split only if it is at least twice the request;
 * free neighbours are joined. Only offsets and sizes, no memory.
 */
#ifndef EMP_SIM_ENGINE_BFC_H
#define EMP_SIM_ENGINE_BFC_H

#include "base/error.h"
#include "sim/machine/machine.h"

typedef struct emp_bfc emp_bfc;

/** \a live_limit: chunks that may be in use at one time, in all regions together. */
emp_status emp_bfc_create(emp_bfc **out, int32_t region_count, int64_t live_limit,
                          emp_error *err);
void       emp_bfc_destroy(emp_bfc *bfc);

/** Forgets all regions. O(regions). */
void emp_bfc_reset(emp_bfc *bfc);
/** Makes a region one free chunk; each once after the creation or a reset. O(1). */
void emp_bfc_add_region(emp_bfc *bfc, int32_t region, int64_t bytes);

/** \param bytes  A multiple of 256, above 0.
 * \return a chunk, or -1 if no free one is large enough. O(free chunks of its bin). */
int32_t emp_bfc_allocate(emp_bfc *bfc, int32_t region, int64_t bytes);
/** O(free chunks of its bin). */
void emp_bfc_free(emp_bfc *bfc, int32_t chunk);

/** Where the chunk ends in its region: bytes from the region's start. */
int64_t emp_bfc_end(const emp_bfc *bfc, int32_t chunk);

#endif /* EMP_SIM_ENGINE_BFC_H */
