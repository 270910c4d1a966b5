// SPDX-License-Identifier: GPL-3.0-or-later
/* The checks of a checked run. Buffers hold poison from their allocation until they are
 * written, and again from when they are freed; of what is complete a checksum is kept. So
 * whoever reads too early, too late or elsewhere finds poison or another content. */
#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "replay/cpu/kernels.h"
#include "replay/execute_internal.h"
#include "replay/plan/kernel.h"

struct sum {
    double value, absolute;
};

static void add(struct sum *sum, float a, float b)
{
    sum->value += (double)a * (double)b;
    sum->absolute += fabs((double)a * (double)b);
}

static const float *floats(const emp_operand *operand)
{
    return (const float *)operand->data;
}

static struct sum product_element(const emp_kernel_call *call, int64_t index)
{
    const int64_t *s = call->kernel->size;
    int64_t        m = s[EMP_PRODUCT_M], n = s[EMP_PRODUCT_N], k = s[EMP_PRODUCT_K];
    int64_t        batch = index / (m * n), i = index / n % m, j = index % n;
    const float   *a = floats(&call->input[s[EMP_PRODUCT_A]]) + batch * m * k;
    const float   *b = floats(&call->input[s[EMP_PRODUCT_B]]) + batch * k * n;
    int            ta = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_A;
    int            tb = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_B;
    struct sum     sum = {0};

    for (int64_t p = 0; p < k; p++)
        add(&sum, a[ta ? p * m + i : i * k + p], b[tb ? j * k + p : p * n + j]);
    return sum;
}

/* Places in an image batch and in a filter. */
static int64_t image_at(const emp_kernel *kernel, int64_t height, int64_t width,
                        int64_t channels, int64_t n, int64_t y, int64_t x, int64_t c)
{
    if (kernel->variant & EMP_CONV_NCHW)
        return ((n * channels + c) * height + y) * width + x;
    return ((n * height + y) * width + x) * channels + c;
}

static int64_t in_at(const emp_kernel *kernel, int64_t n, int64_t y, int64_t x, int64_t c)
{
    const int64_t *s = kernel->size;

    return image_at(kernel, s[EMP_CONV_H], s[EMP_CONV_W], s[EMP_CONV_C], n, y, x, c);
}

static int64_t out_at(const emp_kernel *kernel, int64_t n, int64_t y, int64_t x,
                      int64_t f)
{
    const int64_t *s = kernel->size;

    return image_at(kernel, s[EMP_CONV_OH], s[EMP_CONV_OW], s[EMP_CONV_F], n, y, x, f);
}

static int64_t filter_at(const emp_kernel *kernel, int64_t ky, int64_t kx, int64_t c,
                         int64_t f)
{
    const int64_t *s = kernel->size;

    return ((ky * s[EMP_CONV_KW] + kx) * s[EMP_CONV_C] + c) * s[EMP_CONV_F] + f;
}

/* Every triple (pixel of out, tap) with its pixel of the image, once. */
struct meeting {
    int64_t n, oy, ox, ky, kx, y, x;
};

static int meets(const int64_t *s, struct meeting *at)
{
    at->y = at->oy * s[EMP_CONV_SH] + at->ky - s[EMP_CONV_PH];
    at->x = at->ox * s[EMP_CONV_SW] + at->kx - s[EMP_CONV_PW];
    return at->y >= 0 && at->y < s[EMP_CONV_H] && at->x >= 0 && at->x < s[EMP_CONV_W];
}

/* Splits a place in an image batch into its coordinates. */
static void split_image(const emp_kernel *kernel, int64_t height, int64_t width,
                        int64_t channels, int64_t index, int64_t at[4])
{
    if (kernel->variant & EMP_CONV_NCHW) {
        at[2] = index % width;
        at[1] = index / width % height;
        at[3] = index / (width * height) % channels;
    } else {
        at[3] = index % channels;
        at[2] = index / channels % width;
        at[1] = index / (channels * width) % height;
    }
    at[0] = index / (height * width * channels);
}

static struct sum forward_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    struct meeting    at = {0};
    struct sum        sum = {0};
    int64_t           of[4];

    split_image(k, s[EMP_CONV_OH], s[EMP_CONV_OW], s[EMP_CONV_F], index, of);
    at = (struct meeting){.n = of[0], .oy = of[1], .ox = of[2]};
    for (at.ky = 0; at.ky < s[EMP_CONV_KH]; at.ky++) {
        for (at.kx = 0; at.kx < s[EMP_CONV_KW]; at.kx++) {
            for (int64_t c = 0; meets(s, &at) && c < s[EMP_CONV_C]; c++)
                add(&sum, floats(&call->input[0])[in_at(k, at.n, at.y, at.x, c)],
                    floats(&call->input[1])[filter_at(k, at.ky, at.kx, c, of[3])]);
        }
    }
    return sum;
}

static struct sum input_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    struct meeting    at = {0};
    struct sum        sum = {0};
    int64_t           of[4];

    split_image(k, s[EMP_CONV_H], s[EMP_CONV_W], s[EMP_CONV_C], index, of);
    at.n = of[0];
    for (at.oy = 0; at.oy < s[EMP_CONV_OH]; at.oy++) {
        for (at.ox = 0; at.ox < s[EMP_CONV_OW]; at.ox++) {
            at.ky = of[1] - at.oy * s[EMP_CONV_SH] + s[EMP_CONV_PH];
            at.kx = of[2] - at.ox * s[EMP_CONV_SW] + s[EMP_CONV_PW];
            if (at.ky < 0 || at.ky >= s[EMP_CONV_KH] || at.kx < 0 ||
                at.kx >= s[EMP_CONV_KW])
                continue;
            for (int64_t f = 0; f < s[EMP_CONV_F]; f++)
                add(&sum, floats(&call->input[2])[out_at(k, at.n, at.oy, at.ox, f)],
                    floats(&call->input[1])[filter_at(k, at.ky, at.kx, of[3], f)]);
        }
    }
    return sum;
}

static struct sum filter_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    int64_t        f = index % s[EMP_CONV_F], c = index / s[EMP_CONV_F] % s[EMP_CONV_C];
    int64_t        tap = index / (s[EMP_CONV_F] * s[EMP_CONV_C]);
    struct meeting at = {.ky = tap / s[EMP_CONV_KW], .kx = tap % s[EMP_CONV_KW]};
    struct sum     sum = {0};

    for (at.n = 0; at.n < s[EMP_CONV_N]; at.n++) {
        for (at.oy = 0; at.oy < s[EMP_CONV_OH]; at.oy++) {
            for (at.ox = 0; at.ox < s[EMP_CONV_OW]; at.ox++) {
                if (!meets(s, &at)) continue;
                add(&sum, floats(&call->input[0])[in_at(k, at.n, at.y, at.x, c)],
                    floats(&call->input[2])[out_at(k, at.n, at.oy, at.ox, f)]);
            }
        }
    }
    return sum;
}

double emp_reference_element(const emp_kernel_call *call, int64_t index, double *absolute)
{
    int32_t    direction = call->kernel->variant & EMP_CONV_DIRECTION;
    double     scale = 1.0 / sqrt(emp_kernel_terms(call->kernel));
    struct sum sum = call->kernel->kind == EMP_KERNEL_PRODUCT
                         ? product_element(call, index)
                     : direction == EMP_CONV_FORWARD ? forward_element(call, index)
                     : direction == EMP_CONV_INPUT   ? input_element(call, index)
                                                     : filter_element(call, index);

    *absolute = scale * sum.absolute;
    return scale * sum.value;
}

int64_t emp_reference_count(const emp_kernel *kernel)
{
    const int64_t *s = kernel->size;

    if (kernel->kind == EMP_KERNEL_PRODUCT)
        return s[EMP_PRODUCT_M] * s[EMP_PRODUCT_N] * s[EMP_PRODUCT_BATCH];
    switch (kernel->variant & EMP_CONV_DIRECTION) {
    case EMP_CONV_FORWARD:
        return s[EMP_CONV_N] * s[EMP_CONV_OH] * s[EMP_CONV_OW] * s[EMP_CONV_F];
    case EMP_CONV_INPUT:
        return s[EMP_CONV_N] * s[EMP_CONV_H] * s[EMP_CONV_W] * s[EMP_CONV_C];
    default: return s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C] * s[EMP_CONV_F];
    }
}

/* A transfer to a GPU takes 10 us at least, so poison goes in few. */
enum { BLOCK_BYTES = 1 << 18, POISON_BYTES = 1 << 22, SAMPLES = 8 };

/* A NaN. No kernel makes one, or an infinity, of numbers; all make NaNs of it, but for a
 * maximum, which may pass over it. */
#define POISON   UINT32_C(0x7fb5c0de)
#define EXPONENT UINT32_C(0x7f800000)

static const double TOLERANCE = 1e-4;

emp_status emp_replay_poison(emp_replay *r, int32_t memory, void *data, int64_t bytes,
                             emp_error *err)
{
    emp_status     st = EMP_OK;
    unsigned char *to = (unsigned char *)data;
    int64_t        size = bytes < POISON_BYTES ? bytes : POISON_BYTES;
    uint32_t      *block = EMP_NEW_ARRAY(uint32_t, (size_t)size / 4 + 1);

    if (block == NULL) EMP_FAIL(EMP_ENOMEM, "checking a buffer");
    for (int64_t i = 0; i <= size / 4; i++) block[i] = POISON;
    for (int64_t at = 0; at < bytes; at += size) {
        int64_t run = bytes - at < size ? bytes - at : size;
        EMP_TRY(r->backend->write(r->backend_state, memory, to + at, block, run, err));
    }

cleanup:
    emp_free(block);
    return st;
}

/* The content of a buffer: its hash, and whether poison is in it. */
struct content {
    uint64_t hash;
    bool     has_poison;
};

static bool has_poison(const unsigned char *block, int64_t bytes)
{
    for (int64_t at = 0; at + 4 <= bytes; at += 4) {
        uint32_t word;
        memcpy(&word, block + at, sizeof word);
        if ((word & EXPONENT) == EXPONENT) return true;
    }
    return false;
}

static emp_status look(emp_replay *r, int32_t memory, const unsigned char *data,
                       int64_t bytes, struct content *content, emp_error *err)
{
    emp_status     st = EMP_OK;
    unsigned char *block = EMP_NEW_ARRAY(unsigned char, BLOCK_BYTES);

    *content = (struct content){EMP_HASH_SEED, false};
    if (block == NULL) EMP_FAIL(EMP_ENOMEM, "checking a buffer");
    for (int64_t at = 0; at < bytes; at += BLOCK_BYTES) {
        int64_t run = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
        EMP_TRY(r->backend->read(r->backend_state, memory, data + at, block, run, err));
        content->hash = emp_hash_bytes(content->hash, block, (size_t)run);
        content->has_poison = content->has_poison || has_poison(block, run);
    }
cleanup:
    emp_free(block);
    return st;
}

static const char *maker_of(const emp_replay *r, int32_t place)
{
    const emp_replay_plan *p = r->plan;

    return p->op[p->tensor[emp_replay_tensor_of_place(p, place)].producer].name;
}

/* A place that \a reader is about to use. */
static emp_status check_place(emp_replay *r, int32_t place, const char *reader,
                              emp_error *err)
{
    const emp_tensor_place *at = &r->place[place];
    const emp_replay_plan  *p = r->plan;
    struct content          content;

    if (atomic_load(&at->written_in) != atomic_load(&r->step))
        return EMP_ERROR(EMP_EINVAL, "%s reads what %s has not yet written in this step",
                         reader, maker_of(r, place));
    if (at->root < 0) return EMP_OK; /* variables change, constants do not */
    int64_t bytes = place < p->tensor_count ? p->tensor[place].bytes
                                            : p->copy[place - p->tensor_count].bytes;
    EMP_CHECK(look(r, at->memory, at->data, bytes, &content, err));
    if (content.has_poison)
        return EMP_ERROR(EMP_EINVAL,
                         "%s reads poison in place of what %s wrote: it was freed",
                         reader, maker_of(r, place));
    if (content.hash != at->checksum)
        return EMP_ERROR(EMP_EINVAL, "%s reads something else than what %s wrote", reader,
                         maker_of(r, place));
    atomic_fetch_add(&r->checked_reads, 1);
    return EMP_OK;
}

/* A variable that an op of this step writes: who reads it meanwhile sees either. */
static void mark_written(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    emp_kernel_kind        kind = p->op[op].kernel.kind;

    if (kind != EMP_KERNEL_UPDATE && kind != EMP_KERNEL_SCATTER) return;
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        int32_t place = p->input[i].place;
        if (place < 0 || place >= p->tensor_count || p->tensor[place].storage < 0)
            continue;
        atomic_store(&r->op[p->tensor[place].storage].written_in, atomic_load(&r->step));
    }
}

emp_status emp_replay_check_inputs(emp_replay *r, int32_t op, emp_error *err)
{
    const emp_replay_plan *p = r->plan;

    mark_written(r, op);
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        if (p->input[i].place >= 0)
            EMP_CHECK(check_place(r, p->input[i].place, p->op[op].name, err));
    }
    return EMP_OK;
}

emp_status emp_replay_check_copy(emp_replay *r, int32_t copy, emp_error *err)
{
    const emp_replay_plan  *p = r->plan;
    emp_tensor_place       *to = &r->place[p->tensor_count + copy];
    const emp_tensor_place *from = &r->place[p->copy[copy].tensor];
    struct content          content;

    if (to->root < 0) return EMP_OK;
    EMP_CHECK(look(r, to->memory, to->data, p->copy[copy].bytes, &content, err));
    if (from->root >= 0 && (content.has_poison || content.hash != from->checksum))
        return EMP_ERROR(EMP_EINVAL, "the copy of what %s wrote to %s differs from it",
                         maker_of(r, p->copy[copy].tensor), p->device[to->memory].name);
    to->checksum = content.hash;
    return EMP_OK;
}

/* Operands of an op in this computer's memory: where they are, or copies of them. */
struct here {
    emp_kernel_call call;
    emp_operand     input[3], output;
    unsigned char  *copy[4];
};

static emp_status bring(emp_replay *r, int32_t memory, emp_operand *operand,
                        unsigned char **copy, emp_error *err)
{
    if (r->memory[memory].is_here) return EMP_OK;
    *copy = EMP_NEW_ARRAY(unsigned char, (size_t)operand->bytes);
    if (*copy == NULL) return EMP_ERROR(EMP_ENOMEM, "checking a buffer");
    EMP_CHECK(r->backend->read(r->backend_state, memory, operand->data, *copy,
                               operand->bytes, err));
    operand->data = *copy;
    return EMP_OK;
}

static emp_status bring_all(emp_replay *r, int32_t op, struct here *here, emp_error *err)
{
    const emp_replay_plan *p = r->plan;
    const emp_kernel_call *call = &r->op[op].call;
    int32_t                count = call->input_count < 3 ? call->input_count : 3,
            device = p->op[op].device;

    *here = (struct here){.call = *call, .output = call->output[0]};
    here->call.input = here->input;
    here->call.output = &here->output;
    for (int32_t i = 0; i < count; i++) {
        bool on_host = p->input[p->input_offset[op] + i].on_host;
        here->input[i] = call->input[i];
        EMP_CHECK(bring(r, emp_replay_memory(p, device, on_host), &here->input[i],
                        &here->copy[i], err));
    }
    return bring(r, r->place[p->output_offset[op]].memory, &here->output, &here->copy[3],
                 err);
}

static bool reads_written_variable(const emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        int32_t place = p->input[i].place;
        int32_t storage =
            place >= 0 && place < p->tensor_count ? p->tensor[place].storage : -1;
        if (storage >= 0 &&
            atomic_load(&r->op[storage].written_in) == atomic_load(&r->step))
            return true;
    }
    return false;
}

/* Some elements, spread over the output, against their definition. */
static emp_status verify(emp_replay *r, int32_t op, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct here here = {0};
    int64_t     count = emp_reference_count(&r->plan->op[op].kernel);
    double      worst = 0.0;

    EMP_TRY(bring_all(r, op, &here, err));
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t index = (int64_t)((double)count * ((double)i + 0.5) / SAMPLES);
        double  absolute;
        double  wanted = emp_reference_element(&here.call, index, &absolute);
        double  got = (double)((const float *)here.output.data)[index];
        double  off = fabs(got - wanted) / (absolute + 1e-6);
        if (reads_written_variable(r, op)) goto cleanup;
        if (!(off <= TOLERANCE))
            EMP_FAIL(EMP_EINVAL, "%s: element %lld is %.9g, not %.9g",
                     r->plan->op[op].name, (long long)index, got, wanted);
        if (off > worst) worst = off;
    }
    pthread_mutex_lock(&r->verify_lock);
    r->verified_ops++;
    if (worst > r->verified_error) r->verified_error = worst;
    pthread_mutex_unlock(&r->verify_lock);
cleanup:
    for (int i = 0; i < 4; i++) emp_free(here.copy[i]);
    return st;
}

/* The first op of each kind and size; all of them would take days. */
static bool is_sampled(emp_replay *r, int32_t op)
{
    emp_kernel_kind kind = r->plan->op[op].kernel.kind;

    if (kind != EMP_KERNEL_PRODUCT && kind != EMP_KERNEL_CONV) return false;
    return r->op[op].is_sample && atomic_load(&r->step) == 1;
}

/* Outputs of ops without kernel that are no alias: sizes, what is fed. They cost nothing
 * and are given a content here. */
static emp_status give_content(emp_replay *r, int32_t place, int64_t bytes,
                               emp_error *err)
{
    emp_status     st = EMP_OK;
    unsigned char *numbers = EMP_NEW_ARRAY(unsigned char, (size_t)bytes);

    if (numbers == NULL) EMP_FAIL(EMP_ENOMEM, "content of %lld bytes", (long long)bytes);
    emp_cpu_fill_random(numbers, bytes);
    EMP_TRY(r->backend->write(r->backend_state, r->place[place].memory,
                              r->place[place].data, numbers, bytes, err));
cleanup:
    emp_free(numbers);
    return st;
}

emp_status emp_replay_check_outputs(emp_replay *r, int32_t op, emp_error *err)
{
    const emp_replay_plan *p = r->plan;
    const emp_replay_op   *o = &p->op[op];

    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        emp_tensor_place *at = &r->place[t];
        struct content    content;
        if (at->root < 0) continue;
        if (o->kernel.kind == EMP_KERNEL_NOTHING && at->root == t)
            EMP_CHECK(give_content(r, t, p->tensor[t].bytes, err));
        EMP_CHECK(look(r, at->memory, at->data, p->tensor[t].bytes, &content, err));
        if (content.has_poison)
            return EMP_ERROR(EMP_EINVAL, "%s (%s) leaves poison in its output %d",
                             o->name, o->type, t - p->output_offset[op]);
        at->checksum = content.hash;
    }
    if (is_sampled(r, op)) EMP_CHECK(verify(r, op, err));
    return EMP_OK;
}
