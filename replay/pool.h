/** \file replay/pool.h
 * Hands out parts of one region of memory, which may be a device's. It keeps its books
 * apart from the region, whose bytes it never touches. Best fit among free parts of a
 * class of sizes, neighbours are joined; what is not needed of a part stays free. Sizes are
 * rounded up to EMP_REPLAY_ALIGNMENT.
 *
 * Threads. None: the caller locks.
 */
#ifndef EMP_REPLAY_POOL_H
#define EMP_REPLAY_POOL_H

#include "replay/plan/plan.h"

typedef struct emp_pool emp_pool;

/** Of a region of \a bytes; at most \a parts parts are handed out at once. \retval
 * EMP_ENOMEM */
emp_status emp_pool_create(emp_pool **out, int64_t bytes, int32_t parts, emp_error *err);
void       emp_pool_destroy(emp_pool *pool);

/** A part of \a bytes, 0 included; -1 = none is large enough. O(free parts of a class). */
int32_t emp_pool_allocate(emp_pool *pool, int64_t bytes);
void    emp_pool_free(emp_pool *pool, int32_t part); /**< O(1) */

int64_t emp_pool_offset(const emp_pool *pool, int32_t part); /**< in the region */
int64_t emp_pool_bytes(const emp_pool *pool, int32_t part);  /**< rounded up */

int64_t emp_pool_used(const emp_pool *pool);  /**< bytes handed out now */
int64_t emp_pool_peak(const emp_pool *pool);  /**< most bytes handed out at once */
int64_t emp_pool_reach(const emp_pool *pool); /**< end of the highest part so far */

#endif /* EMP_REPLAY_POOL_H */
