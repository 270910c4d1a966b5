/** \file baselines/baselines.h
 * The classical placement methods. Each is one const table behind the ask/tell interface
 * of search/method.h; adding one means one file, one line here and one in
 * baselines.c.
 */
#ifndef EMP_BASELINES_BASELINES_H
#define EMP_BASELINES_BASELINES_H

#include "search/method.h"

extern const emp_method emp_method_cpu;           /**< single.c */
extern const emp_method emp_method_gpu;           /**< single.c */
extern const emp_method emp_method_expert;        /**< expert.c */
extern const emp_method emp_method_scotch;        /**< scotch.c */
extern const emp_method emp_method_mincut;        /**< scotch.c */
extern const emp_method emp_method_metis;         /**< metis.c */
extern const emp_method emp_method_acyclic;       /**< acyclic.c */
extern const emp_method emp_method_random;        /**< random.c */
extern const emp_method emp_method_local;         /**< local.c */
extern const emp_method emp_method_anneal;        /**< anneal.c */
extern const emp_method emp_method_mcmc;          /**< mcmc.c */
extern const emp_method emp_method_refine;        /**< refine.c */
extern const emp_method emp_method_ce;            /**< ce.c */
extern const emp_method emp_method_post;          /**< post.c */
extern const emp_method emp_method_brkga;         /**< brkga.c */
extern const emp_method emp_method_heft;          /**< heft.c */
extern const emp_method emp_method_peft;          /**< peft.c */
extern const emp_method emp_method_etf;           /**< etf.c */
extern const emp_method emp_method_m_topo;        /**< m_topo.c */
extern const emp_method emp_method_m_etf;         /**< m_etf.c */
extern const emp_method emp_method_m_sct;         /**< m_sct.c */
extern const emp_method emp_method_dp_contiguous; /**< dp_contiguous.c */

/** All of them, in the order of the tables; sets \a *count. Static storage. */
const emp_method *const *emp_baselines(int32_t *count);

#endif /* EMP_BASELINES_BASELINES_H */
