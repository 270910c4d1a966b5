// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/text.h"

enum { DEPTH_MAX = 16, SHOWN_BYTES = 40 };

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '-' || c == '$';
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

static void skip(emp_hlo_text *t)
{
    for (;;) {
        while (t->at < t->end && is_blank(*t->at)) t->at++;
        if (t->end - t->at < 2 || t->at[0] != '/') return;
        if (t->at[1] == '*')
            skip_comment(t, "*/");
        else if (t->at[1] == '/')
            skip_comment(t, "\n");
        else
            return;
    }
}

bool emp_hlo_text_ends(emp_hlo_text *t)
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

bool emp_hlo_text_name(emp_hlo_text *t, emp_slice *name)
{
    skip(t);
    if (t->at < t->end && *t->at == '%') t->at++;
    const char *begin = t->at;
    while (t->at < t->end && is_of_name(*t->at)) t->at++;
    *name = (emp_slice){begin, (size_t)(t->at - begin)};
    return name->size > 0;
}

static void skip_quotes(emp_hlo_text *t)
{
    for (t->at++; t->at < t->end && *t->at != '"'; t->at++)
        if (*t->at == '\\' && t->at + 1 < t->end) t->at++;
    if (t->at < t->end) t->at++;
}

/* Steps over one character, or over a text in quotes; sums brackets that it opens. */
static void step(emp_hlo_text *t, int64_t *depth)
{
    char c = *t->at;

    if (c == '"') {
        skip_quotes(t);
        return;
    }
    *depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    t->at++;
}

bool emp_hlo_text_bracket(emp_hlo_text *t, emp_slice *inside)
{
    const char *begin = t->at + 1;
    int64_t     depth = 0;

    do {
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
    while (t->at < t->end) {
        bool is_closing = *t->at == ')' || *t->at == ']' || *t->at == '}';
        if (depth == 0 && (*t->at == ',' || *t->at == '\n' || is_closing)) break;
        step(t, &depth);
    }
    size_t size = (size_t)(t->at - begin);
    while (size > 0 && is_blank(begin[size - 1])) size--;
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
    static const struct {
        const char *name;
        emp_dtype   dtype;
    } known[] = {
        {"f32", EMP_DTYPE_FLOAT},
        {"bf16", EMP_DTYPE_BFLOAT16},
        {"f16", EMP_DTYPE_HALF},
        {"s32", EMP_DTYPE_INT32},
        {"pred", EMP_DTYPE_BOOL},
        {"u8", EMP_DTYPE_UINT8},
        {"s8", EMP_DTYPE_INT8},
        {"u32", EMP_DTYPE_UINT32},
        {"s64", EMP_DTYPE_INT64},
        {"u64", EMP_DTYPE_UINT64},
        {"f64", EMP_DTYPE_DOUBLE},
        {"s16", EMP_DTYPE_INT16},
        {"u16", EMP_DTYPE_UINT16},
        {"c64", EMP_DTYPE_COMPLEX64},
        {"c128", EMP_DTYPE_COMPLEX128},
        {"f8e5m2", EMP_DTYPE_FLOAT8_E5M2},
        {"f8e4m3fn", EMP_DTYPE_FLOAT8_E4M3},
        /* a byte each, also where XLA packs them */
        {"f8e4m3", EMP_DTYPE_FLOAT8_E4M3},
        {"f8e4m3b11fnuz", EMP_DTYPE_FLOAT8_E4M3},
        {"f8e4m3fnuz", EMP_DTYPE_FLOAT8_E4M3},
        {"f8e5m2fnuz", EMP_DTYPE_FLOAT8_E5M2},
        {"f8e3m4", EMP_DTYPE_UINT8},
        {"f8e8m0fnu", EMP_DTYPE_UINT8},
        {"f4e2m1fn", EMP_DTYPE_UINT8},
        {"s4", EMP_DTYPE_INT8},
        {"u4", EMP_DTYPE_UINT8},
        {"s2", EMP_DTYPE_INT8},
        {"u2", EMP_DTYPE_UINT8},
        {"s1", EMP_DTYPE_INT8},
        {"u1", EMP_DTYPE_UINT8},
        /* no data */
        {"token", EMP_DTYPE_NONE},
        {"opaque", EMP_DTYPE_NONE},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (emp_slice_is(name, known[i].name)) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

bool emp_hlo_text_is_shape(emp_hlo_text *t)
{
    skip(t);
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

/* f32[2,3]{1,0:T(8,128)} */
static emp_status read_tensor(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err)
{
    emp_tensor_info info = {.shape = EMP_SHAPE_SCALAR};
    emp_slice       name, inside, size;

    if (!emp_hlo_text_name(t, &name) || t->at == t->end || *t->at != '[')
        return emp_hlo_text_fail(t, "a shape such as f32[2,3]", err);
    if (!is_number_type(name, &info.dtype))
        shape->problem = "is of an element type that is not known";
    if (!emp_hlo_text_bracket(t, &inside))
        return emp_hlo_text_fail(t, "a bracket that is closed", err);
    while (emp_hlo_next_item(&inside, &size)) read_size(size, shape, &info.shape);
    if (t->at < t->end && *t->at == '{' && !emp_hlo_text_bracket(t, &inside))
        return emp_hlo_text_fail(t, "a layout that is closed", err);
    EMP_CHECK(EMP_HLO_GROW(m, tensor));
    m->tensor[m->tensor_count++] = info;
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

/* Tuples in tuples, without recursion: parts are those of the outermost one. */
emp_status emp_hlo_text_shape(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
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

void emp_hlo_shape_drop(emp_hlo_module *m, const emp_hlo_shape *shape)
{
    m->tensor_count = shape->first_tensor;
    m->part_count = shape->first_part;
}

emp_status emp_hlo_text_fail(emp_hlo_text *t, const char *wanted, emp_error *err)
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
