/** \file graphs/import/pytorch/problems.h
 * What is wrong with a file, all of it at once: as many sentences as a message holds.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PROBLEMS_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PROBLEMS_H

#include <stdint.h>

#include "base/error.h"

enum { EMP_PROBLEMS_SHOWN = 20 };

/** Zero-initialise. */
typedef struct {
    char    text[EMP_ERROR_MSG_BYTES - 64]; /* room for what is said around it */
    int32_t count, shown;
} emp_problems;

/** Takes a failure up if it is one of the file (EMP_EFORMAT) and goes on.
 * \return  EMP_OK, or another failure as it is. */
emp_status emp_problems_add(emp_problems *p, emp_status status, const emp_error *reason,
                            emp_error *err);

/** EMP_OK if there was none; else one message with those that it has room for. */
emp_status emp_problems_report(const emp_problems *p, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PROBLEMS_H */
