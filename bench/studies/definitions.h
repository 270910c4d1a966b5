/** \file bench/studies/definitions.h
 * Arms that answer questions, and the tasks that they run on.
 */
#ifndef EMP_BENCH_STUDIES_DEFINITIONS_H
#define EMP_BENCH_STUDIES_DEFINITIONS_H

#include "bench/studies/ablation.h"

enum { EMP_STUDY_TASKS = 3 };

/** Tasks with few steps or layers, so that a learner's study takes minutes. */
extern const emp_task emp_study_task[EMP_STUDY_TASKS];

/* Groups (arms_groups.c). */
extern const emp_ablation emp_arms_colocation;
/* The planner hdp (arms_planner.c). */
extern const emp_ablation emp_arms_forgetting;
extern const emp_ablation emp_arms_constants;
/* Graph networks (arms_networks.c). */
extern const emp_ablation emp_arms_memory;
extern const emp_ablation emp_arms_topology;
extern const emp_ablation emp_arms_modulation;
extern const emp_ablation emp_arms_joint;
/* Methods side by side (arms_methods.c). */
extern const emp_ablation emp_arms_energy;
extern const emp_ablation emp_arms_machines;
extern const emp_ablation emp_arms_families;
extern const emp_ablation emp_arms_earlier;
extern const emp_ablation emp_arms_seconds;
extern const emp_ablation emp_arms_successors;

#endif /* EMP_BENCH_STUDIES_DEFINITIONS_H */
