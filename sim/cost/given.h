/** \file sim/cost/given.h
 * Times that a user brings, in place of predicted ones: a CSV file with the columns `op` and `us`,
 * and perhaps `model`.
 *
 *     op,us,model
 *     encoder/MatMul,812.5,k40
 *     gradients/Mul*,40,k40
 *     type:Relu,11,k40
 *
 * `op` is the name of an op, a pattern of the shell for names, or "type:" and an op type. The last
 * of several lines for one op counts. `us` are microseconds. `model` is the name of a device model of
 * the machine, or gpu or cpu for all models of that kind; without it a line is for GPUs. Lines for
 * models that the machine does not have are skipped.
 *
 * Device models are independent: a model's ops without a line keep their predicted times, multiplied by
 * the geometric mean of given over predicted times on devices of that model. On a CPU these are times of one core, and the
 * runtime's time for an op is neither given nor multiplied. Costs that a graph
 * states itself are not multiplied, nor are ops without a kernel, which take the runtime's time. A column `beside_us` has the
 * time while another device of the computer works, if the machine has one model of GPUs; it is at least `us`. Other columns do not count.
 */
#ifndef EMP_SIM_COST_GIVEN_H
#define EMP_SIM_COST_GIVEN_H

#include "sim/cost/cost.h"

/** The outcome for the ops on a device model. */
typedef struct {
    const char *model;      /**< borrowed from the machine */
    int32_t     given;      /**< ops whose time is given */
    double      given_frac; /**< of the time of all ops that have a kernel, afterwards */
    double
        factor; /**< of the others' predicted times; 1: no time was predicted and given */
} emp_given_column;

/** The outcome of a file: a column for each column of the cost table. */
typedef struct {
    int32_t line_count; /**< that are for this machine */
    int32_t
        skipped_count;    /**< that are for other models, or for ops that are not there */
    int32_t scaled_count; /**< times of the source that ops have on other models */
    int32_t column_count[EMP_DEVICE_KINDS];
    emp_given_column column[EMP_DEVICE_KINDS][EMP_MAX_DEVICES];
} emp_given_costs;

/** The time of one op on the model of a device. */
typedef struct {
    const char   *op; /**< its name, of \a length bytes */
    size_t        length;
    emp_device_id device; /**< -1: none of the machine */
    double        us;
} emp_given_time;

/** The model whose lines of a file count for the GPUs of other models, too. */
typedef struct {
    const char       *model;
    const emp_device *device; /**< a GPU of it */
} emp_given_source;

/** Puts the times of the file into \a table, which is of that graph, machine and runtime. A refused
 * file changes nothing. With \a source (NULL is fine) a line for that model gives ops on GPUs of other models its time,
 * times the ratio of their predicted times on the two; lines for these models come first. O(lines ops models) where lines are patterns, else O((lines + ops) models).
 * \retval EMP_EIO      The file cannot be read.
 * \retval EMP_EFORMAT  No such table, or a time that is none; the message names the line.
 * \retval EMP_EINVAL   A line for no op of the graph, or no line for this machine; or the graph has costs of its own,
 *                      and there is a source. \retval EMP_ENOMEM */
emp_status emp_given_costs_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const char *path,
                                 const emp_given_source *source, emp_error *err);

/** The same with times that were read elsewhere; \a path is for messages. Times of ops or devices that are not there
 * are skipped. O(times + ops models).
 * \retval EMP_EFORMAT  A time that is none. \retval EMP_EINVAL  None of them fits. \retval EMP_ENOMEM */
emp_status emp_given_times_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const emp_given_time *time,
                                 int32_t time_count, const char *path, emp_error *err);

#endif /* EMP_SIM_COST_GIVEN_H */
