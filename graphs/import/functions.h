/** \file graphs/import/functions.h
 * The function library of a GraphDef: what a function takes, does and gives. TensorFlow 2 keeps
 * nearly everything in functions.
 *
 * Nothing is copied: all slices point into the file.
 */
#ifndef EMP_GRAPHS_IMPORT_FUNCTIONS_H
#define EMP_GRAPHS_IMPORT_FUNCTIONS_H

#include "base/strmap.h"
#include "graphs/import/proto/message.h"

/** A FunctionDef. */
typedef struct {
    emp_slice  name;
    emp_slice  body;    /**< the whole message: its nodes are read from it */
    emp_strmap arg;     /**< name to position */
    emp_slice *result;  /**< names of the results, in order */
    emp_slice *source;  /**< [result] what the result is, as an input of a node */
    emp_slice *control; /**< nodes that run whether or not a result is read */
    int32_t    arg_count, result_count, control_count;
    bool       has_list; /**< an argument or a result is a list of tensors */
} emp_function;

/** Zero-initialise; emp_functions_clear() releases it, also after a failure. */
typedef struct {
    emp_function *function;
    int32_t       count;
    emp_strmap    by_name;
} emp_functions;

/** The fields of a FunctionDef that hold nodes have this number. */
enum { EMP_FUNCTION_NODE = 3 };
extern const emp_field_name emp_function_names[];

/** Reads the library of a GraphDef; a graph without one has no functions. O(bytes).
 * \retval EMP_EFORMAT  Malformed, or a result without a source; the message names the
 *                      function. \retval EMP_ENOMEM */
emp_status emp_functions_read(emp_functions *out, emp_message_file *file, emp_slice graph,
                              emp_error *err);

void emp_functions_clear(emp_functions *functions);

/** NULL = there is none of that name. */
const emp_function *emp_functions_find(const emp_functions *functions, emp_slice name);

/** The position of a result by its name; -1 = it has none of that name. O(results). */
int32_t emp_function_result(const emp_function *function, emp_slice name);

/** Where the output \a name of an op type begins among its outputs: of "y", "batch_mean",
 * "batch_variance" of a FusedBatchNorm the third is at 2. 0 for types with one output or
 * one list of outputs. */
int32_t emp_output_offset(emp_slice type, emp_slice name);

#endif /* EMP_GRAPHS_IMPORT_FUNCTIONS_H */
