// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/notes/notes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { NOTE_BYTES = 512 };

EMP_PRINTF_LIKE(2, 0)
static const char *keep(emp_import_notes *notes, const char *format, va_list arguments)
{
    char text[NOTE_BYTES];

    vsnprintf(text, sizeof text, format, arguments);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f') *c = '?';
    return emp_arena_strndup(&notes->texts, text, strlen(text));
}

EMP_PRINTF_LIKE(4, 0)
static void add(emp_import_notes *notes, const char **list, int32_t *count,
                const char *format, va_list arguments)
{
    if (*count >= EMP_NOTES_MAX) {
        *count += *count < INT32_MAX;
        return;
    }
    const char *text = keep(notes, format, arguments);
    for (int32_t i = 0; text != NULL && i < *count; i++)
        if (list[i] != NULL && strcmp(list[i], text) == 0) return;
    list[(*count)++] = text;
}

#define ADDER(verb, noun)                                                          \
    void emp_import_notes_##verb(emp_import_notes *notes, const char *format, ...) \
    {                                                                              \
        va_list arguments;                                                         \
                                                                                   \
        if (notes == NULL) return;                                                 \
        va_start(arguments, format);                                               \
        add(notes, notes->noun, &notes->noun##_count, format, arguments);          \
        va_end(arguments);                                                         \
    }
ADDER(assume, assumption)
ADDER(warn, warning)
ADDER(problem, problem)

void emp_import_notes_say(emp_import_notes *notes, const char *format, ...)
{
    va_list arguments;

    if (notes == NULL) return;
    va_start(arguments, format);
    notes->what = keep(notes, format, arguments);
    va_end(arguments);
}

emp_status emp_import_notes_check(const emp_import_notes *notes, emp_error *err)
{
    const char *first =
        notes->problem[0] != NULL ? notes->problem[0] : "no memory for it";

    if (notes->problem_count == 0) return EMP_OK;
    if (notes->problem_count == 1) return EMP_ERROR(EMP_EFORMAT, "%s", first);
    return EMP_ERROR(EMP_EFORMAT, "%d problems, the first: %s", notes->problem_count,
                     first);
}

void emp_import_notes_clear(emp_import_notes *notes)
{
    emp_arena_clear(&notes->texts);
    *notes = (emp_import_notes){0};
}

int64_t emp_instance_ns(double ms) { return llround(ms * 1e6); }

int64_t emp_instance_bytes(double bytes) { return llround(bytes); }

emp_status emp_instance_add(emp_graph_builder *b, const char *name, bool is_backward,
                            const char *type, const emp_stated_op *stated, emp_op_id *op,
                            emp_error *err)
{
    char full[EMP_INSTANCE_NAME_BYTES];

    int length =
        snprintf(full, sizeof full, "%s%s", is_backward ? "gradients/" : "", name);
    if (length >= (int)sizeof full)
        return EMP_ERROR(EMP_EFORMAT, "\"%.80s...\" is too long a name of a node", name);
    emp_status st = emp_graph_builder_state(b, full, type, stated, op, err);
    return st == EMP_EINVAL ? EMP_EFORMAT : st;
}

emp_status emp_instance_set_targets(emp_graph *graph, emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_target = EMP_NEW_ARRAY(bool, (size_t)graph->op_count);

    if (is_target == NULL) EMP_FAIL(EMP_ENOMEM, "marks of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t first = graph->output_offset[op], end = graph->output_offset[op + 1];
        is_target[op] = graph->consumer_offset[first] == graph->consumer_offset[end];
    }
    emp_graph_set_targets(graph, is_target);

cleanup:
    emp_free(is_target);
    return st;
}
