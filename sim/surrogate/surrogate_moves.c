// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements that are one move away from a base. Its devices stand in all lanes; a block of
 * moves changes some of them, is swept, and puts them back. */
#include <string.h>

#include "sim/surrogate/surrogate_internal.h"

enum { LANES = EMP_SURROGATE_LANES };

static uint8_t *row_of(emp_surrogate *s, int32_t op)
{
    return s->device + (size_t)op * LANES;
}

emp_status emp_surrogate_set_base(emp_surrogate *s, const emp_device_id *device_of_op,
                                  emp_error *err)
{
    EMP_CHECK(emp_surrogate_check(s, device_of_op, err));
    for (int32_t i = 0; i < s->op_count; i++) {
        s->base[i] = (uint8_t)device_of_op[s->order[i]];
        memset(row_of(s, i), s->base[i], LANES);
    }
    s->has_base = true;
    return EMP_OK;
}

static void make_move(emp_surrogate *s, const emp_surrogate_move *move, int32_t lane)
{
    for (int32_t i = 0; i < move->op_count; i++) {
        int32_t at = s->position[move->op[i]];
        uint8_t base = s->base[at];
        if ((base & ~EMP_SURROGATE_MOVED) == move->to || at == s->op_count) continue;
        row_of(s, at)[lane] = (uint8_t)move->to;
        s->base[at] |= EMP_SURROGATE_MOVED;
        s->moved[s->moved_count] = at;
        s->moved_count += !(base & EMP_SURROGATE_MOVED);
    }
}

static void put_back(emp_surrogate *s)
{
    for (int32_t i = 0; i < s->moved_count; i++) {
        int32_t at = s->moved[i];
        s->base[at] &= (uint8_t)~EMP_SURROGATE_MOVED;
        memset(row_of(s, at), s->base[at], LANES);
    }
    s->moved_count = 0;
}

static emp_status check_moves(const emp_surrogate *s, const emp_surrogate_move *moves,
                              int32_t count, emp_error *err)
{
    if (!s->has_base)
        return EMP_ERROR(EMP_EINVAL,
                         "moves from nowhere; emp_surrogate_set_base() comes first");
    for (int32_t k = 0; k < count; k++) {
        if (moves[k].to < 0 || moves[k].to >= s->device_count)
            return EMP_ERROR(EMP_EINVAL, "move %d goes to device %d of 0..%d", k,
                             moves[k].to, s->device_count - 1);
    }
    return EMP_OK;
}

emp_status emp_surrogate_run_moves(emp_surrogate *s, const emp_surrogate_move *moves,
                                   int32_t count, double *step_time_s, emp_error *err)
{
    float step_ns[LANES];

    EMP_CHECK(check_moves(s, moves, count, err));
    for (int32_t k = 0; k < count; k += LANES) {
        int32_t n = count - k < LANES ? count - k : LANES;
        for (int32_t lane = 0; lane < n; lane++) make_move(s, &moves[k + lane], lane);
        if (s->kernel == EMP_SURROGATE_AVX512)
            emp_surrogate_sweep_avx512(s, step_ns);
        else
            emp_surrogate_sweep_scalar(s, step_ns);
        put_back(s);
        for (int32_t lane = 0; lane < n; lane++)
            step_time_s[k + lane] = (double)step_ns[lane] * 1e-9;
    }
    return EMP_OK;
}
