/** \file graphs/import/instances/instance.h
 * Benchmark instances: files whose ops come with times and sizes of their own. What their
 * readers share.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_INSTANCE_H
#define EMP_GRAPHS_IMPORT_INSTANCES_INSTANCE_H

#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph_builder.h"

/** What an instance is to be placed on. */
typedef struct {
    int32_t cpu_count; /**< 0: the file does not say */
    int32_t gpu_count;
    int64_t gpu_memory_bytes;
    const char
           *runtime;    /**< profile by whose rules it is meant, static; NULL: not said */
    int32_t core_count; /**< of each CPU; 0: the file does not say, which means 1 */
    char note[480]; /**< what the reader says of the file, in sentences; "" = nothing */
} emp_import_devices;

/** The longest time and the largest size of an op; of half a million, ten times as long on a CPU,
 * the sum fits in 64 bits. */
#define EMP_INSTANCE_MS_MAX    1e6
#define EMP_INSTANCE_BYTES_MAX 1e12

enum { EMP_INSTANCE_NAME_BYTES = 128 };

/** Cuts the next line off the front of \a rest, without its end, which may be "\r\n". */
emp_slice emp_instance_next_line(emp_slice *rest);

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
