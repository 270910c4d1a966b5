// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/frames.h"

#include <stdio.h>

#include "base/mem.h"

enum { DEPTH_MAX = 64, STEPS_MAX = 4096, OP_BYTES = 256, NAME_BYTES_MAX = 4096 };

/* The budget of inlining: so many bytes for each byte of the file, and these. */
static const int64_t BYTES_FOR_BYTE = 64, BYTES_FREE = INT64_C(1) << 24;

emp_status emp_frames_spend(emp_frames *frames, size_t name_bytes, emp_error *err)
{
    frames->budget -= OP_BYTES + (int64_t)name_bytes;
    if (frames->budget >= 0) return EMP_OK;
    return EMP_ERROR(
        EMP_EUNSUPPORTED,
        "its functions call each other so often that the inlined graph is too "
        "large for its file");
}

/* ---- frames ---- */

static emp_status add_frame(int32_t *out, emp_frames *frames, emp_frame frame,
                            emp_error *err)
{
    EMP_CHECK(EMP_GROW(frames->frame, frames->frame_count + 1, frames->frame_capacity));
    *out = frames->frame_count;
    frames->frame[frames->frame_count++] = frame;
    return EMP_OK;
}

emp_status emp_frames_init(emp_frames *frames, emp_message_file *file, emp_slice graph,
                           int32_t iterations, emp_error *err)
{
    int32_t root;

    *frames = (emp_frames){.iterations = iterations};
    frames->budget = BYTES_FREE + BYTES_FOR_BYTE * (int64_t)file->bytes.size;
    EMP_CHECK(
        emp_functions_read(&frames->functions, &frames->node_count, file, graph, err));
    return add_frame(&root, frames, (emp_frame){.call = -1, .before = -1, .prefix = ""},
                     err);
}

void emp_frames_clear(emp_frames *frames)
{
    for (int32_t i = 0; i < frames->frame_count; i++)
        emp_strmap_clear(&frames->frame[i].calls);
    emp_free(frames->frame);
    emp_free(frames->call);
    emp_functions_clear(&frames->functions);
    emp_arena_clear(&frames->arena);
    *frames = (emp_frames){0};
}

/* Refuses a function that is being called already. */
static emp_status check_recursion(const emp_frames *frames, int32_t frame,
                                  const emp_function *function, emp_error *err)
{
    if (frames->frame[frame].depth >= DEPTH_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "calls are nested more than %d deep",
                         DEPTH_MAX);
    while (frames->frame[frame].call >= 0) {
        if (frames->frame[frame].function == function)
            return EMP_ERROR(
                EMP_EUNSUPPORTED,
                "the function \"%.*s\" calls itself, which cannot be inlined",
                EMP_SLICE_ARG(function->name));
        frame = frames->call[frames->frame[frame].call].frame;
    }
    return EMP_OK;
}

/* A frame of the last call; its ops are in \a part of it, or right in it if that is "". */
static emp_status enter(int32_t *out, emp_frames *frames, emp_slice callee,
                        const char *part, int32_t iteration, int32_t before,
                        emp_error *err)
{
    const emp_call     *call = &frames->call[frames->call_count - 1];
    const emp_frame    *outer = &frames->frame[call->frame];
    const emp_function *function = emp_functions_find(&frames->functions, callee);
    char                prefix[NAME_BYTES_MAX + 1], number[16] = "";

    if (function == NULL)
        return EMP_ERROR(EMP_EFORMAT, "the function \"%.*s\" is not in the library",
                         EMP_SLICE_ARG(callee));
    if (function->has_list)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the function \"%.*s\" takes or gives lists of tensors, which "
                         "cannot be inlined",
                         EMP_SLICE_ARG(callee));
    EMP_CHECK(check_recursion(frames, call->frame, function, err));
    if (iteration > 0) snprintf(number, sizeof number, "_%d", iteration);
    int length = snprintf(prefix, sizeof prefix, "%s%.*s/%s%s%s", outer->prefix,
                          (int)call->name.size, call->name.data, part, number,
                          *part == '\0' ? "" : "/");
    if (length > NAME_BYTES_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "inlined, its names have more than %d bytes",
                         NAME_BYTES_MAX);
    EMP_CHECK(emp_frames_spend(frames, (size_t)length, err));
    char *copy = emp_arena_strndup(&frames->arena, prefix, (size_t)length);
    if (copy == NULL) return EMP_ERROR(EMP_ENOMEM, "a name of %d bytes", length);
    return add_frame(out, frames,
                     (emp_frame){.function = function,
                                 .call = frames->call_count - 1,
                                 .before = before,
                                 .depth = outer->depth + 1,
                                 .prefix = copy},
                     err);
}

/* ---- calls ---- */

static emp_slice callee_of(const emp_function_attr *attr, int32_t count, const char *key)
{
    for (int32_t i = 0; i < count; i++)
        if (emp_slice_is(attr[i].key, key)) return attr[i].callee;
    return (emp_slice){"", 0};
}

static bool is_named(emp_slice type, const char *name)
{
    return emp_slice_is(type, name) ||
           (emp_slice_starts(type, "Stateless") &&
            emp_slice_is((emp_slice){type.data + 9, type.size - 9}, name));
}

static emp_status push_call(emp_frames *frames, emp_call call, emp_error *err)
{
    emp_frame *frame = &frames->frame[call.frame];

    EMP_CHECK(EMP_GROW(frames->call, frames->call_count + 1, frames->call_capacity));
    EMP_CHECK(emp_strmap_set(&frame->calls, call.name.data, call.name.size,
                             frames->call_count, err));
    frames->call[frames->call_count++] = call;
    return EMP_OK;
}

static emp_status enter_branches(emp_frames *frames, const emp_function_attr *attr,
                                 int32_t count, emp_error *err)
{
    int32_t call = frames->call_count - 1, first = 0, last = 0;

    EMP_CHECK(
        enter(&first, frames, callee_of(attr, count, "then_branch"), "then", 0, -1, err));
    EMP_CHECK(
        enter(&last, frames, callee_of(attr, count, "else_branch"), "else", 0, -1, err));
    frames->call[call].first = first;
    frames->call[call].last = last;
    frames->if_count++;
    if (frames->frame[first].function->result_count !=
        frames->frame[last].function->result_count)
        return EMP_ERROR(EMP_EFORMAT,
                         "its two branches give different numbers of results");
    return EMP_OK;
}

static emp_status enter_iterations(emp_frames *frames, const emp_function_attr *attr,
                                   int32_t count, emp_error *err)
{
    emp_slice cond = callee_of(attr, count, "cond"),
              body = callee_of(attr, count, "body");
    int32_t call = frames->call_count - 1, before = -1, test = 0;

    frames->while_count++;
    for (int32_t i = 0; i < frames->iterations; i++) {
        EMP_CHECK(enter(&test, frames, cond, "cond", i, before, err));
        EMP_CHECK(enter(&before, frames, body, "body", i, before, err));
        if (i == 0) frames->call[call].first = before;
    }
    frames->call[call].last = before;
    return EMP_OK;
}

/* Functions that run beside the step, such as input pipelines, stay ops. */
static bool is_beside(emp_slice type)
{
    return emp_slice_has(type, "Dataset") || emp_slice_is(type, "OneShotIterator");
}

static emp_status copy_inputs(emp_call *call, emp_frames *frames,
                              const emp_node_input *input, int32_t count, emp_error *err)
{
    call->input =
        emp_arena_alloc(&frames->arena, ((size_t)count + 1) * sizeof *call->input);
    if (call->input == NULL) return EMP_ERROR(EMP_ENOMEM, "%d inputs", count);
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < count; i++)
            if (input[i].is_control == (pass == 1))
                call->input[call->input_count++] = input[i];
        if (pass == 0) call->data_count = call->input_count;
    }
    return EMP_OK;
}

emp_status emp_frames_add_call(emp_frames *frames, bool *is_call, int32_t frame,
                               emp_slice name, emp_slice type,
                               const emp_function_attr *attr, int32_t attr_count,
                               const emp_node_input *input, int32_t input_count,
                               emp_error *err)
{
    emp_call call = {.kind = EMP_CALL_FUNCTION,
                     .frame = frame,
                     .name = name,
                     .merge = -1,
                     .start = -1,
                     .done = -1};
    bool     is_direct = emp_functions_find(&frames->functions, type) != NULL;
    bool     is_partitioned = emp_slice_is(type, "PartitionedCall") ||
                          emp_slice_is(type, "StatefulPartitionedCall");

    *is_call = false;
    if (is_named(type, "If")) call.kind = EMP_CALL_IF;
    if (is_named(type, "While")) call.kind = EMP_CALL_WHILE;
    if (call.kind == EMP_CALL_FUNCTION && !is_direct && !is_partitioned) {
        if (attr_count == 0 || is_beside(type)) return EMP_OK;
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "its op %.*s calls the function \"%.*s\", and of such calls "
                         "only PartitionedCall, If and While can be inlined",
                         EMP_SLICE_ARG(type), EMP_SLICE_ARG(attr[0].callee));
    }
    *is_call = true;
    EMP_CHECK(emp_frames_spend(frames, (size_t)input_count * sizeof *input, err));
    EMP_CHECK(copy_inputs(&call, frames, input, input_count, err));
    EMP_CHECK(push_call(frames, call, err));
    if (call.kind == EMP_CALL_IF) return enter_branches(frames, attr, attr_count, err);
    if (call.kind == EMP_CALL_WHILE)
        return enter_iterations(frames, attr, attr_count, err);
    emp_call *made = &frames->call[frames->call_count - 1];
    EMP_CHECK(enter(&made->first, frames,
                    is_direct ? type : callee_of(attr, attr_count, "f"), "", 0, -1, err));
    made->last = made->first;
    return EMP_OK;
}

/* ---- inputs ---- */

static int32_t number_of(emp_slice digits)
{
    int32_t number = 0;

    for (size_t i = 0; i < digits.size && number < EMP_MAX_OUTPUTS; i++)
        number = 10 * number + (digits.data[i] - '0');
    return number;
}

static bool is_number(emp_slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    return text.size > 0;
}

/* Cuts the part behind the last colon off, if there is one. */
static bool cut_part(emp_slice *text, emp_slice *part)
{
    for (size_t i = text->size; i > 1; i--) {
        if (text->data[i - 1] != ':') continue;
        *part = (emp_slice){text->data + i, text->size - i};
        text->size = i - 1;
        return true;
    }
    return false;
}

emp_node_input emp_node_input_parse(emp_slice text, bool is_in_function)
{
    emp_node_input input = {.name = text, .output = {"", 0}};
    emp_slice      name = text, part = {"", 0};

    if (text.size > 0 && text.data[0] == '^') {
        input.name = (emp_slice){text.data + 1, text.size - 1};
        input.is_control = true;
        return input;
    }
    if (text.size == 0 || memchr(text.data, ':', text.size) == NULL ||
        !cut_part(&name, &part))
        return input;
    if (is_number(part)) {
        input.name = name;
        input.port = number_of(part);
        if (!is_in_function || !cut_part(&name, &part)) return input;
    } else if (!is_in_function) {
        return input;
    }
    input.name = name;
    input.output = part;
    return input;
}

/* The op of a frame's node of that name; -1 = none. */
static emp_op_id find_op(const emp_frames *frames, const emp_graph_builder *builder,
                         int32_t frame, emp_slice name)
{
    const char *prefix = frames->frame[frame].prefix;
    char        full[2 * NAME_BYTES_MAX + 1];

    if (*prefix == '\0') return emp_graph_builder_find(builder, name.data, name.size);
    if (name.size > NAME_BYTES_MAX) return -1;
    int length = snprintf(full, sizeof full, "%s%.*s", prefix, (int)name.size, name.data);
    return emp_graph_builder_find(builder, full, (size_t)length);
}

bool emp_frames_is_argument(const emp_frames *frames, int32_t frame, emp_node_input input)
{
    const emp_function *f = frames->frame[frame].function;

    return f != NULL && input.output.size == 0 &&
           emp_strmap_get(&f->arg, input.name.data, input.name.size) >= 0;
}

/* Goes from an argument to what the caller gives for it. false: the input is no argument. */
static bool leave(emp_frames *frames, int32_t *frame, emp_node_input *input)
{
    const emp_frame *f = &frames->frame[*frame];

    if (!emp_frames_is_argument(frames, *frame, *input)) return false;
    int32_t position =
        emp_strmap_get(&f->function->arg, input->name.data, input->name.size);
    if (f->before >= 0) {
        const emp_function *before = frames->frame[f->before].function;
        *frame = f->before;
        *input = position < before->result_count
                     ? emp_node_input_parse(before->source[position], true)
                     : (emp_node_input){.name = {"", 0}, .output = {"", 0}};
        return true;
    }
    const emp_call *call = &frames->call[f->call];
    position += call->kind == EMP_CALL_IF; /* behind the condition */
    *frame = call->frame;
    *input = position < call->data_count
                 ? call->input[position]
                 : (emp_node_input){.name = {"", 0}, .output = {"", 0}};
    return true;
}

/* The result of a call that an input means; -1 = none. */
static int32_t result_of(const emp_function *function, const emp_call *call,
                         emp_node_input input)
{
    int32_t position = input.port;

    if (call->kind == EMP_CALL_FUNCTION && input.output.size > 0) {
        int32_t named = emp_function_result(function, input.output);
        if (named >= 0) position = named;
    }
    return position < function->result_count ? position : -1;
}

emp_status emp_frames_resolve(emp_port *out, emp_frames *frames,
                              emp_graph_builder *builder, int32_t frame,
                              emp_node_input input, emp_error *err)
{
    for (int32_t step = 0; step < STEPS_MAX; step++) {
        while (leave(frames, &frame, &input)) continue; /* each goes to a lower frame */
        int32_t i =
            emp_strmap_get(&frames->frame[frame].calls, input.name.data, input.name.size);
        if (i < 0) {
            out->op = find_op(frames, builder, frame, input.name);
            if (out->op < 0) return EMP_ERROR(EMP_EFORMAT, "no node has that name");
            out->index = input.port;
            if (input.output.size > 0) {
                const char *type = emp_graph_builder_type(builder, out->op);
                out->index +=
                    emp_output_offset((emp_slice){type, strlen(type)}, input.output);
            }
            if (out->index >= EMP_MAX_OUTPUTS)
                return EMP_ERROR(EMP_EFORMAT, "no op has an output beyond %d",
                                 EMP_MAX_OUTPUTS - 1);
            return EMP_OK;
        }
        const emp_call     *call = &frames->call[i];
        const emp_function *function = frames->frame[call->last].function;
        int32_t             result = result_of(function, call, input);
        if (result < 0)
            return EMP_ERROR(EMP_EFORMAT, "the function \"%.*s\" has %d results",
                             EMP_SLICE_ARG(function->name), function->result_count);
        if (call->kind == EMP_CALL_IF) {
            *out = (emp_port){call->merge + result, 0};
            return EMP_OK;
        }
        frame = call->last;
        input = emp_node_input_parse(function->source[result], true);
    }
    return EMP_ERROR(EMP_EFORMAT, "its calls pass on each other's results in a circle");
}

/* ---- ops that stand for calls ---- */

static emp_status declare(emp_op_id *op, emp_frames *frames, emp_graph_builder *builder,
                          const emp_call *call, const char *word, int32_t number,
                          const char *type, emp_error *err)
{
    char         name[2 * NAME_BYTES_MAX + 1];
    emp_op_attrs attrs = {0};
    int          length =
        snprintf(name, sizeof name, "%s%.*s/%s", frames->frame[call->frame].prefix,
                 (int)call->name.size, call->name.data, word);

    if (number >= 0)
        length += snprintf(name + length, sizeof name - (size_t)length, "_%d", number);
    EMP_CHECK(emp_frames_spend(frames, (size_t)length, err));
    return emp_graph_builder_declare(builder, name, (size_t)length, type, strlen(type),
                                     &attrs, NULL, 0, op, err);
}

emp_status emp_frames_declare_merges(emp_frames *frames, emp_graph_builder *builder,
                                     int32_t first_call, emp_error *err)
{
    emp_op_id op = -1;

    for (int32_t c = first_call; c < frames->call_count; c++) {
        emp_call *call = &frames->call[c];
        if (call->kind != EMP_CALL_IF) continue;
        call->merge = emp_graph_builder_op_count(builder);
        int32_t results = frames->frame[call->last].function->result_count;
        for (int32_t i = 0; i < results; i++)
            EMP_CHECK(declare(&op, frames, builder, call, "Merge", i, "Merge", err));
    }
    return EMP_OK;
}

emp_status emp_frames_connect_merges(emp_frames *frames, emp_graph_builder *builder,
                                     emp_error *err)
{
    for (int32_t c = 0; c < frames->call_count; c++) {
        const emp_call *call = &frames->call[c];
        emp_port        from, which;
        if (call->kind != EMP_CALL_IF) continue;
        int32_t results = frames->frame[call->last].function->result_count;
        for (int32_t i = 0; i < 2 * results; i++) {
            int32_t branch = i % 2 == 0 ? call->first : call->last;
            EMP_CHECK(emp_frames_resolve(
                &from, frames, builder, branch,
                emp_node_input_parse(frames->frame[branch].function->source[i / 2], true),
                err));
            EMP_CHECK(emp_graph_builder_connect(builder, from, call->merge + i / 2, err));
        }
        if (call->data_count == 0 || results == 0) continue;
        EMP_CHECK(emp_frames_resolve(&which, frames, builder, call->frame, call->input[0],
                                     err));
        EMP_CHECK(emp_graph_builder_add_control(builder, which.op, call->merge, err));
    }
    return EMP_OK;
}

/* Makes "a/done". Calls within the call are met by their own. */
static emp_status make_done(emp_frames *frames, emp_graph_builder *builder, int32_t c,
                            emp_error *err)
{
    emp_port  from;
    emp_op_id done = -1;

    EMP_CHECK(declare(&done, frames, builder, &frames->call[c], "done", -1, "NoOp", err));
    frames->call[c].done = done;
    int32_t frame = frames->call[c].last;
    int32_t other = frames->call[c].kind == EMP_CALL_IF ? frames->call[c].first : frame;
    for (;;) {
        const emp_function *function = frames->frame[frame].function;
        for (int32_t i = 0; i < function->result_count; i++) {
            EMP_CHECK(emp_frames_resolve(&from, frames, builder, frame,
                                         emp_node_input_parse(function->source[i], true),
                                         err));
            EMP_CHECK(emp_graph_builder_add_control(builder, from.op, done, err));
        }
        for (int32_t i = 0; i < function->control_count; i++) {
            emp_slice name = function->control[i];
            if (emp_strmap_get(&function->arg, name.data, name.size) < 0)
                EMP_CHECK(
                    emp_frames_add_control(frames, builder, frame, name, done, err));
        }
        if (frame == other) return EMP_OK;
        frame = other;
    }
}

emp_status emp_frames_add_control(emp_frames *frames, emp_graph_builder *builder,
                                  int32_t frame, emp_slice name, emp_op_id op,
                                  emp_error *err)
{
    emp_port       from;
    emp_node_input input = {.name = name, .output = {"", 0}};
    int32_t        c;

    while (leave(frames, &frame, &input)) {
    }
    c = emp_strmap_get(&frames->frame[frame].calls, input.name.data, input.name.size);
    if (c < 0) {
        EMP_CHECK(emp_frames_resolve(&from, frames, builder, frame, input, err));
        return emp_graph_builder_add_control(builder, from.op, op, err);
    }
    if (frames->call[c].done < 0) EMP_CHECK(make_done(frames, builder, c, err));
    return emp_graph_builder_add_control(builder, frames->call[c].done, op, err);
}

emp_status emp_frames_effects(emp_op_id *op, emp_frames *frames,
                              emp_graph_builder *builder, int32_t frame, emp_slice name,
                              emp_error *err)
{
    int32_t c = emp_strmap_get(&frames->frame[frame].calls, name.data, name.size);

    *op = -1;
    if (c < 0) return EMP_OK;
    const emp_function *first = frames->frame[frames->call[c].first].function;
    const emp_function *last = frames->frame[frames->call[c].last].function;
    if (first->control_count + last->control_count == 0) return EMP_OK;
    if (frames->call[c].done < 0) EMP_CHECK(make_done(frames, builder, c, err));
    *op = frames->call[c].done;
    return EMP_OK;
}

emp_status emp_frames_add_start(emp_frames *frames, emp_graph_builder *builder,
                                int32_t frame, emp_op_id op, emp_error *err)
{
    int32_t   c = frames->frame[frame].call;
    emp_op_id start = -1;

    if (c < 0 || frames->call[c].input_count == frames->call[c].data_count) return EMP_OK;
    if (frames->call[c].start < 0) {
        EMP_CHECK(
            declare(&start, frames, builder, &frames->call[c], "start", -1, "NoOp", err));
        frames->call[c].start = start;
        for (int32_t i = frames->call[c].data_count; i < frames->call[c].input_count; i++)
            EMP_CHECK(emp_frames_add_control(frames, builder, frames->call[c].frame,
                                             frames->call[c].input[i].name, start, err));
    }
    return emp_graph_builder_add_control(builder, frames->call[c].start, op, err);
}
