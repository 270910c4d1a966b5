// SPDX-License-Identifier: GPL-3.0-or-later
/* Parts do not overlap, are joined when they are freed, and the counts are right. Is there as much memory as control groups
 * allow? */
#include <sys/stat.h>

#include "replay/cpu/cores.h"
#include "replay/execute_internal.h"
#include "tests/support/scratch.h"
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

#define GIB (INT64_C(1) << 30)

/* Writes a file of a folder of /proc and /sys, with the folders on its way. */
static void write_kernel_file(const char *name, const char *text)
{
    char path[256];

    for (size_t i = 0; name[i] != '\0'; i++)
        if (name[i] == '/') {
            snprintf(path, sizeof path, "%.*s", (int)i, name);
            mkdir(scratch_path(path), 0700);
        }
    scratch_write(name, text, strlen(text));
}

static void write_group(const char *folder, const char *limit, int64_t used,
                        int64_t inactive)
{
    char name[128], text[128];

    snprintf(name, sizeof name, "%s/memory.max", folder);
    write_kernel_file(name, limit);
    snprintf(name, sizeof name, "%s/memory.current", folder);
    snprintf(text, sizeof text, "%lld\n", (long long)used);
    write_kernel_file(name, text);
    snprintf(name, sizeof name, "%s/memory.stat", folder);
    snprintf(text, sizeof text, "anon 4096\ninactive_anon 77\ninactive_file %lld\n",
             (long long)inactive);
    write_kernel_file(name, text);
}

/* A container's group is the root of what it sees; a job of a batch system lies in groups, each with a limit of its own. */
Test(memory, is_what_the_groups_of_the_program_allow, .init = scratch_create,
     .fini = scratch_remove)
{
    char root[256];

    snprintf(root, sizeof root, "%s", scratch_path(""));
    cr_expect_lt(emp_cpu_group_bytes(root), 0, "no groups, no limit");
    write_kernel_file("proc/self/cgroup", "0::/\n");
    write_group("sys/fs/cgroup", "17179869184\n", 12 * GIB, 11 * GIB);
    cr_expect_eq(emp_cpu_group_bytes(root), 15 * GIB);
    write_group("sys/fs/cgroup", "17179869184\n", 17 * GIB, 0);
    cr_expect_eq(emp_cpu_group_bytes(root), 0);

    write_group("sys/fs/cgroup", "max\n", 12 * GIB, 0);
    write_group("sys/fs/cgroup/slurm", "8589934592\n", 2 * GIB, 1 * GIB);
    write_group("sys/fs/cgroup/slurm/job", "max\n", 2 * GIB, 1 * GIB);
    write_kernel_file("proc/self/cgroup", "1:name=systemd:/x\n0::/slurm/job\n");
    cr_expect_eq(emp_cpu_group_bytes(root), 7 * GIB);
    write_group("sys/fs/cgroup/slurm/job", "3221225472\n", 2 * GIB, 1 * GIB);
    cr_expect_eq(emp_cpu_group_bytes(root), 2 * GIB);

    /* version 1 beside it */
    write_kernel_file("proc/self/cgroup", "7:memory:/job\n0::/slurm/job\n");
    write_kernel_file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    write_kernel_file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    write_kernel_file("sys/fs/cgroup/memory/job/memory.stat",
                      "cache 5\ntotal_inactive_file 536870912\n");
    cr_expect_eq(emp_cpu_group_bytes(root), 3 * GIB / 2);
}
