/** \file search/weights.h
 * Weights: what a learner carries from graph to graph, apart from any state of it. A method
 * with list_weights() (search/method.h) has some.
 *
 *     emp_weights w = {0};
 *     emp_method_take_weights(&w, method, state, err);    a copy of a state's weights
 *     params.weights = &w;                                a new state begins with them
 *     emp_weights_clear(&w);
 *
 * Two lists are of the same networks if the names, types and sizes of their arrays agree.
 */
#ifndef EMP_SEARCH_WEIGHTS_H
#define EMP_SEARCH_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/collections.h"
#include "base/error.h"
#include "base/mem.h"

enum { EMP_WEIGHTS_NAME_BYTES = 64, EMP_WEIGHTS_TEXT_BYTES = 256 };

/** Most values of an array. */
#define EMP_WEIGHTS_MOST (INT64_C(1) << 27)

/** Zero-initialise. */
typedef struct {
    char method[EMP_WEIGHTS_NAME_BYTES];
    char preset[EMP_WEIGHTS_NAME_BYTES];  /**< "" = none */
    char options[EMP_WEIGHTS_TEXT_BYTES]; /**< with which they were trained; "" = none */
    char tasks[EMP_WEIGHTS_TEXT_BYTES];   /**< on which, in words */
    int64_t         evaluations;          /**< scored while they were trained */
    int32_t         array_count;
    emp_named_array array[EMP_MAX_NAMED_ARRAYS]; /**< names and values are owned */
    emp_arrays      memory;
} emp_weights;

/** Adds an array of zeros. \retval EMP_EINVAL  Too many arrays or values, or a name that is
 * empty, too long or there already. \retval EMP_ENOMEM */
emp_status emp_weights_add(emp_weights *weights, const char *name, emp_array_type type,
                           int64_t count, emp_error *err);

/** Copies the values of \a arrays; weights without arrays get theirs first.
 * \retval EMP_EINVAL  They are of other networks; the message says how. \retval EMP_ENOMEM */
emp_status emp_weights_take(emp_weights *weights, const emp_named_array *arrays,
                            int32_t count, emp_error *err);

/** The reverse: \a arrays get the values. \retval EMP_EINVAL  As emp_weights_take(). */
emp_status emp_weights_give(const emp_weights *weights, const emp_named_array *arrays,
                            int32_t count, emp_error *err);

/** Says how they were trained: with the preset and options (NULL is none) and, beside what
 * \a before (NULL is nothing) was trained, with so many evaluations. */
void emp_weights_describe(emp_weights *weights, const char *preset, const char *options,
                          const emp_weights *before, int64_t evaluations);

/** Adds "nmt:layers=2 on k40x2" to the tasks, as far as there is room. */
void emp_weights_add_task(emp_weights *weights, const char *workload,
                          const char *machine);

/** Whether \a arrays, of the same networks, hold the same bits. */
bool emp_weights_equal(const emp_weights *weights, const emp_named_array *arrays);

/** The hash of the method's name and all values; never 0. */
uint64_t emp_weights_hash(const emp_weights *weights);

void emp_weights_clear(emp_weights *weights); /**< legal after a failure */

#endif /* EMP_SEARCH_WEIGHTS_H */
