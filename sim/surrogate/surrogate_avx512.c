// SPDX-License-Identifier: GPL-3.0-or-later
/* The kernel for AVX-512: one placement a lane. Same operations in the same order as in
 * surrogate.c, hence the same bits. */
#include "sim/surrogate/surrogate_internal.h"

#if EMP_SURROGATE_HAS_AVX512
#include <immintrin.h>
#include <string.h>

enum {
    LANES = EMP_SURROGATE_LANES,
    FEW_DEVICES = 5,  /* so many stay in registers, ... */
    MOST_DEVICES = 9, /* ... and so many, most of them; of more the rows are gathered */
    FEW_LINKS = 16    /* so many are faster looked at one by one than gathered */
};

#define AVX512 __attribute__((target("avx512f")))
#define INLINE AVX512 __attribute__((always_inline)) static inline

/* ---- placements into lanes ---- */

/* row[i] byte j to row[j] byte i: four perfect shuffles. */
INLINE void transpose_bytes(__m128i row[16])
{
    __m128i shuffled[16];

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            shuffled[2 * i] = _mm_unpacklo_epi8(row[i], row[i + 8]);
            shuffled[2 * i + 1] = _mm_unpackhi_epi8(row[i], row[i + 8]);
        }
        for (int i = 0; i < 16; i++) row[i] = shuffled[i];
    }
}

/* The last placement fills the lanes that are left. False: an entry, perhaps of a folded
 * op, is no device. */
AVX512 static bool take_placements(emp_surrogate *s, emp_device_id *const *placements,
                                   int32_t count)
{
    int32_t op_count = s->problem->graph->op_count;
    __m512i highest = _mm512_setzero_si512();

    for (int32_t op = 0; op < op_count; op += 16) {
        int32_t   width = op_count - op < 16 ? op_count - op : 16;
        __mmask16 mask = (__mmask16)((1u << width) - 1u);
        __m128i   row[16];
        for (int32_t lane = 0; lane < LANES; lane++) {
            const emp_device_id *from = placements[lane < count ? lane : count - 1];
            __m512i              devices = _mm512_maskz_loadu_epi32(mask, from + op);
            highest = _mm512_max_epu32(highest, devices);
            row[lane] = _mm512_cvtepi32_epi8(devices);
        }
        transpose_bytes(row);
        for (int32_t i = 0; i < width; i++) {
            uint8_t *to = s->device + (size_t)s->position[op + i] * LANES;
            _mm_storeu_si128((__m128i *)(void *)to, row[i]);
        }
    }
    return _mm512_reduce_max_epu32(highest) < (uint32_t)s->device_count;
}

/* ---- small things ---- */

INLINE __m512i device_of(const emp_surrogate *s, int32_t op)
{
    const void *row = s->device + (size_t)op * LANES;

    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)row));
}

INLINE float *row_of(float *table, int32_t row) { return table + (size_t)row * LANES; }

/* Where [index][lane] stands in a table of rows. */
INLINE __m512i in_lane(__m512i index)
{
    __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm512_or_si512(_mm512_slli_epi32(index, 4), lane);
}

INLINE __m512 look_up(const float *table, __m512i index)
{
    return _mm512_i32gather_ps(index, table, sizeof *table);
}

INLINE __m512i pair_of(const emp_surrogate *s, __m512i from, __m512i to)
{
    return _mm512_add_epi32(_mm512_mullo_epi32(from, _mm512_set1_epi32(s->device_count)),
                            to);
}

INLINE __m512 choose(__mmask16 mask, float yes, float no)
{
    return _mm512_mask_mov_ps(_mm512_set1_ps(no), mask, _mm512_set1_ps(yes));
}

/* ---- links ---- */

INLINE __m512i link_of_hop(const emp_surrogate *s, int32_t hop, __m512i pair)
{
    int32_t pairs = s->device_count * s->device_count;

    return _mm512_i32gather_epi32(pair, s->link_of_hop + hop * pairs, 4);
}

/* The \a lanes whose route has the link. */
INLINE __mmask16 lanes_of_link(__mmask16 lanes, __m512i links, int32_t link)
{
    return _mm512_mask_test_epi32_mask(lanes, links, _mm512_set1_epi32(1 << link));
}

INLINE __m512 wait_for_links(emp_surrogate *s, __mmask16 lanes, __m512i pair,
                             __m512i links, __m512 begin)
{
    if (s->link_count <= FEW_LINKS) {
        for (int32_t l = 0; l < s->link_count; l++) {
            __m512 busy = _mm512_loadu_ps(row_of(s->link_ns, l));
            begin =
                _mm512_mask_max_ps(begin, lanes_of_link(lanes, links, l), begin, busy);
        }
        return begin;
    }
    for (int32_t k = 0; k < s->hop_count; k++) {
        __m512i at = in_lane(link_of_hop(s, k, pair));
        __m512  busy = _mm512_mask_i32gather_ps(begin, lanes, at, s->link_ns, 4);
        begin = _mm512_max_ps(begin, busy);
    }
    return begin;
}

INLINE void occupy_links(emp_surrogate *s, __mmask16 lanes, __m512i pair, __m512i links,
                         __m512 end)
{
    if (s->link_count <= FEW_LINKS) {
        for (int32_t l = 0; l < s->link_count; l++) {
            float *row = row_of(s->link_ns, l);
            __m512 busy = _mm512_loadu_ps(row);
            busy = _mm512_mask_mov_ps(busy, lanes_of_link(lanes, links, l), end);
            _mm512_storeu_ps(row, busy);
        }
        return;
    }
    for (int32_t k = 0; k < s->hop_count; k++) {
        __m512i at = in_lane(link_of_hop(s, k, pair));
        _mm512_mask_i32scatter_ps(s->link_ns, lanes, at, end, 4);
    }
}

/* ---- telling ---- */

INLINE __m512 send(emp_surrogate *s, const emp_surrogate_tensor *t, __mmask16 is_first,
                   __m512i pair, __m512 leave)
{
    __m512i links = _mm512_i32gather_epi32(pair, s->links_of_route, 4);
    __m512  begin = _mm512_add_ps(leave, _mm512_set1_ps(s->send_ns));
    __m512  bytes_ns =
        _mm512_mul_ps(_mm512_set1_ps(t->copy_bytes), look_up(s->ns_per_byte, pair));
    __m512 duration = _mm512_add_ps(look_up(s->latency_ns, pair), bytes_ns);

    begin = wait_for_links(s, is_first, pair, links, begin);
    __m512 end = _mm512_add_ps(begin, duration);
    occupy_links(s, is_first, pair, links, end);
    return _mm512_add_ps(end, _mm512_set1_ps(s->arrive_ns));
}

/* The \a lanes that had not sent to this memory; sent[] is a set of 64 bits. */
INLINE __mmask16 note_sent(__m512i sent[2], __mmask16 lanes, __m512i to)
{
    __m512i   one = _mm512_set1_epi32(1); /* a shift by 32 or more gives 0 */
    __m512i   to_high = _mm512_sub_epi32(to, _mm512_set1_epi32(32));
    __m512i   low = _mm512_maskz_sllv_epi32(lanes, one, to);
    __m512i   high = _mm512_maskz_sllv_epi32(lanes, one, to_high);
    __mmask16 again =
        _mm512_test_epi32_mask(sent[0], low) | _mm512_test_epi32_mask(sent[1], high);

    sent[0] = _mm512_or_si512(sent[0], low);
    sent[1] = _mm512_or_si512(sent[1], high);
    return (__mmask16)(lanes & ~again);
}

/* Rows of all ops are more than a near cache holds, and readers are anywhere among them. */
INLINE void fetch_ahead(const emp_surrogate *s, int32_t op)
{
    _mm_prefetch((const char *)(s->ready_ns + (size_t)op * LANES), _MM_HINT_T0);
    _mm_prefetch((const char *)(s->device + (size_t)op * LANES), _MM_HINT_T0);
}

INLINE void tell(emp_surrogate *s, int32_t op, __m512 at)
{
    float *ready = row_of(s->ready_ns, op);

    _mm512_storeu_ps(ready, _mm512_max_ps(_mm512_loadu_ps(ready), at));
}

INLINE void tell_readers(emp_surrogate *s, const emp_surrogate_tensor *t, __m512i device,
                         __m512 done, __m512 leave)
{
    __m512i from = _mm512_and_si512(device, _mm512_set1_epi32((int32_t)t->home_mask));
    __m512i sent[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

    for (int32_t i = t->reader; i < t[1].reader; i++) {
        emp_surrogate_reader reader = s->reader[i];
        fetch_ahead(s, s->reader[i + EMP_SURROGATE_AHEAD].op);
        __m512i   memory = _mm512_set1_epi32((int32_t)reader.memory_mask);
        __m512i   to = _mm512_and_si512(device_of(s, reader.op), memory);
        __mmask16 moves = _mm512_cmpneq_epi32_mask(to, from);
        __m512    at = done;
        if (moves != 0) {
            __mmask16 is_first = note_sent(sent, moves, to);
            __m512    arrival = send(s, t, is_first, pair_of(s, from, to), leave);
            at = _mm512_mask_mov_ps(done, moves, arrival);
        }
        tell(s, reader.op, at);
    }
}

INLINE void tell_follower(emp_surrogate *s, int32_t follower, __m512i device, __m512 done)
{
    __m512i to = device_of(s, follower);
    __m512  at = done;

    if (_mm512_cmpneq_epi32_mask(to, device) != 0)
        at = _mm512_add_ps(done, look_up(s->message_ns, pair_of(s, device, to)));
    tell(s, follower, at);
}

/* ---- the sweep ---- */

/* Rows of the CPU and of GPUs; unused when there are many. */
typedef struct {
    __m512 free_ns[MOST_DEVICES], queue_ns[MOST_DEVICES];
} few_devices;

INLINE __mmask16 lanes_on(__m512i device, int32_t d)
{
    return _mm512_cmpeq_epi32_mask(device, _mm512_set1_epi32(d));
}

INLINE void read_devices(const emp_surrogate *s, const few_devices *few, int32_t count,
                         __m512i device, __m512 *free_ns, __m512 *queue_ns)
{
    if (count == 0) {
        *free_ns = look_up(s->free_ns, in_lane(device));
        *queue_ns = look_up(s->queue_ns, in_lane(device));
        return;
    }
    *free_ns = few->free_ns[0];
    *queue_ns = few->queue_ns[0];
    for (int32_t d = 1; d < count; d++) {
        __mmask16 lanes = lanes_on(device, d);
        *free_ns = _mm512_mask_mov_ps(*free_ns, lanes, few->free_ns[d]);
        *queue_ns = _mm512_mask_mov_ps(*queue_ns, lanes, few->queue_ns[d]);
    }
}

INLINE void write_devices(emp_surrogate *s, few_devices *few, int32_t count,
                          __m512i device, __mmask16 is_gpu, __m512 free_ns,
                          __m512 queue_ns)
{
    if (count == 0) {
        _mm512_i32scatter_ps(s->free_ns, in_lane(device), free_ns, 4);
        _mm512_mask_i32scatter_ps(s->queue_ns, is_gpu, in_lane(device), queue_ns, 4);
        return;
    }
    few->free_ns[0] = _mm512_mask_mov_ps(free_ns, is_gpu, few->free_ns[0]);
    for (int32_t d = 1; d < count; d++) {
        __mmask16 lanes = lanes_on(device, d);
        few->free_ns[d] = _mm512_mask_mov_ps(few->free_ns[d], lanes, free_ns);
        few->queue_ns[d] = _mm512_mask_mov_ps(few->queue_ns[d], lanes, queue_ns);
    }
}

INLINE void clear(const emp_surrogate *s)
{
    size_t row_bytes = LANES * sizeof(float);

    memset(s->free_ns, 0, (size_t)s->device_count * row_bytes);
    memset(s->queue_ns, 0, (size_t)s->device_count * row_bytes);
    memset(s->link_ns, 0, (size_t)s->link_count * row_bytes);
}

/* In each lane: how long an op takes its device, how long it runs, and its kernels after it is
 * issued. */
typedef struct {
    __m512 hold_ns, run_ns, kernels_ns;
} lane_costs;

INLINE lane_costs costs_on(const emp_surrogate *s, int32_t i, __m512i device,
                           __mmask16 is_gpu, bool are_alike)
{
    const emp_surrogate_op     *op = &s->op[i];
    const emp_surrogate_unlike *u = &s->unlike;
    size_t                      at = (size_t)i * (size_t)s->device_count;

    if (!are_alike)
        return (lane_costs){look_up(u->hold_ns + at, device),
                            look_up(u->run_ns + at, device),
                            look_up(u->kernels_ns + at, device)};
    return (lane_costs){choose(is_gpu, op->gpu_run_ns, op->cpu_hold_ns),
                        choose(is_gpu, op->gpu_run_ns, op->cpu_run_ns),
                        choose(is_gpu, op->gpu_kernels_ns, 0.0f)};
}

/* \a count: of devices in registers; 0 = there are many. */
INLINE void sweep(emp_surrogate *s, float *step_ns, const int32_t count,
                  const bool are_alike)
{
    __m512      last = _mm512_setzero_ps();
    few_devices few;

    clear(s);
    for (int32_t d = 0; d < count; d++) few.free_ns[d] = few.queue_ns[d] = last;
    for (int32_t i = 0; i < s->op_count; i++) {
        const emp_surrogate_op *op = &s->op[i];
        __m512i                 device = device_of(s, i);
        __mmask16               is_gpu = _mm512_test_epi32_mask(device, device);
        float                  *ready = row_of(s->ready_ns, i);
        __m512                  free_ns, queue_ns;

        read_devices(s, &few, count, device, &free_ns, &queue_ns);
        __m512 start = _mm512_max_ps(_mm512_loadu_ps(ready), free_ns);
        _mm512_storeu_ps(ready, _mm512_setzero_ps());
        lane_costs c = costs_on(s, i, device, is_gpu, are_alike);
        free_ns = _mm512_add_ps(start, c.hold_ns);
        __m512 done = _mm512_add_ps(start, c.run_ns);
        __m512 leave = _mm512_add_ps(_mm512_max_ps(done, queue_ns), c.kernels_ns);
        write_devices(s, &few, count, device, is_gpu, free_ns, leave);
        last = _mm512_max_ps(last, leave);
        for (int32_t t = op->tensor; t < op[1].tensor; t++)
            tell_readers(s, &s->tensor[t], device, done, leave);
        for (int32_t f = op->follower; f < op[1].follower; f++) {
            fetch_ahead(s, s->follower[f + EMP_SURROGATE_AHEAD]);
            tell_follower(s, s->follower[f], device, done);
        }
    }
    _mm512_storeu_ps(step_ns, _mm512_add_ps(last, _mm512_set1_ps(s->step_ns)));
}

/* Copies of the sweep, so that the choice is made once. */
AVX512 static void sweep_few(emp_surrogate *s, float *step_ns)
{
    sweep(s, step_ns, FEW_DEVICES, true);
}

AVX512 static void sweep_most(emp_surrogate *s, float *step_ns)
{
    sweep(s, step_ns, MOST_DEVICES, true);
}

AVX512 static void sweep_many(emp_surrogate *s, float *step_ns)
{
    sweep(s, step_ns, 0, true);
}

AVX512 static void sweep_unlike(emp_surrogate *s, float *step_ns)
{
    sweep(s, step_ns, 0, false);
}

emp_status emp_surrogate_block_avx512(emp_surrogate *s, emp_device_id *const *placements,
                                      int32_t count, float step_ns[LANES], emp_error *err)
{
    if (!take_placements(s, placements, count))
        EMP_CHECK(emp_surrogate_check(s, placements, count, err));
    if (s->unlike.hold_ns != NULL)
        sweep_unlike(s, step_ns);
    else if (s->device_count <= FEW_DEVICES)
        sweep_few(s, step_ns);
    else if (s->device_count <= MOST_DEVICES)
        sweep_most(s, step_ns);
    else
        sweep_many(s, step_ns);
    return EMP_OK;
}

#endif /* EMP_SURROGATE_HAS_AVX512 */
