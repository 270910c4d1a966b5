// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook_internal.h"

#undef NDEBUG
#include <assert.h>

void textbook_take_memory(struct textbook *b, int space, int64_t bytes, emp_op_id op)
{
    b->used[space] += bytes;
    if (bytes > 0 && b->used[space] > b->r->peak_bytes[space])
        b->r->peak_bytes[space] = b->used[space];
    if (bytes > 0 && b->rt->check_memory && b->r->oom_device < 0 &&
        b->used[space] > b->p->machine->device[space].memory_bytes) {
        b->r->oom_device = space;
        b->r->oom_op = op;
        b->r->oom_bytes = bytes;
        b->r->oom_at_ns = b->now;
    }
}

void textbook_new_buffer(struct textbook *b, emp_tensor_id t, int space, int64_t bytes)
{
    struct place *place = place_of(b, t, space);

    place->is_needed = 1;
    place->buffer = NULL;
    if (bytes == 0) return;
    place->buffer = &b->buffers[b->buffer_count++];
    *place->buffer = (struct buffer){rounded(bytes), space, 1};
    textbook_take_memory(b, space, rounded(bytes), b->g->tensor[t].producer);
}

void textbook_share(struct textbook *b, emp_tensor_id t, struct buffer *buffer)
{
    struct place *place = place_of(b, t, home(b, t));

    place->is_needed = 1;
    place->buffer = buffer;
    if (buffer != NULL) buffer->sharers++;
}

static void forget(struct textbook *b, struct place *place)
{
    assert(place->is_needed);
    place->is_needed = 0;
    if (place->buffer != NULL && --place->buffer->sharers == 0) {
        b->used[place->buffer->space] -= place->buffer->bytes;
        assert(b->used[place->buffer->space] >= 0);
    }
}

void textbook_no_longer_read(struct textbook *b, emp_tensor_id t, int space)
{
    struct place *place = place_of(b, t, space);

    assert(place->needed > 0);
    if (--place->needed == 0) forget(b, place);
}

static struct buffer *reusable(struct textbook *b, emp_op_id op, emp_tensor_id output)
{
    for (int i = 0; i < inputs_of(b, op); i++) {
        emp_tensor_id t = input_of(b, op, i);
        if (!is_live_tensor(b, t)) continue;
        struct place *place = place_of(b, t, reads_in(b, op, i));
        if (place->buffer != NULL && place->needed == 1 && place->buffer->sharers == 1 &&
            place->buffer->bytes == rounded(b->g->tensor[output].bytes) &&
            place->buffer->space == home(b, output)) {
            return place->buffer;
        }
    }
    return NULL;
}

static int64_t workspace(const struct textbook *b, emp_op_id op)
{
    return b->rt->events.workspace ? rounded(b->cost[op].workspace) : 0;
}

/* Made by an op that is fused into this one or with it. */
static int is_made_inside(const struct textbook *b, emp_op_id op, emp_tensor_id t)
{
    emp_op_id producer = b->g->tensor[t].producer;

    return is_inner(b, producer) && b->leader[producer] == b->leader[op];
}

void textbook_create_outputs(struct textbook *b, emp_op_id op)
{
    const emp_op *o = &b->g->op[op];

    for (emp_tensor_id t = b->g->output_offset[op]; t < b->g->output_offset[op + 1];
         t++) {
        int            is_first = t == b->g->output_offset[op];
        struct buffer *old = NULL;
        if (is_first && o->is_alias) {
            emp_tensor_id in = input_of(b, op, 0);
            if (!is_live_tensor(b, in)) {
                textbook_share(b, t, NULL);
                continue;
            }
            if (reads_in(b, op, 0) == home(b, t) && !is_made_inside(b, op, in)) {
                textbook_share(b, t, place_of(b, in, home(b, t))->buffer);
                continue;
            }
        }
        if (is_first && (o->flags & EMP_OP_IN_PLACE) && b->rt->events.reuse_inputs)
            old = reusable(b, op, t);
        if (old != NULL) {
            textbook_share(b, t, old);
        } else {
            textbook_new_buffer(b, t, home(b, t), b->g->tensor[t].bytes);
        }
    }
    textbook_take_memory(b, b->device[op], workspace(b, op), op);
}

void textbook_release_inputs(struct textbook *b, emp_op_id op)
{
    textbook_take_memory(b, b->device[op], -workspace(b, op), op);
    for (emp_tensor_id t = b->g->output_offset[op]; t < b->g->output_offset[op + 1];
         t++) {
        if (b->readers[t] == 0) forget(b, place_of(b, t, home(b, t)));
    }
    for (int i = 0; i < inputs_of(b, op); i++) {
        emp_tensor_id t = input_of(b, op, i);
        if (is_live_tensor(b, t)) textbook_no_longer_read(b, t, reads_in(b, op, i));
    }
    for (emp_op_id i = 0; b->led[op] > 0 && i < b->g->op_count; i++)
        if (is_inner(b, i) && b->leader[i] == op) textbook_release_inputs(b, i);
}
