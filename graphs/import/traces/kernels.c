// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/step_graph.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

enum { ARGS_MAX = 16 };

/* An argument of an operator: a tensor, or all tensors of a list. */
typedef struct {
    emp_shape   shape; /* of the tensor, or of the list's first */
    emp_dtype   dtype;
    int64_t     bytes; /* of all of them */
    const char *text;  /* of a concrete value: "[1, 1]"; NULL = none */
} argument;

typedef struct {
    const char *name; /* "addmm": without "aten::" */
    argument    arg[ARGS_MAX];
    int32_t     count; /* 0: the profiler did not record shapes */
} operation;

/* ---- the arguments of an operator ---- */

static emp_dtype dtype_of(const char *type)
{
    static const struct {
        const char *name;
        emp_dtype   dtype;
    } types[] = {{"c10::BFloat16", EMP_DTYPE_BFLOAT16},
                 {"c10::Half", EMP_DTYPE_HALF},
                 {"float", EMP_DTYPE_FLOAT},
                 {"double", EMP_DTYPE_DOUBLE},
                 {"c10::complex<float>", EMP_DTYPE_COMPLEX64},
                 {"c10::complex<double>", EMP_DTYPE_COMPLEX128},
                 {"c10::Float8_e4m3fn", EMP_DTYPE_FLOAT8_E4M3},
                 {"c10::Float8_e4m3fnuz", EMP_DTYPE_FLOAT8_E4M3},
                 {"c10::Float8_e5m2", EMP_DTYPE_FLOAT8_E5M2},
                 {"c10::Float8_e5m2fnuz", EMP_DTYPE_FLOAT8_E5M2},
                 {"long int", EMP_DTYPE_INT64},
                 {"long", EMP_DTYPE_INT64},
                 {"int", EMP_DTYPE_INT32},
                 {"short", EMP_DTYPE_INT16},
                 {"short int", EMP_DTYPE_INT16},
                 {"signed char", EMP_DTYPE_INT8},
                 {"unsigned char", EMP_DTYPE_UINT8},
                 {"bool", EMP_DTYPE_BOOL}};

    for (int32_t i = 0; type != NULL && i < COUNT(types); i++)
        if (strcmp(types[i].name, type) == 0) return types[i].dtype;
    return EMP_DTYPE_NONE;
}

static int64_t elements_of(const emp_shape *shape)
{
    int64_t count = shape->rank < 0 ? 0 : 1;

    for (int32_t i = 0; i < shape->rank; i++)
        count = emp_mul_saturating(count, shape->dim[i]);
    return count;
}

/* [[2, 3], ...] is a list of tensors, [2, 3] one of them. False: neither. */
static bool read_shape(emp_shape *shape, const emp_json *dims)
{
    *shape = EMP_SHAPE_UNKNOWN;
    if (!emp_json_is(dims, EMP_JSON_ARRAY) || emp_json_count(dims) > EMP_MAX_RANK)
        return false;
    shape->rank = 0;
    for (const emp_json *v = emp_json_first(dims); v != NULL; v = emp_json_next(v)) {
        if (!emp_json_is(v, EMP_JSON_INTEGER) || emp_json_integer(v) < 0) {
            *shape = EMP_SHAPE_UNKNOWN;
            return false;
        }
        shape->dim[shape->rank++] = emp_json_integer(v);
    }
    return true;
}

static int64_t bytes_of(const emp_shape *shape, emp_dtype dtype)
{
    return emp_mul_saturating(elements_of(shape), emp_dtype_bytes(dtype));
}

/* A list of tensors has no types: the operator's first tensor with a type gives it. */
static void read_argument(argument *a, const emp_json *dims, const emp_json *type,
                          const emp_json *value)
{
    const emp_json *first = emp_json_first(dims);

    *a = (argument){.shape = EMP_SHAPE_UNKNOWN,
                    .dtype = dtype_of(emp_json_string(type)),
                    .text = emp_json_string(value)};
    if (emp_json_is(first, EMP_JSON_ARRAY)) {
        (void)read_shape(&a->shape, first);
        for (; first != NULL; first = emp_json_next(first)) {
            emp_shape one;
            if (read_shape(&one, first))
                a->bytes = emp_add_saturating(a->bytes, elements_of(&one));
        }
        return; /* elements, until the type is known */
    }
    if (a->dtype == EMP_DTYPE_NONE || !read_shape(&a->shape, dims)) return;
    a->bytes = bytes_of(&a->shape, a->dtype);
}

static bool is_list(const argument *a)
{
    return a->dtype == EMP_DTYPE_NONE && a->bytes > 0;
}

/* Lists get the type of a tensor beside them; without one they have 16 bits, as most have today. */
static void type_lists(operation *op)
{
    emp_dtype dtype = EMP_DTYPE_BFLOAT16;

    for (int32_t i = op->count - 1; i >= 0; i--)
        if (emp_dtype_is_float(op->arg[i].dtype)) dtype = op->arg[i].dtype;
    for (int32_t i = 0; i < op->count; i++) {
        argument *a = &op->arg[i];
        if (!is_list(a)) continue;
        a->dtype = dtype;
        a->bytes = emp_mul_saturating(a->bytes, emp_dtype_bytes(dtype));
    }
}

static const emp_json *either(const emp_json *args, const char *key, const char *old_key)
{
    const emp_json *value = emp_json_get(args, key);

    return value != NULL ? value : emp_json_get(args, old_key);
}

static void read_operation(operation *op, const emp_kineto_event *event,
                           const emp_json *args)
{
    static const char prefix[] = "aten::";

    *op = (operation){.name = ""};
    if (event == NULL) return;
    op->name = event->name;
    if (strncmp(op->name, prefix, sizeof prefix - 1) == 0) op->name += sizeof prefix - 1;
    const emp_json *dims = emp_json_first(either(args, "Input Dims", "Input dims"));
    const emp_json *type = emp_json_first(either(args, "Input type", "Input Types"));
    const emp_json *value =
        emp_json_first(either(args, "Concrete Inputs", "Concrete inputs"));
    for (; dims != NULL && op->count < ARGS_MAX; dims = emp_json_next(dims)) {
        read_argument(&op->arg[op->count++], dims, type, value);
        if (type != NULL) type = emp_json_next(type);
        if (value != NULL) value = emp_json_next(value);
    }
    type_lists(op);
}

/* ---- words in names ---- */

static bool has_any(const char *text, const char *const *words, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (strstr(text, words[i]) != NULL) return true;
    return false;
}

static bool is_any(const char *text, const char *const *words, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

/* Kernels of cuBLAS, CUTLASS, hipBLASLt, rocBLAS and Triton that multiply matrices. */
static bool multiplies(const char *kernel)
{
    static const char *const words[] = {"gemm", "Gemm",  "GEMM", "Cijk_",       "cutlass",
                                        "xmma", "nvjet", "gemv", "triton_tem_", "_mm_"};
    static const char *const others[] = {"splitKreduce", "reduce_kernel", "flash",
                                         "fmha"};

    return has_any(kernel, words, COUNT(words)) &&
           !has_any(kernel, others, COUNT(others));
}

static bool attends(const char *name)
{
    static const char *const words[] = {"flash", "fmha", "attn", "_attention",
                                        "Attention"};

    return has_any(name, words, COUNT(words));
}

/* The main kernel of a convolution; others change layouts, or fill with zeros. */
static bool convolves(const char *kernel)
{
    static const char *const words[] = {"conv",     "Conv",     "fprop",
                                        "dgrad",    "wgrad",    "igemm",
                                        "winograd", "Winograd", "implicit"};
    static const char *const others[] = {"Nchw",   "Nhwc",      "nchwTo",
                                         "nhwcTo", "transpose", "Tensor"};

    if (has_any(kernel, others, COUNT(others)) && strstr(kernel, "fprop") == NULL)
        return false;
    return has_any(kernel, words, COUNT(words)) || multiplies(kernel);
}

static bool communicates(const char *kernel)
{
    static const char *const words[] = {"nccl",       "rccl",      "cross_device_reduce",
                                        "all_reduce", "allreduce", "one_shot",
                                        "two_shot"};

    return has_any(kernel, words, COUNT(words));
}

/* ---- products ---- */

/* The operands of a product: the first of its operator's arguments, or the second after what is added. */
static bool product_of(emp_traced_kernel *k, const operation *op)
{
    static const char *const adding[] = {
        "addmm", "addmm_", "baddbmm", "baddbmm_", "addmv", "_addmm_activation", "addbmm"};
    static const char *const plain[] = {"mm",      "bmm",    "mv",     "_scaled_mm",
                                        "_int_mm", "matmul", "linear", "_mm_plus_mm"};
    int32_t                  first = is_any(op->name, adding, COUNT(adding)) ? 1 : 0;

    if (first == 0 && !is_any(op->name, plain, COUNT(plain))) return false;
    if (op->count < first + 2) return false;
    const emp_shape *a = &op->arg[first].shape, *b = &op->arg[first + 1].shape;
    if (a->rank < 1 || b->rank < 1) return false;
    bool is_linear = strcmp(op->name, "linear") == 0; /* whose weights are [n, k] */
    k->k = a->dim[a->rank - 1];
    k->n = b->rank < 2 ? 1 : is_linear ? b->dim[0] : b->dim[b->rank - 1];
    k->batch = a->rank == 3 && b->rank == 3 ? a->dim[0] : 1;
    if (k->k < 1 || k->n < 1 || k->batch < 1) return false;
    k->m = elements_of(a) / k->k / k->batch;
    k->dtype = op->arg[first].dtype;
    k->bytes = emp_add_saturating(
        emp_add_saturating(op->arg[first].bytes, op->arg[first + 1].bytes),
        emp_mul_saturating(emp_mul_saturating(k->batch, k->m),
                           emp_mul_saturating(k->n, emp_dtype_bytes(k->dtype))));
    return k->m > 0;
}

/* ---- convolutions ---- */

/* The numbers of "[2, 2]"; 0: the text is no list. */
static int32_t read_list(int64_t *number, int32_t most, const char *text)
{
    int32_t count = 0;

    if (text == NULL || *text++ != '[') return 0;
    while (count < most) {
        char     *end;
        long long value = strtoll(text, &end, 10);
        if (end == text) break;
        number[count++] = value;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

/* Elements of a forward pass's output, for each image and channel. */
static int64_t pixels_of(const operation *op, const emp_shape *x, const emp_shape *w)
{
    enum { MOST = 3, PAD_MAX = 1 << 20 };
    int64_t list[3][MOST] = {{0}}, pixels = 1;
    int32_t found = 0, rank = x->rank - 2;
    bool    is_vendor =
        strncmp(op->name, "cudnn", 5) == 0 || strncmp(op->name, "miopen", 6) == 0;

    /* the sizes of the window come before the other lists in these */
    const bool states_window = strstr(op->name, "_conv_depthwise") != NULL ||
                               strstr(op->name, "slow_conv") != NULL ||
                               strstr(op->name, "thnn_conv") != NULL;
    for (int32_t i = states_window ? 3 : 2; i < op->count && found < 3; i++)
        found += read_list(list[found], MOST, op->arg[i].text) >= rank;
    const int64_t *padding = list[is_vendor ? 0 : 1], *stride = list[is_vendor ? 1 : 0];
    for (int32_t i = 0; i < rank && i < MOST; i++) {
        int64_t step = found > 1 && stride[i] > 0 ? stride[i] : 1;
        int64_t apart =
            found > 2 && list[2][i] > 0 && list[2][i] < PAD_MAX ? list[2][i] : 1;
        int64_t reach =
            emp_add_saturating(emp_mul_saturating(apart, w->dim[2 + i] - 1), 1);
        int64_t pad = found < 2                                ? (w->dim[2 + i] - 1) / 2
                      : padding[i] > 0 && padding[i] < PAD_MAX ? padding[i]
                                                               : 0;
        int64_t room = emp_add_saturating(x->dim[2 + i], 2 * pad) - reach;
        pixels = emp_mul_saturating(pixels, room > 0 ? room / step + 1 : 1);
    }
    return pixels;
}

/* A convolution that enlarges: each pixel of x meets the whole filter [in, out, window ...]. */
static bool is_transposed(const operation *op, bool is_backward)
{
    const int32_t place = is_backward ? 7 : 6;

    if (strstr(op->name, "transpose") != NULL) return true;
    if (strstr(op->name, "cudnn") != NULL || strstr(op->name, "miopen") != NULL)
        return false; /* that place is another flag */
    return op->count > place && op->arg[place].text != NULL &&
           strcmp(op->arg[place].text, "True") == 0;
}

/* The product that a convolution comes to; each gradient of a backward pass has the same. */
static bool convolution_of(emp_traced_kernel *k, const operation *op)
{
    if (strstr(op->name, "conv") == NULL || op->count < 2) return false;
    bool            is_backward = strstr(op->name, "backward") != NULL;
    const argument *x = &op->arg[is_backward ? 1 : 0], *w = &op->arg[is_backward ? 2 : 1];
    const emp_shape *out = &op->arg[0].shape;

    if (op->count < (is_backward ? 3 : 2)) return false;
    if (x->shape.rank < 3 || w->shape.rank != x->shape.rank || x->shape.rank > 5)
        return false;
    k->batch = 1;
    k->n = w->shape.dim[0];
    k->k = k->n < 1 ? 0 : elements_of(&w->shape) / k->n;
    if (is_transposed(op, is_backward)) {
        int64_t made = k->k;
        k->m = x->shape.dim[1] < 1 ? 0 : elements_of(&x->shape) / x->shape.dim[1];
        k->k = k->n;
        k->n = made;
    } else {
        k->m = is_backward && k->n > 0
                   ? elements_of(out) / k->n
                   : emp_mul_saturating(x->shape.dim[0],
                                        pixels_of(op, &x->shape, &w->shape));
    }
    k->dtype = x->dtype;
    k->bytes = emp_add_saturating(
        emp_add_saturating(x->bytes, w->bytes),
        emp_mul_saturating(emp_mul_saturating(k->m, k->n), emp_dtype_bytes(k->dtype)));
    return k->m > 0 && k->n > 0 && k->k > 0;
}

/* ---- attention ---- */

/* Queries and keys as [batch, heads, length, size] of scaled_dot_product_..., else [batch, length, heads, size]; of
 * three dimensions [tokens, heads, size]. */
static bool attention_of(emp_traced_kernel *k, const operation *op)
{
    bool    is_backward = strstr(op->name, "backward") != NULL;
    int32_t first = is_backward ? 1 : 0;
    bool    has_heads_first = strstr(op->name, "scaled_dot_product") != NULL;

    if (op->count < first + 2) return false;
    const emp_shape *q = &op->arg[first].shape, *keys = &op->arg[first + 1].shape;
    if (q->rank != keys->rank || q->rank < 3 || q->rank > 4) return false;
    int32_t heads = q->rank == 3 || has_heads_first ? 1 : 2;
    int32_t length = q->rank == 3 ? 0 : has_heads_first ? 2 : 1;
    int64_t batch = q->rank == 4 ? q->dim[0] : 1;
    k->heads = emp_mul_saturating(batch, q->dim[heads]);
    k->queries = q->dim[length];
    k->keys = keys->dim[length];
    k->head_size = q->dim[q->rank - 1];
    k->dtype = op->arg[first].dtype;
    k->is_backward = is_backward;
    k->bytes = emp_mul_saturating(
        2, emp_add_saturating(op->arg[first].bytes, op->arg[first + 1].bytes));
    return k->heads > 0 && k->queries > 0 && k->keys > 0 && k->head_size > 0;
}

/* ---- bytes ---- */

static const argument *largest(const operation *op)
{
    const argument *most = &op->arg[0];

    for (int32_t i = 1; i < op->count; i++)
        if (op->arg[i].bytes > most->bytes) most = &op->arg[i];
    return most;
}

/* Rows that an index takes of a table: read and written. */
static int64_t gathered_bytes(const operation *op)
{
    int64_t rows = 0;

    for (int32_t i = 1; i < op->count; i++)
        if (op->arg[i].dtype == EMP_DTYPE_INT64 || op->arg[i].dtype == EMP_DTYPE_INT32)
            rows = elements_of(&op->arg[i].shape);
    const emp_shape *table = &op->arg[0].shape;
    if (rows == 0 || table->rank < 1 || table->dim[0] < 1) return 0;
    return 2 * emp_mul_saturating(rows, op->arg[0].bytes / table->dim[0]);
}

/* The bytes that an operator reads and writes: its tensors, and a result as large as the largest of them, unless its name
 * says otherwise. */
static int64_t moved_bytes(const operation *op)
{
    static const char *const gathers[] = {"index_select", "embedding", "index", "gather"};
    static const char *const reduces[] = {"sum",    "mean",
                                          "all",    "any",
                                          "max",    "min",
                                          "amax",   "amin",
                                          "argmax", "argmin",
                                          "norm",   "linalg_vector_norm",
                                          "prod",   "_local_scalar_dense"};
    static const char *const writes[] = {"copy_", "fill_", "zero_"};
    int64_t                  bytes = 0;

    for (int32_t i = 0; i < op->count; i++)
        bytes = emp_add_saturating(bytes, op->arg[i].bytes);
    if (op->count == 0 || bytes == 0) return 0;
    if (is_any(op->name, gathers, COUNT(gathers))) return gathered_bytes(op);
    if (is_any(op->name, reduces, COUNT(reduces)) ||
        is_any(op->name, writes, COUNT(writes)) ||
        strncmp(op->name, "triton_", 7) == 0) /* its results are arguments, too */
        return bytes;
    if (strcmp(op->name, "cat") == 0 || strcmp(op->name, "stack") == 0)
        return emp_add_saturating(bytes, bytes);
    return emp_add_saturating(bytes, largest(op)->bytes);
}

static bool is_norm(const char *name)
{
    static const char *const words[] = {"norm", "softmax", "Norm", "Softmax"};

    return has_any(name, words, COUNT(words));
}

/* ---- kernels ---- */

static void describe_copy(emp_traced_kernel *k, const emp_kineto_event *event,
                          const emp_json *args)
{
    bool is_on_gpu = event->kind == EMP_KINETO_SET ||
                     strstr(event->name, "DtoD") != NULL ||
                     strstr(event->name, "PtoP") != NULL;

    k->kind = is_on_gpu ? EMP_TRACED_BYTES : EMP_TRACED_LINK;
    const emp_json *bytes = emp_json_get(args, "bytes");
    if (emp_json_is(bytes, EMP_JSON_INTEGER) && emp_json_integer(bytes) > 0)
        k->bytes = emp_json_integer(bytes);
    if (event->kind == EMP_KINETO_COPY && is_on_gpu)
        k->bytes = emp_add_saturating(k->bytes, k->bytes); /* read and written */
    if (is_on_gpu && k->bytes == 0) k->kind = EMP_TRACED_UNKNOWN;
}

static void describe_kernel(emp_traced_kernel *k, const char *kernel, const operation *op)
{
    static const char *const tf32[] = {"tf32", "s1688"}; /* cuDNN's and CUTLASS's word */
    bool                     is_convolution = strstr(op->name, "conv") != NULL;

    k->is_tf32 = has_any(kernel, tf32, COUNT(tf32));
    if (communicates(kernel)) {
        k->kind = EMP_TRACED_COLLECTIVE;
    } else if (attends(kernel) || (attends(op->name) && multiplies(kernel))) {
        k->kind = EMP_TRACED_ATTENTION;
        if (!attention_of(k, op)) k->heads = 0;
    } else if (is_convolution && convolves(kernel)) {
        k->kind = EMP_TRACED_CONVOLUTION;
        if (!convolution_of(k, op)) k->m = 0;
    } else if (multiplies(kernel)) {
        k->kind = EMP_TRACED_PRODUCT;
        if (!product_of(k, op)) k->m = 0;
    } else {
        /* what prepares a product or a convolution moves other bytes than the operator's arguments */
        emp_traced_kernel unused = {0};
        k->bytes = is_convolution || product_of(&unused, op) ? 0 : moved_bytes(op);
        k->kind = k->bytes == 0                          ? EMP_TRACED_UNKNOWN
                  : is_norm(kernel) || is_norm(op->name) ? EMP_TRACED_NORM
                                                         : EMP_TRACED_BYTES;
    }
}

const emp_kineto_event *emp_trace_described_by(const emp_kineto_event *event,
                                               const emp_kineto_event *op)
{
    return event->kind == EMP_KINETO_KERNEL ? op : event;
}

emp_traced_kernel emp_trace_describe(const emp_kineto_event *event,
                                     const emp_kineto_event *op, const emp_json *args)
{
    emp_traced_kernel k = {.kernel_ns = event->end_ns - event->begin_ns};
    operation         called;

    if (event->kind != EMP_KINETO_KERNEL) {
        describe_copy(&k, event, args);
        return k;
    }
    read_operation(&called, op, args);
    describe_kernel(&k, event->name, &called);
    return k;
}
