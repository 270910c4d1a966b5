/** \file graphs/import/models/safetensors.h
 * The header of a safetensors file, or of the shards of an index: names, element types and shapes of tensors. Their
 * data is never read.
 *
 * A file begins with 8 bytes, little-endian, that tell the length of a JSON object behind them:
 * {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ...}.
 * A model in several files has an index, model.safetensors.index.json, whose "weight_map" gives each tensor's file.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_SAFETENSORS_H
#define EMP_GRAPHS_IMPORT_MODELS_SAFETENSORS_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/op.h"

typedef struct {
    const char *name;
    emp_dtype   dtype; /**< EMP_DTYPE_NONE: one that the simulator does not know */
    emp_shape   shape;
    int64_t     bytes;
} emp_safetensor;

/** Zero-initialise; clear it also after a failure. */
typedef struct {
    emp_safetensor *tensor; /**< [count]; in the order of the header */
    int32_t         count;
    int64_t         bytes;    /**< of all tensors */
    int64_t         elements; /**< of all tensors */

    int32_t    capacity; /**< private */
    emp_arena  names;    /**< private */
    emp_strmap of_name;  /**< private */
} emp_safetensors;

/** Reads a header from memory, of which \a size bytes are there; the file has \a file_bytes.
 * \retval EMP_EFORMAT  It is none, or a tensor's bytes do not fit its shape or lie outside
 *                      of the file. \retval EMP_ENOMEM */
emp_status emp_safetensors_parse(emp_safetensors *header, const char *bytes, size_t size,
                                 uint64_t file_bytes, emp_error *err);

/** The same from a file, whose data is not read, or from the shards that an index names, which lie in its folder.
 * Messages begin with the path.
 * \retval EMP_EIO      The file or a shard cannot be read.
 * \retval EMP_EFORMAT  As emp_safetensors_parse(), or a shard lacks a tensor that the index puts there. */
emp_status emp_safetensors_load(emp_safetensors *header, const char *path,
                                emp_error *err);
void       emp_safetensors_clear(emp_safetensors *header);

/** The tensor of that name, or of that name without the first word of its path; NULL: neither. */
const emp_safetensor *emp_safetensors_find(const emp_safetensors *header,
                                           const char            *name);

/** An emp_weight_types.find: the type of the tensor that emp_safetensors_find() finds. A weight that the file does not have keeps its type.
 * \retval EMP_EFORMAT  It has another number of elements there. */
emp_status emp_safetensors_find_type(const void *context, const char *name,
                                     const emp_shape *shape, emp_dtype *dtype,
                                     emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_SAFETENSORS_H */
