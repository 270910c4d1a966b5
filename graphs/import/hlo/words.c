// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/parse.h"

#include <string.h>

enum { DEPTH_MAX = 16, SHOWN_BYTES = 40 };

#define FIVE(c)                                                                      \
    [c] = EMP_HLO_OF_NAME, [(c) + 1] = EMP_HLO_OF_NAME, [(c) + 2] = EMP_HLO_OF_NAME, \
    [(c) + 3] = EMP_HLO_OF_NAME, [(c) + 4] = EMP_HLO_OF_NAME
const unsigned char emp_hlo_kinds[256] = {FIVE('a'),
                                          FIVE('f'),
                                          FIVE('k'),
                                          FIVE('p'),
                                          FIVE('u'),
                                          ['z'] = EMP_HLO_OF_NAME,
                                          FIVE('A'),
                                          FIVE('F'),
                                          FIVE('K'),
                                          FIVE('P'),
                                          FIVE('U'),
                                          ['Z'] = EMP_HLO_OF_NAME,
                                          FIVE('0'),
                                          FIVE('5'),
                                          ['_'] = EMP_HLO_OF_NAME,
                                          ['.'] = EMP_HLO_OF_NAME,
                                          ['-'] = EMP_HLO_OF_NAME,
                                          ['$'] = EMP_HLO_OF_NAME,
                                          [' '] = EMP_HLO_BLANK,
                                          ['\t'] = EMP_HLO_BLANK,
                                          ['\n'] = EMP_HLO_BLANK | EMP_HLO_ENDS,
                                          ['\v'] = EMP_HLO_BLANK,
                                          ['\f'] = EMP_HLO_BLANK,
                                          ['\r'] = EMP_HLO_BLANK,
                                          [','] = EMP_HLO_ENDS,
                                          ['('] = EMP_HLO_OPENS,
                                          ['['] = EMP_HLO_OPENS,
                                          ['{'] = EMP_HLO_OPENS,
                                          [')'] = EMP_HLO_CLOSES,
                                          [']'] = EMP_HLO_CLOSES,
                                          ['}'] = EMP_HLO_CLOSES,
                                          ['"'] = EMP_HLO_QUOTE,
                                          ['/'] = EMP_HLO_SLASH};

/* Steps to the next character of one of these kinds. */
static void find(emp_hlo_text *t, unsigned wanted)
{
    while (t->at < t->end && !(emp_hlo_kind(*t->at) & wanted)) t->at++;
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

void emp_hlo_text_skip_blanks(emp_hlo_text *t)
{
    while (t->at < t->end && (emp_hlo_kind(*t->at) & (EMP_HLO_BLANK | EMP_HLO_SLASH))) {
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

emp_status emp_hlo_text_fail(emp_hlo_text *t, const char *wanted, emp_error *err)
{
    emp_hlo_text_skip(t);
    const char *stop = t->at;
    while (stop < t->end && *stop != '\n' && stop - t->at < SHOWN_BYTES) stop++;
    int32_t line = emp_hlo_line(t->m, t->at);
    if (t->at == t->end)
        return EMP_ERROR(EMP_EFORMAT, "line %d: the file ends where %s should stand",
                         line, wanted);
    return EMP_ERROR(EMP_EFORMAT, "line %d: \"%.*s\" stands where %s should stand", line,
                     (int)(stop - t->at), t->at, wanted);
}

bool emp_hlo_text_ends(emp_hlo_text *t)
{
    emp_hlo_text_skip(t);
    return t->at == t->end;
}

bool emp_hlo_text_word(emp_hlo_text *t, const char *word)
{
    size_t size = strlen(word);

    emp_hlo_text_skip(t);
    size_t left = (size_t)(t->end - t->at);
    if (left < size || memcmp(t->at, word, size) != 0 ||
        (emp_hlo_is_of_name(word[size - 1]) && left > size &&
         emp_hlo_is_of_name(t->at[size])))
        return false;
    t->at += size;
    return true;
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
    const unsigned kind = emp_hlo_kind(*t->at);

    if (kind == EMP_HLO_QUOTE) {
        skip_quotes(t);
        return;
    }
    *depth += (kind == EMP_HLO_OPENS) - (kind == EMP_HLO_CLOSES);
    t->at++;
}

bool emp_hlo_text_bracket(emp_hlo_text *t, emp_slice *inside)
{
    const char *begin = t->at + 1;
    int64_t     depth = 0;

    do {
        find(t, EMP_HLO_OPENS | EMP_HLO_CLOSES | EMP_HLO_QUOTE);
        if (t->at == t->end) return false;
        step(t, &depth);
    } while (depth > 0);
    *inside = (emp_slice){begin, (size_t)(t->at - 1 - begin)};
    return true;
}

bool emp_hlo_text_pair(emp_hlo_text *t, emp_slice *key, emp_slice *value)
{
    int64_t depth = 0;

    if (!emp_hlo_text_name(t, key) || !emp_hlo_text_take(t, '=')) return false;
    const char *begin = t->at;
    for (;;) {
        find(t, depth == 0 ? EMP_HLO_OPENS | EMP_HLO_CLOSES | EMP_HLO_QUOTE | EMP_HLO_ENDS
                           : EMP_HLO_OPENS | EMP_HLO_CLOSES | EMP_HLO_QUOTE);
        if (t->at == t->end ||
            (depth == 0 && (emp_hlo_kind(*t->at) & (EMP_HLO_CLOSES | EMP_HLO_ENDS))))
            break;
        step(t, &depth);
    }
    size_t size = (size_t)(t->at - begin);
    while (size > 0 && (emp_hlo_kind(begin[size - 1]) & EMP_HLO_BLANK)) size--;
    *value = (emp_slice){begin, size};
    return size > 0 && depth == 0;
}

bool emp_hlo_text_skip_table(emp_hlo_text *t, emp_slice title)
{
    static const char *const titles[] = {"FileNames", "FunctionNames", "FileLocations",
                                         "StackFrames"};
    bool                     is_known = false;

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        is_known = is_known || emp_slice_is(title, titles[i]);
    emp_hlo_text_skip(t);
    bool has_lines = t->at < t->end && *t->at >= '0' && *t->at <= '9';
    if (!has_lines)
        return is_known && !emp_hlo_text_is(t, '{') && !emp_hlo_text_is(t, '(');
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        while (t->at < t->end && *t->at != '\n') t->at++;
        emp_hlo_text_skip(t);
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
        TYPE("f8e4m3", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e4m3b11fnuz", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e4m3fnuz", EMP_DTYPE_FLOAT8_E4M3),
        TYPE("f8e5m2fnuz", EMP_DTYPE_FLOAT8_E5M2),
        TYPE("f8e3m4", EMP_DTYPE_FLOAT8_E3M4),
        TYPE("f8e8m0fnu", EMP_DTYPE_FLOAT8_E8M0),
        TYPE("f4e2m1fn", EMP_DTYPE_FLOAT4_E2M1),
        TYPE("s4", EMP_DTYPE_INT4),
        TYPE("u4", EMP_DTYPE_UINT4),
        TYPE("s2", EMP_DTYPE_INT2),
        TYPE("u2", EMP_DTYPE_UINT2),
        TYPE("s1", EMP_DTYPE_INT1),
        TYPE("u1", EMP_DTYPE_UINT1),
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

bool emp_hlo_text_is_shape(emp_hlo_text *t)
{
    emp_hlo_text_skip(t);
    emp_hlo_text ahead = *t;
    emp_slice    name;

    if (ahead.at < ahead.end && *ahead.at == '(') return true;
    if (ahead.at < ahead.end && *ahead.at == '%') return false;
    return emp_hlo_text_name(&ahead, &name) && ahead.at < ahead.end && *ahead.at == '[';
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

/* Describes a tensor by its words; false: it has a problem. */
static bool describe_tensor(emp_tensor_info *info, emp_hlo_shape *shape, emp_slice name,
                            emp_slice sizes)
{
    emp_slice size;

    memset(info, 0, sizeof *info); /* a scalar; equal ones have equal bytes */
    if (!is_number_type(name, &info->dtype))
        shape->problem = "is of an element type that is not known";
    while (emp_hlo_next_item(&sizes, &size)) read_size(size, shape, &info->shape);
    return shape->problem == NULL;
}

/* The shape of this text, if it was seen lately; else where it is kept. The first sizes tell most shapes apart. */
static emp_hlo_recent *find_recent(emp_hlo_module *m, emp_slice text, emp_slice sizes)
{
    uint64_t word = 0;

    memcpy(&word, sizes.data, sizes.size < sizeof word ? sizes.size : sizeof word);
    word = (word ^ text.size) * UINT64_C(0x9e3779b97f4a7c15);
    return &m->recent[(word >> 32) % EMP_HLO_RECENT];
}

static emp_status keep_tensor(emp_hlo_module *m, const emp_tensor_info *info,
                              emp_error *err)
{
    if (info == NULL)
        return EMP_ERROR(EMP_ENOMEM, "shapes of %d tensors", m->tensor_count);
    EMP_CHECK(EMP_HLO_GROW(m, tensor));
    m->tensor[m->tensor_count++] = info;
    return EMP_OK;
}

/* f32[2,3]{1,0:T(8,128)} */
static emp_status read_tensor(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err)
{
    emp_tensor_info info;
    emp_slice       name, sizes, layout;

    if (!emp_hlo_text_name(t, &name) || t->at == t->end || *t->at != '[')
        return emp_hlo_text_fail(t, "a shape such as f32[2,3]", err);
    if (!emp_hlo_text_bracket(t, &sizes))
        return emp_hlo_text_fail(t, "a bracket that is closed", err);
    if (t->at < t->end && *t->at == '{' && !emp_hlo_text_bracket(t, &layout))
        return emp_hlo_text_fail(t, "a layout that is closed", err);
    if (shape == NULL) return EMP_OK;
    shape->tensor_count++;
    const emp_slice text = {name.data, (size_t)(t->at - name.data)};
    emp_hlo_recent *recent = find_recent(m, text, sizes);
    if (recent->text.size == text.size &&
        memcmp(recent->text.data, text.data, text.size) == 0)
        return keep_tensor(m, recent->info, err);
    if (emp_slice_has(text, "S(5)")) m->has_host_memory = true;
    if (!describe_tensor(&info, shape, name, sizes))
        return keep_tensor(m, emp_hlo_keep_tensor(m, &info), err);
    *recent = (emp_hlo_recent){text, emp_hlo_keep_tensor(m, &info)};
    return keep_tensor(m, recent->info, err);
}

static emp_status add_part(emp_hlo_module *m, emp_hlo_shape *shape, emp_error *err)
{
    EMP_CHECK(EMP_HLO_GROW(m, part));
    m->part[m->part_count++] = shape->tensor_count;
    shape->part_count++;
    return EMP_OK;
}

emp_status emp_hlo_text_shape(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err)
{
    const bool is_tuple = emp_hlo_text_is(t, '(');
    int32_t    depth = 0;

    if (shape != NULL)
        *shape = (emp_hlo_shape){.first_tensor = m->tensor_count,
                                 .first_part = m->part_count,
                                 .is_tuple = is_tuple};
    do {
        if (shape != NULL && depth == 1 && !emp_hlo_text_is(t, ')'))
            EMP_CHECK(add_part(m, shape, err));
        if (emp_hlo_text_take(t, '(')) {
            if (++depth > DEPTH_MAX)
                return emp_hlo_text_fail(t, "at most 16 tuples in each other", err);
            if (!emp_hlo_text_is(t, ')')) continue;
        } else {
            EMP_CHECK(read_tensor(t, m, shape, err));
        }
        while (depth > 0 && emp_hlo_text_take(t, ')')) depth--;
        if (depth > 0 && !emp_hlo_text_take(t, ','))
            return emp_hlo_text_fail(t, "\",\" or \")\" in a tuple", err);
    } while (depth > 0);
    return EMP_OK;
}
