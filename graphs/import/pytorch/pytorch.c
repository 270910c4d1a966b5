// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/pytorch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "graphs/import/pytorch/fx_json.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/pytorch/pt2.h"

bool emp_pytorch_is(const char *bytes, size_t size)
{
    return emp_fx_json_is(bytes, size) || emp_pt2_is(bytes, size);
}

/* ---- what is said of a file ---- */

typedef struct {
    char  *text;
    size_t size, used;
} note;

EMP_PRINTF_LIKE(2, 3)
static void say(note *n, const char *format, ...)
{
    va_list list;

    if (n->used >= n->size) return;
    va_start(list, format);
    int length = vsnprintf(n->text + n->used, n->size - n->used, format, list);
    va_end(list);
    if (length > 0) n->used += (size_t)length;
}

static void say_how_much_is_known(note *n, const emp_torch_calls *c)
{
    const emp_torch_program *p = c->program;
    int32_t                  unknown = 0;
    const char              *example = "";

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].what != EMP_TORCH_CALL) continue;
        if (c->op_of[i] != NULL && c->op_of[i]->type != NULL) continue;
        if (unknown++ == 0) example = p->node[i].target;
    }
    say(n, "A %s of %d node%s, ", p->kind, p->node_count,
        emp_units_plural(p->node_count));
    if (unknown == 0)
        say(n, "all known");
    else
        say(n, "%d of unknown ops, which count as element-wise (%.60s%s)", unknown,
            example, unknown > 1 ? ", ..." : "");
}

static void say_roles(note *n, const emp_torch_roles *r)
{
    say(n,
        ". It has %d parameter%s, %d state%s of an optimizer, %d buffer%s and %d input%s",
        r->count[EMP_TORCH_PARAMETER], emp_units_plural(r->count[EMP_TORCH_PARAMETER]),
        r->count[EMP_TORCH_STATE], emp_units_plural(r->count[EMP_TORCH_STATE]),
        r->count[EMP_TORCH_BUFFER], emp_units_plural(r->count[EMP_TORCH_BUFFER]),
        r->count[EMP_TORCH_INPUT], emp_units_plural(r->count[EMP_TORCH_INPUT]));
    if (r->by_graph + r->by_name == 0) return;
    say(n, "; assumed: %d role%s by what the step gives back, %d by name", r->by_graph,
        emp_units_plural(r->by_graph), r->by_name);
}

static void say_parameters(note *n, const emp_torch_program *p)
{
    int64_t elements = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].role != EMP_TORCH_PARAMETER || p->node[i].result_count != 1)
            continue;
        int64_t own = emp_shape_elements(&p->node[i].result[0].shape);
        if (__builtin_add_overflow(elements, own, &elements)) elements = INT64_MAX;
    }
    if (p->stated_parameters >= 0 && p->stated_parameters != elements)
        say(n, ". The file states %" PRId64 " parameters, and these have %" PRId64,
            p->stated_parameters, elements);
    say(n, p->hides_ties
               ? ". It was exported on \"meta\", so parameters that share a tensor "
                 "are counted each."
               : ".");
}

static void say_modules(note *n, const emp_torch_program *p)
{
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->node[i].module != NULL) return;
    say(n, " It names no modules, so there is no device_map of it.");
}

/* ---- reading ---- */

static emp_status read_program(emp_torch_program *program, const char *bytes, size_t size,
                               emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    emp_pt2_weights   weights = {0};
    char             *json = NULL;
    size_t            json_size = 0;

    if (emp_pt2_is(bytes, size)) {
        EMP_TRY(emp_pt2_unpack(bytes, size, &json, &json_size, err));
        EMP_TRY(emp_json_parse(&d, json, json_size, err));
        EMP_TRY(emp_pt2_weights_read(&weights, bytes, size, err));
        EMP_TRY(emp_pt2_read(program, d.root, &weights, err));
    } else {
        EMP_TRY(emp_json_parse(&d, bytes, size, err));
        EMP_TRY(emp_fx_json_read(program, d.root, err));
    }

cleanup:
    emp_pt2_weights_clear(&weights);
    emp_json_clear(&d);
    emp_free(json);
    return st;
}

emp_status emp_pytorch_lower(emp_graph_builder *builder, char *text, size_t text_bytes,
                             emp_torch_program *program, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    emp_torch_roles roles = {0};
    note            n = {text, text_bytes, 0};

    text[0] = '\0';
    EMP_TRY(emp_torch_calls_init(&calls, program, err));
    EMP_TRY(emp_torch_roles_find(&roles, &calls, err));
    EMP_TRY(emp_torch_lower(builder, &calls, &roles, err));
    say_how_much_is_known(&n, &calls);
    say_roles(&n, &roles);
    say_parameters(&n, program);
    say_modules(&n, program);

cleanup:
    emp_torch_roles_clear(&roles);
    emp_torch_calls_clear(&calls);
    return st;
}

emp_status emp_pytorch_read(emp_graph_builder *builder, char *text, size_t text_bytes,
                            const char *bytes, size_t size, emp_error *err)
{
    emp_torch_program program = {0};
    emp_status        st = read_program(&program, bytes, size, err);

    if (st == EMP_OK) st = emp_pytorch_lower(builder, text, text_bytes, &program, err);
    emp_torch_program_clear(&program);
    return st;
}
