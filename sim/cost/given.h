/** \file sim/cost/given.h
 * Times that a user brings, in place of predicted ones: a CSV file with the columns `op` and `us`,
 * and perhaps `model`.
 *
 *     op,us,model
 *     encoder/MatMul,812.5,k40
 *     gradients/Mul*,40,k40
 *     type:Relu,11,k40
 *
 * `op` is the name of an op, a pattern of the shell for names, or "type:" and an op type. Of several
 * lines for one op the last counts. `us` are microseconds. `model` is the name of a device model of
 * the machine, or gpu or cpu; without it a line is for GPUs. Lines for models that the machine does
 * not have are skipped.
 *
 * Ops without a line keep their predicted times, multiplied by the geometric mean of given over
 * predicted times on devices of that kind. Costs that a graph states itself are not multiplied.
 */
#ifndef EMP_SIM_COST_GIVEN_H
#define EMP_SIM_COST_GIVEN_H

#include "sim/cost/cost.h"

/** What became of a file. */
typedef struct {
    int32_t line_count;              /**< that are for this machine */
    int32_t skipped_count;           /**< that are for other models */
    int32_t given[EMP_DEVICE_KINDS]; /**< ops whose time is given, by kind of device */
    double factor[EMP_DEVICE_KINDS]; /**< of the others; 1: none was predicted or given */
} emp_given_costs;

/** Puts the times of the file into \a table, which is of that graph, machine and runtime. O(lines
 * ops) where lines are patterns, else O(lines + ops).
 * \retval EMP_EIO      The file cannot be read.
 * \retval EMP_EFORMAT  No such table, or a time that is none; the message names the line.
 * \retval EMP_EUNSUPPORTED  A machine of several models of a kind.
 * \retval EMP_EINVAL   A line for no op of the graph, or no line for this machine. \retval EMP_ENOMEM
 */
emp_status emp_given_costs_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const char *path,
                                 emp_error *err);

#endif /* EMP_SIM_COST_GIVEN_H */
