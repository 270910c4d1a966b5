// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/baselines.h"

static const emp_method *const table[] = {
    &emp_method_cpu,     &emp_method_gpu,
    &emp_method_expert,  &emp_method_scotch,
    &emp_method_mincut,  &emp_method_metis,
    &emp_method_acyclic, &emp_method_random,
    &emp_method_local,   &emp_method_anneal,
    &emp_method_mcmc,    &emp_method_refine,
    &emp_method_ce,      &emp_method_post,
    &emp_method_brkga,   &emp_method_heft,
    &emp_method_peft,    &emp_method_etf,
    &emp_method_m_topo,  &emp_method_m_etf,
    &emp_method_m_sct,   &emp_method_dp_contiguous,
};

const emp_method *const *emp_baselines(int32_t *count)
{
    *count = (int32_t)(sizeof table / sizeof table[0]);
    return table;
}
