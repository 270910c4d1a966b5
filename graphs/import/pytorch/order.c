// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/order.h"

#include "base/mem.h"

void emp_torch_order_clear(emp_torch_order *order)
{
    emp_free(order->writer);
    emp_free(order->reader);
    emp_free(order->pool);
    *order = (emp_torch_order){0};
}

emp_status emp_torch_order_init(emp_torch_order *order, emp_graph_builder *builder,
                                int32_t buffers, emp_error *err)
{
    *order = (emp_torch_order){.builder = builder};
    EMP_CHECK(EMP_ALLOC(order->writer, (size_t)buffers));
    EMP_CHECK(EMP_ALLOC(order->reader, (size_t)buffers));
    for (int32_t i = 0; i < buffers; i++) order->writer[i] = order->reader[i] = -1;
    return EMP_OK;
}

emp_status emp_torch_order_read(emp_torch_order *order, int32_t buffer, emp_op_id from,
                                emp_op_id op, emp_error *err)
{
    emp_op_id writer = order->writer[buffer];

    if (writer >= 0 && writer != from && writer != op)
        EMP_CHECK(emp_graph_builder_add_control(order->builder, writer, op, err));
    EMP_CHECK(EMP_GROW(order->pool, order->count + 1, order->capacity));
    order->pool[order->count] = (emp_torch_reader){op, order->reader[buffer]};
    order->reader[buffer] = order->count++;
    return EMP_OK;
}

emp_status emp_torch_order_write(emp_torch_order *order, int32_t buffer, emp_op_id op,
                                 emp_error *err)
{
    for (int32_t i = order->reader[buffer]; i >= 0; i = order->pool[i].next) {
        emp_op_id reader = order->pool[i].op;
        if (reader != op)
            EMP_CHECK(emp_graph_builder_add_control(order->builder, reader, op, err));
    }
    order->reader[buffer] = -1;
    order->writer[buffer] = op;
    return EMP_OK;
}
