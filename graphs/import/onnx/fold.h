/** \file graphs/import/onnx/fold.h
 * Nodes whose inputs are constants, computed as the runtime computes them: each result is rounded
 * to its element type. fold.c has arithmetic, fold_array.c what moves elements.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_FOLD_H
#define EMP_GRAPHS_IMPORT_ONNX_FOLD_H

#include "graphs/import/onnx/lower.h"

/** An array of numbers, row-major. */
typedef struct {
    emp_shape     shape;
    emp_dtype     dtype;
    const double *number;
} emp_onnx_array;

/** Computes a node; false where an input is no constant, or the node cannot be computed. */
typedef bool emp_onnx_folding(emp_onnx_call *c);

typedef struct {
    const char       *type;
    emp_onnx_folding *fn;
} emp_onnx_fold_rule;

/** Rules for ops that move elements, ending with {0}. */
extern const emp_onnx_fold_rule emp_onnx_array_foldings[];

/** The numbers of a constant input; false: it is left out or no constant. */
bool emp_onnx_array_in(const emp_onnx_call *c, int32_t i, emp_onnx_array *out);
/** Room for the numbers of a shape; NULL where it is not known, or has too many. */
double *emp_onnx_room_for(emp_onnx_call *c, const emp_shape *shape);
/** Makes the first output that constant. Always true. */
bool emp_onnx_put(emp_onnx_call *c, emp_shape shape, emp_dtype dtype,
                  const double *number);

/** The number that the element type has in place of x: floats are rounded, integers wrap. */
double emp_onnx_round_to(emp_dtype dtype, double x);
bool   emp_onnx_is_integer(emp_dtype dtype);

/** Steps of each dim of \a to in \a of, in elements; those that are broadcast are 0. */
void emp_onnx_strides(const emp_shape *of, const emp_shape *to, int64_t *stride);
/** The place of element i of a shape, with these steps from \a start. */
int64_t emp_onnx_place(const emp_shape *shape, const int64_t *stride, int64_t start,
                       int64_t i);

#endif /* EMP_GRAPHS_IMPORT_ONNX_FOLD_H */
