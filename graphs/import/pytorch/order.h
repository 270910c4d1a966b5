/** \file graphs/import/pytorch/order.h
 * Keeps reads and writes of one buffer in the order of the program, by control edges where no data say it.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_ORDER_H
#define EMP_GRAPHS_IMPORT_PYTORCH_ORDER_H

#include "sim/graph/graph_builder.h"

typedef struct {
    emp_op_id op;
    int32_t   next;
} emp_torch_reader;

typedef struct {
    emp_graph_builder *builder; /**< borrowed */
    emp_op_id         *writer;  /**< [buffer] the last op that has written it; -1 */
    int32_t           *reader;  /**< [buffer] what has read it since, a list; -1 */
    emp_torch_reader  *pool;
    int32_t            count, capacity;
} emp_torch_order;

/** Nothing is read or written yet. The caller clears \a order, also after a failure. \retval EMP_ENOMEM */
emp_status emp_torch_order_init(emp_torch_order *order, emp_graph_builder *builder,
                                int32_t buffers, emp_error *err);
void       emp_torch_order_clear(emp_torch_order *order);

/** \a op reads the buffer, of which \a from has made the view that it reads. O(1) amortised. */
emp_status emp_torch_order_read(emp_torch_order *order, int32_t buffer, emp_op_id from,
                                emp_op_id op, emp_error *err);

/** \a op writes the buffer, after all that have read it. O(readers since the last write). */
emp_status emp_torch_order_write(emp_torch_order *order, int32_t buffer, emp_op_id op,
                                 emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_ORDER_H */
