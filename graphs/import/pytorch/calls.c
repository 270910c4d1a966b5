// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/pytorch/program.h"

typedef struct {
    const char *at, *end;
} span;

static bool skip(span *t, const char *prefix)
{
    size_t size = strlen(prefix);

    if ((size_t)(t->end - t->at) < size || memcmp(t->at, prefix, size) != 0) return false;
    t->at += size;
    return true;
}

/* Up to the next "." or "::", which is taken away, too. */
static span cut(span *t)
{
    span part = {t->at, t->at};

    while (part.end < t->end && *part.end != '.' && *part.end != ':') part.end++;
    t->at = part.end;
    if (!skip(t, "::")) (void)skip(t, ".");
    return part;
}

static bool is_word(span t)
{
    for (const char *c = t.at; c < t.end; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    return t.at < t.end && t.end - t.at < EMP_ATEN_NAME_BYTES / 2;
}

static bool is_equal(span t, const char *word)
{
    return (size_t)(t.end - t.at) == strlen(word) &&
           memcmp(t.at, word, (size_t)(t.end - t.at)) == 0;
}

/* Functions of Python work on sizes, which are numbers of the host. */
static bool is_of_python(span space)
{
    return is_equal(space, "_operator") || is_equal(space, "operator") ||
           is_equal(space, "math") || is_equal(space, "builtins");
}

static void describe(emp_aten_op *op, span base)
{
    const emp_op_type *type = op->type;
    bool               is_free = type != NULL && type->work == EMP_WORK_NOTHING;

    op->is_view = is_free && (type->flags & EMP_OP_ALIASES_INPUT) != 0;
    op->is_list = type != NULL && (type->flags & EMP_OP_TAKES_LISTS) != 0;
    op->is_in_place =
        !is_free && base.end - base.at > 1 && base.end[-1] == '_' && base.end[-2] != '_';
    op->is_out =
        strcmp(op->overload, "out") == 0 || emp_text_ends_in(op->overload, "_out");
}

/* "<built-in function getitem>", "<function mul at 0x7f>". */
static bool cut_function(span *t)
{
    if (!skip(t, "<built-in function ") && !skip(t, "<function ")) return false;
    const char *end = t->at;
    while (end < t->end && *end != '>' && *end != ' ') end++;
    t->end = end;
    return true;
}

bool emp_aten_parse(emp_aten_op *op, const char *target, size_t length)
{
    static const char aten[] = "aten";
    span              rest = {target, target + length};
    span              space = {aten, aten + sizeof aten - 1}, base;
    bool              is_python = cut_function(&rest);

    *op = (emp_aten_op){0};
    if (!is_python) {
        (void)skip(&rest, "torch._ops.");
        (void)skip(&rest, "torch.ops.");
    }
    if (rest.at < rest.end && (rest.end[-1] == '.' || rest.end[-1] == ':')) return false;
    base = cut(&rest);
    if (rest.at < rest.end) {
        space = base;
        base = cut(&rest);
    }
    if (!is_word(space) || !is_word(base)) return false;
    if (rest.at < rest.end && rest.end - rest.at < EMP_ATEN_NAME_BYTES)
        snprintf(op->overload, sizeof op->overload, "%.*s", (int)(rest.end - rest.at),
                 rest.at);
    is_python = is_python || is_of_python(space);
    snprintf(op->name, sizeof op->name, "%.*s.%.*s",
             is_python ? (int)strlen("python") : (int)(space.end - space.at),
             is_python ? "python" : space.at, (int)(base.end - base.at), base.at);
    op->is_getitem = is_python && is_equal(base, "getitem");
    op->type = emp_op_type_find(is_python ? "aten.sym_size" : op->name);
    describe(op, base);
    return true;
}

/* Results of a tuple that may be there without a reader. */
enum { UNTAKEN_MAX = 64 };

void emp_torch_calls_clear(emp_torch_calls *calls)
{
    emp_free(calls->op);
    emp_arrays_clear(&calls->arrays);
    *calls = (emp_torch_calls){0};
}

/* ---- arguments ---- */

const emp_torch_value *emp_torch_next_tensor(const emp_torch_program *p,
                                             const emp_torch_node    *node,
                                             emp_torch_walk          *at)
{
    for (; at->argument < node->count; at->argument++, at->item = 0) {
        const emp_torch_value *v = &p->value[node->first + at->argument];
        bool                   is_list = v->kind == EMP_TORCH_LIST;
        int32_t                count = is_list ? v->count : 1;
        while (at->item < count) {
            const emp_torch_value *item = is_list ? &p->value[v->first + at->item] : v;
            at->item++;
            if (item->kind == EMP_TORCH_TENSOR) return item;
        }
    }
    return NULL;
}

const emp_torch_value *emp_torch_next_of_piece(const emp_torch_program *p,
                                               const emp_torch_node    *node,
                                               emp_torch_walk *at, int32_t piece,
                                               int32_t pieces)
{
    if (pieces <= 1) return emp_torch_next_tensor(p, node, at);
    for (; at->argument < node->count; at->argument++, at->item = 0) {
        const emp_torch_value *v = &p->value[node->first + at->argument];
        if (at->item++ > 0) continue; /* it has given its tensor */
        if (v->kind == EMP_TORCH_LIST) {
            if (v->count != pieces || piece >= pieces) continue;
            v = &p->value[v->first + piece];
        }
        if (v->kind == EMP_TORCH_TENSOR) return v;
    }
    return NULL;
}

int32_t emp_torch_list_count(const emp_torch_calls *calls, int32_t node)
{
    const emp_torch_program *p = calls->program;
    const emp_torch_node    *n = &p->node[node];
    const emp_aten_op       *op = calls->op_of[node];

    if (op == NULL || !op->is_list || n->count == 0) return 0;
    const emp_torch_value *list = &p->value[n->first];
    bool                   is_list =
        list->kind == EMP_TORCH_LIST && emp_torch_is_list_of(p, list, EMP_TORCH_TENSOR);
    return is_list ? list->count : 0;
}

/* A fused optimizer takes parameters, gradients and up to three lists of states; steps follow. */
bool emp_torch_writes(const emp_torch_calls *calls, int32_t node, int32_t argument)
{
    static const char  fused[] = "aten._fused_";
    const emp_aten_op *op = calls->op_of[node];

    if (op == NULL || !op->is_in_place) return false;
    if (argument == 0) return true;
    return op->is_list && strncmp(op->name, fused, sizeof fused - 1) == 0 &&
           argument >= 2 && argument <= 4;
}

const emp_torch_value *emp_torch_out(const emp_torch_calls *calls, int32_t node)
{
    const emp_torch_node *n = &calls->program->node[node];

    if (calls->op_of[node] == NULL || !calls->op_of[node]->is_out) return NULL;
    for (int32_t i = 0; i < n->count; i++) {
        const emp_torch_value *v = &calls->program->value[n->first + i];
        if (v->kind == EMP_TORCH_TENSOR && v->key != NULL && strcmp(v->key, "out") == 0)
            return v;
    }
    return NULL;
}

const emp_tensor_info *emp_torch_tensor(const emp_torch_calls *calls,
                                        const emp_torch_value *tensor)
{
    const emp_torch_node *node = &calls->program->node[tensor->node];

    return tensor->result < node->result_count ? &node->result[tensor->result] : NULL;
}

/* ---- names ---- */

static emp_status parse_names(emp_torch_calls *c, emp_error *err)
{
    static const char *const own[] = {"aten.clone", "aten.alias"};
    emp_status               st = EMP_OK;
    const emp_torch_program *p = c->program;
    emp_strmap               number_of = {0};
    int32_t                  capacity = 0;
    int32_t                 *number = EMP_NEW_ARRAY(int32_t, (size_t)p->node_count);

    if (number == NULL) EMP_FAIL(EMP_ENOMEM, "%d calls", p->node_count);
    for (int32_t i = 0; i < p->node_count; i++) {
        const char *target = p->node[i].target;
        number[i] = -1;
        if (p->node[i].what != EMP_TORCH_CALL) continue;
        number[i] = emp_strmap_get(&number_of, target, strlen(target));
        if (number[i] >= 0) continue;
        EMP_TRY(EMP_GROW(c->op, c->op_count + 1, capacity));
        (void)emp_aten_parse(&c->op[c->op_count], target, strlen(target));
        number[i] = c->op_count;
        EMP_TRY(emp_strmap_set(&number_of, target, strlen(target), c->op_count++, err));
    }
    EMP_TRY(EMP_GROW(c->op, c->op_count + 2, capacity));
    for (size_t i = 0; i < 2; i++)
        (void)emp_aten_parse(&c->op[c->op_count + (int32_t)i], own[i], strlen(own[i]));
    c->copy = &c->op[c->op_count];
    c->alias = c->copy + 1;
    for (int32_t i = 0; i < p->node_count; i++) {
        bool is_name = number[i] >= 0 && c->op[number[i]].name[0] != '\0';
        c->op_of[i] = is_name ? &c->op[number[i]] : NULL;
    }

cleanup:
    emp_free(number);
    emp_strmap_clear(&number_of);
    return st;
}

/* ---- tuples ---- */

static void find_getitem(emp_torch_calls *c, int32_t node)
{
    const emp_torch_program *p = c->program;
    const emp_torch_node    *n = &p->node[node];

    c->taken_from[node] = -1;
    if (c->op_of[node] == NULL || !c->op_of[node]->is_getitem || n->count < 2) return;
    const emp_torch_value *from = &p->value[n->first], *index = from + 1;
    if (from->kind != EMP_TORCH_TENSOR || index->kind != EMP_TORCH_INT ||
        index->number < 0 || index->number >= EMP_MAX_OUTPUTS ||
        c->op_of[from->node] == NULL || c->op_of[from->node]->is_getitem)
        return;
    c->taken_from[node] = from->node;
    c->taken[node] = (int32_t)index->number;
}

/* The results of a call are those it states and those that are taken; a result between them that is
 * not taken is unknown and not kept. */
static emp_status grow_results(emp_torch_program *p, int32_t node, int32_t count,
                               int32_t takers, emp_error *err)
{
    emp_torch_node *n = &p->node[node];

    if (count - 1 > UNTAKEN_MAX + 4 * takers)
        return EMP_ERROR(EMP_EFORMAT,
                         "\"%.80s\": result %d is taken, and only %d others are", n->name,
                         count - 1, takers - 1);
    emp_tensor_info *all = emp_arena_alloc(&p->texts, (size_t)count * sizeof *all);
    if (all == NULL) return EMP_ERROR(EMP_ENOMEM, "%d results", count);
    for (int32_t i = 0; i < count; i++)
        all[i] = i < n->result_count
                     ? n->result[i]
                     : (emp_tensor_info){.shape = EMP_SHAPE(0), .dtype = EMP_DTYPE_FLOAT};
    n->result = all;
    n->result_count = count;
    return EMP_OK;
}

static emp_status collect_results(emp_torch_calls *c, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_torch_program *p = c->program;
    int32_t           *needed = EMP_NEW_ARRAY(int32_t, (size_t)p->node_count);
    int32_t           *takers = EMP_NEW_ARRAY(int32_t, (size_t)p->node_count);

    if (needed == NULL || takers == NULL) EMP_FAIL(EMP_ENOMEM, "results of calls");
    for (int32_t i = 0; i < p->node_count; i++) {
        int32_t from = c->taken_from[i];
        if (from < 0) continue;
        takers[from]++;
        if (needed[from] < c->taken[i] + 1) needed[from] = c->taken[i] + 1;
    }
    for (int32_t i = 0; i < p->node_count; i++) {
        if (needed[i] > 0) p->node[i].is_tuple = true;
        if (needed[i] > p->node[i].result_count)
            EMP_TRY(grow_results(p, i, needed[i], takers[i], err));
    }
    for (int32_t i = 0; i < p->node_count; i++) {
        int32_t from = c->taken_from[i];
        if (from >= 0 && p->node[i].result_count > 0)
            p->node[from].result[c->taken[i]] = p->node[i].result[0];
        else if (from >= 0) { /* stated by the call alone */
            p->node[i].result = &p->node[from].result[c->taken[i]];
            p->node[i].result_count = 1;
        }
    }

cleanup:
    emp_free(needed);
    emp_free(takers);
    return st;
}

/* ---- products ---- */

/* Ops that multiply as often as their result says; all else is charged by what it reads. */
static bool needs_results(const emp_aten_op *op)
{
    if (op == NULL || op->type == NULL || op->is_in_place || op->is_out) return false;
    return op->type->part == EMP_PART_FORWARD &&
           (op->type->work == EMP_WORK_PRODUCT || op->type->work == EMP_WORK_CONVOLUTION);
}

/* The first of the two matrices among the tensors of a product that has no other form; -1: of all else. */
static int32_t first_matrix(const emp_aten_op *op)
{
    static const struct {
        const char *name;
        int32_t     first;
    } products[] = {
        {"aten.mm", 0}, {"aten.bmm", 0}, {"aten.addmm", 1}, {"aten.baddbmm", 1}};

    for (size_t i = 0; op != NULL && i < sizeof products / sizeof products[0]; i++)
        if (strcmp(op->name, products[i].name) == 0) return products[i].first;
    return -1;
}

static emp_status check_matrices(const emp_torch_calls *c, int32_t node, emp_error *err)
{
    const emp_torch_node  *n = &c->program->node[node];
    const emp_tensor_info *operand[3] = {NULL};
    char                   text[2][EMP_SHAPE_TEXT_BYTES];
    int32_t                first = first_matrix(c->op_of[node]);
    emp_torch_walk         at = {0};

    if (first < 0) return EMP_OK;
    for (int32_t i = 0; i < first + 2; i++) {
        const emp_torch_value *v = emp_torch_next_tensor(c->program, n, &at);
        operand[i] = v == NULL ? NULL : emp_torch_tensor(c, v);
        if (operand[i] == NULL) return EMP_OK; /* the builder counts operands */
    }
    const emp_shape *a = &operand[first]->shape, *b = &operand[first + 1]->shape;
    if (a->rank < 2 || b->rank < 2 || a->dim[a->rank - 1] == b->dim[b->rank - 2])
        return EMP_OK;
    return EMP_ERROR(
        EMP_EFORMAT, "\"%.80s\": %.40s multiplies %s by %s, whose inner sizes differ",
        n->name, n->target, emp_shape_format(a, text[0]), emp_shape_format(b, text[1]));
}

static emp_status check_product(const emp_torch_calls *c, int32_t node, emp_error *err)
{
    const emp_torch_node *n = &c->program->node[node];

    if (n->result_count == 0 && needs_results(c->op_of[node]))
        return EMP_ERROR(EMP_EFORMAT,
                         "\"%.80s\": %.40s has no \"outputs\", which its FLOPs need; "
                         "state each, as {\"shape\": [32, 10], \"dtype\": \"float32\"}",
                         n->name, n->target);
    return check_matrices(c, node, err);
}

static emp_status check_products(const emp_torch_calls *c, emp_error *err)
{
    emp_problems problems = {0};

    for (int32_t i = 0; i < c->program->node_count; i++) {
        emp_error reason = {0};
        EMP_CHECK(
            emp_problems_add(&problems, check_product(c, i, &reason), &reason, err));
    }
    return emp_problems_report(&problems, err);
}

/* ---- memory ---- */

/* An element of a tuple of views is a view of the call's input. */
static bool hands_on_memory(const emp_torch_calls *c, int32_t node)
{
    const emp_aten_op *op = c->op_of[node];

    if (op == NULL) return false;
    if (op->is_getitem)
        return c->taken_from[node] < 0 || c->op_of[c->taken_from[node]]->is_view;
    return op->is_view || (op->is_in_place && !op->is_list);
}

/* Whether an "out" overload writes memory that is kept from step to step. */
static bool writes_kept(const emp_torch_calls *c, const emp_torch_value *out)
{
    if (out == NULL) return false;
    const emp_torch_node *owner = &c->program->node[c->owner[out->node]];
    return owner->what == EMP_TORCH_PLACEHOLDER && owner->role != EMP_TORCH_INPUT;
}

static void find_owners(emp_torch_calls *c)
{
    const emp_torch_program *p = c->program;

    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_torch_node *n = &p->node[i];
        c->owner[i] = i;
        c->last_reader[i] = -1;
        if (n->what != EMP_TORCH_CALL) continue;
        emp_torch_walk         at = {0};
        const emp_torch_value *v = emp_torch_next_tensor(p, n, &at);
        if (v != NULL && hands_on_memory(c, i)) c->owner[i] = c->owner[v->node];
        if (writes_kept(c, emp_torch_out(c, i)))
            c->owner[i] = c->owner[emp_torch_out(c, i)->node];
        for (; v != NULL; v = emp_torch_next_tensor(p, n, &at))
            c->last_reader[c->owner[v->node]] = i;
    }
}

static emp_status find_readers(emp_torch_calls *c, emp_error *err)
{
    const emp_torch_program *p = c->program;
    int32_t                  edges = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < p->node_count; i++) {
            emp_torch_walk at = {0};
            if (p->node[i].what != EMP_TORCH_CALL) continue;
            for (const emp_torch_value *v;
                 (v = emp_torch_next_tensor(p, &p->node[i], &at)) != NULL;) {
                if (pass == 0)
                    c->reader_offset[v->node + 1]++;
                else
                    c->reader[c->reader_offset[v->node]++] = i;
            }
        }
        if (pass == 1) break;
        for (int32_t i = 0; i < p->node_count; i++)
            c->reader_offset[i + 1] += c->reader_offset[i];
        edges = c->reader_offset[p->node_count];
        c->reader = EMP_ADD_ARRAY(&c->arrays, int32_t, (size_t)edges);
        if (c->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d arguments", edges);
    }
    /* Filling has moved each offset to the next one's place. */
    memmove(c->reader_offset + 1, c->reader_offset,
            (size_t)p->node_count * sizeof(int32_t));
    c->reader_offset[0] = 0;
    return EMP_OK;
}

emp_status emp_torch_calls_init(emp_torch_calls *calls, emp_torch_program *program,
                                emp_error *err)
{
    size_t nodes = (size_t)program->node_count;

    *calls = (emp_torch_calls){.program = program};
    calls->op_of = EMP_ADD_ARRAY(&calls->arrays, const emp_aten_op *, nodes);
    calls->taken_from = EMP_ADD_ARRAY(&calls->arrays, int32_t, nodes);
    calls->taken = EMP_ADD_ARRAY(&calls->arrays, int32_t, nodes);
    calls->owner = EMP_ADD_ARRAY(&calls->arrays, int32_t, nodes);
    calls->last_reader = EMP_ADD_ARRAY(&calls->arrays, int32_t, nodes);
    calls->reader_offset = EMP_ADD_ARRAY(&calls->arrays, int32_t, nodes + 1);
    if (calls->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "calls of %zu nodes", nodes);
    EMP_CHECK(parse_names(calls, err));
    for (int32_t i = 0; i < program->node_count; i++) find_getitem(calls, i);
    EMP_CHECK(collect_results(calls, err));
    if (program->states_results) EMP_CHECK(check_products(calls, err));
    if (program->has_whole_ops) EMP_CHECK(emp_torch_copies_find(calls, err));
    find_owners(calls);
    return find_readers(calls, err);
}
