/** \file graphs/workloads/workloads_internal.h
 * What the families of workloads share. Not for other folders.
 */
#ifndef EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H
#define EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H

#include "graphs/tensorflow/tf_train.h"
#include "graphs/workloads/workloads.h"

/** The families, in the order of listings. A new one is one line: X(NAME) stands for its line of
 * text, its parameters and its function, which NAME.c defines. */
#define EMP_WORKLOAD_LIST(X) \
    X(nmt)                   \
    X(rnnlm)                 \
    X(inception_v3)          \
    X(resnet)                \
    X(transformer)           \
    X(bert)                  \
    X(transformer_xl)        \
    X(wavenet)               \
    X(cells)                 \
    X(enas)                  \
    X(giph)

#define X(name)                                         \
    extern const char       emp_##name##_description[]; \
    extern const emp_option emp_##name##_params[];      \
    emp_status emp_##name##_build(const int64_t *values, emp_graph **out, emp_error *err);
EMP_WORKLOAD_LIST(X)
#undef X

/** A step's tensors may be the inputs or outputs of one op, which has up to EMP_MAX_OUTPUTS. */
enum { EMP_WORKLOAD_MAX_STEPS = 4000 };

_Static_assert((int)EMP_WORKLOAD_MAX_STEPS < (int)EMP_MAX_OUTPUTS,
               "arrays of ports have room");

/** The last parameters of every family, in this order. */
enum {
    EMP_COMMON_OPTIMIZER,
    EMP_COMMON_GATE_GRADIENTS,
    EMP_COMMON_OLD_BROADCAST_GRADS,
    EMP_COMMON_CONST_ZEROS,
    EMP_COMMON_SAVER,
    EMP_COMMON_COUNT
};

/** Row \a index of a family's parameters: a number, a flag, or one of some words. */
#define EMP_WORKLOAD_NUMBER(index, name, low, high, help, number)                    \
    [index] = EMP_INTEGER_OPTION(name, emp_workload_values, value[index], low, high, \
                                 help, number)
#define EMP_WORKLOAD_FLAG(index, name, help, is_set) \
    EMP_WORKLOAD_NUMBER(index, name, 0, 1, help, is_set)

#define EMP_WORKLOAD_REAL(index, name, low, high, help, number) \
    [index] =                                                   \
        EMP_REAL_OPTION(name, emp_workload_values, real[index], low, high, help, number)

#define EMP_WORKLOAD_WORD(index, name, words, help, preset) \
    [index] =                                               \
        EMP_WORD_OPTION(name, emp_workload_values, value[index], words, help, preset)

/** The common rows from \a first on, with the end mark; then come the family's defaults. */
/* clang-format off */
#define EMP_WORKLOAD_COMMON(first, optimizer, old_broadcast_grads, const_zeros)        \
    EMP_WORKLOAD_WORD((first) + EMP_COMMON_OPTIMIZER, "optimizer",                     \
                      EMP_TF_OPTIMIZER_WORDS, "what updates the weights", optimizer),  \
    EMP_WORKLOAD_FLAG((first) + EMP_COMMON_GATE_GRADIENTS, "gate_gradients",           \
                      "tuples around the gradients of an op", 1),                      \
    EMP_WORKLOAD_FLAG((first) + EMP_COMMON_OLD_BROADCAST_GRADS, "old_broadcast_grads", \
                      "before TF 1.4: gradients of Add, Mul always reduce",            \
                      old_broadcast_grads),                                            \
    EMP_WORKLOAD_FLAG((first) + EMP_COMMON_CONST_ZEROS, "const_zeros",                 \
                      "before TF 1.4: zeros and ones are one Const", const_zeros),     \
    EMP_WORKLOAD_FLAG((first) + EMP_COMMON_SAVER, "saver",                             \
                      "ops that save and restore all variables", 1),                   \
    [(first) + EMP_COMMON_COUNT] = EMP_NO_OPTION
/* clang-format on */

/** Runs \a emit on a fresh emp_tf that obeys the common flags, and freezes the result. */
emp_status emp_workload_generate(void (*emit)(emp_tf *tf, const int64_t *values),
                                 const int64_t *values, const int64_t *common,
                                 emp_graph **out, emp_error *err);

/** Optimizer, init, Saver by the common flags; loss and train op become targets. */
void emp_workload_train(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                        double clip_norm, const int64_t *common);

#endif /* EMP_GRAPHS_WORKLOADS_WORKLOADS_INTERNAL_H */
