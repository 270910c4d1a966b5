// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/emplace.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch.h"

enum { PATH = SCRATCH_PATH_BYTES };

#define TEXT(array) array, sizeof array - 1

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

/* Splits of the instance, and for more GPUs than it has. */
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

    static const struct {
        const char *name, *bytes;
        size_t      size;
    } files[] = {{"small.pbtxt", TEXT(small_graph)},
                 {"cycle.pbtxt", TEXT(cyclic_graph)},
                 {"unknown.pbtxt", TEXT(unknown_type_graph)},
                 {"pointer.pb", TEXT(lfs_pointer)},
                 {"truncated.pb", TEXT(truncated)},
                 {"hostile.pb", TEXT(hostile)},
                 {"empty.pb", "", 0},
                 {"empty.yaml", "", 0},
                 {"binary.pb", TEXT(garbage)},
                 {"binary.yaml", TEXT(garbage)},
                 {"unknown_op.json", TEXT(unknown_op_placement)},
                 {"missing_device.json", TEXT(missing_device_placement)},
                 {"missing_op.json", TEXT(missing_op_placement)},
                 {"instance.json", TEXT(instance)},
                 {"expert.json", TEXT(expert_split)},
                 {"crowded.json", TEXT(crowded_split)},
                 {"broken.json", "{\"format\": ", 11}};

    scratch_create();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        scratch_write(files[i].name, files[i].bytes, files[i].size);
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

void emplace_ok(const char *arguments)
{
    cr_assert_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
}

void emplace_expect_parts(const char *text, const char *parts)
{
    char part[512];

    for (const char *at = parts; *at != '\0'; at += *at == '|') {
        const size_t length = strcspn(at, "|");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        cr_expect_not_null(strstr(text, part), "no \"%s\" in: %s", part, text);
        at += length;
    }
}

void emplace_prints(const char *arguments, const char *parts)
{
    emplace_ok(arguments);
    emplace_expect_parts(program_out, parts);
}

void emplace_warns(const char *arguments, const char *parts)
{
    emplace_ok(arguments);
    emplace_expect_parts(program_err, parts);
}

void emplace_refuses(const char *arguments, const char *parts)
{
    const int status = emplace_run(arguments);

    cr_expect(status == 1 || status == 2, "%s: %d", arguments, status);
    cr_expect(program_is_one_sentence(program_err, "emplace"), "%s: %s", arguments,
              program_err);
    cr_expect_str_empty(program_out, "%s", arguments);
    emplace_expect_parts(program_err, parts);
}

json_t *emplace_json(const char *arguments)
{
    json_error_t where;

    emplace_ok(arguments);
    json_t *object = json_loads(program_out, 0, &where);
    cr_assert_not_null(object, "%s: %s\n%s", arguments, where.text, program_out);
    return object;
}

double emplace_number(const char *arguments, const char *path)
{
    json_t      *object = emplace_json(arguments);
    const double value = number_at(object, path);

    json_decref(object);
    return value;
}

const json_t *json_at(const json_t *object, const char *path)
{
    char key[128];

    for (const char *at = path; object != NULL && *at != '\0'; at += *at == '/') {
        const size_t length = strcspn(at, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        object = json_is_array(object) ? json_array_get(object, (size_t)atoi(key))
                                       : json_object_get(object, key);
        at += length;
    }
    return object;
}

double number_at(const json_t *object, const char *path)
{
    const json_t *value = json_at(object, path);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *text_at(const json_t *object, const char *path)
{
    const json_t *value = json_at(object, path);

    return json_is_string(value) ? json_string_value(value) : "";
}

bool is_null_at(const json_t *object, const char *path)
{
    return json_is_null(json_at(object, path));
}

void emplace_expect_keys(const json_t *object, const char *keys)
{
    char key[128];

    for (int length = 0; sscanf(keys, "%127s%n", key, &length) == 1; keys += length)
        cr_expect_not_null(json_object_get(object, key), "no key %s", key);
}

void emplace_write(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

bool emplace_has_file(const char *name) { return access(scratch_path(name), F_OK) == 0; }

bool emplace_same_files(const char *name, const char *other)
{
    size_t size, other_size;
    char  *bytes = scratch_read(name, &size), *others = scratch_read(other, &other_size);
    const bool is_same = size == other_size && memcmp(bytes, others, size) == 0;

    free(bytes);
    free(others);
    return is_same;
}

void emplace_expect_file(const char *name, const char *parts)
{
    char *text = scratch_read(name, NULL);

    emplace_expect_parts(text, parts);
    free(text);
}
