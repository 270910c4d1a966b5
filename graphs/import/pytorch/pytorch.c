// SPDX-License-Identifier: GPL-3.0-or-later
/* Graphs of PyTorch: torch.fx graphs as JSON, archives of torch.export. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/pytorch/program.h"
#include "graphs/import/pytorch/pt2.h"

/* ---- notes of a file ---- */

static void say_how_much_is_known(emp_text *n, const emp_torch_calls *c)
{
    const emp_torch_program *p = c->program;
    int32_t                  unknown = 0;
    const char              *example = "";

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].what != EMP_TORCH_CALL) continue;
        if (c->op_of[i] != NULL && c->op_of[i]->type != NULL) continue;
        if (unknown++ == 0) example = p->node[i].target;
    }
    emp_text_add(n, "A %s of %d node%s, ", p->kind, p->node_count,
                 emp_units_plural(p->node_count));
    if (unknown == 0)
        emp_text_add(n, "all known");
    else
        emp_text_add(n, "%d of unknown ops, which count as element-wise (%.60s%s)",
                     unknown, example, unknown > 1 ? ", ..." : "");
}

static void say_roles(emp_text *n, const emp_torch_roles *r)
{
    emp_text_add(
        n,
        ". It has %d parameter%s, %d state%s of an optimizer, %d buffer%s and %d input%s",
        r->count[EMP_TORCH_PARAMETER], emp_units_plural(r->count[EMP_TORCH_PARAMETER]),
        r->count[EMP_TORCH_STATE], emp_units_plural(r->count[EMP_TORCH_STATE]),
        r->count[EMP_TORCH_BUFFER], emp_units_plural(r->count[EMP_TORCH_BUFFER]),
        r->count[EMP_TORCH_INPUT], emp_units_plural(r->count[EMP_TORCH_INPUT]));
    if (r->by_graph + r->by_name == 0) return;
    emp_text_add(n, "; assumed: %d role%s by what the step gives back, %d by name",
                 r->by_graph, emp_units_plural(r->by_graph), r->by_name);
}

static void say_parameters(emp_text *n, const emp_torch_program *p)
{
    int64_t elements = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].role != EMP_TORCH_PARAMETER || p->node[i].result_count != 1)
            continue;
        int64_t own = emp_shape_elements(&p->node[i].result[0].shape);
        if (__builtin_add_overflow(elements, own, &elements)) elements = INT64_MAX;
    }
    if (p->stated_parameters >= 0 && p->stated_parameters != elements)
        emp_text_add(n,
                     ". The file states %" PRId64 " parameters, and these have %" PRId64,
                     p->stated_parameters, elements);
    emp_text_add(n,
                 p->hides_ties
                     ? ". It was exported on \"meta\", so parameters that share a tensor "
                       "are counted each."
                     : ".");
}

static void say_modules(emp_text *n, const emp_torch_program *p)
{
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->node[i].module != NULL) return;
    emp_text_add(n, " It names no modules, so there is no device_map of it.");
}

/* torch.cond and its like take graphs as operands, which no op of the table stands for. */
static void warn_of_graphs_within(emp_import_notes *notes, const emp_torch_calls *c)
{
    for (int32_t i = 0; i < c->program->node_count; i++) {
        const emp_torch_node *n = &c->program->node[i];
        if (n->what == EMP_TORCH_CALL && strstr(n->target, "higher_order") != NULL &&
            (c->op_of[i] == NULL || c->op_of[i]->type == NULL))
            emp_import_notes_warn(notes,
                                  "%.80s (%.80s) runs a graph of its own, whose work is "
                                  "not counted",
                                  n->name, n->target);
    }
}

/* ---- reading ---- */

static emp_status read_archive(emp_torch_program *program, emp_slice archive,
                               emp_import_notes *notes, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    emp_pt2_weights   weights = {0};
    char             *json = NULL;
    size_t            size = 0;

    EMP_TRY(emp_pt2_unpack(archive.data, archive.size, &json, &size, err));
    EMP_TRY(emp_json_parse(&d, json, size, err));
    EMP_TRY(emp_pt2_weights_read(&weights, archive.data, archive.size, err));
    EMP_TRY(emp_pt2_read(program, d.root, &weights, notes, err));

cleanup:
    emp_pt2_weights_clear(&weights);
    emp_json_clear(&d);
    emp_free(json);
    return st;
}

emp_status emp_pytorch_lower(emp_graph_builder *builder, emp_reading *r,
                             emp_torch_program *program, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    emp_torch_roles roles = {0};
    emp_text        n = {r->devices->note, sizeof r->devices->note, 0};

    EMP_TRY(emp_torch_calls_init(&calls, program, err));
    EMP_TRY(emp_torch_roles_find(&roles, &calls, err));
    EMP_TRY(emp_torch_lower(builder, &calls, &roles, err));
    warn_of_graphs_within(r->notes, &calls);
    say_how_much_is_known(&n, &calls);
    say_roles(&n, &roles);
    say_parameters(&n, program);
    say_modules(&n, program);

cleanup:
    emp_torch_roles_clear(&roles);
    emp_torch_calls_clear(&calls);
    return st;
}

emp_status emp_pytorch_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_torch_program program = {0};
    emp_status        st = r->json != NULL ? emp_fx_json_read(&program, r->json, err)
                                           : read_archive(&program, r->bytes, r->notes, err);

    if (st == EMP_OK) st = emp_pytorch_lower(builder, r, &program, err);
    emp_torch_program_clear(&program);
    return st;
}
