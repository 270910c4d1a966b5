// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/emplace.h"

#include <unistd.h>

#include "tests/graphs/import/sample.h"
#include "tests/test.h"

enum { PATH = SCRATCH_PATH_BYTES };

#define TEXT(array) array, sizeof array - 1

static json_t *kept; /* all that the program printed as JSON */

/* Graphs as sample_text() takes them. */
static const char *const graphs[][2] = {
    {"small.pbtxt", "x = Placeholder - dtype=DT_FLOAT shape=[64,1024]; a = Relu x T;"
                    "b = Tanh x T; c = Add a,b T"},
    {"cycle.pbtxt", "a = Relu b T; b = Relu a T"},
    {"unknown.pbtxt", "x = Placeholder - dtype=DT_FLOAT shape=[8]; a = Frobnicate x;"
                      "b = Frobnicate a"}};

static const char lfs_pointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n";

/* Texts with ' in place of ". */
#define PLACEMENT(devices)                                                       \
    "{'format': 'emplace-placement-1', 'workload': 'small', 'machine': 'k40x2'," \
    " 'step_time_s': null, 'devices': {" devices "}}\n"
#define NODE(id, cpu, fpga)                                                            \
    "{'id': " id ", 'supportedOnFpga': 1, 'cpuLatency': " cpu ", 'fpgaLatency': " fpga \
    ", 'isBackwardNode': 0, 'size': 10}"

static const char *const texts[][2] = {
    {"unknown_op.json", PLACEMENT("'cpu:0': ['x', 'a', 'b', 'c', 'nonesuch']")},
    {"missing_device.json", PLACEMENT("'gpu:7': ['x', 'a', 'b', 'c']")},
    {"missing_op.json", PLACEMENT("'cpu:0': ['x', 'a', 'b']")},
    /* a chain of three layers for two GPUs and a CPU; times in milliseconds */
    {"instance.json",
     "{'maxFPGAs': 2, 'maxCPUs': 1, 'maxSizePerFPGA': 25, 'nodes': "
     "[" NODE("1", "90", "9") "," NODE("2", "50", "5") "," NODE(
         "3", "60", "6") "], 'edges': [{'sourceId': 1, 'destId': 2, 'cost': 3},"
                         " {'sourceId': 2, 'destId': 3, 'cost': 1}]}"},
    /* splits of it, the second for more GPUs than it has */
    {"expert.json", "{'cpus': [], 'fpgas': [{'nodes': [1]}, {'nodes': [2, 3]}]}"},
    {"crowded.json",
     "{'cpus': [], 'fpgas': [{'nodes': [1]}, {'nodes': [2]}, {'nodes': [3]}]}"},
    {"broken.json", "{'format': "}};

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
    /* a node of 32 bytes in a file of 5; a node that claims to be as long as all memory */
    static const char truncated[] = "\x0a\x20\x0a\x01x";
    static const char hostile[] = "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x0a\x01x";

    static const char garbage[] = "\x7f\x45LF\x02\x01\x00\xff\xfe\x80\x81\n\x00\xc3\x28:";

    static const struct {
        const char *name, *bytes;
        size_t      size;
    } files[] = {{"pointer.pb", TEXT(lfs_pointer)},
                 {"truncated.pb", TEXT(truncated)},
                 {"hostile.pb", TEXT(hostile)},
                 {"empty.pb", "", 0},
                 {"empty.yaml", "", 0},
                 {"binary.pb", TEXT(garbage)},
                 {"binary.yaml", TEXT(garbage)}};

    scratch_create();
    kept = json_array();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        scratch_write(files[i].name, files[i].bytes, files[i].size);
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        emplace_write_graph(graphs[i][0], graphs[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        scratch_write_json(texts[i][0], texts[i][1]);
    write_bad_machine();
}

void emplace_tear_down(void)
{
    program_forget();
    json_decref(kept);
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
    for (const char *at = parts; *at != '\0'; at += *at == '|') {
        const size_t length = strcspn(at, "|");
        const char  *part = scratch_print("%.*s", (int)length, at);
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

static json_t *parse(const char *text)
{
    json_error_t where;
    json_t      *object = json_loads(text, 0, &where);

    cr_assert_not_null(object, "%s\n%s", where.text, text);
    json_array_append_new(kept, object);
    return object;
}

json_t *emplace_printed(void) { return parse(program_out); }

json_t *emplace_load(const char *name) { return parse(scratch_text(name)); }

json_t *emplace_json(const char *arguments)
{
    emplace_ok(arguments);
    return emplace_printed();
}

double emplace_number(const char *arguments, const char *path)
{
    return number_at(emplace_json(arguments), path);
}

const json_t *json_at(const json_t *object, const char *path)
{
    for (const char *at = path; object != NULL && *at != '\0'; at += *at == '/') {
        const size_t length = strcspn(at, "/");
        const char  *key = scratch_print("%.*s", (int)length, at);
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

void emplace_write_graph(const char *name, const char *statements)
{
    emplace_write(name, sample_text(statements));
}

bool emplace_has_file(const char *name) { return access(scratch_path(name), F_OK) == 0; }

bool emplace_same_files(const char *name, const char *other)
{
    size_t size, other_size;
    char *bytes = scratch_bytes(name, &size), *others = scratch_bytes(other, &other_size);
    const bool is_same = size == other_size && memcmp(bytes, others, size) == 0;

    return is_same;
}

void emplace_expect_file(const char *name, const char *parts)
{
    emplace_expect_parts(scratch_text(name), parts);
}
