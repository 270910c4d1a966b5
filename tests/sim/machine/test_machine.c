// SPDX-License-Identifier: GPL-3.0-or-later
/* The machines that come with the program, trees, hosts and fabrics, and what is said of bad files.
 * Networks of GiPH are those of its released generator. */
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/machine/machine.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char path[SCRATCH_PATH_BYTES];

static emp_status load_text(emp_machine **m, const char *name, const char *text,
                            emp_error *err)
{
    scratch_write_text(path, sizeof path, name, text);
    return emp_machine_load(m, path, err);
}

static emp_machine *load(const char *machine)
{
    emp_machine *m = NULL;

    if (strchr(machine, '\n') == NULL)
        ASSERT_OK(emp_machine_load(&m, machine, &err));
    else
        ASSERT_OK(load_text(&m, "mine.yaml", machine, &err));
    return m;
}

static emp_machine *load_changed(const char *text, const char *find, const char *put)
{
    emp_machine *m = NULL;

    scratch_write_changed(path, sizeof path, "mine.yaml", text, find, put);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    return m;
}

/* With a model beside the machine files: the K40 under another name. */
static void make_folder(void)
{
    char command[4 * SCRATCH_PATH_BYTES];

    scratch_create();
    snprintf(
        command, sizeof command,
        "cd '%s' && mkdir models && cp \"$EMP_SOURCE_DIR\"/data/machines/models/k40.yaml "
        "models/k40b.yaml",
        scratch_path(""));
    cr_assert_eq(system(command), 0);
}

static void remove_folder(void)
{
    scratch_remove();
    expect_all_freed();
}

TestSuite(machine_file, .init = make_folder, .fini = remove_folder);

Test(machine, gemm_constants_are_scaled_to_the_clock)
{
    OWN_MACHINE m = load("k40x1");

    cr_expect_float_eq(m->device[1].gemm_base_s, 9.28e-6 * 875.0 / 745.0, 1e-12);
    cr_expect_float_eq(m->device[1].gemm_per_wave_s, 39.0e-9 * 875.0 / 745.0, 1e-15);
}

#define TREE                                                                          \
    "description: \"two GPUs on a tree\"\n"                                           \
    "nodes:\n"                                                                        \
    "  - {name: \"root\"}\n"                                                          \
    "  - {name: \"a\", parent: \"root\", bandwidth: \"4 GB/s\", latency: \"2 us\"}\n" \
    "  - {name: \"b\", parent: \"root\", bandwidth: \"2 GB/s\", latency: \"3 us\"}\n" \
    "devices:\n"                                                                      \
    "  - {model: \"haswell-18\", at: \"root\"}\n"                                     \
    "  - {model: \"k40\", at: \"a\", bandwidth: \"8 GB/s\", latency: \"1 us\"}\n"     \
    "  - {model: \"k40\", at: \"b\", bandwidth: \"8 GB/s\", latency: \"1 us\"}\n"

static const char tree_text[] = TREE;
static const char shared_text[] =
    TREE "gpu_channel: {bandwidth: \"1 GB/s\", latency: \"7 us\"}\n";

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

/* Links from a device to another as "a, b", their rate and latency. Within a host and its tree the
 * lowest rate and the highest latency count; latencies of the network are added. A fabric has half of
 * its latency at each end, and a host's own fabric comes first. */
static const struct {
    const char *machine, *from, *to, *links;
    double      gb_per_s, latency_us;
} ways[] = {
    {"k40x8", "cpu:0", "gpu:3", "switch:0 down, gpu:3 down", 10, 10},
    {"k40x8", "gpu:3", "cpu:0", "gpu:3 up, switch:0 up", 10, 10},
    {"k40x8", "cpu:0", "gpu:4", "socket:1 down, switch:1 down, gpu:4 down", 5.7, 10},
    {"k40x8", "gpu:0", "gpu:2", "gpu:0 up, gpu:2 down", 10, 10},
    {"k40x8", "gpu:0", "gpu:7", /* staged between sockets */
     "gpu:0 up, switch:0 up, socket:1 down, switch:1 down, gpu:7 down", 5.7, 10},
    {tree_text, "gpu:0", "gpu:1", "gpu:0 up, a up, b down, gpu:1 down", 2, 3},
    {shared_text, "gpu:0", "gpu:1", "gpu:0 up, gpu channel, gpu:1 down", 1, 7},
    {shared_text, "cpu:0", "gpu:1", "b down, gpu:1 down", 2, 3},
    {three_hosts, "gpu:1", "gpu:2", "gpu:1 up, cpu:0 gpu channel, gpu:2 down", 6, 60},
    {three_hosts, "cpu:1", "gpu:0", "pcie down, gpu:0 down", 9, 100},
    {three_hosts, "cpu:0", "cpu:1", "a up, b down", 1, 20 + 30},
    {three_hosts, "cpu:2", "cpu:1", "cpu:2 up, rack down, b down", 2, 40 + 7 + 30},
    {three_hosts, "gpu:1", "cpu:1", "gpu:1 up, a up, b down", 1, 50 + 20 + 30},
    {three_hosts, "gpu:1", "gpu:0", "gpu:1 up, a up, b down, pcie down, gpu:0 down", 1,
     100 + 20 + 30},
    {three_hosts, "gpu:0", "cpu:2", "gpu:0 up, pcie up, b up, rack up, cpu:2 down", 2,
     100 + 30 + 7 + 40},
    {bridges, "gpu:0", "gpu:1", "a gpu:0 out, a gpu:1 in", 50, 2},
    {bridges, "gpu:1", "gpu:0", "a gpu:1 out, a gpu:0 in", 50, 2},
    {bridges, "gpu:2", "gpu:3", "b gpu:2 out, b gpu:3 in", 50, 2},
    {bridges, "gpu:3", "gpu:2", "b gpu:3 out, b gpu:2 in", 50, 2},
    {bridges, "gpu:1", "gpu:2", "hub gpu:1, hub gpu:2", 20, 4},
    {bridges, "gpu:3", "gpu:1", "hub gpu:3, hub gpu:1", 20, 4},
    {bridges, "gpu:0", "gpu:2", "gpu:0 up, left up, right down, gpu:2 down", 9, 8},
    {bridges, "gpu:0", "gpu:3", "gpu:0 up, left up, right down, gpu:3 down", 9, 8},
    {bridges, "gpu:3", "gpu:0", "gpu:3 up, right up, left down, gpu:0 down", 9, 8},
    {bridges, "cpu:0", "gpu:1", "left down, gpu:1 down", 9, 8},
    {bridges, "gpu:2", "cpu:0", "gpu:2 up, right up", 9, 8},
    {"dgx-h100x2", "gpu:0", "gpu:7", "nvswitch:0 gpu:0 out, nvswitch:0 gpu:7 in", 315,
     6.5},
    {"dgx-h100x2", "gpu:1", "gpu:15", "ndr gpu:1 out, ndr gpu:15 in", 45, 10},
    {"dgx-h100x2", "gpu:1", "cpu:1", "gpu:1 up, switch:0 up, host:0 up, host:1 down",
     12.5, 10 + 2 * 25},
};

Test(machine_file, routes_are_those_worked_out_by_hand)
{
    for (size_t i = 0; i < COUNT(ways); i++) {
        OWN_MACHINE      m = load(ways[i].machine);
        const char      *from = ways[i].from, *to = ways[i].to;
        const emp_route *r =
            &m->route[emp_machine_find(m, from)][emp_machine_find(m, to)];
        char text[256] = "";
        for (int32_t k = 0; k < r->link_count; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     k == 0 ? "" : ", ", m->link[r->link[k]].name);
        cr_expect_str_eq(text, ways[i].links, "%s to %s: %s", from, to, text);
        cr_expect_float_eq(r->bytes_per_s, ways[i].gb_per_s * 1e9, 1.0, "%s to %s: %g",
                           from, to, r->bytes_per_s);
        cr_expect_float_eq(r->latency_s, ways[i].latency_us * 1e-6, 1e-12, "%s to %s: %g",
                           from, to, r->latency_s);
        cr_expect_eq(m->route[0][0].link_count, 0);
    }
}

#define LINK ", bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"

/* The same links and routes wherever the GPU is: hosts are parts of the tree without links. */
static const char whose[] =
    "description: \"two hosts\"\n"
    "nodes:\n"
    "  - {name: \"net\"}\n"
    "  - {name: \"a\", parent: \"net\"}\n"
    "  - {name: \"b\", parent: \"net\"}\n"
    "devices:\n"
    "  - {model: \"haswell-18\", at: \"a\"" LINK
    "  - {model: \"haswell-18\", at: \"b\"" LINK "  - {model: \"k40\", at: \"a\"" LINK;

Test(machine_file, the_hash_sees_every_constant_and_who_is_whose)
{
    static const char *const changes[][3] = {
        {tree_text, "4 GB/s", "5 GB/s"},
        {bridges, "50 GB/s", "51 GB/s"},
        {whose, "\"k40\", at: \"a\"", "\"k40\", at: \"b\""}};

    for (size_t i = 0; i < COUNT(changes); i++) {
        OWN_MACHINE one = load(changes[i][0]);
        OWN_MACHINE other = load_changed(changes[i][0], changes[i][1], changes[i][2]);
        cr_expect_neq(one->hash, other->hash, "%s", changes[i][2]);
        if (changes[i][0] == whose)
            cr_expect_neq(one->device[2].host, other->device[2].host);
    }
}

static const struct {
    const char *text, *find, *put, *part; /* a change to a text; of the message */
} bad_files[] = {
    {tree_text, "nodes:", "knots:", ":2: Unexpected key: knots"},
    {tree_text, "latency: \"2", "latncy: \"2", "(did you mean \"latency"},
    {tree_text, "latency: \"2", "color: \"2", "beside \"bandwidth\" there can be name, "},
    {tree_text, "description: \"two GPUs on a tree\"\n", "", ":6: Missing key"},
    {tree_text, "4 GB/s", "4 GiB", ":4: bandwidth: "},
    {tree_text, "2 us", "2 GB/s", ":4: latency: "},
    {tree_text, "4 GB/s", "0 GB/s", ":4: bandwidth: '0 GB/s'"},
    {tree_text, "parent: \"root\", bandwidth: \"4", "parent: \"oak\", bandwidth: \"4",
     ":4: parent"},
    {tree_text, "name: \"b\"", "name: \"a\"", ":4: name: 'a'"},
    {tree_text, "at: \"b\"", "at: \"c\"", ":9: at: 'c' is no node; known: root, a, b"},
    {tree_text, "at: \"root\"", "at: \"rot\"", ":7: at: 'rot' is no node"},
    {tree_text, "{name: \"root\"}", "\"root\"", ":3: Expected keys with values"},
    {tree_text, "\"two GPUs on a tree\"", "[two, GPUs]", ":1: Expected a single value"},
    {tree_text, "nodes:\n", "nodes: {}\n#", ":2: Expected a list"},
    {tree_text, "name: \"a\"", "name: \"a\", name: \"a\"", ":4: Key given twice: name"},
    {tree_text, "nodes:\n", "nodes: }\n", ":2: Not YAML: "},
    {tree_text, "\"k40\", at: \"a\"", "\"k99\", at: \"a\"", ":8: model: 'k99'"},
    {tree_text, "\"k40\", at: \"a\"", "\"k99\", at: \"a\"", "a100-pcie, a100-sxm, "},
    {tree_text, "\"k40\", at: \"a\"", "\"k40bb\", at: \"a\"", "(did you mean \"k40b\"?)"},
    {tree_text, "\"k40\", at: \"a\"", "\"haswel-18\", at: \"a\"", "\"haswell-18\"?"},
    {tree_text, "k40\", at: \"a\"", "k40\", count: \"x\", at: \"a\"", ":8: count: 'x'"},
    {tree_text, "k40\", at: \"a\"", "k40\", count: \"3000000000\", at: \"a\"",
     ":8: count: '30000"},
    {tree_text, "\"haswell-18\", at: \"root\"", "\"k40\", at: \"root\"", ":7: model:"},
    {tree_text, "\"k40\", at: \"a\"", "\"haswell-18\", at: \"a\"", ":9: at: 'b'"},
    {tree_text, ", latency: \"3 us\"", "", ":5: name: 'b' needs both"},
    {tree_text, "  - {name: \"root\"}", "  - {name: \"root\"", "bad.yaml:"},
    {tree_text, "at: \"b\", bandwidth: \"8 GB/s\",", "at: \"b\",", ":8: model: 'k40'"},
    {tree_text, "at: \"a\", bandwidth: \"8 GB/s\", latency: \"1 us\"", "at: \"root\"",
     ":6: no route from cpu:0 to gpu:0"},
    {three_hosts, "haswell-18\", at: \"b\"", "haswell-18\", at: \"a\"", ":10: at:"},
    {three_hosts, "count: 2, at: \"a\"", "count: 2, at: \"rack\"", ":12: at: 'rack'"},
    {three_hosts, "18\", at: \"b\"", "18\", count: 2, at: \"b\"", ":11: count: '2'"},
    {three_hosts, "  - {model: \"haswell-18\", at: \"a\"}\n", "", ":9: model: 'k40'"},
    {bridges, "\"gpu:1\"], band", "\"gpu:4\"], band", "fabric 'a': 'gpu:4'"},
    {bridges, "\"gpu:1\"], band", "\"gpu:0\"], band", "fabric 'a': 'gpu:0'"},
    {bridges, ", \"gpu:1\"], band", "], band", ":11: name: 'a' is a fabric of fewer"},
    {bridges, "name: \"b\"", "name: \"a\"", ":11: name: 'a' is there twice"},
    {bridges, "name: \"b\"", "name: \"a bridge of NVLinks\"", ":12: name: 'a bridge"},
    {bridges, "duplex: half", "duplex: both", ":17: duplex: 'both'"},
    {bridges, "50 GB/s", "50 GB", ":11: bandwidth: "},
    {bridges, "50 GB/s", "0 GB/s", ":11: bandwidth: '0 GB/s'"},
    {bridges, "2 us", "2 m", ":11: latency: "},
    {bridges, "duplex: half", "half: yes", ":17: Unexpected key: half"},
};

Test(machine_file, devices_are_of_any_models)
{
    static const char text[] =
        "description: \"two hosts\"\n"
        "nodes:\n"
        "  - {name: \"net\"}\n"
        "  - {name: \"a\", parent: \"net\"" LINK "  - {name: \"b\", parent: \"net\"" LINK
        "devices:\n"
        "  - {model: \"haswell-18\", at: \"a\"}\n"
        "  - {model: \"k40\", count: 2, at: \"a\"" LINK
        "  - {model: \"p100\", at: \"a\"" LINK "  - {model: \"cpu-host\", at: \"b\"}\n"
        "  - {model: \"k40\", at: \"b\"" LINK;
    static const char *const names[] = {"haswell-18", "k40",      "k40",
                                        "p100",       "cpu-host", "k40"};
    OWN_MACHINE              m = load(text);

    cr_assert_eq(m->device_count, 6);
    cr_expect_eq(m->model_count, 4);
    cr_expect_str_eq(emp_machine_first_model(m, EMP_DEVICE_GPU)->name, "k40");
    for (int d = 0; d < 6; d++)
        cr_expect_str_eq(m->model[m->device[d].model].name, names[d], "%d", d);
    cr_expect_lt(m->device[1].memory_bytes, m->device[3].memory_bytes);
    cr_expect_eq(m->device[5].host, 4);
}

Test(machine_file, bad_files_are_refused_by_file_line_and_key)
{
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        emp_machine *m = NULL;
        scratch_write_changed(path, sizeof path, "bad.yaml", bad_files[i].text,
                              bad_files[i].find, bad_files[i].put);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, bad_files[i].part);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, path);
        cr_expect_null(m);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_files[i].put);
    }
}

Test(machine_file, a_gpu_belongs_to_the_cpu_of_its_part_of_the_tree)
{
    static const char *const host_of[][2] = {
        {"cpu:0", "cpu:0"}, {"gpu:0", "cpu:1"}, {"cpu:1", "cpu:1"},
        {"gpu:1", "cpu:0"}, {"gpu:2", "cpu:0"}, {"cpu:2", "cpu:2"},
    };
    OWN_MACHINE m = load(three_hosts);

    cr_assert_eq(m->device_count, 6);
    for (int d = 0; d < m->device_count; d++) {
        cr_expect_str_eq(m->device[d].name, host_of[d][0]);
        cr_expect_str_eq(m->device[m->device[d].host].name, host_of[d][1]);
    }
}

Test(machine, sixty_four_devices_load)
{
    OWN_MACHINE m = load("k40x7x8");

    cr_expect_eq(m->device_count, EMP_MAX_DEVICES);
    for (int d = 0; d < m->device_count; d++)
        cr_expect_eq(m->device[d].host, d / 8 * 8, "%s", m->device[d].name);
    cr_expect_eq(m->route[1][63].link_count, 6);
    cr_expect_float_eq(m->route[1][63].bytes_per_s, 1.25e9, 1.0);
    cr_expect_float_eq(m->route[1][63].latency_s, 10e-6 + 2 * 25e-6, 1e-12);
}

/* ---- what cores share -------------------------------------------------------------- */

#define CORE                                                                            \
    "core: {op: \"2 us\", kernelless: \"1 us\", cache: \"1 MiB\", cache_factor: 2, "    \
    "pack: \"9 GB/s\", columns: \"1 GHz\", columns_input: \"1 GHz\", light: \"1 GHz\"," \
    " divide: \"1 GHz\", exp: \"1 GHz\", reduce: \"1 GHz\", move: \"1 GHz\", "          \
    "transpose: \"1 GHz\", pool: \"1 GHz\", pool_grad: \"1 GHz\", norm: \"1 GHz\", "    \
    "softmax: \"1 GHz\", loss: \"1 GHz\", update: \"1 GHz\"}\n"

#define GPUS(cores, first)                                                             \
    "description: \"groups\"\n" cores "nodes:\n  - {name: \"root\"}\ndevices:\n"       \
    "  - {model: \"haswell-18\", at: \"root\"}\n"                                      \
    "  - {model: \"" first "\", at: \"root\", bandwidth: \"8 GB/s\", latency: \"1 "    \
    "us\"}\n  - {model: \"group\", at: \"root\", bandwidth: \"8 GB/s\", latency: \"1 " \
    "us\"}\n"
#define GROUPS(cores) GPUS(cores, "group")

/* A machine with a model "group", which is the K40 with more sections. */
static emp_status load_sharing(emp_machine **m, const char *sections, const char *text,
                               emp_error *err)
{
    char command[4 * SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "sections", sections);
    snprintf(command, sizeof command,
             "cd '%s' && sed '/^fit:/,$d' models/k40b.yaml | cat - sections > "
             "models/group.yaml",
             scratch_path(""));
    cr_assert_eq(system(command), 0);
    return load_text(m, "mine.yaml", text, err);
}

#define SHARING(stream, clock)                                  \
    "sharing: {beside_stream: " stream ", beside_clock: " clock \
    ", copy: \"8 GB/s\", hand_over: \"3 us\"}\n"

Test(machine_file, groups_of_cores_share_what_the_file_says)
{
    emp_machine *m = NULL, *other = NULL;

    ASSERT_OK(load_sharing(&m, CORE SHARING("1.5", "1.25"), GROUPS("cores: 2\n"), &err));
    cr_expect_eq(m->core_count, 2);
    cr_expect(m->device[1].has_core && m->device[2].has_sharing);
    cr_expect_not(m->device[0].has_sharing);
    cr_expect_eq(m->device[2].sharing.beside_stream, 1.5);
    cr_expect_eq(m->device[2].sharing.beside_clock, 1.25);
    cr_expect_float_eq(m->device[2].sharing.copy_bytes_per_s, 8e9, 1.0);
    cr_expect_float_eq(m->device[2].sharing.hand_over_s, 3e-6, 1e-15);
    ASSERT_OK(load_sharing(&other, CORE, GROUPS(""), &err));
    cr_expect_eq(other->core_count, 0);
    cr_expect_not(other->device[1].has_sharing);
    cr_expect_neq(other->hash, m->hash);
    emp_machine_destroy(m);
    emp_machine_destroy(other);
}

Test(machine_file, what_cannot_be_shared_is_refused)
{
    static const char *const cases[][3] = {
        {SHARING("1.5", "1.25"), GROUPS(""), "sharing: needs the sections gpu and core"},
        {CORE SHARING("0.5", "1.25"), GROUPS(""), "at least 1"},
        {CORE, GROUPS("cores: 0\n"), "cores"},
        {CORE SHARING("1.5", "1.25"), GPUS("", "k40"), ":7: model: 'group' is a second"},
    };
    emp_machine *m = NULL;

    for (size_t i = 0; i < COUNT(cases); i++)
        EXPECT_REFUSED(load_sharing(&m, cases[i][0], cases[i][1], &err), EMP_EFORMAT,
                       cases[i][2]);
    cr_expect_null(m);
}

#define PASSES(norm)                                                                    \
    "passes: {reduce: 0.8, move: 1.8, transpose: 0.7, pool: 2.9, max_pool_grad: 1.7, "  \
    "average_pool_grad: 5.7, norm: " norm ", norm_grad: 1.7, softmax: 0.5, loss: 0.4, " \
    "update: 0.6}\n"

Test(machine_file, a_gpu_may_say_what_kernels_take_beside_their_bytes)
{
    emp_machine *m = NULL, *plain = NULL;

    ASSERT_OK(load_sharing(&m, PASSES("1.9"), GROUPS(""), &err));
    cr_expect(m->device[1].has_passes);
    cr_expect_eq(m->device[1].passes.norm, 1.9);
    cr_expect_eq(m->device[1].passes.average_pool_grad, 5.7);
    ASSERT_OK(load_sharing(&plain, "", GROUPS(""), &err));
    cr_expect_not(plain->device[1].has_passes);
    cr_expect_neq(plain->hash, m->hash);
    emp_machine_destroy(m);
    emp_machine_destroy(plain);
    m = NULL;
    EXPECT_REFUSED(load_sharing(&m, CORE PASSES("1.9"), GROUPS(""), &err), EMP_EFORMAT,
                   "without core");
    EXPECT_REFUSED(load_sharing(&m, PASSES("-1"), GROUPS(""), &err), EMP_EFORMAT, "norm");
    cr_expect_null(m);
}

Test(machine, an_unknown_name_lists_the_known_ones)
{
    emp_machine *m = NULL;

    EXPECT_REFUSED(emp_machine_load(&m, "k41", &err), EMP_EIO, "no machine 'k41'");
    EXPECT_REFUSED(emp_machine_load(&m, "k41", &err), EMP_EIO, "a100x4+v100x4, b200x8, ");
}

Test(machine_file, a_file_of_that_name_here_is_meant)
{
    emp_machine *m = NULL;

    scratch_write_text(path, sizeof path, "mine.yaml", tree_text);
    *strrchr(path, '/') = '\0';
    cr_assert_eq(chdir(path), 0);
    EXPECT_REFUSED(emp_machine_load(&m, "mine", &err), EMP_EIO, "mean ./mine.yaml?");
    EXPECT_REFUSED(emp_machine_load(&m, "mien.yaml", &err), EMP_EIO, "\"mine.yaml\"?");
}

Test(machine, the_data_folder_can_be_elsewhere)
{
    emp_machine *m = NULL;

    setenv("EMPLACE_DATA", "/nowhere", 1);
    EXPECT_REFUSED(emp_machine_load(&m, "k40x1", &err), EMP_EIO,
                   "/nowhere/machines/k40x1.yaml");
}

Test(machine, load_survives_every_allocation_failure, .fini = expect_all_freed)
{
    static const char *const names[] = {"k40x2", "k40x4x2", "rtx3090x4", "strix-halo",
                                        "l40sx8"};

    for (size_t i = 0; i < COUNT(names); i++) {
        emp_machine *m = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_load(&m, names[i], NULL),
                                          emp_machine_destroy(m));
        emp_machine_destroy(m);
    }
}

Test(machine, every_known_one_loads_and_its_text_makes_it_again)
{
    emp_data_names names;

    emp_data_find(&names, "machines");
    cr_assert_gt(names.count, 30);
    for (int32_t i = 0; i < names.count; i++) {
        emp_machine *m = NULL, *again = NULL;
        ASSERT_OK(emp_machine_load(&m, names.name[i], &err));
        cr_expect_str_eq(m->name, names.name[i]);
        cr_expect_eq(m->device[0].kind, EMP_DEVICE_CPU);
        cr_expect_eq(emp_machine_find(m, "gpu:0"), 1, "%s", m->name);
        cr_expect_eq(m->device[1].host, 0);
        cr_assert_not_null(m->text);
        setenv("EMPLACE_DATA", "/nowhere", 1);
        ASSERT_OK(emp_machine_parse(&again, m->text, &err));
        unsetenv("EMPLACE_DATA");
        cr_expect_eq(again->hash, m->hash, "%s", names.name[i]);
        cr_expect_str_eq(again->name, m->name);
        cr_expect_str_eq(again->text, m->text);
        cr_expect_eq(again->device_count, m->device_count);
        emp_machine_destroy(m);
        emp_machine_destroy(again);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(machine, a_damaged_text_is_refused)
{
    static const char *const cases[][2] = {
        {"", "does not begin with a file"},
        {"description: x\n", "does not begin with a file"},
        {"--- # a.yaml 99\ndescription: x\n", "does not begin with a file"},
        {"--- # a.yaml 14\ndescription: x\nmore", "is damaged"},
        {"--- # a.yaml 14\ndescription: x\n", "a.yaml:1: "},
        {"--- # a.yaml 78\ndescription: \"x\"\nnodes:\n  - {name: \"n\"}\ndevices:\n  - "
         "{model: \"lost\", at: \"n\"}\n\n",
         "lacks the file models/lost.yaml"}};
    emp_machine *m = NULL;

    for (size_t i = 0; i < COUNT(cases); i++)
        EXPECT_REFUSED(emp_machine_parse(&m, cases[i][0], &err), EMP_EFORMAT,
                       cases[i][1]);
    cr_expect_null(m);
}

Test(machine, parse_survives_every_allocation_failure)
{
    emp_machine *m = NULL, *again = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x2", NULL), EMP_OK);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_parse(&again, m->text, NULL),
                                      emp_machine_destroy(again));
    emp_machine_destroy(again);
    emp_machine_destroy(m);
}

Test(uniform, has_the_devices_asked_for, .fini = expect_all_freed)
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
}

Test(uniform, refuses_what_no_machine_has, .fini = expect_all_freed)
{
    OWN_MACHINE m = NULL;

    EXPECT_REFUSED(emp_machine_create(&m, "none", 0, 3, 1, &err), EMP_EUNSUPPORTED,
                   "0 CPUs and 3 GPUs");
    cr_expect_eq(emp_machine_create(&m, "many", 2, 63, 1, NULL), EMP_EUNSUPPORTED);
    cr_expect_eq(emp_machine_create(&m, "many", 1, INT32_MAX, 1, NULL), EMP_EUNSUPPORTED);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_create(&m, "small", 1, 1, 1, NULL),
                                      cr_assert_null(m));
}

/* ---- networks of GiPH ---- */

/* A route of \a delay_ms and of \a ms_per_mb for a megabyte. */
static void expect_route(const emp_machine *m, int32_t from, int32_t to, double delay_ms,
                         double ms_per_mb)
{
    const emp_route *r = &m->route[from][to];

    cr_expect_float_eq(r->latency_s, delay_ms * 1e-3, 1e-15);
    cr_expect_float_eq(1e9 / r->bytes_per_s, ms_per_mb, 1e-15);
    cr_expect_eq(r->link_count, 1);
    cr_expect_eq(r->link[0], m->route[to][from].link[0]);
}

Test(giph_machine, is_the_released_programs)
{
    emp_machine *m = load("giph:seed=1");

    cr_assert_eq(m->device_count, 20);
    cr_expect_eq(m->link_count, 190);
    cr_expect_float_eq(1 / m->device[0].time_factor, 6.553545737581544, 1e-14);
    cr_expect_float_eq(1 / m->device[19].time_factor, 5.797230494787257, 1e-14);
    expect_route(m, 0, 1, 16.014891373510732, 0.007147384389361959);
    expect_route(m, 19, 18, 10.222829565942565, 0.009903371934441619);
    emp_machine_destroy(m);
    m = load("giph:devices=5,seed=3");
    cr_assert_eq(m->device_count, 5);
    cr_expect_float_eq(1 / m->device[0].time_factor, 3.82164137841995, 1e-14);
    expect_route(m, 4, 3, 3.1373547694992654, 0.008223820052988811);
    emp_machine_destroy(m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(giph_machine, hash_tells_networks_apart)
{
    emp_machine *a = load("giph"), *b = load("giph:seed=1"), *c = load("giph:seed=0");

    cr_expect_neq(a->hash, b->hash);
    cr_expect_eq(a->hash, c->hash);
    emp_machine_destroy(a);
    emp_machine_destroy(b);
    emp_machine_destroy(c);
}

static void expect_times(const char *runtime)
{
    OWN_TASK t;

    task_create(&t, "giph", "giph:devices=3", runtime);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        for (emp_device_id d = 0; d < t.machine->device_count; d++)
            cr_expect_float_eq((double)emp_problem_op_time_ns(t.problem, op, d),
                               (double)t.graph->stated[op].gpu_ns *
                                   t.machine->device[d].time_factor,
                               0.51);
    }
}

Test(giph_machine, has_times_of_its_own_on_each_device, .fini = expect_all_freed)
{
    expect_times("ideal");
    expect_times("edges");
}

Test(giph_machine, refuses_what_is_out_of_range)
{
    static const char *const specs[] = {"giph:devices=1", "giph:devices=24",
                                        "giph:speed=0", "giph:b_speed=2",
                                        "giph:colour=1"};

    for (size_t i = 0; i < COUNT(specs); i++) {
        emp_machine *m = NULL;
        emp_error    err = {0};
        cr_expect_eq(emp_machine_load(&m, specs[i], &err), EMP_EINVAL, "%s", specs[i]);
        cr_expect_null(m);
        cr_expect_neq(err.msg[0], '\0');
    }
}
