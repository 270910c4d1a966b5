// SPDX-License-Identifier: GPL-3.0-or-later
/* Helpers that the families of workloads share. */
#include "graphs/workloads/workloads_internal.h"

emp_status emp_workload_generate(void (*emit)(emp_tf *tf, const int64_t *values),
                                 const int64_t *values, const int64_t *common,
                                 emp_graph **out, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_tf     tf;

    *out = NULL;
    EMP_TRY(emp_tf_init(&tf, err));
    tf.gate_gradients = common[EMP_COMMON_GATE_GRADIENTS] != 0;
    tf.old_broadcast_grads = common[EMP_COMMON_OLD_BROADCAST_GRADS] != 0;
    tf.const_zeros = common[EMP_COMMON_CONST_ZEROS] != 0;
    emit(&tf, values);
    EMP_TRY(emp_tf_finish(&tf, out));

cleanup:
    emp_tf_clear(&tf);
    return st;
}

void emp_workload_train(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                        double clip_norm, const int64_t *common)
{
    emp_op_id train_op = emp_tf_minimize(
        tf, loss, global_step, (emp_tf_optimizer)common[EMP_COMMON_OPTIMIZER], clip_norm);

    emp_tf_add_init_and_saver(tf, common[EMP_COMMON_SAVER] != 0);
    emp_tf_set_target(tf, train_op);
    emp_tf_set_target(tf, loss.op);
}
