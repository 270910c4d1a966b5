/** \file bench/iterations/network.h
 * What was measured of a network, as two tables:
 *
 *  - fits: columns scope, zone_from, zone_to, gpu_from, gpus_from, gpu_to, gpus_to, c2, c1, c0,
 *    max_bytes_per_s. So many GPUs of a host send together at c2 x^2 + c1 x + c0 GB/s in all, with x =
 *    log2(bytes / 1e6), and at most at the greatest rate. Rows of scope "inter" within a zone count, and
 *    the first of them;
 *  - collectives: columns gpu, op, dtype, gpus, bytes, us, of one host. Rows of dtype "float" count.
 *    Between two sizes the logarithm of the time is linear in the logarithm of the size.
 */
#ifndef EMP_BENCH_ITERATIONS_NETWORK_H
#define EMP_BENCH_ITERATIONS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/iterations/rows.h"

typedef struct emp_network emp_network;

/** A network of which nothing is known. \param[out] out  The caller's. \retval EMP_ENOMEM */
emp_status emp_network_create(emp_network **out, emp_error *err);
/** NULL is allowed. */
void emp_network_destroy(emp_network *network);

/** Adds a table of fits. \retval EMP_EFORMAT  The message names the file and the row. */
emp_status emp_network_add_fits(emp_network *network, const char *bytes, size_t size,
                                const char *path, emp_error *err);
/** Adds a table of collectives. \retval EMP_EFORMAT  Likewise. */
emp_status emp_network_add_collectives(emp_network *network, const char *bytes,
                                       size_t size, const char *path, emp_error *err);

/** Seconds in which the GPUs of one host send that many bytes, all in all, to the GPUs of another. A pair
 * that was measured only the other way round takes as long, and one that was not measured with so many
 * GPUs takes as long as with the most that were. O(fits).
 * \retval EMP_EUNSUPPORTED  The network has no pair of such GPUs. */
emp_status emp_network_send(double *seconds, const emp_network *network,
                            const emp_tensor_group *from, const emp_tensor_group *to,
                            double bytes, emp_error *err);

/** Seconds in which the GPUs of a host gather that many bytes, the whole. 0 with one GPU, and without a
 * table of collectives. O(rows). \retval EMP_EUNSUPPORTED  The table has no such GPUs. */
emp_status emp_network_gather(double *seconds, const emp_network *network,
                              const emp_tensor_group *group, double bytes,
                              emp_error *err);

#endif /* EMP_BENCH_ITERATIONS_NETWORK_H */
