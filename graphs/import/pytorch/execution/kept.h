/** \file graphs/import/pytorch/execution/kept.h
 * What of the memory that was there before an execution trace is kept from step to step. The trace does not say, and the
 * calls tell (execution.h has the rules).
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_KEPT_H
#define EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_KEPT_H

#include "graphs/import/pytorch/program.h"

/** Gives placeholders their roles. O(nodes + arguments). \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_torch_kept_find(emp_torch_program *program, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_KEPT_H */
