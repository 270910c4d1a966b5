// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of loops: control_flow_grad.py. Iteration t of the gradients' loop runs
 * iteration t of the loop backwards. */
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_ops.h"

static emp_tf_grad pass(emp_tf *tf, const char *type, const char *name, emp_tf_grad grad)
{
    return emp_tf_dense(emp_tf_op1(tf, type, name, grad.values));
}

EMP_TF_GRAD(enter) { in[0] = pass(tf, "Exit", NULL, out[0]); }

EMP_TF_GRAD(exit) { in[0] = pass(tf, "Enter", NULL, out[0]); }

/* From iteration to iteration, as forward; Merge and Switch are Identities here too. */
EMP_TF_GRAD(next_iteration)
{
    emp_tf_grad grad = pass(tf, "NextIteration", NULL, out[0]);

    grad = pass(tf, "Identity", "Merge", grad);
    in[0] = pass(tf, "Identity", "Switch", grad);
}
