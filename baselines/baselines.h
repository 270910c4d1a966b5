/** \file baselines/baselines.h
 * The classical placement methods. Each is one const table behind the ask/tell interface
 * of search/placer.h; adding one means one file, one line here and one in
 * baselines.c.
 */
#ifndef EMP_BASELINES_BASELINES_H
#define EMP_BASELINES_BASELINES_H

#include "search/placer.h"

extern const emp_placer_type emp_placer_cpu;           /**< single.c */
extern const emp_placer_type emp_placer_gpu;           /**< single.c */
extern const emp_placer_type emp_placer_expert;        /**< expert.c */
extern const emp_placer_type emp_placer_scotch;        /**< scotch.c */
extern const emp_placer_type emp_placer_mincut;        /**< scotch.c */
extern const emp_placer_type emp_placer_metis;         /**< metis.c */
extern const emp_placer_type emp_placer_acyclic;       /**< acyclic.c */
extern const emp_placer_type emp_placer_random;        /**< random.c */
extern const emp_placer_type emp_placer_local;         /**< local.c */
extern const emp_placer_type emp_placer_anneal;        /**< anneal.c */
extern const emp_placer_type emp_placer_mcmc;          /**< mcmc.c */
extern const emp_placer_type emp_placer_refine;        /**< refine.c */
extern const emp_placer_type emp_placer_ce;            /**< ce.c */
extern const emp_placer_type emp_placer_post;          /**< post.c */
extern const emp_placer_type emp_placer_brkga;         /**< brkga.c */
extern const emp_placer_type emp_placer_heft;          /**< heft.c */
extern const emp_placer_type emp_placer_peft;          /**< peft.c */
extern const emp_placer_type emp_placer_etf;           /**< etf.c */
extern const emp_placer_type emp_placer_m_topo;        /**< m_topo.c */
extern const emp_placer_type emp_placer_m_etf;         /**< m_etf.c */
extern const emp_placer_type emp_placer_m_sct;         /**< m_sct.c */
extern const emp_placer_type emp_placer_dp_contiguous; /**< dp_contiguous.c */

/** All of them, in the order of the tables; sets \a *count. Static storage. */
const emp_placer_type *const *emp_baselines(int32_t *count);

#endif /* EMP_BASELINES_BASELINES_H */
