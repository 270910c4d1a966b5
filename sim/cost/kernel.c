// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/kernel.h"

#include <math.h>

#include "sim/machine/machine.h"

/* The share of the peak that a kernel without a table reaches: assumed, as in the files of the models. */
static const double REACHED = 0.8;

/* Rows of the smallest tile that tensor cores multiply: mma.m16n8k16 with the operands swapped
 * (PTX ISA 8.5, section 9.7.14). */
enum { LEAST_ROWS = 8 };

enum { TILE_COLUMNS = 64, LEAST_COLUMNS = 16, FLOAT_BYTES = 4 };

const char *emp_form_name(emp_form form)
{
    static const char *const names[] = {"table", "beyond", "formula", "bound", "like"};

    return names[form];
}

/* The format whose measurements serve for this one, where it has none of its own. */
static emp_format twin_of(emp_format format)
{
    return format == EMP_FORMAT_FP16   ? EMP_FORMAT_BF16
           : format == EMP_FORMAT_BF16 ? EMP_FORMAT_FP16
                                       : format;
}

/* The grid of a format or of its twin; NULL = neither was measured. */
static const emp_grid *grid_of(emp_grid *const *of_format, emp_format format)
{
    return of_format[format] != NULL ? of_format[format] : of_format[twin_of(format)];
}

static double read_grid(const emp_grid *grid, const double *size, emp_form *form)
{
    *form = emp_grid_covers(grid, size) ? EMP_FORM_TABLE : EMP_FORM_BEYOND;
    return emp_grid_at(grid, size);
}

/* Products of a format that were measured on the model, or of its twin of as many bytes; NULL =
 * none were. */
static const emp_grid *product_grid(const emp_device *gpu, emp_format format)
{
    return gpu->tables == NULL ? NULL : grid_of(gpu->tables->gemm, format);
}

/* FLOP/s of dense products of a format; 0 = the model does not say. */
static double product_peak(const emp_device *gpu, emp_format format)
{
    if (gpu->format_flops_per_s[format] > 0.0) return gpu->format_flops_per_s[format];
    if (gpu->format_flops_per_s[twin_of(format)] > 0.0)
        return gpu->format_flops_per_s[twin_of(format)];
    return format == EMP_FORMAT_FP32 ? gpu->peak_flops_per_s : 0.0;
}

bool emp_has_formats(const emp_device *gpu)
{
    if (gpu->tables != NULL) return true;
    for (int32_t f = 0; f < EMP_FORMATS; f++)
        if (f != EMP_FORMAT_FP64 && gpu->format_flops_per_s[f] > 0.0) return true;
    return false;
}

/* cuDNN has narrow tiles for few channels, cuBLAS has not. */
static double columns_of(int64_t n, bool is_conv)
{
    double columns = is_conv ? LEAST_COLUMNS : TILE_COLUMNS;

    while (columns < (double)n && columns < TILE_COLUMNS) columns *= 2.0;
    return columns;
}

double emp_cost_gemm_s(const emp_device *gpu, int64_t m, int64_t n, int64_t k,
                       int64_t batch, bool is_conv)
{
    /* counts in double, as an imported graph's may be beyond 64 bits */
    double rows = is_conv ? gpu->conv_tile_rows : gpu->gemm_tile_rows;
    double columns = columns_of(n, is_conv);
    double tiles = ceil((double)m / rows) * ceil((double)n / columns) * (double)batch;
    double area = /* of a tile, in 64 x 64 tiles */
        rows * columns / (TILE_COLUMNS * TILE_COLUMNS);
    double outputs = (double)m * (double)n * (double)batch;
    double pass_s = outputs * FLOAT_BYTES / gpu->memory_bytes_per_s;
    double best = INFINITY;

    double least_part = is_conv ? 1.0 : fmax(1.0, gpu->gemm_split_least);
    for (int64_t s = 1; s <= gpu->split_limit; s++) {
        double part = (double)k / (double)s;
        if (s > 1 && part < least_part) break;
        double waves = area * ceil(tiles * (double)s / gpu->multiprocessors);
        double t = gpu->gemm_base_s + gpu->gemm_per_k_s * part +
                   gpu->gemm_per_wave_s * part * waves +
                   (s > 1 ? (double)(s + 1) * pass_s : 0.0);
        if (t < best) best = t;
    }
    int64_t least = m < n ? m : n;
    if (k < least) least = k;
    if (is_conv) return best * gpu->conv_factor;
    return least <= gpu->gemm_skinny_limit ? best * gpu->gemm_skinny_factor : best;
}

/* Seconds of \a batch products by the formula, without the bound by bytes; the peak of the format is
 * known. */
static double product_formula_s(const emp_device *gpu, emp_format format, int64_t m,
                                int64_t n, int64_t k, int64_t batch, bool is_conv)
{
    emp_device scaled = *gpu;

    scaled.gemm_per_wave_s *= gpu->peak_flops_per_s / product_peak(gpu, format);
    while (emp_has_formats(gpu) && scaled.gemm_tile_rows > LEAST_ROWS &&
           scaled.gemm_tile_rows / 2 >= m)
        scaled.gemm_tile_rows /= 2;
    return emp_cost_gemm_s(&scaled, m, n, k, batch, is_conv);
}

static emp_status refuse_format(emp_format format, emp_error *err)
{
    return EMP_ERROR(EMP_EUNSUPPORTED, "the device model says nothing of the format %s",
                     emp_format_name(format));
}

/* The longer of both. */
static double bound_by(double formula_s, double bytes, const emp_device *gpu,
                       emp_form *form)
{
    double stream_s = bytes / gpu->memory_bytes_per_s;

    *form = stream_s > formula_s ? EMP_FORM_BOUND : EMP_FORM_FORMULA;
    return fmax(stream_s, formula_s);
}

/* More than any GPU's last cache holds: the Infinity Cache of an MI300X has 256 MiB. */
static const double CACHED_BYTES = 256.0 * 1048576.0;

/* Raises a grid's time to what the arithmetic takes at the peak, and bytes that no cache holds at the stream rate: corners of
 * grids are fits, which lie beyond the measurements. */
static double no_less_than(double grid_s, double flops, double peak, double bytes,
                           const emp_device *gpu, emp_form *form)
{
    const double stream_s = bytes > CACHED_BYTES ? bytes / gpu->memory_bytes_per_s : 0.0;
    const double bound_s = fmax(peak > 0.0 ? flops / peak : 0.0, stream_s);

    if (bound_s <= grid_s) return grid_s;
    *form = EMP_FORM_BOUND;
    return bound_s;
}

emp_status emp_product_time(double *seconds, emp_form *form, const emp_device *gpu,
                            const emp_product *product, emp_error *err)
{
    const emp_product *p = product;
    const emp_grid    *grid = product_grid(gpu, p->format);
    double             batch = p->batch > 0.0 ? p->batch : 1.0;
    double             peak = product_peak(gpu, p->format);
    double             size[] = {p->m * batch, p->n, p->k};
    double             elements = batch * (p->m * p->k + p->k * p->n + p->m * p->n);
    double             bytes = elements * emp_format_bytes(p->format);

    if (grid != NULL) {
        *seconds = no_less_than(read_grid(grid, size, form),
                                2.0 * batch * p->m * p->n * p->k, peak, bytes, gpu, form);
        return EMP_OK;
    }
    if (peak <= 0.0) return refuse_format(p->format, err);
    double formula_s = product_formula_s(gpu, p->format, (int64_t)p->m, (int64_t)p->n,
                                         (int64_t)p->k, (int64_t)batch, false);
    *seconds = bound_by(formula_s, bytes, gpu, form);
    return EMP_OK;
}

/* Multiplications and additions of the forward pass; of a context half of the pairs are masked. */
static double attention_flops(const emp_attention *attention)
{
    const emp_attention *a = attention;
    double products = 4.0 * a->length * a->head_size * a->kv_heads * a->group;

    return a->phase == EMP_ATTENTION_OF_PROMPT ? products * a->length / 2.0 : products;
}

/* Keys and values, and what queries read and results write. */
static double attention_bytes(const emp_attention *a)
{
    double keys = 2.0 * a->length * a->kv_heads * a->head_size;
    double tokens = a->phase == EMP_ATTENTION_OF_PROMPT ? a->length : 1.0;
    double queries = 2.0 * tokens * a->kv_heads * a->group * a->head_size;

    return (keys + queries) * emp_format_bytes(a->format);
}

emp_status emp_attention_time(double *seconds, emp_form *form, const emp_device *gpu,
                              const emp_attention *attention, emp_error *err)
{
    const emp_attention *a = attention;
    const emp_tables    *t = gpu->tables;
    const emp_grid      *grid = NULL;
    double               peak = product_peak(gpu, a->format);
    double               size[] = {a->length, a->kv_heads, a->group};

    if (t != NULL) grid = grid_of(t->attention[a->phase], a->format);
    if (grid != NULL) {
        const double grid_s = read_grid(grid, size, form) * a->head_size / EMP_HEAD_SIZE;
        *seconds =
            no_less_than(grid_s, attention_flops(a), peak, attention_bytes(a), gpu, form);
        return EMP_OK;
    }
    if (peak <= 0.0) return refuse_format(a->format, err);
    double formula_s = attention_flops(a) / (REACHED * peak);
    *seconds = gpu->kernel_minimum_s + bound_by(formula_s, attention_bytes(a), gpu, form);
    return EMP_OK;
}

/* Exchanged data have two bytes an element, or one, whatever they mean. */
static emp_format exchanged_as(emp_format format)
{
    return format == EMP_FORMAT_FP16  ? EMP_FORMAT_BF16
           : format == EMP_FORMAT_FP8 ? EMP_FORMAT_INT8
                                      : format;
}

/* How often a GPU sends its buffer, less its own part. */
static double sends_of(emp_collective op)
{
    return op == EMP_COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
}

/* The table of a collective, or of the next best one, whose times count \a factor times. */
static const emp_grid *exchange_grid(double *factor, const emp_tables *tables,
                                     emp_collective op, emp_format format)
{
    static const emp_collective others[] = {
        EMP_COLLECTIVE_ALL_GATHER, EMP_COLLECTIVE_REDUCE_SCATTER,
        EMP_COLLECTIVE_ALL_REDUCE, EMP_COLLECTIVE_ALL_TO_ALL};

    *factor = 1.0;
    if (tables == NULL) return NULL;
    if (tables->collective[op][format] != NULL) return tables->collective[op][format];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (tables->collective[others[i]][format] == NULL) continue;
        *factor = sends_of(op) / sends_of(others[i]);
        return tables->collective[others[i]][format];
    }
    return NULL;
}

emp_status emp_exchange_time(double *seconds, emp_form *form, const emp_device *gpu,
                             const emp_exchange *exchange, emp_error *err)
{
    const emp_exchange *e = exchange;
    emp_format          format = exchanged_as(e->format);
    double              factor, size[] = {e->gpus, e->bytes};
    const emp_grid     *grid = exchange_grid(&factor, gpu->tables, e->op, format);

    if (grid == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the device model has no measured collective of format %s",
                         emp_format_name(e->format));
    double most = exp(grid->knot[0][grid->points[0] - 1]), least = exp(grid->knot[0][0]);
    if (e->gpus > most + 0.5 || e->gpus < least - 0.5)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "a collective of %.0f GPUs; the device model knows %.0f to %.0f",
                         e->gpus, least, most);
    *seconds = factor * read_grid(grid, size, form);
    if (grid != gpu->tables->collective[e->op][format]) *form = EMP_FORM_LIKE;
    return EMP_OK;
}

bool emp_exchange_counts(const emp_device *gpu, int32_t gpus, double bytes_per_s)
{
    double          factor;
    const emp_grid *grid =
        exchange_grid(&factor, gpu->tables, EMP_COLLECTIVE_ALL_TO_ALL, EMP_FORMAT_BF16);

    if (grid == NULL) return true;
    const double bytes = exp(grid->knot[1][grid->points[1] - 1]);
    const double seconds = factor * emp_grid_at(grid, (double[]){gpus, bytes});
    return emp_ring_is_as_measured(bytes_per_s, bytes * (gpus - 1.0) / gpus / seconds);
}

/* Rows at which products of a table are bound by arithmetic. */
static const double MANY_ROWS = 1024.0;

static emp_format format_of_dtype(emp_dtype dtype, emp_format fp32_as)
{
    switch (dtype) {
    case EMP_DTYPE_COMPLEX32:
    case EMP_DTYPE_HALF: return EMP_FORMAT_FP16;
    case EMP_DTYPE_BFLOAT16: return EMP_FORMAT_BF16;
    case EMP_DTYPE_INT8: return EMP_FORMAT_INT8;
    case EMP_DTYPE_FLOAT6_E2M3:
    case EMP_DTYPE_FLOAT8_E4M3:
    case EMP_DTYPE_FLOAT8_E5M2: return EMP_FORMAT_FP8;
    case EMP_DTYPE_FLOAT4_E2M1:
    case EMP_DTYPE_FLOAT4_E2M1_X2:
    case EMP_DTYPE_NVFP4_W4A4: return EMP_FORMAT_FP4;
    case EMP_DTYPE_COMPLEX64:
    case EMP_DTYPE_FLOAT: return fp32_as;
    case EMP_DTYPE_COMPLEX128:
    case EMP_DTYPE_DOUBLE: return EMP_FORMAT_FP64;
    default: return EMP_FORMAT_FP32;
    }
}

/* The type of both matrices of a product; NONE: they differ, or the op has fewer than two inputs. */
static emp_dtype operand_dtype(const emp_graph *g, emp_op_id op)
{
    const emp_tensor_id *input = &g->input[g->input_offset[op]];
    emp_op_class         op_class = g->op[op].cost->op_class;
    emp_dtype            of[2];

    if ((op_class != EMP_OP_GEMM && op_class != EMP_OP_CONV) ||
        g->input_offset[op + 1] - g->input_offset[op] < 2)
        return EMP_DTYPE_NONE;
    for (int32_t i = 0; i < 2; i++) {
        of[i] = (emp_dtype)g->tensor[input[i]].dtype;
        if (emp_dtype_is_integer(of[i]) && emp_dtype_bits(of[i]) <= 8)
            of[i] = EMP_DTYPE_INT8;
        if (of[i] == EMP_DTYPE_FLOAT8_E5M2) of[i] = EMP_DTYPE_FLOAT8_E4M3;
        if (of[i] == EMP_DTYPE_FLOAT6_E3M2) of[i] = EMP_DTYPE_FLOAT6_E2M3;
    }
    return of[0] == of[1] ? of[0] : EMP_DTYPE_NONE;
}

/* The format in which the GPU computes the op, if its model knows it: the one that the weights allow, or the operands' if the
 * output, in which the unit sums up, has more bytes, or the output's. Else fp32. */
static emp_format format_of(const emp_graph *g, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as)
{
    const emp_op_cost *c = g->op[op].cost;
    bool               has_output = g->output_offset[op + 1] > g->output_offset[op];
    emp_dtype  dtype = c->computed != EMP_DTYPE_NONE ? c->computed : operand_dtype(g, op);
    emp_format own = format_of_dtype(dtype, fp32_as);
    emp_format format =
        has_output ? format_of_dtype(g->tensor[g->output_offset[op]].dtype, fp32_as)
                   : EMP_FORMAT_FP32;
    bool counts =
        c->computed != EMP_DTYPE_NONE || emp_format_bytes(own) < emp_format_bytes(format);

    if (counts && product_peak(gpu, own) > 0.0) return own;
    return product_peak(gpu, format) > 0.0 ? format : EMP_FORMAT_FP32;
}

/* Whether the GPU multiplies quantised weights as they are stored. Others unpack them to the type of the output. */
static bool is_native(const emp_op_cost *c, emp_format format)
{
    return c->computed != EMP_DTYPE_NONE &&
           format == format_of_dtype(c->computed, EMP_FORMAT_FP32);
}

/* The time of a decoded token whose cache is stored in fewer bits than its queries, or has the values in its keys: `seconds`
 * with keys and values in the format of the queries, less in proportion to the bytes of the cache, down to the time of the
 * arithmetic. */
static double small_cache_s(double seconds, const emp_op_cost *c, const emp_device *gpu,
                            const emp_attention *a)
{
    enum { ROW = 4096 };
    const double narrow =
        c->stored == EMP_DTYPE_NONE
            ? 1.0
            : (double)emp_dtype_tensor_bytes(c->stored, &EMP_SHAPE(ROW)) /
                  (ROW * emp_format_bytes(a->format));
    const double keys = c->value_size > 0 ? 1.0 : (double)c->head_size / (double)c->k;
    const double share = narrow * keys;
    const double peak = product_peak(gpu, a->format), fixed = gpu->kernel_minimum_s;

    if (share >= 1.0 || seconds <= fixed) return seconds;
    const double bytes_s = fixed + (seconds - fixed) * share;
    return peak > 0.0 ? fmax(bytes_s, attention_flops(a) / (REACHED * peak)) : bytes_s;
}

/* Attention by the table, if its sizes are known; else < 0. */
static double attention_s(const emp_op_cost *c, const emp_device *gpu, emp_format format)
{
    bool          is_decode = c->queries == 1;
    emp_attention a = {.phase =
                           is_decode ? EMP_ATTENTION_OF_TOKEN : EMP_ATTENTION_OF_PROMPT,
                       .format = format,
                       .length = (double)(is_decode ? c->keys : c->queries),
                       .kv_heads = (double)c->batch,
                       .head_size = (double)c->head_size};
    emp_form      form;
    double        seconds = -1.0;

    if (c->queries < 1 || c->keys < 1 || c->batch < 1 || c->head_size < 1) return -1.0;
    a.group = fmax(1.0, (double)c->m / (double)c->queries);
    if (emp_attention_time(&seconds, &form, gpu, &a, NULL) != EMP_OK) return -1.0;
    if (is_decode) seconds = small_cache_s(seconds, c, gpu, &a);
    return seconds * c->flops / attention_flops(&a);
}

/* The work of llama.cpp's matrix kernels on quantised weights, by GGML's number of the type. With few
 * rows they unpack a weight in so many cycles of a lane, beside the time of its bytes. With many rows their
 * products take `many` times as long as in float16, and reach at most so many FLOP a cycle and multiprocessor
 * (CUDA).
 * cuda: measured on an H200, data/anchors/llama. metal: by llama.cpp's authors with Llama-3.1-8B
 * on an M4 Max (tools/quantize/README.md at 311c2c9f), whose rows for float16 and Q8_0 reach 512 GB/s and leave
 * 2.9 ms; `many` are prompts of 512 tokens there. Mixes stand for their main type. A type without
 * a figure there takes Q4_0's, and other formats, such as AWQ's, hide their unpacking: assumed. MXFP4 and
 * NVFP4 have no limit, as other libraries multiply them in 16 bits. */
typedef struct {
    int32_t ggml;
    double  cuda_cycles, cuda_flops, metal_cycles, many;
} unpacking;

static const unpacking unpackings[] = {
    {2, 1.50, 774.0, 0.0, 1.1},     /* Q4_0 */
    {3, 0.58, 675.0, 0.0, 1.1},     /* Q4_1 */
    {6, 1.82, 734.0, 0.0, 1.1},     /* Q5_0 */
    {7, 1.38, 635.0, 0.0, 1.1},     /* Q5_1 */
    {8, 1.13, 765.0, 0.0, 1.07},    /* Q8_0 */
    {10, 3.54, 434.0, 1.51, 1.18},  /* Q2_K */
    {11, 5.20, 559.0, 1.62, 1.22},  /* Q3_K */
    {12, 2.28, 675.0, 0.57, 1.13},  /* Q4_K */
    {13, 2.13, 652.0, 0.40, 1.22},  /* Q5_K */
    {14, 2.97, 556.0, 0.69, 1.14},  /* Q6_K */
    {16, 3.81, 742.0, 2.38, 1.08},  /* IQ2_XXS */
    {17, 4.19, 540.0, 2.30, 1.12},  /* IQ2_XS */
    {18, 3.62, 689.0, 2.41, 1.13},  /* IQ3_XXS */
    {19, 3.96, 628.0, 2.38, 1.08},  /* IQ1_S */
    {20, 1.95, 750.0, 0.0, 1.1},    /* IQ4_NL */
    {21, 4.22, 669.0, 2.16, 1.16},  /* IQ3_S */
    {22, 3.88, 543.0, 2.42, 1.18},  /* IQ2_S */
    {23, 1.83, 825.0, 0.62, 1.2},   /* IQ4_XS */
    {29, 4.01, 1686.0, 2.57, 1.09}, /* IQ1_M */
    {39, 2.94, 0.0, 0.0, 1.1},      /* MXFP4 */
    {40, 2.03, 0.0, 0.0, 1.1},      /* NVFP4 */
};

static const unpacking other = {.many = 1.1};

/* Lanes of a multiprocessor that unpack: integer units of NVIDIA's since Volta. */
static const double LANES = 64.0;

/* NULL: the weights need none. */
static const unpacking *unpacking_of(const emp_op_cost *c, emp_format format)
{
    if (c->stored == EMP_DTYPE_NONE || c->stored < EMP_DTYPE_GGML || is_native(c, format))
        return NULL;
    for (size_t i = 0; i < sizeof unpackings / sizeof *unpackings; i++)
        if ((int32_t)c->stored - EMP_DTYPE_GGML == unpackings[i].ggml)
            return &unpackings[i];
    return &other;
}

static double cycles_per_s(const emp_device *gpu)
{
    return fmax(1.0, (double)gpu->multiprocessors) * fmax(1e6, gpu->clock_hz);
}

/* Seconds to unpack each weight once. */
static double unpacking_s(const unpacking *of, const emp_op_cost *c,
                          const emp_device *gpu)
{
    enum { ROW = 4096 };
    if (of == NULL) return 0.0;
    double bytes_of_row = (double)emp_dtype_tensor_bytes(c->stored, &EMP_SHAPE(ROW));
    double weights = (double)c->weight_bytes * ROW / bytes_of_row;
    double cycles = gpu->has_metal_kernels ? of->metal_cycles : of->cuda_cycles;

    return weights * cycles / (LANES * cycles_per_s(gpu));
}

/* A product with many rows, which takes `seconds` in the format that it is computed in. */
static double many_rows_s(double seconds, const unpacking *of, const emp_op_cost *c,
                          const emp_device *gpu)
{
    if (of == NULL) return seconds;
    seconds *= of->many;
    if (gpu->has_metal_kernels || of->cuda_flops == 0.0) return seconds;
    return fmax(seconds, c->flops / (of->cuda_flops * cycles_per_s(gpu)));
}

/* A table holds products whose matrices are stored in the format they are computed in. With few rows
 * they take as long as their bytes need, so quantised weights make them shorter; with many rows
 * they take as long as their arithmetic does, of which the rate at MANY_ROWS is a measure. */
static double table_s(const emp_grid *grid, const emp_op_cost *c, const emp_device *gpu,
                      emp_format format)
{
    double m = fmax(1.0, (double)c->m * (double)c->batch), n = fmax(1.0, (double)c->n),
           k = fmax(1.0, (double)c->k);
    double measured = emp_grid_at(grid, (double[]){m, n, k});
    double share = (double)(c->bytes_read + c->bytes_written) /
                   ((m * k + k * n + m * n) * emp_format_bytes(format));

    if (c->stored == EMP_DTYPE_NONE || is_native(c, format)) return measured;
    const unpacking *of = unpacking_of(c, format);
    double           fixed = gpu->kernel_minimum_s;
    if (share >= 1.0 || m >= MANY_ROWS) return many_rows_s(measured, of, c, gpu);
    double one_row = emp_grid_at(grid, (double[]){1.0, n, k});
    double few_s = fixed + fmax(0.0, one_row - fixed) * share + unpacking_s(of, c, gpu);
    double many_s = emp_grid_at(grid, (double[]){MANY_ROWS, n, k}) * m / MANY_ROWS;
    return fmax(few_s, many_rows_s(fmin(measured, many_s), of, c, gpu));
}

double emp_format_product_s(const emp_graph *graph, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as)
{
    const emp_op_cost *c = graph->op[op].cost;
    emp_format         format = format_of(graph, op, gpu, fp32_as);
    double             seconds = attention_s(c, gpu, format);
    const emp_grid    *grid = product_grid(gpu, format);

    if (seconds >= 0.0) return seconds;
    if (grid != NULL) return table_s(grid, c, gpu, format);
    seconds = product_formula_s(gpu, format, c->m, c->n, c->k, c->batch,
                                c->op_class == EMP_OP_CONV);
    const unpacking *of = unpacking_of(c, format);
    return fmax(many_rows_s(seconds, of, c, gpu),
                (double)(c->bytes_read + c->bytes_written) / gpu->memory_bytes_per_s +
                    unpacking_s(of, c, gpu));
}

double emp_format_peak_flops_per_s(const emp_graph *graph, emp_op_id op,
                                   const emp_device *gpu, emp_format fp32_as)
{
    if (!emp_has_formats(gpu)) return gpu->peak_flops_per_s;
    const double peak = product_peak(gpu, format_of(graph, op, gpu, fp32_as));
    return peak > 0.0 ? peak : gpu->peak_flops_per_s;
}

/* ---- collectives on a machine ---- */

/* Counts the ranks of a part that takes all GPUs, and the bytes of all of them. */
static emp_collective_part on_machine(emp_collective_part part,
                                      const emp_machine  *machine)
{
    const int32_t gpus = emp_machine_count(machine, EMP_DEVICE_GPU);

    if (part.ranks == EMP_RANKS_ALL_GATHER)
        part.bytes = emp_mul_saturating(part.bytes, gpus);
    if (part.ranks < 0) part.ranks = gpus;
    return part;
}

static double ring_s(const emp_collective_part *part, emp_link_rate link)
{
    return sends_of(part->op) * (part->ranks - 1.0) *
           ((double)part->bytes / part->ranks / link.bytes_per_s + link.latency_s);
}

/* The slowest link between GPUs, within a host if one has as many as there are ranks. */
static emp_link_rate link_of_gpus(const emp_machine *m, int32_t ranks)
{
    const emp_device_list gpus = emp_ring_gpus(m);
    const bool            is_near = ranks <= emp_ring_most_near(m, &gpus);
    emp_link_rate         link =
        emp_ring_slowest(m, &gpus, is_near ? EMP_PAIRS_OF_ONE_HOST : EMP_PAIRS_ALL);

    if (is_near && emp_ring_is_mesh(m, &gpus)) link.bytes_per_s *= ranks - 1;
    return link;
}

static emp_link_rate link_of_all(const emp_machine *m)
{
    emp_device_list all = {.count = m->device_count};

    for (int32_t d = 0; d < m->device_count; d++) all.id[d] = d;
    return emp_ring_slowest(m, &all, EMP_PAIRS_ALL);
}

static double on_gpu_s(const emp_collective_part *part, const emp_machine *machine,
                       const emp_device *gpu)
{
    emp_exchange  exchange = {.op = part->op,
                              .format = EMP_FORMAT_FP16,
                              .gpus = part->ranks,
                              .bytes = (double)part->bytes};
    emp_form      form;
    double        seconds;
    emp_link_rate link = link_of_gpus(machine, part->ranks);

    if (emp_exchange_counts(gpu, part->ranks, link.bytes_per_s) &&
        emp_exchange_time(&seconds, &form, gpu, &exchange, NULL) == EMP_OK)
        return seconds;
    return ring_s(part, isfinite(link.bytes_per_s) ? link : link_of_all(machine));
}

double emp_collective_s(const emp_collective_part *part, const emp_machine *machine,
                        const emp_device *device)
{
    const emp_collective_part here = on_machine(*part, machine);

    if (here.ranks <= 1 || here.bytes == 0) return 0.0;
    if (device->kind == EMP_DEVICE_GPU) return on_gpu_s(&here, machine, device);
    emp_link_rate link = link_of_all(machine);
    if (!isfinite(link.bytes_per_s))
        link = (emp_link_rate){device->core_bytes_per_s, 0.0};
    return ring_s(&here, link);
}
