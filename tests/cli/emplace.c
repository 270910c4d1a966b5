// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/emplace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/scratch.h"

enum { PATH = SCRATCH_PATH_BYTES };

/* Two small branches that meet, all sizes given. */
static const char small_graph[] =
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT "
    "} }\n"
    "  attr { key: \"shape\" value { shape { dim { size: 64 } dim { size: 1024 } } } } "
    "}\n"
    "node { name: \"a\" op: \"Relu\" input: \"x\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } }\n"
    "node { name: \"b\" op: \"Tanh\" input: \"x\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } }\n"
    "node { name: \"c\" op: \"Add\" input: \"a\" input: \"b\"\n"
    "  attr { key: \"T\" value { type: DT_FLOAT } } }\n";

static const char cyclic_graph[] = "node { name: \"a\" op: \"Relu\" input: \"b\" attr { "
                                   "key: \"T\" value { type: DT_FLOAT } } }\n"
                                   "node { name: \"b\" op: \"Relu\" input: \"a\" attr { "
                                   "key: \"T\" value { type: DT_FLOAT } } }\n";

static const char unknown_type_graph[] =
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT "
    "} }\n"
    "  attr { key: \"shape\" value { shape { dim { size: 8 } } } } }\n"
    "node { name: \"a\" op: \"Frobnicate\" input: \"x\" }\n"
    "node { name: \"b\" op: \"Frobnicate\" input: \"a\" }\n";

static const char lfs_pointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n";

static const char unknown_op_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null,\n"
    " \"devices\": {\"cpu:0\": [\"x\", \"a\", \"b\", \"c\", \"nonesuch\"]}}\n";

static const char missing_device_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null,\n"
    " \"devices\": {\"gpu:7\": [\"x\", \"a\", \"b\", \"c\"]}}\n";

static const char missing_op_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null, \"devices\": {\"cpu:0\": [\"x\", \"a\", \"b\"]}}\n";

/* A chain of three layers for two GPUs and a CPU; times in milliseconds. */
static const char instance[] =
    "{\"maxFPGAs\": 2, \"maxCPUs\": 1, \"maxSizePerFPGA\": 25,"
    " \"nodes\": ["
    "{\"id\": 1, \"supportedOnFpga\": 1, \"cpuLatency\": 90, \"fpgaLatency\": 9,"
    " \"isBackwardNode\": 0, \"size\": 10},"
    "{\"id\": 2, \"supportedOnFpga\": 1, \"cpuLatency\": 50, \"fpgaLatency\": 5,"
    " \"isBackwardNode\": 0, \"size\": 10},"
    "{\"id\": 3, \"supportedOnFpga\": 1, \"cpuLatency\": 60, \"fpgaLatency\": 6,"
    " \"isBackwardNode\": 0, \"size\": 10}],"
    " \"edges\": [{\"sourceId\": 1, \"destId\": 2, \"cost\": 3},"
    " {\"sourceId\": 2, \"destId\": 3, \"cost\": 1}]}";

/* Of the instance; and for more GPUs than it has. */
static const char expert_split[] =
    "{\"cpus\": [], \"fpgas\": [{\"nodes\": [1]}, {\"nodes\": [2, 3]}]}";
static const char crowded_split[] =
    "{\"cpus\": [],"
    " \"fpgas\": [{\"nodes\": [1]}, {\"nodes\": [2]}, {\"nodes\": [3]}]}";

/* Adds a key that no machine has to a copy of a machine that comes with the program. */
static void write_bad_machine(void)
{
    char  path[PATH], text[8192];
    FILE *file;

    snprintf(path, sizeof path, "%s/data/machines/k40x2.yaml", getenv("EMP_SOURCE_DIR"));
    file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    size_t size = fread(text, 1, sizeof text - 100, file);
    fclose(file);
    size += (size_t)snprintf(text + size, 100, "\ncolour: \"red\"\n");
    scratch_write("bad.yaml", text, size);
}

void emplace_set_up(void)
{
    /* A node of 32 bytes in a file of 5; a node that claims to be as long as all memory.
     */
    static const char truncated[] = "\x0a\x20\x0a\x01x";
    static const char hostile[] = "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x0a\x01x";

    static const char garbage[] = "\x7f\x45LF\x02\x01\x00\xff\xfe\x80\x81\n\x00\xc3\x28:";

    scratch_create();
    scratch_write("small.pbtxt", small_graph, sizeof small_graph - 1);
    scratch_write("cycle.pbtxt", cyclic_graph, sizeof cyclic_graph - 1);
    scratch_write("unknown.pbtxt", unknown_type_graph, sizeof unknown_type_graph - 1);
    scratch_write("pointer.pb", lfs_pointer, sizeof lfs_pointer - 1);
    scratch_write("truncated.pb", truncated, sizeof truncated - 1);
    scratch_write("hostile.pb", hostile, sizeof hostile - 1);
    scratch_write("empty.pb", "", 0);
    scratch_write("empty.yaml", "", 0);
    scratch_write("binary.pb", garbage, sizeof garbage - 1);
    scratch_write("binary.yaml", garbage, sizeof garbage - 1);
    scratch_write("unknown_op.json", unknown_op_placement,
                  sizeof unknown_op_placement - 1);
    scratch_write("missing_device.json", missing_device_placement,
                  sizeof missing_device_placement - 1);
    scratch_write("missing_op.json", missing_op_placement,
                  sizeof missing_op_placement - 1);
    scratch_write("instance.json", instance, sizeof instance - 1);
    scratch_write("expert.json", expert_split, sizeof expert_split - 1);
    scratch_write("crowded.json", crowded_split, sizeof crowded_split - 1);
    scratch_write("broken.json", "{\"format\": ", 11);
    write_bad_machine();
}

void emplace_tear_down(void)
{
    program_forget();
    scratch_remove();
}

int emplace_run(const char *arguments) { return program_run("cli/emplace", arguments); }

int emplace_interrupt(const char *arguments)
{
    return program_interrupt("cli/emplace", arguments);
}

json_t *emplace_json(const char *arguments)
{
    json_error_t where;

    cr_assert_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
    json_t *object = json_loads(program_out, 0, &where);
    cr_assert_not_null(object, "%s: %s\n%s", arguments, where.text, program_out);
    return object;
}

void emplace_expect_keys(const json_t *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_expect_not_null(json_object_get(object, keys[i]), "no key %s", keys[i]);
    }
}
