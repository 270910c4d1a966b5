/** \file baselines/baselines.h
 * The classical placement methods. Each is one const table behind the ask/tell interface
 * of search/method.h. A new method is one file and one line of the list below;
 * docs/add-a-method.md shows how.
 */
#ifndef EMP_BASELINES_BASELINES_H
#define EMP_BASELINES_BASELINES_H

#include "search/method.h"

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

#endif /* EMP_BASELINES_BASELINES_H */
