// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/baselines.h"

static const emp_placer_type *const table[] = {
    &emp_placer_cpu,     &emp_placer_gpu,
    &emp_placer_expert,  &emp_placer_scotch,
    &emp_placer_mincut,  &emp_placer_metis,
    &emp_placer_acyclic, &emp_placer_random,
    &emp_placer_local,   &emp_placer_anneal,
    &emp_placer_mcmc,    &emp_placer_refine,
    &emp_placer_ce,      &emp_placer_post,
    &emp_placer_brkga,   &emp_placer_heft,
    &emp_placer_peft,    &emp_placer_etf,
    &emp_placer_m_topo,  &emp_placer_m_etf,
    &emp_placer_m_sct,   &emp_placer_dp_contiguous,
};

const emp_placer_type *const *emp_baselines(int32_t *count)
{
    *count = (int32_t)(sizeof table / sizeof table[0]);
    return table;
}
