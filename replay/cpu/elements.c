// SPDX-License-Identifier: GPL-3.0-or-later
/* One pass over the data: element-wise work, sums, data movement, updates of variables. */
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "replay/cpu/kernels.h"
#include "replay/cpu/kernels_internal.h"

enum { BLOCK = 1024, GRAIN = 64, TILE = 16, LANES = 16 };

static int64_t count_of(const emp_operand *operand)
{
    return operand->bytes / operand->element_bytes;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Elements of other sizes than four bytes as numbers of order one. */
static float element_at(const emp_operand *operand, int64_t i)
{
    const unsigned char *at = (const unsigned char *)operand->data;
    float                value;

    if (operand->element_bytes != (int32_t)sizeof value)
        return (float)at[i * operand->element_bytes] / 255.0f;
    memcpy(&value, at + i * (int64_t)sizeof value, sizeof value);
    return value;
}

/* \a count elements from \a first on, of an operand that repeats if it is shorter; in
 * \a room, or where they lie. */
static const float *load(const emp_operand *operand, int64_t first, int64_t count,
                         float *room)
{
    int64_t there = count_of(operand);

    if (there == 0) {
        memset(room, 0, (size_t)count * sizeof *room);
        return room;
    }
    first %= there;
    if (operand->element_bytes == (int32_t)sizeof *room && first + count <= there)
        return emp_floats(operand) + first;
    int64_t period = least(count, there);
    for (int64_t i = 0; i < period; i++)
        room[i] = element_at(operand, first + i < there ? first + i : first + i - there);
    for (int64_t done = period; done < count; done *= 2)
        memcpy(room + done, room, (size_t)least(done, count - done) * sizeof *room);
    return room;
}

static void store(const emp_operand *operand, int64_t first, int64_t count,
                  const float *values)
{
    unsigned char *to = (unsigned char *)operand->data + first * operand->element_bytes;

    if (operand->element_bytes == (int32_t)sizeof *values) {
        memcpy(to, values, (size_t)count * sizeof *values);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += operand->element_bytes)
        memset(to, values[i] > 0.5f, (size_t)operand->element_bytes);
}

EMP_CLONES static void divide(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = (x[i] + 0.5f) / (1.0f + x[i] * x[i]);
}

EMP_CLONES static void squash(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = 2.0f / (1.0f + emp_fast_exp(-x[i])) - 1.0f;
}

EMP_CLONES static void add_scaled(float *to, const float *x, float weight, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] += weight * x[i];
}

EMP_CLONES static void bound(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = emp_bounded(x[i]);
}

EMP_CPU_KERNEL(map)
{
    emp_range range = emp_range_of(call->kernel->size[EMP_MAP_N], part, parts, GRAIN);
    float     mean[BLOCK], room[BLOCK];
    float     weight = 1.0f / (float)(call->input_count > 0 ? call->input_count : 1);

    for (int64_t first = range.first; first < range.end; first += BLOCK) {
        int64_t count = least(BLOCK, range.end - first);
        memset(mean, 0, sizeof mean);
        for (int32_t in = 0; in < call->input_count; in++)
            add_scaled(mean, load(&call->input[in], first, count, room), weight, count);
        if (call->kernel->variant == EMP_MAP_DIV) divide(mean, count);
        if (call->kernel->variant == EMP_MAP_EXP) squash(mean, count);
        bound(mean, count);
        store(&call->output[0], first, count, mean);
    }
    if (part == 0) emp_cpu_fill_outputs(call, 1);
}

/* The mean of \a count neighbours, in lanes that are vector code in any build. */
EMP_CLONES static float mean_of(const float *x, int64_t count)
{
    float   lane[LANES] = {0}, sum = 0.0f;
    int64_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        for (int j = 0; j < LANES; j++) lane[j] += x[i + j];
    }
    for (; i < count; i++) sum += x[i];
    for (int j = 0; j < LANES; j++) sum += lane[j];
    return sum / (float)count;
}

EMP_CLONES static void reduce_outer(const float *x, float *to, int64_t n, int64_t m,
                                    emp_range range)
{
    int64_t rows = n / m;
    float   weight = 1.0f / (float)rows;

    for (int64_t first = range.first; first < range.end; first += BLOCK) {
        int64_t count = least(BLOCK, range.end - first);
        float   sum[BLOCK] = {0};
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t i = 0; i < count; i++) sum[i] += x[row * m + first + i];
        }
        for (int64_t i = 0; i < count; i++) to[first + i] = weight * sum[i];
    }
}

EMP_CPU_KERNEL(reduce)
{
    const int64_t *s = call->kernel->size;
    int64_t        n = s[EMP_REDUCE_N], m = s[EMP_REDUCE_M];
    const float   *x = emp_floats(&call->input[0]);
    float         *to = emp_floats(&call->output[0]);

    if (call->kernel->variant == EMP_REDUCE_OUTER) {
        reduce_outer(x, to, n, m, emp_range_of(m, part, parts, GRAIN));
        return;
    }
    emp_range range = emp_range_of(m, part, parts, m > GRAIN ? GRAIN : 1);
    for (int64_t i = range.first; i < range.end; i++)
        to[i] = mean_of(x + i * (n / m), n / m);
}

/* Bytes as if all inputs lay one after the other, read forward. */
struct source {
    const emp_kernel_call *call;
    int64_t                begin; /* of the input, among all bytes */
    int32_t                input;
};

static void copy_from(struct source *from, int64_t at, unsigned char *to, int64_t bytes)
{
    const emp_kernel_call *call = from->call;

    while (bytes > 0) {
        while (from->input < call->input_count &&
               at >= from->begin + call->input[from->input].bytes) {
            from->begin += call->input[from->input].bytes;
            from->input++;
        }
        if (from->input == call->input_count) {
            memset(to, 0, (size_t)bytes);
            return;
        }
        const emp_operand *in = &call->input[from->input];
        int64_t            run = least(bytes, from->begin + in->bytes - at);
        memmove(to, (const unsigned char *)in->data + (at - from->begin), (size_t)run);
        at += run;
        to += run;
        bytes -= run;
    }
}

/* Runs of an output that is shorter than the inputs come from all over them; an output
 * that is longer reads them over again. */
static void move_runs(const emp_kernel_call *call, int32_t part, int32_t parts)
{
    int64_t run = call->kernel->size[EMP_MOVE_RUN], in_bytes = 0, out_bytes = 0;

    for (int32_t i = 0; i < call->input_count; i++) in_bytes += call->input[i].bytes;
    for (int32_t i = 0; i < call->output_count; i++) out_bytes += call->output[i].bytes;
    double  stride = in_bytes > out_bytes ? (double)in_bytes / (double)out_bytes : 1.0;
    int64_t before = 0;
    for (int32_t o = 0; o < call->output_count; o++) {
        const emp_operand *out = &call->output[o];
        struct source      from = {call, 0, 0};
        emp_range          range = emp_range_of(out->bytes, part, parts, run);
        for (int64_t at = range.first; at < range.end; at += run) {
            int64_t bytes = least(run, range.end - at);
            int64_t where = (int64_t)((double)(before + at) * stride) / 4 * 4;
            if (in_bytes > 0 && where >= in_bytes) where %= in_bytes;
            if (where < from.begin) from = (struct source){call, 0, 0};
            copy_from(&from, where, (unsigned char *)out->data + at, bytes);
        }
        before += out->bytes;
    }
}

EMP_CLONES static void transpose(const emp_kernel_call *call, int32_t part, int32_t parts)
{
    const int64_t *s = call->kernel->size;
    int64_t        rows = s[EMP_MOVE_ROWS], columns = s[EMP_MOVE_COLUMNS];
    emp_range      range = emp_range_of(s[EMP_MOVE_BATCH] * columns, part, parts, TILE);

    for (int64_t first = range.first; first < range.end;) {
        int64_t      batch = first / columns, c = first % columns;
        int64_t      width = least(least(TILE, columns - c), range.end - first);
        const float *from = emp_floats(&call->input[0]) + batch * rows * columns + c;
        float       *to = emp_floats(&call->output[0]) + first * rows;
        for (int64_t r = 0; r < rows; r += TILE) {
            int64_t height = least(TILE, rows - r);
            for (int64_t j = 0; j < width; j++) {
                for (int64_t i = 0; i < height; i++)
                    to[j * rows + r + i] = from[(r + i) * columns + j];
            }
        }
        first += width;
    }
}

EMP_CPU_KERNEL(move)
{
    if (call->kernel->variant == EMP_MOVE_TRANSPOSE)
        transpose(call, part, parts);
    else
        move_runs(call, part, parts);
}

static uint32_t word_at(const emp_operand *operand, int64_t i)
{
    uint32_t word;

    memcpy(&word,
           (const unsigned char *)operand->data +
               i % (operand->bytes / (int64_t)sizeof word) * (int64_t)sizeof word,
           sizeof word);
    return word;
}

EMP_CPU_KERNEL(lookup)
{
    const int64_t *s = call->kernel->size;
    int64_t        width = s[EMP_LOOKUP_WIDTH];
    int64_t        table_rows = call->input[0].bytes / 4 / width;
    emp_range      range = emp_range_of(s[EMP_LOOKUP_ROWS], part, parts, 1);

    for (int64_t row = range.first; row < range.end; row++) {
        int64_t from = emp_row_of(word_at(&call->input[1], row), table_rows);
        memcpy(emp_floats(&call->output[0]) + row * width,
               emp_floats(&call->input[0]) + from * width, (size_t)width * sizeof(float));
    }
}

EMP_CLONES static void mix_row(float *table, const float *value, int64_t width)
{
    for (int64_t i = 0; i < width; i++)
        table[i] = emp_bounded(0.9f * table[i] + 0.1f * value[i]);
}

EMP_CPU_KERNEL(scatter)
{
    const int64_t     *s = call->kernel->size;
    bool               is_output = call->kernel->variant == EMP_SCATTER_OUTPUT;
    int64_t            width = s[EMP_SCATTER_WIDTH];
    int64_t            tables = is_output ? 1 : s[EMP_SCATTER_TABLES];
    const emp_operand *table = is_output ? call->output : call->input;

    if (part != 0) return;
    if (is_output) memset(table->data, 0, (size_t)table->bytes);
    for (int64_t row = 0; row < s[EMP_SCATTER_ROWS]; row++) {
        uint32_t     word = word_at(&call->input[s[EMP_SCATTER_INDEX]], row);
        const float *value = emp_floats(&call->input[s[EMP_SCATTER_VALUE]]) + row * width;
        for (int64_t t = 0; t < tables; t++) {
            int64_t to = emp_row_of(word, table[t].bytes / 4 / width);
            mix_row(emp_floats(&table[t]) + to * width, value, width);
        }
    }
}

/* Numbers between 0 and 1 that follow from their places. */
EMP_CLONES static void fill_random(float *to, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        uint32_t x = (uint32_t)i * UINT32_C(747796405) + UINT32_C(2891336453);
        x = (x >> 15 ^ x) * UINT32_C(2246822519);
        x = (x >> 13 ^ x) * UINT32_C(3266489917);
        to[i] = (float)(x >> 8) * 0x1p-24f;
    }
}

static void fill_constant(float *to, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) to[i] = 0.5f;
}

void emp_cpu_fill_random(void *data, int64_t bytes)
{
    fill_random((float *)data, 0, bytes / 4);
    memset((unsigned char *)data + bytes / 4 * 4, 0, (size_t)(bytes % 4));
}

void emp_cpu_fill_outputs(const emp_kernel_call *call, int32_t first)
{
    for (int32_t i = first; i < call->output_count; i++)
        emp_cpu_fill_random(call->output[i].data, call->output[i].bytes);
}

EMP_CPU_KERNEL(fill)
{
    for (int32_t i = 0; i < call->output_count; i++) {
        const emp_operand *out = &call->output[i];
        emp_range          range = emp_range_of(out->bytes / 4, part, parts, GRAIN);
        if (call->kernel->variant == EMP_FILL_RANDOM)
            fill_random(emp_floats(out), range.first, range.end);
        else
            fill_constant(emp_floats(out), range.first, range.end);
        if (part == 0)
            memset((unsigned char *)out->data + out->bytes / 4 * 4, 1,
                   (size_t)(out->bytes % 4));
    }
}

/* Each table but the variable is a mean of what the gradient was. */
EMP_CLONES static void update_block(const emp_kernel_call *call, int64_t first,
                                    int64_t count, const float *gradient)
{
    float *variable = emp_floats(&call->input[0]) + first;
    float  step[BLOCK];

    for (int64_t i = 0; i < count; i++) step[i] = gradient[i];
    for (int64_t t = 1; t < call->kernel->size[EMP_UPDATE_TABLES]; t++) {
        float *slot = emp_floats(&call->input[t]) + first;
        for (int64_t i = 0; i < count; i++) {
            slot[i] = emp_bounded(0.9f * slot[i] + 0.1f * gradient[i] * gradient[i]);
            step[i] = 0.5f * step[i] + 0.5f * slot[i];
        }
    }
    if (call->kernel->variant == EMP_UPDATE_ROOT) {
        for (int64_t i = 0; i < count; i++)
            step[i] = step[i] / (sqrtf(fabsf(step[i])) + 0.01f);
    }
    for (int64_t i = 0; i < count; i++)
        variable[i] = emp_bounded(variable[i] - 0.001f * step[i]);
}

EMP_CPU_KERNEL(update)
{
    const int64_t *s = call->kernel->size;
    emp_range      range = emp_range_of(s[EMP_UPDATE_N], part, parts, GRAIN);
    float          room[BLOCK];

    for (int64_t first = range.first; first < range.end; first += BLOCK) {
        static const emp_operand nothing = {NULL, 0, 1};
        int64_t                  count = least(BLOCK, range.end - first);
        const emp_operand       *value =
            s[EMP_UPDATE_VALUE] >= 0 ? &call->input[s[EMP_UPDATE_VALUE]] : &nothing;
        update_block(call, first, count, load(value, first, count, room));
    }
}
