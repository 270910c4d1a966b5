// SPDX-License-Identifier: GPL-3.0-or-later
/* The machines that come with the program, their topology, and what is said of bad files.
 */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/machine/machine.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char path[SCRATCH_PATH_BYTES];

static emp_status load_text(emp_machine **m, const char *name, const char *text,
                            emp_error *err)
{
    scratch_write_text(path, sizeof path, name, text);
    return emp_machine_load(m, path, err);
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
    expect_no_leak();
}

/* Machines of files that the tests write. */
TestSuite(machine_file, .init = make_folder, .fini = remove_folder);

/* How many GPUs and CPUs each file says that there are. */
static const struct {
    const char *name;
    int32_t     gpus, cpus, models;
} machines[] = {
    {"a100x4+v100x4", 8, 2, 3}, {"b200x8", 8, 1, 2},       {"cpu2", 2, 1, 2},
    {"cpu2-slow", 2, 1, 2},     {"dgx-a100", 8, 1, 2},     {"dgx-h100", 8, 1, 2},
    {"dgx-h100x2", 16, 2, 2},   {"gb10x1", 1, 1, 2},       {"gh200x1", 1, 1, 2},
    {"h200x1", 1, 1, 2},        {"h200x8", 8, 1, 2},       {"k40x1", 1, 1, 2},
    {"k40x2", 2, 1, 2},         {"k40x4", 4, 1, 2},        {"k40x4x2", 8, 2, 2},
    {"k40x7x8", 56, 8, 2},      {"k40x8", 8, 1, 2},        {"k80x1", 1, 1, 2},
    {"k80x4", 4, 1, 2},         {"l40sx8", 8, 1, 2},       {"m3-ultra", 1, 1, 2},
    {"m4-max", 1, 1, 2},        {"m5-max", 1, 1, 2},       {"mi300x8", 8, 1, 2},
    {"p100x4", 4, 1, 2},        {"rtx3090x4", 4, 1, 2},    {"rtx4090x2+rtx3060", 3, 1, 3},
    {"rtx5090x1", 1, 1, 2},     {"rtxpro6000x8", 8, 1, 2}, {"strix-halo", 1, 1, 2},
};
enum { MACHINES = sizeof machines / sizeof machines[0] };

Test(machine, every_known_machine_loads)
{
    emp_data_names names;

    emp_data_find(&names, "machines");
    cr_assert_eq(names.count, MACHINES);
    for (int32_t i = 0; i < names.count; i++) {
        emp_machine *m = NULL;
        cr_assert_str_eq(names.name[i], machines[i].name);
        ASSERT_OK(emp_machine_load(&m, names.name[i], &err));
        cr_expect_str_eq(m->name, names.name[i]);
        cr_expect_eq(emp_machine_count(m, EMP_DEVICE_CPU), machines[i].cpus);
        cr_expect_eq(emp_machine_count(m, EMP_DEVICE_GPU), machines[i].gpus, "%s",
                     m->name);
        cr_expect_eq(m->model_count, machines[i].models, "%s", m->name);
        cr_expect_eq(m->device[0].kind, EMP_DEVICE_CPU);
        cr_expect_eq(emp_machine_find(m, "gpu:0"), 1);
        cr_expect_eq(emp_machine_find(m, "gpu:56"), -1);
        cr_expect_eq(m->device[1].host, 0);
        emp_machine_destroy(m);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(machine, gemm_constants_are_scaled_to_the_clock)
{
    emp_machine *m = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x1", NULL), EMP_OK);
    cr_expect_float_eq(m->device[1].gemm_base_s, 9.28e-6 * 875.0 / 745.0, 1e-12);
    cr_expect_float_eq(m->device[1].gemm_per_wave_s, 39.0e-9 * 875.0 / 745.0, 1e-15);
    emp_machine_destroy(m);
}

static void expect_route(const emp_machine *m, const char *from, const char *to,
                         const char *const *links)
{
    const emp_route *r = &m->route[emp_machine_find(m, from)][emp_machine_find(m, to)];
    int32_t          count = 0;

    for (; links[count] != NULL; count++) {
        cr_assert_lt(count, r->link_count, "%s to %s: %d links", from, to, r->link_count);
        cr_expect_str_eq(m->link[r->link[count]].name, links[count], "%s to %s, link %d",
                         from, to, count);
    }
    cr_expect_eq(r->link_count, count, "%s to %s", from, to);
}

Test(machine, routes_follow_the_tree)
{
    emp_machine *m = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x8", NULL), EMP_OK);
    expect_route(m, "cpu:0", "gpu:3",
                 (const char *[]){"switch:0 down", "gpu:3 down", NULL});
    expect_route(m, "gpu:3", "cpu:0", (const char *[]){"gpu:3 up", "switch:0 up", NULL});
    expect_route(m, "cpu:0", "gpu:4",
                 (const char *[]){"socket:1 down", "switch:1 down", "gpu:4 down", NULL});
    expect_route(m, "gpu:0", "gpu:2", (const char *[]){"gpu:0 up", "gpu:2 down", NULL});
    expect_route(m, "gpu:0", "gpu:7",
                 (const char *[]){"gpu:0 up", "switch:0 up", "socket:1 down",
                                  "switch:1 down", "gpu:7 down", NULL});
    cr_expect_float_eq(m->route[1][2].bytes_per_s, 10e9, 1.0);
    cr_expect_float_eq(m->route[1][2].latency_s, 10e-6, 1e-12);
    cr_expect_float_eq(m->route[1][8].bytes_per_s, 5.7e9, 1.0, "staged between sockets");
    cr_expect_float_eq(m->route[0][1].bytes_per_s, 10e9, 1.0);
    cr_expect_eq(m->route[0][0].link_count, 0);
    emp_machine_destroy(m);
}

static const char tree_text[] =
    "description: \"two GPUs on a tree\"\n"
    "nodes:\n"
    "  - {name: \"root\"}\n"
    "  - {name: \"a\", parent: \"root\", bandwidth: \"4 GB/s\", latency: \"2 us\"}\n"
    "  - {name: \"b\", parent: \"root\", bandwidth: \"2 GB/s\", latency: \"3 us\"}\n"
    "devices:\n"
    "  - {model: \"haswell-18\", at: \"root\"}\n"
    "  - {model: \"k40\", at: \"a\", bandwidth: \"8 GB/s\", latency: \"1 us\"}\n"
    "  - {model: \"k40\", at: \"b\", bandwidth: \"8 GB/s\", latency: \"1 us\"}\n";

Test(machine_file, peers_follow_the_tree_or_share_the_channel)
{
    char         text[sizeof tree_text + 80];
    emp_machine *m = NULL;

    ASSERT_OK(load_text(&m, "tree.yaml", tree_text, &err));
    cr_expect_str_eq(m->name, "tree");
    expect_route(m, "gpu:0", "gpu:1",
                 (const char *[]){"gpu:0 up", "a up", "b down", "gpu:1 down", NULL});
    cr_expect_float_eq(m->route[1][2].bytes_per_s, 2e9, 1.0, "the lowest on the route");
    cr_expect_float_eq(m->route[1][2].latency_s, 3e-6, 1e-12, "the highest on the route");
    emp_machine_destroy(m);
    snprintf(text, sizeof text,
             "%sgpu_channel: {bandwidth: \"1 GB/s\", latency: \"7 us\"}\n", tree_text);
    ASSERT_OK(load_text(&m, "shared.yaml", text, &err));
    expect_route(m, "gpu:0", "gpu:1",
                 (const char *[]){"gpu:0 up", "gpu channel", "gpu:1 down", NULL});
    expect_route(m, "cpu:0", "gpu:1", (const char *[]){"b down", "gpu:1 down", NULL});
    cr_expect_float_eq(m->route[1][2].bytes_per_s, 1e9, 1.0);
    cr_expect_float_eq(m->route[1][2].latency_s, 7e-6, 1e-12);
    emp_machine_destroy(m);
}

Test(machine_file, the_hash_sees_every_constant)
{
    emp_machine *a = NULL, *b = NULL;

    ASSERT_OK(load_text(&a, "tree.yaml", tree_text, &err));
    scratch_write_changed(path, sizeof path, "tree.yaml", tree_text, "4 GB/s", "5 GB/s");
    ASSERT_OK(emp_machine_load(&b, path, &err));
    cr_expect_neq(a->hash, b->hash);
    emp_machine_destroy(a);
    emp_machine_destroy(b);
}

static const struct {
    const char *find, *put, *part; /* a change to tree_text; of the message */
} bad_files[] = {
    {"nodes:", "knots:", ":2: Unexpected key: knots"},
    {"latency: \"2", "latncy: \"2", ":4: Unexpected key: latncy (did you mean \"latency"},
    {"description: \"two GPUs on a tree\"\n", "", ":6: Missing key: description"},
    {"4 GB/s", "4 GiB", ":4: bandwidth: "},
    {"2 us", "2 GB/s", ":4: latency: "},
    {"4 GB/s", "0 GB/s", ":4: bandwidth: '0 GB/s'"},
    {"parent: \"root\", bandwidth: \"4", "parent: \"oak\", bandwidth: \"4", ":4: parent"},
    {"name: \"b\"", "name: \"a\"", ":4: name: 'a'"},
    {"at: \"b\"", "at: \"c\"", ":9: at: 'c' is no node; known: root, a, b"},
    {"at: \"root\"", "at: \"rot\"", ":7: at: 'rot' is no node (did you mean \"root\"?)"},
    {"{name: \"root\"}", "\"root\"", ":3: Expected keys with values"},
    {"\"two GPUs on a tree\"", "[two, GPUs]", ":1: Expected a single value"},
    {"nodes:\n", "nodes: {}\n#", ":2: Expected a list"},
    {"name: \"a\"", "name: \"a\", name: \"a\"", ":4: Key given twice: name"},
    {"nodes:\n", "nodes: }\n", ":2: Not YAML: "},
    {"\"k40\", at: \"a\"", "\"k99\", at: \"a\"", ":8: model: 'k99'"},
    {"\"k40\", at: \"a\"", "\"k99\", at: \"a\"", "known: k40b, a100-pcie, a100-sxm, "},
    {"\"k40\", at: \"a\"", "\"k40bb\", at: \"a\"", "(did you mean \"k40b\"?)"},
    {"\"k40\", at: \"a\"", "\"haswel-18\", at: \"a\"", "(did you mean \"haswell-18\"?)"},
    {"k40\", at: \"a\"", "k40\", count: \"x\", at: \"a\"", ":8: count: 'x'"},
    {"k40\", at: \"a\"", "k40\", count: \"3000000000\", at: \"a\"", ":8: count: '30000"},
    {"\"haswell-18\", at: \"root\"", "\"k40\", at: \"root\"", ":7: model: 'k40' is out"},
    {"\"k40\", at: \"a\"", "\"haswell-18\", at: \"a\"", ":9: at: 'b' leads to no single"},
    {", latency: \"3 us\"", "", ":5: name: 'b' needs both bandwidth and latency"},
    {"  - {name: \"root\"}", "  - {name: \"root\"", "bad.yaml:"},
    {"at: \"b\", bandwidth: \"8 GB/s\",", "at: \"b\",", ":8: model: 'k40' needs both"},
    {"at: \"a\", bandwidth: \"8 GB/s\", latency: \"1 us\"", "at: \"root\"",
     ":6: no route from cpu:0 to gpu:0"},
};

/* Of a model that two entries name there is one. */
Test(machine_file, devices_are_of_any_models)
{
#define LINK ", bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"
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
    emp_machine             *m = NULL;

    ASSERT_OK(load_text(&m, "unlike.yaml", text, &err));
    cr_assert_eq(m->device_count, 6);
    cr_expect_eq(m->model_count, 4);
    cr_expect_str_eq(emp_machine_first_model(m, EMP_DEVICE_GPU)->name, "k40");
    for (int d = 0; d < 6; d++)
        cr_expect_str_eq(m->model[m->device[d].model].name, names[d], "%d", d);
    cr_expect_lt(m->device[1].memory_bytes, m->device[3].memory_bytes);
    cr_expect_eq(m->device[5].host, 4);
    emp_machine_destroy(m);
}

Test(machine_file, bad_files_are_refused_by_file_line_and_key)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        emp_machine *m = NULL;
        scratch_write_changed(path, sizeof path, "bad.yaml", tree_text, bad_files[i].find,
                              bad_files[i].put);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, bad_files[i].part);
        EXPECT_REFUSED(emp_machine_load(&m, path, &err), EMP_EFORMAT, path);
        cr_expect_null(m);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_files[i].put);
    }
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

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_REFUSED(load_sharing(&m, cases[i][0], cases[i][1], &err), EMP_EFORMAT,
                       cases[i][2]);
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

Test(machine, load_survives_every_allocation_failure, .fini = expect_no_leak)
{
    static const char *const names[] = {"k40x2", "k40x4x2", "rtx3090x4", "strix-halo",
                                        "l40sx8"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        emp_machine *m = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_load(&m, names[i], NULL),
                                          emp_machine_destroy(m));
        emp_machine_destroy(m);
    }
}

/* ---- without its files ---- */

Test(machine, its_text_makes_it_again)
{
    emp_data_names names;

    emp_data_find(&names, "machines");
    for (int32_t i = 0; i < names.count; i++) {
        emp_machine *m = NULL, *again = NULL;
        ASSERT_OK(emp_machine_load(&m, names.name[i], &err));
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

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
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
