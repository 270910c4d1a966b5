// SPDX-License-Identifier: GPL-3.0-or-later
/* Fabrics beside the tree: which way each pair of devices has, and what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/machine/machine.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

/* Four GPUs on two PCIe switches; NVLinks join 0 with 1, and 2 with 3. The hub is half duplex and
 * comes after the bridges; 1 and 2 are on it. */
static const char bridges[] =
    "description: \"bridges\"\n"
    "nodes:\n"
    "  - {name: \"host\"}\n"
    "  - {name: \"left\", parent: \"host\", bandwidth: \"9 GB/s\", latency: \"0 us\"}\n"
    "  - {name: \"right\", parent: \"host\", bandwidth: \"9 GB/s\", latency: \"0 us\"}\n"
    "devices:\n"
    "  - {model: \"haswell-18\", at: \"host\"}\n"
    "  - {model: \"k40\", count: 2, at: \"left\", bandwidth: \"10 GB/s\", latency: \"8 "
    "us\"}\n"
    "  - {model: \"k40\", count: 2, at: \"right\", bandwidth: \"10 GB/s\", latency: \"8 "
    "us\"}\n"
    "fabrics:\n"
    "  - {name: \"a\", devices: [\"gpu:0\", \"gpu:1\"], bandwidth: \"50 GB/s\", latency: "
    "\"2 us\"}\n"
    "  - {name: \"b\", devices: [\"gpu:2\", \"gpu:3\"], bandwidth: \"50 GB/s\", latency: "
    "\"2 us\"}\n"
    "  - name: \"hub\"\n"
    "    devices: [\"gpu:1\", \"gpu:2\", \"gpu:3\"]\n"
    "    bandwidth: \"20 GB/s\"\n"
    "    latency: \"4 us\"\n"
    "    duplex: half\n";

static char path[SCRATCH_PATH_BYTES];

static emp_machine *load(const char *find, const char *put)
{
    emp_machine *m = NULL;

    scratch_write_changed(path, sizeof path, "fabric.yaml", bridges, find, put);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    return m;
}

/* The links from one device to another, as "a, b"; their rate and latency. */
struct way {
    const char *from, *to, *links;
    double      gb_per_s, latency_us;
};

static void expect_way(const emp_machine *m, const struct way *w)
{
    const emp_route *r =
        &m->route[emp_machine_find(m, w->from)][emp_machine_find(m, w->to)];
    char text[256] = "";

    for (int32_t i = 0; i < r->link_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : ", ",
                 m->link[r->link[i]].name);
    }
    cr_expect_str_eq(text, w->links, "%s to %s: %s", w->from, w->to, text);
    cr_expect_float_eq(r->bytes_per_s, w->gb_per_s * 1e9, 1.0, "%s to %s", w->from,
                       w->to);
    cr_expect_float_eq(r->latency_s, w->latency_us * 1e-6, 1e-12, "%s to %s", w->from,
                       w->to);
}

Test(fabric, routes_each_pair_as_by_hand, .init = scratch_create, .fini = scratch_remove)
{
    static const struct way ways[] = {
        {"gpu:0", "gpu:1", "a gpu:0 out, a gpu:1 in", 50, 2},
        {"gpu:1", "gpu:0", "a gpu:1 out, a gpu:0 in", 50, 2},
        {"gpu:2", "gpu:3", "b gpu:2 out, b gpu:3 in", 50, 2},
        {"gpu:3", "gpu:2", "b gpu:3 out, b gpu:2 in", 50, 2},
        {"gpu:1", "gpu:2", "hub gpu:1, hub gpu:2", 20, 4},
        {"gpu:3", "gpu:1", "hub gpu:3, hub gpu:1", 20, 4},
        {"gpu:0", "gpu:2", "gpu:0 up, left up, right down, gpu:2 down", 9, 8},
        {"gpu:0", "gpu:3", "gpu:0 up, left up, right down, gpu:3 down", 9, 8},
        {"gpu:3", "gpu:0", "gpu:3 up, right up, left down, gpu:0 down", 9, 8},
        {"cpu:0", "gpu:1", "left down, gpu:1 down", 9, 8},
        {"gpu:2", "cpu:0", "gpu:2 up, right up", 9, 8},
    };
    emp_machine *m = load("", "");

    cr_expect_eq(m->fabric_count, 3);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) expect_way(m, &ways[i]);
    cr_expect_str_eq(emp_machine_fabric_between(m, 2, 3)->name, "hub");
    cr_expect_null(emp_machine_fabric_between(m, 1, 3));
    cr_expect_null(emp_machine_fabric_between(m, 0, 1));
    emp_machine_destroy(m);
}

/* A network of GPUs: half of the latency at each end, and a host's own fabric comes first. */
Test(fabric, may_join_hosts)
{
    emp_machine *m = NULL;

    ASSERT_OK(emp_machine_load(&m, "dgx-h100x2", &err));
    expect_way(m, &(struct way){"gpu:0", "gpu:7",
                                "nvswitch:0 gpu:0 out, nvswitch:0 gpu:7 in", 315, 6.5});
    expect_way(m,
               &(struct way){"gpu:1", "gpu:15", "ndr gpu:1 out, ndr gpu:15 in", 45, 10});
    expect_way(m, &(struct way){"gpu:1", "cpu:1",
                                "gpu:1 up, switch:0 up, host:0 up, host:1 down", 12.5,
                                10 + 2 * 25});
    emp_machine_destroy(m);
}

Test(fabric, changes_the_hash, .init = scratch_create, .fini = scratch_remove)
{
    emp_machine *m = load("", ""), *faster = load("50 GB/s", "51 GB/s");
    emp_machine *full = load("duplex: half", "duplex: full");

    cr_expect_neq(m->hash, faster->hash);
    cr_expect_eq(full->link_count, m->link_count + 3);
    emp_machine_destroy(full);
    emp_machine_destroy(faster);
    emp_machine_destroy(m);
}

static const struct {
    const char *find, *put, *part; /* a change to bridges; of the message */
} bad_files[] = {
    {"\"gpu:1\"], band", "\"gpu:4\"], band", ":11: devices of the fabric 'a': 'gpu:4'"},
    {"\"gpu:1\"], band", "\"gpu:0\"], band", ":11: devices of the fabric 'a': 'gpu:0'"},
    {", \"gpu:1\"], band", "], band", ":11: name: 'a' is a fabric of fewer"},
    {"name: \"b\"", "name: \"a\"", ":11: name: 'a' is there twice"},
    {"name: \"b\"", "name: \"a bridge of NVLinks\"", ":12: name: 'a bridge of NVLinks'"},
    {"duplex: half", "duplex: both", ":17: duplex: 'both'"},
    {"50 GB/s", "50 GB", ":11: bandwidth: "},
    {"50 GB/s", "0 GB/s", ":11: bandwidth: '0 GB/s'"},
    {"2 us", "2 m", ":11: latency: "},
    {"duplex: half", "half: yes", ":17: Unexpected key: half"},
};

Test(fabric, bad_files_are_refused_by_file_line_and_key, .init = scratch_create,
     .fini = scratch_remove)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        emp_machine *m = NULL;
        scratch_write_changed(path, sizeof path, "fabric.yaml", bridges,
                              bad_files[i].find, bad_files[i].put);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, bad_files[i].part);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, path);
        cr_expect_null(m);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_files[i].put);
    }
}
