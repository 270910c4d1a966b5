/** \file baselines/baselines.h
 * The classical placement methods. Each is one const table behind the ask/tell interface
 * of search/method.h. A new method is one file and one line of the list below;
 * docs/extending.md shows how.
 */
#ifndef EMP_BASELINES_BASELINES_H
#define EMP_BASELINES_BASELINES_H

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

#endif /* EMP_BASELINES_BASELINES_H */
