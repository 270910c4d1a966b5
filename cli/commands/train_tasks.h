/** \file cli/commands/train_tasks.h
 * emplace train --tasks: one set of weights, trained on several tasks in turn.
 */
#ifndef EMP_CLI_COMMANDS_TRAIN_TASKS_H
#define EMP_CLI_COMMANDS_TRAIN_TASKS_H

#include "cli/commands/place.h"

/** Trains, writes the weights, and prints a line a task.
 * \retval EMP_EINTERRUPTED  Ctrl-C has ended it; the weights so far are written. */
emp_status cli_train_on_tasks(const cli_place_args *args, emp_error *err);

#endif /* EMP_CLI_COMMANDS_TRAIN_TASKS_H */
