/** \file bench/studies/study.h
 * The open questions of the papers, as values: what is asked, and what answers it.
 *
 *     const emp_study *study = emp_study_find("colocation");
 *     if (study->arms != NULL) ... emp_ablation_make(), emp_ablation_print() ...
 *
 * A question is answered by arms that run here, by a measure over placements, or by another command of
 * the program. Where none of them can, the study says why. docs/methods.md has the answers.
 */
#ifndef EMP_BENCH_STUDIES_STUDY_H
#define EMP_BENCH_STUDIES_STUDY_H

#include "bench/studies/ablation.h"
#include "bench/studies/measure.h"

enum { EMP_STUDY_TASKS = 3 };

/** Tasks with few steps or layers, so that a learner's study takes minutes. */
extern const emp_task emp_study_task[EMP_STUDY_TASKS];

/** Arms that answer questions (arms.c). */
extern const emp_ablation emp_arms_colocation, emp_arms_forgetting, emp_arms_constants,
    emp_arms_memory, emp_arms_topology, emp_arms_modulation, emp_arms_joint,
    emp_arms_energy, emp_arms_machines, emp_arms_families, emp_arms_earlier,
    emp_arms_seconds, emp_arms_successors;

enum { EMP_STUDY_QUESTIONS = 26 };

typedef struct {
    const char         *name;     /**< "colocation" */
    const char         *question; /**< ends with a question mark */
    const char         *paper;    /**< that leaves it open: "HDP" */
    const emp_ablation *arms;     /**< OPTIONAL. Runs that answer it */
    const emp_measure  *measure;  /**< OPTIONAL. A measure that does, in place of arms */
    const char *command; /**< OPTIONAL. A command that does, or that belongs to it */
    const char *missing; /**< OPTIONAL. The part that is not answered, as a sentence */
} emp_study;

/** The place of the question in docs/methods.md, from 1. */
int32_t emp_study_number(const emp_study *study);

/** The study of that position, in the order of questions; NULL past the last one. */
const emp_study *emp_study_at(int32_t index);

/** The study of that name; NULL = there is none. */
const emp_study *emp_study_find(const char *name);

/** The question with its number and paper, as a sentence for people. \return \a text */
const char *emp_study_title(const emp_study *study, char text[EMP_ERROR_MSG_BYTES]);

#endif /* EMP_BENCH_STUDIES_STUDY_H */
