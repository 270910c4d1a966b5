// SPDX-License-Identifier: GPL-3.0-or-later
/* Parts do not overlap, are joined when they are freed, and the counts are right. */
#include "replay/execute_internal.h"
#include "tests/support/status.h"

enum { PARTS = 64, ROUNDS = 20000, REGION = 1 << 20 };

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct mirror {
    int32_t part[PARTS];
    int64_t first[PARTS], end[PARTS];
    int32_t count;
};

static void check_apart(const struct mirror *m, int64_t first, int64_t end)
{
    cr_assert_geq(first, 0);
    cr_assert_leq(end, REGION);
    for (int32_t i = 0; i < m->count; i++)
        cr_assert(end <= m->first[i] || first >= m->end[i], "parts overlap");
}

static int64_t used_by(const struct mirror *m)
{
    int64_t used = 0;

    for (int32_t i = 0; i < m->count; i++) used += m->end[i] - m->first[i];
    return used;
}

Test(pool, random_parts_never_overlap_and_all_comes_back)
{
    emp_pool     *pool = NULL;
    struct mirror m = {.count = 0};
    uint32_t      state = 1;
    int64_t       peak = 0;

    MUST(emp_pool_create(&pool, REGION, PARTS, &why));
    for (int round = 0; round < ROUNDS; round++) {
        if (m.count < PARTS && next(&state) % 2 == 0) {
            int64_t bytes = 1 + next(&state) % 40000;
            int32_t part = emp_pool_allocate(pool, bytes);
            if (part < 0) continue;
            int64_t first = emp_pool_offset(pool, part);
            int64_t end = first + emp_pool_bytes(pool, part);
            cr_assert_eq(first % EMP_REPLAY_ALIGNMENT, 0);
            cr_assert_eq(end - first, emp_replay_round_up(bytes));
            check_apart(&m, first, end);
            m.part[m.count] = part;
            m.first[m.count] = first;
            m.end[m.count++] = end;
        } else if (m.count > 0) {
            int32_t i = (int32_t)(next(&state) % (uint32_t)m.count);
            emp_pool_free(pool, m.part[i]);
            m.count--;
            m.part[i] = m.part[m.count];
            m.first[i] = m.first[m.count];
            m.end[i] = m.end[m.count];
        }
        cr_assert_eq(emp_pool_used(pool), used_by(&m));
        if (emp_pool_used(pool) > peak) peak = emp_pool_used(pool);
    }
    cr_expect_eq(emp_pool_peak(pool), peak);
    while (m.count > 0) emp_pool_free(pool, m.part[--m.count]);
    cr_expect_eq(emp_pool_used(pool), 0);
    int32_t all = emp_pool_allocate(pool, REGION);
    cr_expect_eq(all >= 0 ? emp_pool_offset(pool, all) : -1, 0, "not joined to one part");
    cr_expect_eq(emp_pool_reach(pool), REGION);
    emp_pool_destroy(pool);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
