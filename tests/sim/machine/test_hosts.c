// SPDX-License-Identifier: GPL-3.0-or-later
/* Machines of several hosts: whose GPU is whose, what the routes between them cost, and
 * what is said of trees that do not say it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "sim/machine/machine.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

/* Latencies differ, so that the highest and sums tell links apart. The third host has no
 * GPU and hangs on the network itself. */
static const char three_hosts[] =
    "description: \"three hosts in two racks\"\n"
    "nodes:\n"
    "  - {name: \"core\"}\n"
    "  - {name: \"rack\", parent: \"core\", bandwidth: \"5 GB/s\", latency: \"7 us\"}\n"
    "  - {name: \"a\", parent: \"rack\", bandwidth: \"1 GB/s\", latency: \"20 us\"}\n"
    "  - {name: \"b\", parent: \"rack\", bandwidth: \"2 GB/s\", latency: \"30 us\"}\n"
    "  - {name: \"pcie\", parent: \"b\", bandwidth: \"10 GB/s\", latency: \"3 us\"}\n"
    "devices:\n"
    "  - {model: \"haswell-18\", at: \"a\"}\n"
    "  - {model: \"k40\", at: \"pcie\", bandwidth: \"9 GB/s\", latency: \"100 us\"}\n"
    "  - {model: \"haswell-18\", at: \"b\"}\n"
    "  - {model: \"k40\", count: 2, at: \"a\", bandwidth: \"8 GB/s\", latency: \"50 "
    "us\"}\n"
    "  - {model: \"haswell-18\", at: \"core\", bandwidth: \"4 GB/s\", latency: \"40 "
    "us\"}\n"
    "gpu_channel: {bandwidth: \"6 GB/s\", latency: \"60 us\"}\n";

static char path[SCRATCH_PATH_BYTES];

static emp_machine *load_text(const char *text)
{
    emp_machine *m = NULL;

    scratch_write_text(path, sizeof path, "hosts.yaml", text);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    return m;
}

static void tear_down(void)
{
    scratch_remove();
    expect_no_leak();
}

TestSuite(hosts, .init = scratch_create, .fini = tear_down);

Test(hosts, a_gpu_belongs_to_the_cpu_of_its_part_of_the_tree)
{
    static const char *const host_of[][2] = {
        {"cpu:0", "cpu:0"}, {"gpu:0", "cpu:1"}, {"cpu:1", "cpu:1"},
        {"gpu:1", "cpu:0"}, {"gpu:2", "cpu:0"}, {"cpu:2", "cpu:2"},
    };
    emp_machine *m = load_text(three_hosts);

    cr_assert_eq(m->device_count, 6);
    for (int d = 0; d < m->device_count; d++) {
        cr_expect_str_eq(m->device[d].name, host_of[d][0]);
        cr_expect_str_eq(m->device[m->device[d].host].name, host_of[d][1]);
    }
    emp_machine_destroy(m);
}

struct route {
    const char *from, *to;
    const char *links[6];
    double      bytes_per_s, latency_s;
};

static const struct route routes[] = {
    {"gpu:1", "gpu:2", {"gpu:1 up", "cpu:0 gpu channel", "gpu:2 down"}, 6e9, 60e-6},
    {"cpu:1", "gpu:0", {"pcie down", "gpu:0 down"}, 9e9, 100e-6},
    {"cpu:0", "cpu:1", {"a up", "b down"}, 1e9, 20e-6 + 30e-6},
    {"cpu:2", "cpu:1", {"cpu:2 up", "rack down", "b down"}, 2e9, 40e-6 + 7e-6 + 30e-6},
    {"gpu:1", "cpu:1", {"gpu:1 up", "a up", "b down"}, 1e9, 50e-6 + 20e-6 + 30e-6},
    {"gpu:1",
     "gpu:0",
     {"gpu:1 up", "a up", "b down", "pcie down", "gpu:0 down"},
     1e9,
     100e-6 + 20e-6 + 30e-6},
    {"gpu:0",
     "cpu:2",
     {"gpu:0 up", "pcie up", "b up", "rack up", "cpu:2 down"},
     2e9,
     100e-6 + 30e-6 + 7e-6 + 40e-6},
};

Test(hosts, routes_take_the_highest_latency_of_hosts_and_the_sum_of_the_network)
{
    emp_machine *m = load_text(three_hosts);

    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *want = &routes[i];
        const emp_route    *got =
            &m->route[emp_machine_find(m, want->from)][emp_machine_find(m, want->to)];
        int32_t count = 0;
        for (; count < 6 && want->links[count] != NULL; count++) {
            cr_assert_lt(count, got->link_count, "%s to %s", want->from, want->to);
            cr_expect_str_eq(m->link[got->link[count]].name, want->links[count]);
        }
        cr_expect_eq(got->link_count, count, "%s to %s", want->from, want->to);
        cr_expect_float_eq(got->bytes_per_s, want->bytes_per_s, 1.0, "%s to %s",
                           want->from, want->to);
        cr_expect_float_eq(got->latency_s, want->latency_s, 1e-12, "%s to %s", want->from,
                           want->to);
    }
    emp_machine_destroy(m);
}

Test(hosts, the_hash_sees_who_is_whose)
{
    /* the same links and routes: hosts are parts of the tree without links */
#define LINK ", bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"
    static const char text[] = "description: \"two hosts\"\n"
                               "nodes:\n"
                               "  - {name: \"net\"}\n"
                               "  - {name: \"a\", parent: \"net\"}\n"
                               "  - {name: \"b\", parent: \"net\"}\n"
                               "devices:\n"
                               "  - {model: \"haswell-18\", at: \"a\"" LINK
                               "  - {model: \"haswell-18\", at: \"b\"" LINK
                               "  - {model: \"k40\", at: \"a\"" LINK;
    emp_machine *one = load_text(text), *other = NULL;

    scratch_write_changed(path, sizeof path, "hosts.yaml", text, "\"k40\", at: \"a\"",
                          "\"k40\", at: \"b\"");
    ASSERT_OK(emp_machine_load(&other, path, &err));
    cr_expect_eq(one->device[2].host, 0);
    cr_expect_eq(other->device[2].host, 1);
    cr_expect_neq(one->hash, other->hash);
    emp_machine_destroy(one);
    emp_machine_destroy(other);
}

static const struct {
    const char *find, *put, *part; /* a change to three_hosts; of the message */
} bad_files[] = {
    {"haswell-18\", at: \"b\"", "haswell-18\", at: \"a\"", ":10: at: 'pcie' leads to no"},
    {"count: 2, at: \"a\"", "count: 2, at: \"rack\"", ":12: at: 'rack' leads to no"},
    {"18\", at: \"b\"", "18\", count: 2, at: \"b\"",
     ":11: count: '2' must be 1 of a CPU"},
    {"  - {model: \"haswell-18\", at: \"a\"}\n", "", ":9: model: 'k40' is out of place"},
};

Test(hosts, bad_files_are_refused_by_file_line_and_key)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        emp_machine *m = NULL;
        scratch_write_changed(path, sizeof path, "hosts.yaml", three_hosts,
                              bad_files[i].find, bad_files[i].put);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, bad_files[i].part);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, path);
        cr_expect_null(m);
    }
}

Test(hosts, sixty_four_devices_load)
{
    emp_machine *m = NULL;

    ASSERT_OK(emp_machine_load(&m, "k40x7x8", &err));
    cr_expect_eq(m->device_count, EMP_MAX_DEVICES);
    for (int d = 0; d < m->device_count; d++)
        cr_expect_eq(m->device[d].host, d / 8 * 8, "%s", m->device[d].name);
    cr_expect_eq(m->route[1][63].link_count, 6);
    cr_expect_float_eq(m->route[1][63].bytes_per_s, 1.25e9, 1.0);
    cr_expect_float_eq(m->route[1][63].latency_s, 10e-6 + 2 * 25e-6, 1e-12);
    emp_machine_destroy(m);
}

/* As a root has no parent, nothing uses its links. */
Test(hosts, a_root_may_have_links)
{
    emp_machine *m = NULL;

    scratch_write_changed(path, sizeof path, "hosts.yaml", three_hosts, "\"core\"",
                          "\"core\", bandwidth: \"1 GB/s\", latency: \"1 us\"");
    ASSERT_OK(emp_machine_load(&m, path, &err));
    cr_expect_not(m->link[0].is_network);
    emp_machine_destroy(m);
}

/* ---- of an instance ---- */

Test(uniform, has_the_devices_asked_for)
{
    emp_machine *m = NULL;

    ASSERT_OK(emp_machine_create(&m, "small", 2, 3, 1000, &err));
    cr_expect_str_eq(m->name, "small");
    cr_expect_eq(m->device_count, 5);
    for (int32_t d = 0; d < 5; d++) {
        bool is_gpu = d >= 2;
        cr_expect_eq(m->device[d].kind, is_gpu ? EMP_DEVICE_GPU : EMP_DEVICE_CPU);
        cr_expect_eq(m->device[d].host, is_gpu ? 0 : d);
        if (is_gpu) cr_expect_eq(m->device[d].memory_bytes, 1000);
        for (int32_t to = 0; to < 5; to++) {
            if (to == d) continue;
            cr_expect_gt(m->route[d][to].link_count, 0);
            cr_expect_eq(m->route[d][to].bytes_per_s, 0x1p31);
            cr_expect_eq(m->route[d][to].latency_s, 0.0);
        }
    }
    cr_expect_str_eq(m->device[1].name, "cpu:1");
    cr_expect_str_eq(m->device[4].name, "gpu:2");
    uint64_t hash = m->hash;
    emp_machine_destroy(m);
    cr_assert_eq(emp_machine_create(&m, "small", 2, 3, 1001, NULL), EMP_OK);
    cr_expect_neq(m->hash, hash);
    emp_machine_destroy(m);
    cr_assert_eq(emp_machine_create(&m, "full", 1, EMP_MAX_DEVICES - 1, 1, NULL), EMP_OK);
    emp_machine_destroy(m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(uniform, refuses_what_no_machine_has, .fini = expect_no_leak)
{
    emp_machine *m = NULL;

    EXPECT_REFUSED(emp_machine_create(&m, "none", 0, 3, 1, &err), EMP_EUNSUPPORTED,
                   "0 CPUs and 3 GPUs");
    cr_expect_eq(emp_machine_create(&m, "many", 2, 63, 1, NULL), EMP_EUNSUPPORTED);
    cr_expect_eq(emp_machine_create(&m, "many", 1, INT32_MAX, 1, NULL), EMP_EUNSUPPORTED);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_create(&m, "small", 1, 1, 1, NULL),
                                      cr_assert_null(m));
    emp_machine_destroy(m);
}
