/** \file sim/problem/fusion.h
 * Ops that run as one kernel: which ops may fuse, and what a fused set costs.
 *
 * A decision names a leader for each op (emp_decision). Ops of one leader are a *set*; the leader
 * is the last of them, and the kernel of the set runs in its place. All other members are
 * *inner*: their outputs are read inside the set only and never reach memory.
 *
 * A set is legal if
 *
 *  1. all members are on one device, and they are at most EMP_FUSION_MOST;
 *  2. every op that reads an inner member is in the set, and no control edge leaves an inner member.
 *     So no cycle can arise, and nothing is computed twice;
 *  3. inner members wait for something, are not fetched, and are element-wise, movement, an alias
 *     or a product; the leader may also be a reduction or a norm;
 *  4. a set with a product has no other product, nothing feeds the product, and all other
 *     members are element-wise or aliases;
 *  5. no member has state, references, tensors in host memory, or a part in control flow.
 *
 * The cost of a set is computed as for one op: sim/cost/cost.h with the product of the set, the bytes that
 * cross its border, the sum of its members' cycles, and as many kernels as the member that has the
 * most. A tensor that several members read crosses the border once for each. The set is issued,
 * or handed to a CPU's cores, once. A set of one op costs what the op costs. All this is by the model
 * of the device that the set is on, its number formats and its time_factor included; times that a
 * user gives (sim/cost/given.h) are not asked.
 *
 * Source: the rules are our own. XLA's loop fusion and Grappler's remapper are their models.
 *
 * Threads. An emp_fusion is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_PROBLEM_FUSION_H
#define EMP_SIM_PROBLEM_FUSION_H

#include "sim/problem/problem.h"

enum { EMP_FUSION_MOST = 64 };

typedef struct emp_fusion emp_fusion;

/** Creates the facts about the ops of \a problem, which is borrowed. O(V + E).
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_ENOMEM  And as emp_fusion_check_problem(). */
emp_status emp_fusion_create(emp_fusion **out, const emp_problem *problem,
                             emp_error *err);
void       emp_fusion_destroy(emp_fusion *fusion); /**< NULL is allowed. */

/** Makes wishes legal. An op that leads itself stays by itself. Any other joins the set of its readers
 * if that is legal, else leads itself; the later ops are asked first. Legal leaders stay.
 * \param device_of_op  [op], legal.
 * \param[in,out] leader_of_op  [op], any numbers. O(V + E). */
void emp_fusion_legalize(emp_fusion *fusion, const emp_device_id *device_of_op,
                         emp_op_id *leader_of_op);

/** \retval EMP_EINVAL  A leader is no op, or a set is not legal; the message names the op and what
 *                     is against it. O(V + E). */
emp_status emp_fusion_check(emp_fusion *fusion, const emp_device_id *device_of_op,
                            const emp_op_id *leader_of_op, emp_error *err);

/** Fills \a cost as for an op which does the work of all members of a set on a GPU.
 * \param member        [count] ops of the set, the leader last.
 * \param leader_of_op  [op], legal.
 * \return The product of the set, for emp_cost_on_gpu(); the leader if there is none. O(edges of the
 *         members). */
emp_op_id emp_fusion_cost(const emp_fusion *fusion, const emp_op_id *member,
                          int32_t count, const emp_op_id *leader_of_op,
                          emp_op_cost *cost);

/** The same on a CPU, whose products count only FLOPs: the cycles of others become so many. */
emp_op_cost emp_fusion_cost_on_cpu(const emp_op_cost *cost, const emp_device *cpu);

#endif /* EMP_SIM_PROBLEM_FUSION_H */
