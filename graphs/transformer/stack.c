// SPDX-License-Identifier: GPL-3.0-or-later
/* The elements of a layer's parts: names of its modules, norms, activations, views by heads. */
#include "graphs/transformer/stack.h"

const char *emp_stack_name(emp_stack *s, const char *module)
{
    return emp_tape_join_names(s->t, s->prefix, module);
}

const char *emp_stack_leaf(emp_stack *s, const char *module, const char *leaf)
{
    return emp_tape_join_names(s->t, emp_stack_name(s, module), leaf);
}

emp_port emp_stack_norm(emp_stack *s, const char *name, emp_port x)
{
    emp_norm_kind kind = s->m->norm;

    return emp_tape_norm(s->t, name, kind == EMP_NORM_RMS ? "RMSNorm" : "LayerNorm", x,
                         kind != EMP_NORM_LAYER_BARE, kind == EMP_NORM_LAYER);
}

emp_port emp_stack_activate(emp_stack *s, const char *name, emp_port x)
{
    switch (s->m->activation) {
    case EMP_ACTIVATION_SILU: return emp_tape_map(s->t, name, "Silu", "SiluGrad", x);
    case EMP_ACTIVATION_GELU: return emp_tape_map(s->t, name, "Gelu", "GeluGrad", x);
    case EMP_ACTIVATION_RELU: return emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
    case EMP_ACTIVATION_SQUARED_RELU:
        x = emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
        /* the gradient of a square is a product with twice its argument */
        return emp_tape_map(s->t, emp_tape_join_names(s->t, name, "_square"), "Square",
                            "Mul", x);
    }
    return x;
}

int64_t emp_stack_tokens(const emp_stack *s) { return s->t->step->batch * s->new_tokens; }

emp_port emp_stack_by_heads(emp_stack *s, const char *name, emp_port x, int64_t heads,
                            int64_t size)
{
    return emp_tape_view(s->t, name, x,
                         EMP_SHAPE(s->t->step->batch, s->new_tokens, heads, size));
}
