/** \file bench/studies/study.h
 * The open questions of the papers, as values: what is asked, and what answers it.
 *
 *     const emp_study *study = emp_study_find("colocation");
 *     if (study->arms != NULL) ... emp_ablation_make(), emp_ablation_print() ...
 *
 * A question is answered by arms that run here, by a measure over placements, or by another command of
 * the program. Where none of them can, the study says why. docs/questions.md has the answers.
 */
#ifndef EMP_BENCH_STUDIES_STUDY_H
#define EMP_BENCH_STUDIES_STUDY_H

#include "bench/studies/ablation.h"
#include "bench/studies/measure.h"

enum { EMP_STUDY_QUESTIONS = 26 };

typedef struct {
    const char         *name;     /**< "colocation" */
    int32_t             number;   /**< place in docs/questions.md, from 1 */
    const char         *question; /**< ends with a question mark */
    const char         *paper;    /**< that leaves it open: "HDP" */
    const emp_ablation *arms;     /**< OPTIONAL. Runs that answer it */
    const emp_measure  *measure;  /**< OPTIONAL. A measure that does, in place of arms */
    const char *command; /**< OPTIONAL. A command that does, or that belongs to it */
    const char *missing; /**< OPTIONAL. What is not answered, as a sentence */
} emp_study;

/** The study of that position, in the order of questions; NULL past the last one. */
const emp_study *emp_study_at(int32_t index);

/** The study of that name; NULL = there is none. */
const emp_study *emp_study_find(const char *name);

/** The question with its number and paper, as a sentence for people. \return \a text */
const char *emp_study_title(const emp_study *study, char text[EMP_ERROR_MSG_BYTES]);

#endif /* EMP_BENCH_STUDIES_STUDY_H */
