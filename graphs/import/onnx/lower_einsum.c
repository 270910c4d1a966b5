// SPDX-License-Identifier: GPL-3.0-or-later
// Einsum: products of tensors whose dims have letters, two at a time, each as a batch of matrices.
#include <ctype.h>
#include <string.h>

#include "graphs/import/onnx/lower.h"

enum { MOST_TEXT = 128, MOST_TERMS = 8 };

/* A tensor and the letters of its dims. Dims that "..." stands for have the letters 1, 2, ... counted
 * from the last one. */
typedef struct {
    emp_port      port;
    emp_shape     shape;
    unsigned char letter[EMP_MAX_RANK];
} term;

typedef struct {
    term          term[MOST_TERMS];
    int32_t       count;
    unsigned char out[EMP_MAX_RANK];
    int32_t       out_rank;
    int32_t       hidden; /* dims that "..." stands for */
} equation;

static int32_t place_of(const term *t, unsigned char letter)
{
    for (int32_t d = 0; d < t->shape.rank; d++)
        if (t->letter[d] == letter) return d;
    return -1;
}

static bool is_wanted(const equation *e, int32_t after, unsigned char letter)
{
    for (int32_t d = 0; d < e->out_rank; d++)
        if (e->out[d] == letter) return true;
    for (int32_t i = after + 1; i < e->count; i++)
        if (place_of(&e->term[i], letter) >= 0) return true;
    return false;
}

/* ---- reading ---- */

/* Without blanks; false where it is too long. */
static bool copy_equation(emp_slice from, char text[MOST_TEXT])
{
    size_t size = 0;

    for (size_t i = 0; i < from.size; i++) {
        if (from.data[i] == ' ') continue;
        if (size + 1 == MOST_TEXT) return false;
        text[size++] = from.data[i];
    }
    text[size] = '\0';
    return true;
}

/* Letters of the dims of a tensor of that rank, up to a comma or an arrow; false: they do not fit.
 * rank -1: the result, whose "..." has as many dims as the equation knows. */
static bool read_letters(const char **at, int32_t rank, int32_t *hidden,
                         unsigned char *letter, int32_t *count)
{
    const char *text = *at;
    int32_t     written = 0;

    *count = 0;
    for (const char *p = text; *p != '\0' && *p != ',' && *p != '-'; p++)
        written += isalpha((unsigned char)*p) != 0;
    while (*text != '\0' && *text != ',' && *text != '-') {
        if (isalpha((unsigned char)*text)) {
            if (*count == EMP_MAX_RANK) return false;
            letter[(*count)++] = (unsigned char)*text++;
            continue;
        }
        if (strncmp(text, "...", 3) != 0) return false;
        text += 3;
        int32_t more = rank < 0 ? *hidden : rank - written;
        if (more < 0 || *count + more > EMP_MAX_RANK) return false;
        if (more > *hidden) *hidden = more;
        for (int32_t i = more; i > 0; i--) letter[(*count)++] = (unsigned char)i;
    }
    *at = text;
    return rank < 0 || *count == rank;
}

/* Without an arrow the result has what "..." stands for, and the letters that are there once. */
static bool derive_result(equation *e, const char *operands)
{
    for (int32_t i = e->hidden; i > 0; i--) e->out[e->out_rank++] = (unsigned char)i;
    for (unsigned char letter = 'A'; letter <= 'z'; letter++) {
        int32_t times = 0;
        for (const char *p = operands; *p != '\0'; p++) times += *p == (char)letter;
        if (times != 1 || !isalpha(letter)) continue;
        if (e->out_rank == EMP_MAX_RANK) return false;
        e->out[e->out_rank++] = letter;
    }
    return true;
}

static bool read_equation(emp_onnx_call *c, equation *e)
{
    emp_onnx_attr attr;
    char          text[MOST_TEXT];
    const char   *at = text;

    if (!emp_onnx_get(c, "equation", &attr) || !copy_equation(attr.s, text)) return false;
    if (c->in_count < 1 || c->in_count > MOST_TERMS) return false;
    for (e->count = 0; e->count < c->in_count; e->count++) {
        term   *t = &e->term[e->count];
        int32_t count;
        t->shape = emp_onnx_in_shape(c, e->count);
        t->port = emp_onnx_in_port(c, e->count);
        if (t->shape.rank < 0 ||
            !read_letters(&at, t->shape.rank, &e->hidden, t->letter, &count))
            return false;
        if (e->count + 1 < c->in_count && *at++ != ',') return false;
    }
    if (*at == '\0') return derive_result(e, text);
    if (strncmp(at, "->", 2) != 0) return false;
    at += 2;
    return read_letters(&at, -1, &e->hidden, e->out, &e->out_rank) && *at == '\0';
}

/* True if each letter of the result is there once and belongs to an operand. */
static bool is_result(const equation *e)
{
    for (int32_t d = 0; d < e->out_rank; d++) {
        bool is_known = false;
        for (int32_t k = 0; k < d; k++)
            if (e->out[k] == e->out[d]) return false;
        for (int32_t i = 0; i < e->count; i++)
            is_known = is_known || place_of(&e->term[i], e->out[d]) >= 0;
        if (!is_known) return false;
    }
    return true;
}

/* ---- one operand ---- */

static void remove_dim(term *t, int32_t d)
{
    t->shape.rank--;
    for (; d < t->shape.rank; d++) {
        t->shape.dim[d] = t->shape.dim[d + 1];
        t->letter[d] = t->letter[d + 1];
    }
}

/* A letter that is there twice takes the diagonal. */
static bool take_diagonals(emp_onnx_call *c, term *t)
{
    const int32_t rank = t->shape.rank;
    int64_t       size = 1;

    for (int32_t d = 0; d < t->shape.rank; d++) {
        for (int32_t k = t->shape.rank - 1; k > d; k--) {
            if (t->letter[k] != t->letter[d]) continue;
            if (t->shape.dim[k] != t->shape.dim[d]) return false;
            size = t->shape.dim[d];
            remove_dim(t, k);
        }
    }
    if (rank == t->shape.rank) return true;
    emp_port places = emp_tf_const(c->o->tf, NULL, "diagonal", EMP_DTYPE_INT64,
                                   EMP_SHAPE(size, rank), NULL, 0);
    t->port = emp_onnx_emit_shaped(c, "GatherNd", t->shape, EMP_DTYPE_NONE,
                                   EMP_TF_PORTS(t->port, places));
    return true;
}

static bool has_other_size(const equation *e, const term *t, int32_t d)
{
    for (int32_t i = 0; i < e->count; i++) {
        int32_t own = place_of(&e->term[i], t->letter[d]);
        if (own >= 0 && e->term[i].shape.dim[own] != t->shape.dim[d]) return true;
    }
    return false;
}

/* Sizes of 1 that another operand stretches go away. */
static void drop_stretched(emp_onnx_call *c, equation *e)
{
    for (int32_t i = 0; i < e->count; i++) {
        term   *t = &e->term[i];
        int32_t rank = t->shape.rank;
        for (int32_t d = t->shape.rank - 1; d >= 0; d--)
            if (t->shape.dim[d] == 1 && has_other_size(e, t, d)) remove_dim(t, d);
        if (rank != t->shape.rank) t->port = emp_onnx_reshape(c, t->port, t->shape);
    }
}

/* Sums over letters of one operand that no other operand or result has. */
static void sum_alone(emp_onnx_call *c, const equation *e, term *t, const term *other,
                      int32_t after)
{
    uint32_t mask = 0;

    for (int32_t d = 0; d < t->shape.rank; d++)
        if (!is_wanted(e, after, t->letter[d]) &&
            (other == NULL || place_of(other, t->letter[d]) < 0))
            mask |= 1U << d;
    if (mask == 0) return;
    t->port = emp_onnx_reduce(c, "Sum", t->port, mask, false);
    for (int32_t d = t->shape.rank - 1; d >= 0; d--)
        if (mask >> d & 1) remove_dim(t, d);
}

/* ---- two operands ---- */

/* Appends the dims of t that are in the other one and are wanted, or not; returns their product. */
static int64_t gather_dims(const term *t, const term *other, const equation *e,
                           int32_t after, bool in_other, bool is_kept, int64_t *order,
                           int32_t *count)
{
    int64_t elements = 1;

    for (int32_t d = 0; d < t->shape.rank; d++) {
        if ((place_of(other, t->letter[d]) >= 0) != in_other ||
            is_wanted(e, after, t->letter[d]) != is_kept)
            continue;
        order[(*count)++] = d;
        if (__builtin_mul_overflow(elements, t->shape.dim[d], &elements)) return -1;
    }
    return elements;
}

/* Appends to the dims of b those that have the letters of these dims of a. */
static void follow_dims(const term *a, const term *b, const int64_t *order_a,
                        int32_t first, int32_t end, int64_t *order_b, int32_t *count_b)
{
    for (int32_t i = first; i < end; i++) {
        int32_t d = place_of(b, a->letter[order_a[i]]);
        if (d >= 0) order_b[(*count_b)++] = d;
    }
}

/* The product of *a and b in place of *a; operands behind `after` are still to come. */
static bool multiply(emp_onnx_call *c, const equation *e, int32_t after, term *a, term *b)
{
    int64_t order_a[EMP_MAX_RANK], order_b[EMP_MAX_RANK];
    int32_t count_a = 0, count_b = 0;
    term    made = {.shape = {.rank = 0}};

    sum_alone(c, e, a, b, after);
    sum_alone(c, e, b, a, after);
    int64_t batch = gather_dims(a, b, e, after, true, true, order_a, &count_a);
    int32_t batches = count_a;
    int64_t rows = gather_dims(a, b, e, after, false, true, order_a, &count_a);
    int32_t kept = count_a;
    int64_t sums = gather_dims(a, b, e, after, true, false, order_a, &count_a);
    follow_dims(a, b, order_a, 0, batches, order_b, &count_b);
    follow_dims(a, b, order_a, kept, count_a, order_b, &count_b);
    int32_t shared = count_b;
    int64_t columns = gather_dims(b, a, e, after, false, true, order_b, &count_b);
    if (count_a != a->shape.rank || count_b != b->shape.rank || batch < 0 || rows < 0 ||
        sums < 0 || columns < 0 || kept + count_b - shared > EMP_MAX_RANK)
        return false;
    for (int32_t i = 0; i < kept; i++) {
        made.letter[made.shape.rank] = a->letter[order_a[i]];
        made.shape.dim[made.shape.rank++] = a->shape.dim[order_a[i]];
    }
    for (int32_t i = shared; i < count_b; i++) {
        made.letter[made.shape.rank] = b->letter[order_b[i]];
        made.shape.dim[made.shape.rank++] = b->shape.dim[order_b[i]];
    }
    emp_port x = emp_onnx_transpose(c, a->port, order_a);
    emp_port y = emp_onnx_transpose(c, b->port, order_b);
    emp_port z = emp_onnx_emit2(c, "BatchMatMul",
                                emp_onnx_reshape(c, x, EMP_SHAPE(batch, rows, sums)),
                                emp_onnx_reshape(c, y, EMP_SHAPE(batch, sums, columns)));
    made.port = emp_onnx_reshape(c, z, made.shape);
    *a = made;
    return true;
}

static void einsum(emp_onnx_call *c, const char *word)
{
    equation e = {.count = 0};
    int64_t  order[EMP_MAX_RANK];

    (void)word;
    if (!read_equation(c, &e) || !is_result(&e)) {
        emp_onnx_refuse(c, "its equation does not fit its operands");
        return;
    }
    for (int32_t i = 0; i < e.count; i++) {
        if (take_diagonals(c, &e.term[i])) continue;
        emp_onnx_refuse(c, "its equation takes a diagonal of different sizes");
        return;
    }
    drop_stretched(c, &e);
    for (int32_t i = 1; i < e.count; i++) {
        if (multiply(c, &e, i, &e.term[0], &e.term[i])) continue;
        emp_onnx_refuse(c, "its equation makes a tensor of a rank above %d, or too large",
                        EMP_MAX_RANK);
        return;
    }
    term *all = &e.term[0];
    sum_alone(c, &e, all, NULL, e.count);
    for (int32_t d = 0; d < e.out_rank; d++) order[d] = place_of(all, e.out[d]);
    if (e.count == 1 && all->port.op >= 0 && !c->has_name)
        all->port = emp_onnx_emit1(c, "Identity", all->port);
    emp_onnx_out(c, 0, emp_onnx_transpose(c, all->port, order));
}

const emp_onnx_rule emp_onnx_einsum_rules[] = {{"Einsum", einsum, NULL}, {0}};
