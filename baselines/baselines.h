/** \file baselines/baselines.h
 * The classical placement methods. Each is one const table behind the ask/tell interface
 * of search/method.h. A new method is one file and one line of the list below;
 * docs/extending.md shows how.
 */
#ifndef EMP_BASELINES_BASELINES_H
#define EMP_BASELINES_BASELINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/method.h"
#include "sim/problem/problem.h"

/** The methods, in the order of the tables. A new one is one line: X(NAME) stands for the table
 * emp_method_NAME. */
#define EMP_BASELINE_LIST(X) \
    X(portfolio)             \
    X(cpu)                   \
    X(gpu)                   \
    X(expert)                \
    X(scotch)                \
    X(mincut)                \
    X(metis)                 \
    X(acyclic)               \
    X(random)                \
    X(local)                 \
    X(anneal)                \
    X(mcmc)                  \
    X(refine)                \
    X(ce)                    \
    X(post)                  \
    X(brkga)                 \
    X(heft)                  \
    X(peft)                  \
    X(etf)                   \
    X(critical_path)         \
    X(m_topo)                \
    X(m_etf)                 \
    X(m_sct)                 \
    X(dp_contiguous)         \
    X(memory_split)          \
    X(first_fit)             \
    X(experts_on_cpu)

#define X(name) extern const emp_method emp_method_##name;
EMP_BASELINE_LIST(X)
#undef X

/** All of them, in the order of the tables; sets \a *count. Static storage. */
const emp_method *const *emp_baselines(int32_t *count);

/** Finds the GPU whose step is the shortest with all ops on it that it has kernels for; the first of
 * equals, and the first GPU if the model fits on none. O(GPUs) steps of the oracle.
 * \param[out] gpu     -1: the machine has none
 * \param[out] step_s  of that GPU; INFINITY where the model fits on none
 * \retval EMP_ENOMEM */
emp_status emp_fastest_gpu(emp_device_id *gpu, double *step_s, const emp_problem *problem,
                           emp_error *err);

/* The place of an op in a model, by its name. Names follow TensorFlow's scopes,
 * in generated and in imported graphs alike:
 *
 *     decoder/step/step/attention/attention/multi_rnn_cell/cell_1/basic_lstm_cell/MatMul_3
 *     gradients/<forward name>_grad/...            the gradient ops of a forward op
 *     Adam/update_<variable name>/ApplyAdam        the update of a variable
 *     emb_src/Adam_1                               a slot of a variable
 *
 * The wrapped name stands inside, so one rule serves forward ops, gradients, updates,
 * slots. */

typedef enum {
    EMP_ROLE_NONE,      /**< no rule: follows its neighbours */
    EMP_ROLE_CELL,      /**< of a recurrent layer: ".../cell_K/..." */
    EMP_ROLE_EMBEDDING, /**< a path component "emb..." */
    EMP_ROLE_OUTPUT     /**< attention, memory layer, projection, softmax */
} emp_role;

/** The role of an op; sets \a *cell to K of EMP_ROLE_CELL, else to -1. */
emp_role emp_role_of_name(const char *name, int32_t *cell);

/** True for ops of the decoder of an encoder-decoder model. */
bool emp_name_is_in_decoder(const char *name);

#endif /* EMP_BASELINES_BASELINES_H */
