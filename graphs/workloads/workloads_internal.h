/** \file graphs/workloads/workloads_internal.h
 * What the families of workloads share. Not for other folders.
 */
#ifndef EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H
#define EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H

#include "graphs/tensorflow/tf_train.h"
#include "graphs/workloads/workloads.h"

extern const emp_workload_param emp_inception_v3_params[], emp_nmt_params[],
    emp_resnet_params[], emp_rnnlm_params[];

emp_status emp_inception_v3_build(const int64_t *values, emp_graph **out, emp_error *err);
emp_status emp_nmt_build(const int64_t *values, emp_graph **out, emp_error *err);
emp_status emp_resnet_build(const int64_t *values, emp_graph **out, emp_error *err);
emp_status emp_rnnlm_build(const int64_t *values, emp_graph **out, emp_error *err);

enum { EMP_WORKLOAD_MAX_STEPS = 500 };

/** The last parameters of every family, in this order. */
enum {
    EMP_COMMON_OPTIMIZER,
    EMP_COMMON_GATE_GRADIENTS,
    EMP_COMMON_OLD_BROADCAST_GRADS,
    EMP_COMMON_CONST_ZEROS,
    EMP_COMMON_SAVER,
    EMP_COMMON_COUNT
};

/** Their entries, with the end mark; the arguments are the family's defaults. */
#define EMP_WORKLOAD_COMMON(optimizer, old_broadcast_grads, const_zeros)           \
    {"optimizer",                                                                  \
     (optimizer),                                                                  \
     EMP_TF_SGD,                                                                   \
     EMP_TF_ADAM,                                                                  \
     "what updates the weights",                                                   \
     emp_tf_optimizer_names},                                                      \
        {"gate_gradients", 1, 0, 1, "tuples around the gradients of an op", NULL}, \
        {"old_broadcast_grads",                                                    \
         (old_broadcast_grads),                                                    \
         0,                                                                        \
         1,                                                                        \
         "before TF 1.4: gradients of Add, Mul always reduce",                     \
         NULL},                                                                    \
        {"const_zeros",                                                            \
         (const_zeros),                                                            \
         0,                                                                        \
         1,                                                                        \
         "before TF 1.4: zeros and ones are one Const",                            \
         NULL},                                                                    \
        {"saver", 1, 0, 1, "ops that save and restore all variables", NULL},       \
    {                                                                              \
        NULL, 0, 0, 0, NULL, NULL                                                  \
    }

/** Runs \a emit on a fresh emp_tf that obeys the common flags, and freezes the result. */
emp_status emp_workload_generate(void (*emit)(emp_tf *tf, const int64_t *values),
                                 const int64_t *values, const int64_t *common,
                                 emp_graph **out, emp_error *err);

/** Optimizer, init, Saver by the common flags; loss and train op become targets. */
void emp_workload_train(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                        double clip_norm, const int64_t *common);

#endif /* EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H */
