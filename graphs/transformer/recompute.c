// SPDX-License-Identifier: GPL-3.0-or-later
/* Layers that keep only their input, as torch.utils.checkpoint runs them with use_reentrant=False: when the gradient of a
 * layer's output is there, the ops of its forward pass run again, and the gradients read the copies. Nothing reads a copy that no
 * gradient needs, so that pruning leaves it out, as PyTorch stops a recomputation early. */
#include <string.h>

#include "base/mem.h"
#include "graphs/transformer/tape.h"

void emp_tape_begin_segment(emp_tape *t, emp_port x)
{
    emp_error *err = t->err;

    if (!emp_tape_is_ok(t) || !t->step->recomputes) return;
    emp_tape_fail(t, EMP_GROW(t->segment, t->segment_count + 1, t->segment_capacity));
    if (!emp_tape_is_ok(t)) return;
    t->segment[t->segment_count++] =
        (emp_tape_segment){.first_op = emp_graph_builder_op_count(t->builder),
                           .first_note = t->note_count,
                           .input = x};
}

void emp_tape_end_segment(emp_tape *t)
{
    if (!emp_tape_is_ok(t) || !t->step->recomputes) return;
    emp_tape_segment *s = &t->segment[t->segment_count - 1];
    s->end_op = emp_graph_builder_op_count(t->builder);
    s->end_note = t->note_count;
    if (s->end_note == s->first_note) t->segment_count--; /* a layer that does nothing */
}

/* The copy of what an op of the segment makes, or the port itself. */
static emp_port copy_of(const emp_tape_segment *s, const emp_op_id *copy, emp_port x)
{
    const bool is_inside = x.op >= s->first_op && x.op < s->end_op;

    if (is_inside && copy[x.op - s->first_op] >= 0) x.op = copy[x.op - s->first_op];
    return x;
}

/* Adds an op again. An op that reads no other copy waits for the gradient, because its inputs are there all the time. */
static emp_op_id run_again(emp_tape *t, const emp_tape_segment *s, const emp_op_id *copy,
                           emp_op_id op, emp_op_id gradient)
{
    const emp_graph_builder *b = t->builder;
    const int32_t            count = emp_graph_builder_input_count(b, op);
    emp_port                 in[EMP_TAPE_INPUTS];
    emp_op_id                again = -1;
    bool                     waits = true;

    if (strcmp(emp_graph_builder_type(b, op), "Stream") == 0)
        return emp_tape_stream_back(t, emp_graph_builder_input(b, op, 0)).op;
    for (int32_t i = 0; i < count; i++) {
        const emp_port given = emp_graph_builder_input(b, op, i);
        in[i] = copy_of(s, copy, given);
        waits = waits && in[i].op == given.op;
    }
    const char *name =
        emp_tape_join_names(t, emp_graph_builder_name(b, op), EMP_TAPE_AGAIN);
    if (!emp_tape_is_ok(t)) return -1;
    t->status = emp_graph_builder_add(t->builder, name, emp_graph_builder_type(b, op),
                                      emp_graph_builder_attrs(b, op), in, count,
                                      &gradient, waits ? 1 : 0, &again, t->err);
    return again;
}

static void run_segment_again(emp_tape *t, const emp_tape_segment *s, emp_op_id *copy,
                              emp_op_id gradient)
{
    for (emp_op_id op = s->first_op; op < s->end_op && emp_tape_is_ok(t); op++) {
        const bool is_given = emp_graph_builder_input_count(t->builder, op) == 0;
        copy[op - s->first_op] = is_given ? -1 : run_again(t, s, copy, op, gradient);
    }
}

/* Lets the notes of the segment speak of the copies, which have the gradients that are known so far. */
static void take_copies(emp_tape *t, const emp_tape_segment *s, const emp_op_id *copy)
{
    for (emp_op_id op = s->first_op; op < s->end_op; op++) {
        const emp_op_id again = copy[op - s->first_op];
        if (again >= 0) t->gradient[again] = t->gradient[op];
    }
    for (int32_t i = s->first_note; i < s->end_note; i++) {
        emp_note *note = &t->note[i];
        note->op = copy_of(s, copy, (emp_port){note->op, 0}).op;
        for (int32_t k = 0; k < note->input_count; k++)
            note->input[k] = copy_of(s, copy, note->input[k]);
    }
}

/* The greater of \a last and the number of the op behind a port, if it is a copy in the segment. */
static emp_op_id later(const emp_tape_segment *s, emp_op_id last, emp_port x)
{
    return x.op >= s->end_op && x.op > last ? x.op : last;
}

/* The last copy that a gradient of the note reads; sums, views and casts read none. */
static emp_op_id last_read(const emp_tape_segment *s, const emp_note *note)
{
    emp_op_id last = -1;

    switch (note->kind) {
    case EMP_NOTE_ADD:
    case EMP_NOTE_VIEW:
    case EMP_NOTE_PIECE:
    case EMP_NOTE_SLICE:
    case EMP_NOTE_JOIN:
    case EMP_NOTE_SPREAD:
    case EMP_NOTE_CAST: return -1;
    case EMP_NOTE_SAME:
        if (note->gradient == NULL) return -1; /* of a rotation */
        return later(s, -1,
                     emp_tape_keeps_result(note->gradient) ? (emp_port){note->op, 0}
                                                           : note->input[0]);
    case EMP_NOTE_ATTENTION:
    case EMP_NOTE_ROUTE: last = later(s, -1, (emp_port){note->op, 0}); break;
    default: break;
    }
    for (int32_t i = 0; i < note->input_count; i++) last = later(s, last, note->input[i]);
    return last;
}

/* The gradient of a segment's result, as its ops may read it: behind the last copy that one of them reads, because autograd
 * asks for what a layer keeps before it computes a gradient in it. */
static emp_port behind_copies(emp_tape *t, const emp_tape_segment *s, emp_port gradient)
{
    const emp_note *result = &t->note[s->end_note - 1];
    emp_op_attrs    attrs = {.has_shape = true, .colocation = result->unit};
    emp_op_id       last = -1, gate = -1;

    for (int32_t i = s->first_note; i < s->end_note; i++) {
        const emp_op_id read = last_read(s, &t->note[i]);
        if (read > last) last = read;
    }
    if (last < 0 || !emp_tape_is_ok(t)) return gradient;
    attrs.shape = emp_tape_shape(t, gradient);
    attrs.dtype = emp_graph_builder_output(t->builder, gradient)->dtype;
    const char *name = emp_tape_join_names(t, result->name, "/grad_behind");
    if (!emp_tape_is_ok(t)) return gradient;
    t->status = emp_graph_builder_add(t->builder, name, "View", &attrs, &gradient, 1,
                                      &last, 1, &gate, t->err);
    return emp_tape_is_ok(t) ? (emp_port){gate, 0} : gradient;
}

void emp_tape_recompute(emp_tape *t, const emp_tape_segment *s)
{
    const emp_port gradient = t->gradient[t->note[s->end_note - 1].op];

    if (gradient.op < 0) return; /* nothing that is trained depends on the layer */
    emp_op_id *copy = EMP_NEW_ARRAY(emp_op_id, (size_t)(s->end_op - s->first_op));
    if (copy == NULL) {
        emp_tape_fail(t, emp_error_set(t->err, EMP_ENOMEM, __FILE__, __LINE__,
                                       "copies of %d ops", s->end_op - s->first_op));
        return;
    }
    run_segment_again(t, s, copy, gradient.op);
    emp_tape_grow_gradients(t);
    if (emp_tape_is_ok(t)) {
        take_copies(t, s, copy);
        t->gradient[t->note[s->end_note - 1].op] = behind_copies(t, s, gradient);
    }
    emp_free(copy);
}

void emp_tape_hold_input(emp_tape *t, const emp_tape_segment *s)
{
    emp_op_attrs attrs = {.has_shape = true,
                          .shape = EMP_SHAPE(1),
                          .colocation = t->note[s->first_note].unit};
    emp_op_id    held = -1;

    if (!emp_tape_is_ok(t) || t->gradient[s->input.op].op < 0) return;
    attrs.dtype = emp_graph_builder_output(t->builder, s->input)->dtype;
    const char *name = emp_tape_join_names(t, t->note[s->first_note].name, "/grad_held");
    if (!emp_tape_is_ok(t)) return;
    t->status = emp_graph_builder_add(t->builder, name, "View", &attrs, &s->input, 1,
                                      &t->gradient[s->input.op].op, 1, &held, t->err);
    if (emp_tape_is_ok(t)) emp_graph_builder_set_target(t->builder, held);
}
