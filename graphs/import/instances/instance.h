/** \file graphs/import/instances/instance.h
 * Benchmark instances: files whose ops come with times and sizes of their own. What their
 * readers share.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_INSTANCE_H
#define EMP_GRAPHS_IMPORT_INSTANCES_INSTANCE_H

#include "graphs/import/notes/readers.h"

/** The longest time and the largest size of an op; of half a million, ten times as long on a CPU,
 * the sum fits in 64 bits. */
#define EMP_INSTANCE_MS_MAX    1e6
#define EMP_INSTANCE_BYTES_MAX 1e12

enum { EMP_INSTANCE_NAME_BYTES = 128 };

/** A CPU takes so many times as long where a file has times of GPUs only, as in the instances that
 * Tarnawski et al. (NeurIPS 2020) made of such profiles. */
enum { EMP_INSTANCE_CPU = 10 };

/** Nanoseconds of 0 to EMP_INSTANCE_MS_MAX milliseconds. */
int64_t emp_instance_ns(double ms);

/** Whole bytes of 0 to EMP_INSTANCE_BYTES_MAX. */
int64_t emp_instance_bytes(double bytes);

/** Adds an op, whose name is in "gradients/", as TensorFlow's are, if it is of the backward
 * pass. \retval EMP_EFORMAT  The name is taken, or too long. */
emp_status emp_instance_add(emp_graph_builder *b, const char *name, bool is_backward,
                            const char *type, const emp_stated_op *stated, emp_op_id *op,
                            emp_error *err);

/** A step runs every op: marks those as targets whose result nobody reads. */
emp_status emp_instance_set_targets(emp_graph *graph, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_INSTANCE_H */
