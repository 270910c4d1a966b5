/** \file sim/problem/decision.h
 * A decision that can be written and is kept: the one noun between methods, files and records.
 *
 * emp_decision (<emplace/problem.h>) is the read-only view that a simulator takes; its arrays
 * are borrowed. An emp_owned_decision has the same arrays, writable, and their number of ops. A
 * method fills it, a placement file is read into it, a record keeps it, and emp_decision_view()
 * shows it to a simulator. A later kind of decision, such as homes of tensors, becomes one more
 * array here and one more bit of emp_decides.
 */
#ifndef EMP_SIM_PROBLEM_DECISION_H
#define EMP_SIM_PROBLEM_DECISION_H

#include "sim/problem/problem.h"

/** The parts of a decision about a step: bits of a mask. */
typedef enum {
    EMP_DECIDES_DEVICES = 1, /**< every method does */
    EMP_DECIDES_ORDER = 2,
    EMP_DECIDES_FUSION = 4,
    EMP_DECIDES_MORE = EMP_DECIDES_ORDER | EMP_DECIDES_FUSION
} emp_decides;

/** In place of a leader that a method proposes: the op joins the set of its readers if that is legal
 * (emp_fusion_legalize()), else it stays by itself. Scoring puts the leader there. */
enum { EMP_JOINS_READERS = -1 };

typedef struct {
    emp_device_id *device_of_op; /**< [op] */
    uint8_t   *level_of_op;  /**< [op] below EMP_LEVELS; NULL: the order is not decided */
    emp_op_id *leader_of_op; /**< [op]; NULL: the fusion is not decided */
    int32_t    op_count;
} emp_owned_decision;

/** A decision among several, and the label that tells it from the others. Borrowed. */
typedef struct {
    const char  *label;
    emp_decision decision;
} emp_labelled_decision;

/** The problem of a decision, as its file says. */
typedef struct {
    char     workload[256], machine[64]; /**< "": not said */
    uint64_t run;         /**< a number of the run that found it; 0: not said */
    double   step_time_s; /**< below 0: it does not fit in memory; NaN: not said */
} emp_decision_origin;

/** Makes room for a decision of \a op_count ops: all on device 0, at level 0, and led by themselves.
 * Clear it afterwards, also after a failure.
 * \param decides  A mask of emp_decides.
 * \retval EMP_ENOMEM */
emp_status emp_decision_init(emp_owned_decision *decision, int32_t op_count,
                             int32_t decides, emp_error *err);
/** Frees the arrays and zeroes the rest. */
void emp_decision_clear(emp_owned_decision *decision);

/** The mask of emp_decides that its arrays make. */
int32_t emp_decision_decides(const emp_owned_decision *decision);

/** The decision as a simulator takes it; borrowed. */
emp_decision emp_decision_view(const emp_owned_decision *decision);

/** Copies the arrays that both have. O(ops). */
void emp_decision_copy(const emp_owned_decision *to, const emp_owned_decision *from);

/** Sets all levels to 0 and has every op lead itself; devices stay. O(ops). */
void emp_decision_reset(const emp_owned_decision *decision);

/** Whether all devices, levels and leaders are such. O(ops). */
bool emp_decision_is_valid(const emp_owned_decision *decision, int32_t device_count);

#endif /* EMP_SIM_PROBLEM_DECISION_H */
