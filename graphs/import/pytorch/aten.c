// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/aten.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *at, *end;
} text;

static bool skip(text *t, const char *prefix)
{
    size_t size = strlen(prefix);

    if ((size_t)(t->end - t->at) < size || memcmp(t->at, prefix, size) != 0) return false;
    t->at += size;
    return true;
}

/* Up to the next "." or "::", which is taken away, too. */
static text cut(text *t)
{
    text part = {t->at, t->at};

    while (part.end < t->end && *part.end != '.' && *part.end != ':') part.end++;
    t->at = part.end;
    if (!skip(t, "::")) (void)skip(t, ".");
    return part;
}

static bool is_word(text t)
{
    for (const char *c = t.at; c < t.end; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    return t.at < t.end && t.end - t.at < EMP_ATEN_NAME_BYTES / 2;
}

static bool is_equal(text t, const char *word)
{
    return (size_t)(t.end - t.at) == strlen(word) &&
           memcmp(t.at, word, (size_t)(t.end - t.at)) == 0;
}

/* Functions of Python work on sizes, which are numbers of the host. */
static bool is_of_python(text space)
{
    return is_equal(space, "_operator") || is_equal(space, "operator") ||
           is_equal(space, "math") || is_equal(space, "builtins");
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), size = strlen(suffix);

    return length >= size && strcmp(name + length - size, suffix) == 0;
}

static void describe(emp_aten_op *op, text base)
{
    const emp_op_type *type = op->type;
    bool               is_free = type != NULL && type->work == EMP_WORK_NOTHING;

    op->is_view = is_free && (type->flags & EMP_OP_ALIASES_INPUT) != 0;
    op->is_list = type != NULL && (type->flags & EMP_OP_TAKES_LISTS) != 0;
    op->is_in_place =
        !is_free && base.end - base.at > 1 && base.end[-1] == '_' && base.end[-2] != '_';
    op->is_out = strcmp(op->overload, "out") == 0 || ends_with(op->overload, "_out");
}

/* "<built-in function getitem>", "<function mul at 0x7f>". */
static bool cut_function(text *t)
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
    text              rest = {target, target + length};
    text              space = {aten, aten + sizeof aten - 1}, base;
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
