// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdarg.h>
#include <stdio.h>

#include "graphs/import/hlo/module.h"

enum { DEPTH_MAX = 16, SHOWN_BYTES = 40 };

/* Kinds of characters. */
enum { BLANK = 1, OF_NAME = 2, OPENS = 4, CLOSES = 8, QUOTE = 16, ENDS = 32, SLASH = 64 };
#define FIVE(c)                                                                   \
    [c] = OF_NAME, [(c) + 1] = OF_NAME, [(c) + 2] = OF_NAME, [(c) + 3] = OF_NAME, \
    [(c) + 4] = OF_NAME
static const unsigned char kinds[256] = {
    FIVE('a'),       FIVE('f'),       FIVE('k'),
    FIVE('p'),       FIVE('u'),       ['z'] = OF_NAME,
    FIVE('A'),       FIVE('F'),       FIVE('K'),
    FIVE('P'),       FIVE('U'),       ['Z'] = OF_NAME,
    FIVE('0'),       FIVE('5'),       ['_'] = OF_NAME,
    ['.'] = OF_NAME, ['-'] = OF_NAME, ['$'] = OF_NAME,
    [' '] = BLANK,   ['\t'] = BLANK,  ['\n'] = BLANK | ENDS,
    ['\v'] = BLANK,  ['\f'] = BLANK,  ['\r'] = BLANK,
    [','] = ENDS,    ['('] = OPENS,   ['['] = OPENS,
    ['{'] = OPENS,   [')'] = CLOSES,  [']'] = CLOSES,
    ['}'] = CLOSES,  ['"'] = QUOTE,   ['/'] = SLASH};

static unsigned kind_of(char c) { return kinds[(unsigned char)c]; }

static bool is_of_name(char c) { return kind_of(c) & OF_NAME; }

/* Steps to the next character of one of these kinds. */
static void find(emp_hlo_text *t, unsigned wanted)
{
    while (t->at < t->end && !(kind_of(*t->at) & wanted)) t->at++;
}

/* Behind "begin", to the end of "end" or of the text. */
static void skip_comment(emp_hlo_text *t, const char *end)
{
    size_t size = strlen(end);

    while (t->at < t->end &&
           !((size_t)(t->end - t->at) >= size && memcmp(t->at, end, size) == 0))
        t->at++;
    t->at = (size_t)(t->end - t->at) > size ? t->at + size : t->end;
}

static void skip_blanks(emp_hlo_text *t)
{
    while (t->at < t->end && (kind_of(*t->at) & (BLANK | SLASH))) {
        const char next = t->end - t->at < 2 ? '\0' : t->at[1];
        if (*t->at != '/')
            t->at++;
        else if (next == '*')
            skip_comment(t, "*/");
        else if (next == '/')
            skip_comment(t, "\n");
        else
            return;
    }
}

static inline void skip(emp_hlo_text *t)
{
    if (t->at < t->end && (kind_of(*t->at) & (BLANK | SLASH))) skip_blanks(t);
}

/* "line 3: "add" stands where ... should stand". \retval EMP_EFORMAT */
static emp_status hlo_text_fail(emp_hlo_text *t, const char *wanted, emp_error *err)
{
    skip(t);
    const char *stop = t->at;
    while (stop < t->end && *stop != '\n' && stop - t->at < SHOWN_BYTES) stop++;
    int32_t line = emp_hlo_line(t->m, t->at);
    if (t->at == t->end)
        return EMP_ERROR(EMP_EFORMAT, "line %d: the file ends where %s should stand",
                         line, wanted);
    return EMP_ERROR(EMP_EFORMAT, "line %d: \"%.*s\" stands where %s should stand", line,
                     (int)(stop - t->at), t->at, wanted);
}

static bool hlo_text_ends(emp_hlo_text *t)
{
    skip(t);
    return t->at == t->end;
}

bool emp_hlo_text_is(emp_hlo_text *t, char c)
{
    skip(t);
    return t->at < t->end && *t->at == c;
}

bool emp_hlo_text_take(emp_hlo_text *t, char c)
{
    bool is = emp_hlo_text_is(t, c);

    t->at += is;
    return is;
}

bool emp_hlo_text_word(emp_hlo_text *t, const char *word)
{
    size_t size = strlen(word);

    skip(t);
    size_t left = (size_t)(t->end - t->at);
    if (left < size || memcmp(t->at, word, size) != 0 ||
        (is_of_name(word[size - 1]) && left > size && is_of_name(t->at[size])))
        return false;
    t->at += size;
    return true;
}

static bool hlo_text_name(emp_hlo_text *t, emp_slice *name)
{
    skip(t);
    if (t->at < t->end && *t->at == '%') t->at++;
    const char *begin = t->at;
    while (t->at < t->end && is_of_name(*t->at)) t->at++;
    *name = (emp_slice){begin, (size_t)(t->at - begin)};
    return name->size > 0;
}

static const char *find_quote(const char *at, const char *end)
{
    const char *quote = at == end ? NULL : memchr(at, '"', (size_t)(end - at));

    return quote != NULL ? quote : end;
}

static void skip_quotes(emp_hlo_text *t)
{
    const char *quote = find_quote(++t->at, t->end), *escape;

    while (quote > t->at &&
           (escape = memchr(t->at, '\\', (size_t)(quote - t->at))) != NULL) {
        t->at = t->end - escape > 2 ? escape + 2 : t->end;
        if (t->at > quote) quote = find_quote(t->at, t->end);
    }
    t->at = quote < t->end ? quote + 1 : t->end;
}

/* Steps over one character, or over a text in quotes; sums brackets that it opens. */
static void step(emp_hlo_text *t, int64_t *depth)
{
    const unsigned kind = kind_of(*t->at);

    if (kind == QUOTE) {
        skip_quotes(t);
        return;
    }
    *depth += (kind == OPENS) - (kind == CLOSES);
    t->at++;
}

bool emp_hlo_text_bracket(emp_hlo_text *t, emp_slice *inside)
{
    const char *begin = t->at + 1;
    int64_t     depth = 0;

    do {
        find(t, OPENS | CLOSES | QUOTE);
        if (t->at == t->end) return false;
        step(t, &depth);
    } while (depth > 0);
    *inside = (emp_slice){begin, (size_t)(t->at - 1 - begin)};
    return true;
}

static bool hlo_text_pair(emp_hlo_text *t, emp_slice *key, emp_slice *value)
{
    int64_t depth = 0;

    if (!hlo_text_name(t, key) || !emp_hlo_text_take(t, '=')) return false;
    const char *begin = t->at;
    for (;;) {
        find(t, depth == 0 ? OPENS | CLOSES | QUOTE | ENDS : OPENS | CLOSES | QUOTE);
        if (t->at == t->end || (depth == 0 && (kind_of(*t->at) & (CLOSES | ENDS)))) break;
        step(t, &depth);
    }
    size_t size = (size_t)(t->at - begin);
    while (size > 0 && (kind_of(begin[size - 1]) & BLANK)) size--;
    *value = (emp_slice){begin, size};
    return size > 0 && depth == 0;
}

/* Steps over the lines of a table of source files, which begin with numbers, behind its title. An empty
 * table has none. False: what follows the title is no table. */
static bool hlo_text_skip_table(emp_hlo_text *t, emp_slice title)
{
    static const char *const titles[] = {"FileNames", "FunctionNames", "FileLocations",
                                         "StackFrames"};
    bool                     is_known = false;

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        is_known = is_known || emp_slice_is(title, titles[i]);
    skip(t);
    bool has_lines = t->at < t->end && *t->at >= '0' && *t->at <= '9';
    if (!has_lines)
        return is_known && !emp_hlo_text_is(t, '{') && !emp_hlo_text_is(t, '(');
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        while (t->at < t->end && *t->at != '\n') t->at++;
        skip(t);
    }
    return true;
}

/* ---- shapes ---- */

static bool is_number_type(emp_slice name, emp_dtype *dtype)
{
#define TYPE(name, dtype)             \
    {                                 \
        sizeof(name) - 1, name, dtype \
    }
    static const struct {
        size_t      size;
        const char *name;
        emp_dtype   dtype;
    } known[] = {
        TYPE("f32", EMP_DTYPE_FLOAT),
        TYPE("bf16", EMP_DTYPE_BFLOAT16),
        TYPE("f16", EMP_DTYPE_HALF),
        TYPE("s32", EMP_DTYPE_INT32),
        TYPE("pred", EMP_DTYPE_BOOL),
        TYPE("u8", EMP_DTYPE_UINT8),
        TYPE("s8", EMP_DTYPE_INT8),
        TYPE("u32", EMP_DTYPE_UINT32),
        TYPE("s64", EMP_DTYPE_INT64),
        TYPE("u64", EMP_DTYPE_UINT64),
        TYPE("f64", EMP_DTYPE_DOUBLE),
        TYPE("s16", EMP_DTYPE_INT16),
        TYPE("u16", EMP_DTYPE_UINT16),
        TYPE("c64", EMP_DTYPE_COMPLEX64),
        TYPE("c128", EMP_DTYPE_COMPLEX128),
        TYPE("f8e5m2", EMP_DTYPE_FLOAT8_E5M2),
        TYPE("f8e4m3fn", EMP_DTYPE_FLOAT8_E4M3),
        /* a byte each, also where XLA packs them */
        TYPE("f8e4m3", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e4m3b11fnuz", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e4m3fnuz", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e5m2fnuz", EMP_DTYPE_FLOAT8_E5M2),
        TYPE("f8e3m4", EMP_DTYPE_UINT8),
        TYPE("f8e8m0fnu", EMP_DTYPE_UINT8),
        TYPE("f4e2m1fn", EMP_DTYPE_UINT8),
        TYPE("s4", EMP_DTYPE_INT8),
        TYPE("u4", EMP_DTYPE_UINT8),
        TYPE("s2", EMP_DTYPE_INT8),
        TYPE("u2", EMP_DTYPE_UINT8),
        TYPE("s1", EMP_DTYPE_INT8),
        TYPE("u1", EMP_DTYPE_UINT8),
        /* no data */
        TYPE("token", EMP_DTYPE_NONE),
        TYPE("opaque", EMP_DTYPE_NONE),
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (name.size == known[i].size &&
            memcmp(name.data, known[i].name, name.size) == 0) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
#undef TYPE
}

/* Whether a shape comes next, rather than a name. */
static bool hlo_text_is_shape(emp_hlo_text *t)
{
    skip(t);
    emp_hlo_text ahead = *t;
    emp_slice    name;

    if (ahead.at < ahead.end && *ahead.at == '(') return true;
    if (ahead.at < ahead.end && *ahead.at == '%') return false;
    return hlo_text_name(&ahead, &name) && ahead.at < ahead.end && *ahead.at == '[';
}

static void read_size(emp_slice text, emp_hlo_shape *shape, emp_shape *sizes)
{
    int64_t size = emp_hlo_number(text, -1);

    if (text.data[0] == '<' || text.data[0] == '?')
        shape->problem = "has a dynamic size, and sizes must be numbers";
    else if (size < 0)
        shape->problem = "has a size that is no whole number of up to 18 digits";
    else if (sizes->rank == EMP_MAX_RANK)
        shape->problem = "has more than 8 dimensions, which is the most that is read";
    else
        sizes->dim[sizes->rank++] = size;
}

/* f32[2,3]{1,0:T(8,128)} */
static emp_status read_tensor(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err)
{
    emp_tensor_info info;
    emp_slice       name, inside, size;

    memset(&info, 0,
           sizeof info); /* the shape of a scalar; equal ones have equal bytes */

    if (!hlo_text_name(t, &name) || t->at == t->end || *t->at != '[')
        return hlo_text_fail(t, "a shape such as f32[2,3]", err);
    if (!is_number_type(name, &info.dtype))
        shape->problem = "is of an element type that is not known";
    if (!emp_hlo_text_bracket(t, &inside))
        return hlo_text_fail(t, "a bracket that is closed", err);
    while (emp_hlo_next_item(&inside, &size)) read_size(size, shape, &info.shape);
    if (t->at < t->end && *t->at == '{' && !emp_hlo_text_bracket(t, &inside))
        return hlo_text_fail(t, "a layout that is closed", err);
    EMP_CHECK(EMP_HLO_GROW(m, tensor));
    m->tensor[m->tensor_count] = emp_hlo_keep_tensor(m, &info);
    if (m->tensor[m->tensor_count] == NULL)
        return EMP_ERROR(EMP_ENOMEM, "shapes of %d tensors", m->tensor_count);
    m->tensor_count++;
    shape->tensor_count++;
    return EMP_OK;
}

static emp_status add_part(emp_hlo_module *m, emp_hlo_shape *shape, emp_error *err)
{
    EMP_CHECK(EMP_HLO_GROW(m, part));
    m->part[m->part_count++] = shape->tensor_count;
    shape->part_count++;
    return EMP_OK;
}

/* Tuples in tuples, without recursion: parts belong to the outermost one. */
static emp_status hlo_text_shape(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                                 emp_error *err)
{
    int32_t depth = 0;

    *shape = (emp_hlo_shape){.first_tensor = m->tensor_count,
                             .first_part = m->part_count,
                             .is_tuple = emp_hlo_text_is(t, '(')};
    do {
        if (depth == 1 && !emp_hlo_text_is(t, ')')) EMP_CHECK(add_part(m, shape, err));
        if (emp_hlo_text_take(t, '(')) {
            if (++depth > DEPTH_MAX)
                return hlo_text_fail(t, "at most 16 tuples in each other", err);
            if (!emp_hlo_text_is(t, ')')) continue;
        } else {
            EMP_CHECK(read_tensor(t, m, shape, err));
        }
        while (depth > 0 && emp_hlo_text_take(t, ')')) depth--;
        if (depth > 0 && !emp_hlo_text_take(t, ','))
            return hlo_text_fail(t, "\",\" or \")\" in a tuple", err);
    } while (depth > 0);
    return EMP_OK;
}

/* Forgets the shape that was read last. */
static void hlo_shape_drop(emp_hlo_module *m, const emp_hlo_shape *shape)
{
    m->tensor_count = shape->first_tensor;
    m->part_count = shape->first_part;
}

enum { NAME_BYTES_MAX = 1024, OPCODE_BYTES_MAX = 48, PARAMETERS_MAX = 1 << 24 };

typedef struct {
    emp_hlo_module   *m;
    emp_import_notes *notes;
    emp_hlo_text      text;
    emp_strmap        index_of_name; /* of the computation that is read */
} reader;

/* Problems of an instruction: one sentence, and it is broken. */
#define BROKEN(r, i, ...)             \
    do {                              \
        note_problem(r, __VA_ARGS__); \
        (i)->is_broken = true;        \
    } while (0)

EMP_PRINTF_LIKE(2, 3)
static void note_problem(reader *r, const char *format, ...)
{
    char    reason[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (r->notes->problem_count >= EMP_NOTES_MAX)
        emp_import_notes_problem(r->notes, "%s", reason);
    else
        emp_import_notes_problem(r->notes, "line %d: %s", emp_hlo_line(r->m, r->text.at),
                                 reason);
}

/* ---- attributes ---- */

static emp_status read_attributes(reader *r, int32_t *first, int32_t *count,
                                  emp_error *err)
{
    emp_hlo_module *m = r->m;
    emp_slice       key, value;

    *first = r->m->attr_count;
    while (emp_hlo_text_take(&r->text, ',')) {
        if (!hlo_text_pair(&r->text, &key, &value))
            return hlo_text_fail(&r->text, "an attribute such as index=0", err);
        EMP_CHECK(EMP_HLO_GROW(m, attr));
        m->attr[m->attr_count++] =
            (emp_hlo_attr){(uint32_t)(key.data - m->begin), (uint32_t)key.size,
                           (uint32_t)(value.data - m->begin), (uint32_t)value.size};
    }
    *count = m->attr_count - *first;
    return EMP_OK;
}

/* ---- instructions ---- */

static emp_status add_operand(reader *r, emp_hlo_instruction *i, emp_slice name,
                              emp_error *err)
{
    int32_t index = emp_strmap_get(&r->index_of_name, name.data, name.size);

    if (index < 0) {
        if (!i->is_broken)
            BROKEN(r, i, "%.*s reads \"%.*s\", which no instruction before it makes",
                   EMP_SLICE_ARG(i->name), EMP_SLICE_ARG(name));
        return EMP_OK;
    }
    if (r->m->instruction[index].is_broken) i->is_broken = true;
    EMP_CHECK(EMP_HLO_GROW(r->m, operand));
    r->m->operand[r->m->operand_count++] = index;
    i->operand_count++;
    return EMP_OK;
}

/* "f32[2]{0} %a, (f32[2], s32[]) %b" or "%a, %b"; the opening parenthesis is taken. */
static emp_status read_operands(reader *r, emp_hlo_instruction *i, emp_error *err)
{
    emp_hlo_shape shape;
    emp_slice     name;

    i->first_operand = r->m->operand_count;
    while (!emp_hlo_text_take(&r->text, ')')) {
        if (hlo_text_is_shape(&r->text)) {
            EMP_CHECK(hlo_text_shape(&r->text, r->m, &shape, err));
            hlo_shape_drop(r->m, &shape);
        }
        if (!hlo_text_name(&r->text, &name))
            return hlo_text_fail(&r->text, "the name of an operand", err);
        EMP_CHECK(add_operand(r, i, name, err));
        (void)emp_hlo_text_take(&r->text, ',');
    }
    return EMP_OK;
}

static emp_status add_parameter(reader *r, emp_hlo_instruction *i, emp_hlo_computation *c,
                                emp_slice number, emp_error *err)
{
    int64_t at = emp_hlo_number(number, -1);

    i->number = at < 0 || at > PARAMETERS_MAX ? -1 : (int32_t)at;
    if (i->number < 0) {
        BROKEN(r, i, "%.*s is parameter \"%.*s\", which is no number up to %d",
               EMP_SLICE_ARG(i->name), EMP_SLICE_ARG(number), PARAMETERS_MAX);
        return EMP_OK;
    }
    EMP_CHECK(EMP_HLO_GROW(r->m, parameter));
    r->m->parameter[r->m->parameter_count++] = r->m->instruction_count;
    c->parameter_count++;
    return EMP_OK;
}

/* The instructions of control-predecessors={%a, %b}. */
static emp_status add_controls(reader *r, emp_hlo_instruction *i, emp_error *err)
{
    emp_slice list = emp_hlo_text_of(r->m, i, "control-predecessors"), name;

    while (emp_hlo_next_item(&list, &name)) {
        int32_t index = emp_strmap_get(&r->index_of_name, name.data, name.size);
        if (index < 0) continue;
        EMP_CHECK(EMP_HLO_GROW(r->m, operand));
        r->m->operand[r->m->operand_count++] = index;
        i->control_count++;
    }
    return EMP_OK;
}

static const char *key_of_called(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    switch (emp_hlo_op(m, i)->what) {
    case EMP_HLO_FUSION: return "calls";
    case EMP_HLO_CALL:
        return emp_hlo_attr_of(m, i, "calls").size > 0 ? "calls" : "to_apply";
    case EMP_HLO_WHILE: return "body";
    default: return NULL;
    }
}

static void find_called(reader *r, emp_hlo_instruction *i)
{
    const char *key = key_of_called(r->m, i);
    emp_slice   name;

    i->called = -1;
    if (key == NULL) return;
    emp_slice list = emp_hlo_text_of(r->m, i, key);
    (void)emp_hlo_next_item(&list, &name);
    i->called = emp_hlo_find(r->m, name);
    if (i->called < 0 && !i->is_broken)
        BROKEN(r, i, "%.*s has %s=\"%.*s\", which no computation before it is called",
               EMP_SLICE_ARG(i->name), key, EMP_SLICE_ARG(name));
}

static int32_t operands_at_least(emp_hlo_what what)
{
    switch (what) {
    case EMP_HLO_VIEW:
    case EMP_HLO_PART:
    case EMP_HLO_DONE:
    case EMP_HLO_SLICE:
    case EMP_HLO_CONDITIONAL:
    case EMP_HLO_WHILE: return 1;
    case EMP_HLO_UPDATE: return 2;
    case EMP_HLO_SCATTER: return 3;
    default: return 0;
    }
}

static void check_part(reader *r, emp_hlo_instruction *i)
{
    const emp_hlo_instruction *tuple = emp_hlo_operand(r->m, i, 0);
    int64_t number = emp_hlo_number(emp_hlo_attr_of(r->m, i, "index"), -1);

    if (number < 0 || number >= tuple->part_count)
        BROKEN(r, i, "%.*s takes part \"%.*s\" of %.*s, which has %d",
               EMP_SLICE_ARG(i->name), EMP_SLICE_ARG(emp_hlo_attr_of(r->m, i, "index")),
               EMP_SLICE_ARG(tuple->name), tuple->part_count);
    else
        i->number = (int32_t)number;
    if (!i->is_broken && emp_hlo_part_end(r->m, tuple, i->number) -
                                 emp_hlo_part_begin(r->m, tuple, i->number) !=
                             i->tensor_count)
        BROKEN(r, i, "%.*s is not as part %d of %.*s is", EMP_SLICE_ARG(i->name),
               i->number, EMP_SLICE_ARG(tuple->name));
}

/* Tensors that a view or a tuple hands on. */
static void check_tensors(reader *r, emp_hlo_instruction *i)
{
    int64_t tensors = 0;

    for (int32_t k = 0; k < i->operand_count; k++) {
        tensors += emp_hlo_operand(r->m, i, k)->tensor_count;
        if (emp_hlo_op(r->m, i)->what == EMP_HLO_VIEW) break;
    }
    if (tensors != i->tensor_count)
        BROKEN(r, i, "%.*s has %d tensors, and its operands have %lld",
               EMP_SLICE_ARG(i->name), i->tensor_count, (long long)tensors);
}

static void check(reader *r, emp_hlo_instruction *i)
{
    emp_hlo_what what = emp_hlo_op(r->m, i)->what;

    if (i->is_broken) return;
    if (i->operand_count < operands_at_least(what))
        BROKEN(r, i, "%.*s has %d operands, and its opcode needs %d",
               EMP_SLICE_ARG(i->name), i->operand_count, operands_at_least(what));
    else if (what == EMP_HLO_PART)
        check_part(r, i);
    else if (what == EMP_HLO_VIEW || what == EMP_HLO_TUPLE)
        check_tensors(r, i);
}

/* "32", "-1" or "true"; INT64_MIN: anything else. */
static int64_t constant_of(emp_slice text)
{
    text = emp_slice_trim(text);
    bool is_negative = emp_slice_starts(text, "-");

    if (emp_slice_is(text, "true") || emp_slice_is(text, "false"))
        return emp_slice_is(text, "true");
    if (is_negative) text = (emp_slice){text.data + 1, text.size - 1};
    int64_t value = emp_hlo_number(text, INT64_MIN);
    return is_negative && value != INT64_MIN ? -value : value;
}

/* [ROOT] name = shape opcode(operands), attributes */
static emp_status read_instruction(reader *r, emp_hlo_computation *c, emp_error *err)
{
    emp_hlo_instruction i = {0};
    emp_hlo_shape       shape;
    emp_slice           word, inside;
    int32_t             there;
    bool                is_root = emp_hlo_text_word(&r->text, "ROOT");

    if (!hlo_text_name(&r->text, &i.name) || !emp_hlo_text_take(&r->text, '='))
        return hlo_text_fail(&r->text,
                             "an instruction such as %a = f32[2]{0} add(%b, %c)", err);
    if (i.name.size > NAME_BYTES_MAX)
        return hlo_text_fail(&r->text, "a name of at most 1024 bytes", err);
    EMP_CHECK(hlo_text_shape(&r->text, r->m, &shape, err));
    i.first_tensor = shape.first_tensor;
    i.tensor_count = shape.tensor_count;
    i.first_part = shape.first_part;
    i.part_count = shape.part_count;
    i.is_tuple = shape.is_tuple;
    if (shape.problem != NULL)
        BROKEN(r, &i, "%.*s %s", EMP_SLICE_ARG(i.name), shape.problem);
    if (!hlo_text_name(&r->text, &word) || word.size > OPCODE_BYTES_MAX ||
        !emp_hlo_text_is(&r->text, '('))
        return hlo_text_fail(&r->text, "an opcode and its operands", err);
    EMP_CHECK(emp_hlo_opcode_of(r->m, word, &i.opcode, err));
    emp_hlo_what what = emp_hlo_op(r->m, &i)->what;
    if (what == EMP_HLO_PARAMETER || what == EMP_HLO_CONSTANT) {
        if (!emp_hlo_text_bracket(&r->text, &inside))
            return hlo_text_fail(&r->text, "a parenthesis that is closed", err);
        i.constant = constant_of(inside);
        if (what == EMP_HLO_PARAMETER) EMP_CHECK(add_parameter(r, &i, c, inside, err));
    } else {
        (void)emp_hlo_text_take(&r->text, '(');
        EMP_CHECK(read_operands(r, &i, err));
    }
    EMP_CHECK(read_attributes(r, &i.first_attr, &i.attr_count, err));
    EMP_CHECK(add_controls(r, &i, err));
    find_called(r, &i);
    check(r, &i);
    EMP_CHECK(EMP_HLO_GROW(r->m, instruction));
    EMP_CHECK(emp_strmap_add(&r->index_of_name, i.name.data, i.name.size,
                             r->m->instruction_count, &there, err));
    if (there >= 0)
        return hlo_text_fail(&r->text, "a name that no instruction has yet", err);
    if (is_root || c->root < 0) c->root = r->m->instruction_count;
    r->m->instruction[r->m->instruction_count++] = i;
    c->count++;
    return EMP_OK;
}

/* ---- computations ---- */

static int32_t number_of(const reader *r, int32_t instruction)
{
    return r->m->instruction[instruction].number;
}

/* Puts each parameter where its number says; the numbers are 0 to their count. */
static void order_parameters(reader *r, const emp_hlo_computation *c)
{
    if (c->parameter_count == 0) return;
    int32_t *list = r->m->parameter + c->first_parameter;
    for (int32_t n = 0; n < c->parameter_count; n++) {
        for (;;) {
            int32_t own = list[n], place = number_of(r, own);
            if (place >= c->parameter_count || number_of(r, list[place]) == place) break;
            list[n] = list[place];
            list[place] = own;
        }
    }
    bool is_right = true;
    for (int32_t n = 0; n < c->parameter_count; n++) {
        emp_hlo_instruction *i = &r->m->instruction[list[n]];
        if (i->number == n) continue;
        i->is_broken = true;
        is_right = false;
    }
    if (!is_right)
        note_problem(r, "the parameters of %.*s have not the numbers 0 to %d, each once",
                     EMP_SLICE_ARG(c->name), c->parameter_count - 1);
}

/* name [(parameters) -> shape] { instructions } */
static emp_status read_computation(reader *r, emp_slice name, bool is_entry,
                                   emp_error *err)
{
    emp_hlo_module     *m = r->m;
    emp_hlo_shape       shape;
    emp_slice           skipped;
    int32_t             first, count;
    emp_hlo_computation c = {.name = name,
                             .first = m->instruction_count,
                             .root = -1,
                             .first_parameter = m->parameter_count};

    if (emp_hlo_text_is(&r->text, '(') && !emp_hlo_text_bracket(&r->text, &skipped))
        return hlo_text_fail(&r->text, "a parenthesis that is closed", err);
    if (emp_hlo_text_word(&r->text, "->")) {
        EMP_CHECK(hlo_text_shape(&r->text, m, &shape, err));
        hlo_shape_drop(m, &shape);
    }
    if (!emp_hlo_text_take(&r->text, '{'))
        return hlo_text_fail(&r->text, "the \"{\" of a computation", err);
    emp_strmap_empty(&r->index_of_name);
    while (!emp_hlo_text_take(&r->text, '}')) EMP_CHECK(read_instruction(r, &c, err));
    EMP_CHECK(read_attributes(r, &first, &count, err));
    m->attr_count = first;
    if (c.root < 0)
        return hlo_text_fail(&r->text, "a computation with an instruction", err);
    if (emp_hlo_find(m, name) >= 0)
        return hlo_text_fail(&r->text, "a computation whose name is new", err);
    order_parameters(r, &c);
    EMP_CHECK(EMP_HLO_GROW(m, computation));
    EMP_CHECK(emp_strmap_set(&m->computation_of_name, name.data, name.size,
                             m->computation_count, err));
    if (is_entry) m->entry = m->computation_count;
    m->computation[m->computation_count++] = c;
    return EMP_OK;
}

static emp_status read_header(reader *r, emp_error *err)
{
    int32_t first, count;

    if (!emp_hlo_text_word(&r->text, "HloModule") ||
        !hlo_text_name(&r->text, &r->m->name))
        return hlo_text_fail(&r->text, "HloModule and its name", err);
    EMP_CHECK(read_attributes(r, &first, &count, err));
    emp_hlo_instruction header = {.first_attr = first, .attr_count = count};
    r->m->is_scheduled =
        emp_slice_is(emp_hlo_attr_of(r->m, &header, "is_scheduled"), "true");
    r->m->partitions = emp_hlo_attr_of(r->m, &header, "num_partitions");
    r->m->aliases = emp_hlo_text_of(r->m, &header, "input_output_alias");
    r->m->attr_count = first;
    return EMP_OK;
}

static emp_status read_all(reader *r, emp_error *err)
{
    emp_slice name;

    EMP_CHECK(read_header(r, err));
    while (!hlo_text_ends(&r->text)) {
        bool is_entry = emp_hlo_text_word(&r->text, "ENTRY");
        if (!hlo_text_name(&r->text, &name))
            return hlo_text_fail(&r->text, "a computation", err);
        if (!is_entry && hlo_text_skip_table(&r->text, name)) continue;
        EMP_CHECK(read_computation(r, name, is_entry, err));
    }
    if (r->m->entry < 0)
        return hlo_text_fail(&r->text, "the computation that begins with ENTRY", err);
    return EMP_OK;
}

emp_status emp_hlo_parse(emp_hlo_module *m, emp_slice text, emp_import_notes *notes,
                         emp_error *err)
{
    reader r = {.m = m, .notes = notes, .text = {m, text.data, text.data + text.size}};

    *m = (emp_hlo_module){.begin = text.data, .entry = -1};
    emp_status st = read_all(&r, err);
    emp_strmap_clear(&r.index_of_name);
    return st;
}
