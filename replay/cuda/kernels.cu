// SPDX-License-Identifier: GPL-3.0-or-later
/* Grid-stride loops, one thread an element or a block a row: memory-bound work whose speed
 * is that of the memory. */
#include "replay/cuda/kernels.h"

static const int64_t MOST_BLOCKS = 65535; /* of a grid, along its shorter sides */

enum {
    THREADS = 256,
    TILE = 32,
    TILE_ROWS = 8,
    MOST_SOURCES = 32,
    MOST_INPUTS = 8,
    MOST_TABLES = 8
};

#define FOR_EACH(i, n)                                                        \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
         i += (int64_t)gridDim.x * blockDim.x)

/* Enough blocks for n elements, at least one. */
static unsigned blocks_for(int64_t n)
{
    int64_t blocks = (n + THREADS - 1) / THREADS;

    return (unsigned)(blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks);
}

static int last_error(void) { return (int)cudaGetLastError(); }

/* A NaN stays one: checked runs look for it. */
__device__ static float bounded(float x)
{
    return x > 2.0f ? 2.0f : x < -2.0f ? -2.0f : x;
}

__device__ static int64_t row_of(uint32_t word, int64_t rows)
{
    return (int64_t)((uint64_t)(word * 2654435769u) * (uint64_t)rows >> 32);
}

__device__ static float random_at(int64_t i)
{
    uint32_t x = (uint32_t)i * 747796405u + 2891336453u;

    x = (x >> 15 ^ x) * 2246822519u;
    x = (x >> 13 ^ x) * 3266489917u;
    return (float)(x >> 8) * 0x1p-24f;
}

/* ---- element-wise ---- */

struct inputs {
    const void *data[MOST_INPUTS];
    int64_t     count[MOST_INPUTS]; /* elements; shorter ones repeat */
    int32_t     element_bytes[MOST_INPUTS];
    int32_t     input_count;
};

__device__ static float element_of(const void *data, int32_t element_bytes, int64_t i)
{
    if (element_bytes == 4) return ((const float *)data)[i];
    return (float)((const unsigned char *)data)[i * element_bytes] / 255.0f;
}

__device__ static float finish(float x, int32_t variant)
{
    if (variant == EMP_MAP_DIV) x = (x + 0.5f) / (1.0f + x * x);
    if (variant == EMP_MAP_EXP) x = 2.0f / (1.0f + expf(-x)) - 1.0f;
    return bounded(x);
}

/* More inputs than one launch takes are added to what is there already; one of them whose
 * buffer the output took over is read as what it has become, at the same speed. */
__global__ static void map_kernel(inputs in, void *out, int32_t element_bytes, int64_t n,
                                  float weight, bool is_first, bool is_last,
                                  int32_t variant)
{
    FOR_EACH(i, n)
    {
        float sum = is_first ? 0.0f : ((const float *)out)[i];
        for (int32_t k = 0; k < in.input_count; k++) {
            if (in.count[k] == 0) continue;
            int64_t at = in.count[k] >= n ? i : i % in.count[k];
            sum += weight * element_of(in.data[k], in.element_bytes[k], at);
        }
        if (is_last) sum = finish(sum, variant);
        if (element_bytes == 4) {
            ((float *)out)[i] = sum;
        } else {
            unsigned char *to = (unsigned char *)out + i * element_bytes;
            for (int32_t b = 0; b < element_bytes; b++) to[b] = sum > 0.5f;
        }
    }
}

extern "C" int emp_cuda_map(cudaStream_t stream, const emp_kernel_call *call)
{
    const emp_operand *out = &call->output[0];
    int64_t            n = call->kernel->size[EMP_MAP_N];
    float weight = 1.0f / (float)(call->input_count > 0 ? call->input_count : 1);
    /* sums that are no floats cannot be kept between launches: more inputs are left out */
    int32_t most = out->element_bytes == 4 || call->input_count < MOST_INPUTS
                       ? call->input_count
                       : MOST_INPUTS;
    int32_t first = 0;

    do {
        inputs in = {};
        for (int32_t i = first; i < most && in.input_count < MOST_INPUTS; i++) {
            in.data[in.input_count] = call->input[i].data;
            in.element_bytes[in.input_count] = call->input[i].element_bytes;
            in.count[in.input_count++] =
                call->input[i].bytes / call->input[i].element_bytes;
        }
        map_kernel<<<blocks_for(n), THREADS, 0, stream>>>(
            in, out->data, out->element_bytes, n, weight, first == 0,
            first + in.input_count >= most, call->kernel->variant);
        first += in.input_count;
    } while (first < most);
    return call->output_count > 1 ? emp_cuda_fill_outputs(stream, call, 1) : last_error();
}

__global__ static void random_kernel(float *to, int64_t n)
{
    FOR_EACH(i, n) to[i] = random_at(i);
}

__global__ static void constant_kernel(float *to, int64_t n)
{
    FOR_EACH(i, n) to[i] = 0.5f;
}

static int fill_all(cudaStream_t stream, const emp_kernel_call *call, int32_t first,
                    bool is_random)
{
    for (int32_t i = first; i < call->output_count; i++) {
        float  *to = (float *)call->output[i].data;
        int64_t bytes = call->output[i].bytes, n = bytes / 4;
        if (n > 0 && is_random)
            random_kernel<<<blocks_for(n), THREADS, 0, stream>>>(to, n);
        if (n > 0 && !is_random)
            constant_kernel<<<blocks_for(n), THREADS, 0, stream>>>(to, n);
        if (bytes % 4 != 0) {
            cudaError_t code = cudaMemsetAsync(to + n, 1, (size_t)(bytes % 4), stream);
            if (code != cudaSuccess) return (int)code;
        }
    }
    return last_error();
}

extern "C" int emp_cuda_fill_outputs(cudaStream_t stream, const emp_kernel_call *call,
                                     int32_t first)
{
    return fill_all(stream, call, first, true);
}

extern "C" int emp_cuda_fill(cudaStream_t stream, const emp_kernel_call *call)
{
    return fill_all(stream, call, 0, call->kernel->variant == EMP_FILL_RANDOM);
}

struct tables {
    float  *table[MOST_TABLES];
    int64_t rows[MOST_TABLES]; /* scatters only */
    int32_t count;
};

__global__ static void update_kernel(tables t, const float *gradient,
                                     int64_t gradient_count, int64_t n, bool has_root)
{
    FOR_EACH(i, n)
    {
        float g = gradient_count > 0 ? gradient[i % gradient_count] : 0.0f, step = g;
        for (int32_t k = 1; k < t.count; k++) {
            float slot = bounded(0.9f * t.table[k][i] + 0.1f * g * g);
            t.table[k][i] = slot;
            step = 0.5f * step + 0.5f * slot;
        }
        if (has_root) step /= sqrtf(fabsf(step)) + 0.01f;
        t.table[0][i] = bounded(t.table[0][i] - 0.001f * step);
    }
}

static tables tables_of(const emp_operand *operand, int64_t count, int64_t width)
{
    tables t = {};

    for (int64_t i = 0; i < count && i < MOST_TABLES; i++) {
        t.table[i] = (float *)operand[i].data;
        t.rows[i] = width > 0 ? operand[i].bytes / 4 / width : 0;
        t.count++;
    }
    return t;
}

extern "C" int emp_cuda_update(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t     *s = call->kernel->size;
    int64_t            n = s[EMP_UPDATE_N], value = s[EMP_UPDATE_VALUE];
    const emp_operand *gradient = value >= 0 ? &call->input[value] : NULL;

    if (n == 0) return 0;
    update_kernel<<<blocks_for(n), THREADS, 0, stream>>>(
        tables_of(call->input, s[EMP_UPDATE_TABLES], 0),
        gradient != NULL ? (const float *)gradient->data : NULL,
        gradient != NULL ? gradient->bytes / 4 : 0, n,
        call->kernel->variant == EMP_UPDATE_ROOT);
    return last_error();
}

/* ---- reductions ---- */

/* The sum over the threads of a block, for its first thread. */
__device__ static float block_sum(float x)
{
    __shared__ float part[THREADS / 32];

    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, x, offset);
    __syncthreads(); /* part may be in use from before */
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0.0f;
    for (int i = 0; threadIdx.x == 0 && i < THREADS / 32; i++) x += part[i];
    return x;
}

__device__ static float block_max(float x)
{
    __shared__ float part[THREADS / 32];

    for (int offset = 16; offset > 0; offset /= 2)
        x = fmaxf(x, __shfl_down_sync(0xffffffffu, x, offset));
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    x = part[0];
    for (int i = 1; i < THREADS / 32; i++) x = fmaxf(x, part[i]);
    return x;
}

/* blockIdx.y: the result; several blocks share a long row. */
__global__ static void inner_kernel(const float *x, float *to, int64_t width,
                                    float weight)
{
    const float *row = x + (int64_t)blockIdx.y * width;
    float        sum = 0.0f;

    FOR_EACH(i, width) sum += row[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(&to[blockIdx.y], weight * sum);
}

__global__ static void narrow_kernel(const float *x, float *to, int64_t m, int64_t width,
                                     float weight)
{
    FOR_EACH(i, m)
    {
        float sum = 0.0f;
        for (int64_t j = 0; j < width; j++) sum += x[i * width + j];
        to[i] = weight * sum;
    }
}

/* blockIdx.y: a share of the rows. */
__global__ static void outer_kernel(const float *x, float *to, int64_t m, int64_t rows,
                                    float weight)
{
    FOR_EACH(i, m)
    {
        float sum = 0.0f;
        for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
            sum += x[row * m + i];
        atomicAdd(&to[i], weight * sum);
    }
}

extern "C" int emp_cuda_reduce(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int64_t        m = s[EMP_REDUCE_M], width = s[EMP_REDUCE_N] / m;
    const float   *x = (const float *)call->input[0].data;
    float         *to = (float *)call->output[0].data, weight = 1.0f / (float)width;
    bool           is_outer = call->kernel->variant == EMP_REDUCE_OUTER;

    if (!is_outer && (width < THREADS || m > MOST_BLOCKS)) {
        narrow_kernel<<<blocks_for(m), THREADS, 0, stream>>>(x, to, m, width, weight);
        return last_error();
    }
    cudaError_t code = cudaMemsetAsync(to, 0, (size_t)m * sizeof *to, stream);
    if (code != cudaSuccess) return (int)code;
    if (is_outer) {
        int64_t shares = width / 16 < 1 ? 1 : width / 16 > 64 ? 64 : width / 16;
        outer_kernel<<<dim3(blocks_for(m), (unsigned)shares), THREADS, 0, stream>>>(
            x, to, m, width, weight);
    } else {
        unsigned share = blocks_for(width / 8);
        if (share > 64) share = 64;
        inner_kernel<<<dim3(share, (unsigned)m), THREADS, 0, stream>>>(x, to, width,
                                                                       weight);
    }
    return last_error();
}

/* ---- data movement ---- */

struct sources {
    const unsigned char *data[MOST_SOURCES];
    int64_t              begin[MOST_SOURCES], end[MOST_SOURCES]; /* among all inputs */
    int32_t              count;
};

__device__ static uint32_t load_word(const unsigned char *from)
{
    if ((uintptr_t)from % 4 == 0) return *(const uint32_t *)from;
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

/* Words whose source is none of these are left to other launches; what has none at all
 * was set to zero before. */
__global__ static void move_kernel(sources in, uint32_t *to, int64_t words, int64_t run,
                                   int64_t before, double stride, int64_t in_bytes)
{
    FOR_EACH(i, words)
    {
        int64_t at = 4 * i, offset = at % run;
        int64_t where = (int64_t)((double)(before + at - offset) * stride) / 4 * 4;
        if (in_bytes > 0) where = (where % in_bytes + offset) % in_bytes;
        for (int32_t k = 0; k < in.count; k++) {
            if (where < in.begin[k] || where + 4 > in.end[k]) continue;
            to[i] = load_word(in.data[k] + (where - in.begin[k]));
        }
    }
}

static int move_runs(cudaStream_t stream, const emp_kernel_call *call)
{
    int64_t in_bytes = 0, out_bytes = 0, before = 0;

    for (int32_t i = 0; i < call->input_count; i++) in_bytes += call->input[i].bytes;
    for (int32_t i = 0; i < call->output_count; i++) out_bytes += call->output[i].bytes;
    double stride = in_bytes > out_bytes ? (double)in_bytes / (double)out_bytes : 1.0;
    for (int32_t o = 0; o < call->output_count; o++) {
        const emp_operand *out = &call->output[o];
        int64_t            words = out->bytes / 4, begin = 0;
        cudaError_t code = cudaMemsetAsync(out->data, 0, (size_t)out->bytes, stream);
        if (code != cudaSuccess) return (int)code;
        for (int32_t i = 0; words > 0 && i < call->input_count;) {
            sources in = {};
            for (; i < call->input_count && in.count < MOST_SOURCES; i++) {
                int32_t k = in.count++;
                in.data[k] = (const unsigned char *)call->input[i].data;
                in.begin[k] = begin;
                in.end[k] = begin += call->input[i].bytes;
            }
            move_kernel<<<blocks_for(words), THREADS, 0, stream>>>(
                in, (uint32_t *)out->data, words, call->kernel->size[EMP_MOVE_RUN],
                before, stride, in_bytes);
        }
        before += out->bytes;
    }
    return last_error();
}

__global__ static void transpose_kernel(const float *from, float *to, int64_t rows,
                                        int64_t columns)
{
    __shared__ float tile[TILE][TILE + 1];
    int64_t          matrix = (int64_t)blockIdx.z * rows * columns;
    int64_t          row_tiles = (rows + TILE - 1) / TILE;

    for (int64_t r = blockIdx.y; r < row_tiles; r += gridDim.y) {
        int64_t c0 = (int64_t)blockIdx.x * TILE, r0 = r * TILE;
        for (int j = threadIdx.y; j < TILE; j += TILE_ROWS) {
            if (r0 + j < rows && c0 + threadIdx.x < columns)
                tile[j][threadIdx.x] =
                    from[matrix + (r0 + j) * columns + c0 + threadIdx.x];
        }
        __syncthreads();
        for (int j = threadIdx.y; j < TILE; j += TILE_ROWS) {
            if (c0 + j < columns && r0 + threadIdx.x < rows)
                to[matrix + (c0 + j) * rows + r0 + threadIdx.x] = tile[threadIdx.x][j];
        }
        __syncthreads();
    }
}

extern "C" int emp_cuda_transpose(cudaStream_t stream, const float *from, float *to,
                                  int64_t batch, int64_t rows, int64_t columns)
{
    int64_t row_tiles = (rows + TILE - 1) / TILE;

    for (int64_t b = 0; b < batch; b += MOST_BLOCKS) {
        int64_t count = batch - b < MOST_BLOCKS ? batch - b : MOST_BLOCKS;
        dim3    grid((unsigned)((columns + TILE - 1) / TILE),
                     (unsigned)(row_tiles < MOST_BLOCKS ? row_tiles : MOST_BLOCKS),
                     (unsigned)count);
        transpose_kernel<<<grid, dim3(TILE, TILE_ROWS), 0, stream>>>(
            from + b * rows * columns, to + b * rows * columns, rows, columns);
    }
    return last_error();
}

extern "C" int emp_cuda_move(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;

    if (call->kernel->variant != EMP_MOVE_TRANSPOSE) return move_runs(stream, call);
    return emp_cuda_transpose(stream, (const float *)call->input[0].data,
                              (float *)call->output[0].data, s[EMP_MOVE_BATCH],
                              s[EMP_MOVE_ROWS], s[EMP_MOVE_COLUMNS]);
}

__global__ static void lookup_kernel(const float *table, int64_t table_rows,
                                     const uint32_t *index, int64_t index_count,
                                     float *to, int64_t n, int64_t width)
{
    FOR_EACH(i, n)
    {
        int64_t row = i / width;
        to[i] = table[row_of(index[row % index_count], table_rows) * width + i % width];
    }
}

extern "C" int emp_cuda_lookup(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int64_t        width = s[EMP_LOOKUP_WIDTH], n = s[EMP_LOOKUP_ROWS] * width;

    lookup_kernel<<<blocks_for(n), THREADS, 0, stream>>>(
        (const float *)call->input[0].data, call->input[0].bytes / 4 / width,
        (const uint32_t *)call->input[1].data, call->input[1].bytes / 4,
        (float *)call->output[0].data, n, width);
    return last_error();
}

/* Rows that are named twice are written by two threads; either may win. */
__global__ static void scatter_kernel(tables t, const uint32_t *index,
                                      int64_t index_count, const float *value, int64_t n,
                                      int64_t width, bool is_sum)
{
    FOR_EACH(i, n)
    {
        uint32_t word = index[i / width % index_count];
        for (int32_t k = 0; k < t.count; k++) {
            float *to = &t.table[k][row_of(word, t.rows[k]) * width + i % width];
            if (is_sum)
                atomicAdd(to, 0.1f * value[i]);
            else
                *to = bounded(0.9f * *to + 0.1f * value[i]);
        }
    }
}

extern "C" int emp_cuda_scatter(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t     *s = call->kernel->size;
    int64_t            width = s[EMP_SCATTER_WIDTH], n = s[EMP_SCATTER_ROWS] * width;
    bool               is_sum = call->kernel->variant == EMP_SCATTER_OUTPUT;
    const emp_operand *index = &call->input[s[EMP_SCATTER_INDEX]];
    tables             t = is_sum ? tables_of(call->output, 1, width)
                                  : tables_of(call->input, s[EMP_SCATTER_TABLES], width);

    if (is_sum) {
        cudaError_t code = cudaMemsetAsync(call->output[0].data, 0,
                                           (size_t)call->output[0].bytes, stream);
        if (code != cudaSuccess) return (int)code;
    }
    scatter_kernel<<<blocks_for(n), THREADS, 0, stream>>>(
        t, (const uint32_t *)index->data, index->bytes / 4,
        (const float *)call->input[s[EMP_SCATTER_VALUE]].data, n, width, is_sum);
    return last_error();
}

/* ---- kernels of several passes ---- */

/* A block a row. */
__global__ static void softmax_kernel(const float *x, float *to, int64_t rows,
                                      int64_t columns, const float *label, int64_t labels,
                                      float *loss)
{
    __shared__ float total;

    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *from = x + row * columns;
        float       *out = to + row * columns, most = -INFINITY, sum = 0.0f;
        for (int64_t i = threadIdx.x; i < columns; i += THREADS)
            most = fmaxf(most, from[i]);
        most = block_max(most);
        for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
            out[i] = expf(from[i] - most);
            sum += out[i];
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) total = sum;
        __syncthreads();
        for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
            float p = out[i] / total;
            if (loss != NULL && labels >= (row + 1) * columns)
                p -= label[row * columns + i];
            out[i] = p;
        }
        if (loss != NULL && threadIdx.x == 0)
            loss[row] = bounded(logf(total) + 0.5f * label[row % labels]);
        __syncthreads();
    }
}

extern "C" int emp_cuda_softmax(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int64_t        rows = s[EMP_SOFTMAX_ROWS];
    bool           is_loss = call->kernel->variant == EMP_SOFTMAX_LOSS;

    softmax_kernel<<<(unsigned)(rows < MOST_BLOCKS ? rows : MOST_BLOCKS), THREADS, 0,
                     stream>>>(
        (const float *)call->input[0].data, (float *)call->output[is_loss ? 1 : 0].data,
        rows, s[EMP_SOFTMAX_COLUMNS], is_loss ? (const float *)call->input[1].data : NULL,
        is_loss ? call->input[1].bytes / 4 : 0,
        is_loss ? (float *)call->output[0].data : NULL);
    return emp_cuda_fill_outputs(stream, call, is_loss ? 2 : 1);
}

/* A block a channel: sums, then the pass that uses them. */
__global__ static void norm_kernel(const float *x, const float *y, float *to,
                                   int64_t outer, int64_t channels, int64_t inner)
{
    __shared__ float shift, scale;
    int64_t          count = outer * inner;

    for (int64_t c = blockIdx.x; c < channels; c += gridDim.x) {
        float sum = 0.0f, products = 0.0f;
        for (int64_t i = threadIdx.x; i < count; i += THREADS) {
            int64_t at = (i / inner * channels + c) * inner + i % inner;
            sum += x[at];
            products += x[at] * y[at];
        }
        sum = block_sum(sum);
        products = block_sum(products);
        if (threadIdx.x == 0) {
            shift = sum / (float)count;
            scale = rsqrtf(fabsf(products) / (float)count + 0.01f);
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < count; i += THREADS) {
            int64_t at = (i / inner * channels + c) * inner + i % inner;
            to[at] = bounded((0.5f * (x[at] + y[at]) - shift) * scale);
        }
        __syncthreads();
    }
}

extern "C" int emp_cuda_norm(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int64_t        channels = s[EMP_NORM_CHANNELS];
    bool           is_grad = call->kernel->variant == EMP_NORM_GRAD;

    norm_kernel<<<(unsigned)(channels < MOST_BLOCKS ? channels : MOST_BLOCKS), THREADS, 0,
                  stream>>>((const float *)call->input[0].data,
                            (const float *)call->input[is_grad ? 1 : 0].data,
                            (float *)call->output[0].data, s[EMP_NORM_OUTER], channels,
                            s[EMP_NORM_INNER]);
    return emp_cuda_fill_outputs(stream, call, 1);
}

struct pool {
    int64_t n, h, w, c, kh, kw, oh, ow, sh, sw;
    float   scale;
    bool    is_max;
};

/* A thread a result; those of the gradient add to what several windows share. */
__global__ static void pool_kernel(pool v, const float *x, const float *gradient,
                                   float *to)
{
    FOR_EACH(i, v.n * v.oh * v.ow * v.c)
    {
        int64_t c = i % v.c, ox = i / v.c % v.ow, oy = i / (v.c * v.ow) % v.oh;
        int64_t n = i / (v.c * v.ow * v.oh), best = -1;
        float   most = -2.0f, sum = 0.0f;
        for (int64_t y = oy * v.sh; y < oy * v.sh + v.kh && y < v.h; y++) {
            for (int64_t z = ox * v.sw; z < ox * v.sw + v.kw && z < v.w; z++) {
                int64_t at = ((n * v.h + y) * v.w + z) * v.c + c;
                if (gradient != NULL && !v.is_max) {
                    atomicAdd(&to[at], v.scale * gradient[i]);
                    continue;
                }
                if (v.is_max && (best < 0 || x[at] > most)) {
                    most = x[at];
                    best = at;
                }
                sum += v.scale * x[at];
            }
        }
        if (gradient == NULL) to[i] = v.is_max ? most : sum;
        if (gradient != NULL && best >= 0) atomicAdd(&to[best], v.scale * gradient[i]);
    }
}

extern "C" int emp_cuda_pool(cudaStream_t stream, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int32_t        variant = call->kernel->variant;
    bool           is_nchw = (variant & EMP_POOL_NCHW) != 0;
    bool           is_grad = (variant & EMP_POOL_GRAD) != 0;
    bool           is_avg = (variant & EMP_POOL_AVG) != 0;
    pool           v = {is_nchw ? s[EMP_POOL_N] * s[EMP_POOL_C] : s[EMP_POOL_N],
              s[EMP_POOL_H],
              s[EMP_POOL_W],
              is_nchw ? 1 : s[EMP_POOL_C],
              s[EMP_POOL_KH],
              s[EMP_POOL_KW],
              s[EMP_POOL_OH],
              s[EMP_POOL_OW],
              s[EMP_POOL_SH],
              s[EMP_POOL_SW],
              1.0f / (float)(s[EMP_POOL_KH] * s[EMP_POOL_KW]),
              !is_avg};
    const float *gradient =
        is_grad ? (const float *)call->input[is_avg ? 1 : 2].data : NULL;

    if (is_grad) {
        cudaError_t code = cudaMemsetAsync(call->output[0].data, 0,
                                           (size_t)call->output[0].bytes, stream);
        if (code != cudaSuccess) return (int)code;
    }
    pool_kernel<<<blocks_for(v.n * v.oh * v.ow * v.c), THREADS, 0, stream>>>(
        v, (const float *)call->input[0].data, gradient, (float *)call->output[0].data);
    return last_error();
}

/* ---- parts of convolutions ---- */

struct conv {
    int64_t h, w, c, kh, kw, f, oh, ow, sh, sw, ph, pw;
    bool    is_nchw;
};

static conv conv_of(const emp_kernel *kernel)
{
    const int64_t *s = kernel->size;

    return conv{s[EMP_CONV_H],
                s[EMP_CONV_W],
                s[EMP_CONV_C],
                s[EMP_CONV_KH],
                s[EMP_CONV_KW],
                s[EMP_CONV_F],
                s[EMP_CONV_OH],
                s[EMP_CONV_OW],
                s[EMP_CONV_SH],
                s[EMP_CONV_SW],
                s[EMP_CONV_PH],
                s[EMP_CONV_PW],
                (kernel->variant & EMP_CONV_NCHW) != 0};
}

/* Where element \a i of the rows from pixel \a first on meets the image; -1 = outside. */
__device__ static int64_t meet(const conv &v, int64_t first, int64_t i)
{
    int64_t k = v.kh * v.kw * v.c, pixel = first + i / k, tap = i % k;
    int64_t c = tap % v.c, kx = tap / v.c % v.kw, ky = tap / (v.c * v.kw);
    int64_t n = pixel / (v.oh * v.ow);
    int64_t y = pixel / v.ow % v.oh * v.sh + ky - v.ph;
    int64_t x = pixel % v.ow * v.sw + kx - v.pw;

    if (y < 0 || y >= v.h || x < 0 || x >= v.w) return -1;
    return v.is_nchw ? ((n * v.c + c) * v.h + y) * v.w + x
                     : ((n * v.h + y) * v.w + x) * v.c + c;
}

__global__ static void im2col_kernel(conv v, const float *image, int64_t first, int64_t n,
                                     float *rows)
{
    FOR_EACH(i, n)
    {
        int64_t at = meet(v, first, i);
        rows[i] = at < 0 ? 0.0f : image[at];
    }
}

__global__ static void col2im_kernel(conv v, const float *rows, int64_t first, int64_t n,
                                     float *image)
{
    FOR_EACH(i, n)
    {
        int64_t at = meet(v, first, i);
        if (at >= 0) atomicAdd(&image[at], rows[i]);
    }
}

extern "C" int emp_cuda_im2col(cudaStream_t stream, const emp_kernel *kernel,
                               const float *image, int64_t first, int64_t count,
                               float *rows)
{
    conv    v = conv_of(kernel);
    int64_t n = count * v.kh * v.kw * v.c;

    im2col_kernel<<<blocks_for(n), THREADS, 0, stream>>>(v, image, first, n, rows);
    return last_error();
}

extern "C" int emp_cuda_col2im(cudaStream_t stream, const emp_kernel *kernel,
                               const float *rows, int64_t first, int64_t count,
                               float *image)
{
    conv    v = conv_of(kernel);
    int64_t n = count * v.kh * v.kw * v.c;

    col2im_kernel<<<blocks_for(n), THREADS, 0, stream>>>(v, rows, first, n, image);
    return last_error();
}

/* Element \a i of the rows of pixels from \a first on, in the out images. */
__device__ static int64_t out_at(const conv &v, int64_t first, int64_t i)
{
    int64_t pixel = first + i / v.f, f = i % v.f, area = v.oh * v.ow;

    return v.is_nchw ? (pixel / area * v.f + f) * area + pixel % area : pixel * v.f + f;
}

__global__ static void rows_of_kernel(conv v, const float *out, int64_t first, int64_t n,
                                      float *rows)
{
    FOR_EACH(i, n) rows[i] = out[out_at(v, first, i)];
}

__global__ static void rows_to_kernel(conv v, const float *rows, int64_t first, int64_t n,
                                      float *out)
{
    FOR_EACH(i, n) out[out_at(v, first, i)] = rows[i];
}

extern "C" int emp_cuda_rows_of(cudaStream_t stream, const emp_kernel *kernel,
                                const float *out, int64_t first, int64_t count,
                                float *rows)
{
    conv    v = conv_of(kernel);
    int64_t n = count * v.f;

    rows_of_kernel<<<blocks_for(n), THREADS, 0, stream>>>(v, out, first, n, rows);
    return last_error();
}

extern "C" int emp_cuda_rows_to(cudaStream_t stream, const emp_kernel *kernel,
                                const float *rows, int64_t first, int64_t count,
                                float *out)
{
    conv    v = conv_of(kernel);
    int64_t n = count * v.f;

    rows_to_kernel<<<blocks_for(n), THREADS, 0, stream>>>(v, rows, first, n, out);
    return last_error();
}

__global__ static void filter_kernel(const float *from, float *to, int64_t taps,
                                     int64_t c, int64_t f, bool is_back)
{
    FOR_EACH(i, taps * c * f)
    {
        int64_t there = (i % f * c + i / f % c) * taps + i / (f * c);
        if (is_back)
            to[i] = from[there];
        else
            to[there] = from[i];
    }
}

extern "C" int emp_cuda_filter_layout(cudaStream_t stream, const emp_kernel *kernel,
                                      const float *from, float *to, bool is_back)
{
    conv    v = conv_of(kernel);
    int64_t n = v.kh * v.kw * v.c * v.f;

    filter_kernel<<<blocks_for(n), THREADS, 0, stream>>>(from, to, v.kh * v.kw, v.c, v.f,
                                                         is_back);
    return last_error();
}
