// SPDX-License-Identifier: GPL-3.0-or-later
/* Do devices of nodes come back as they were written, and does all else in the file stay? */
#include "base/mem.h"
#include "graphs/import/node_devices.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

TestSuite(node_devices, .init = scratch_create, .fini = graph_tear_down);

typedef enum { GRAPH, META, SAVED } around;

/* The sample with fields that no reader knows, before, in and behind the nodes. */
static void write_sample(proto_writer *w, around outer)
{
    size_t saved = 0, meta = 0;

    if (outer == SAVED) {
        proto_int(w, 1, "saved_model_schema_version", 1);
        saved = proto_begin(w, 2, "meta_graphs");
    }
    if (outer >= META) {
        size_t info = proto_begin(w, 1, "meta_info_def");
        proto_string(w, 1, "meta_graph_version", "node { \\ }");
        proto_end(w, info);
        meta = proto_begin(w, 2, "graph_def");
    }
    sample_write_nodes(w);
    size_t node = proto_node(w, "odd", "NoOp", "^train");
    proto_string(w, 4, "device", "/job:ps/task:7");
    proto_string(w, 99, "unknown_field", "device: \"x\"");
    size_t unknown = proto_begin(w, 97, "unknown_message");
    proto_plain_node(w, "not_a_node_of_the_graph", "x", "");
    proto_end(w, unknown);
    proto_end(w, node);
    proto_int(w, 3, "version", 21);
    if (outer >= META) {
        proto_end(w, meta);
        proto_string(w, 98, "behind", "the graph");
    }
    if (outer == SAVED) proto_end(w, saved);
}

/* Files of the scratch folder: as it was, with devices, and once more. */
static char              path[3][SCRATCH_PATH_BYTES];
static const char *const names[3] = {"in", "out", "third"};

static void prepare(bool is_text, around outer)
{
    SCOPED(proto_writer, proto_clear) w = {.is_text = is_text};

    write_sample(&w, outer);
    scratch_write("in", w.data, w.size);
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s", scratch_path(names[i]));
}

/* Long ones, so that lengths need another byte; none for some. */
static const char *some_device(const void *context, emp_slice name)
{
    (void)context;
    if (emp_slice_starts(name, "gradients/"))
        return "/job:a_worker_with_a_long_name_so_that_lengths_grow/replica:0/task:13/"
               "device:GPU:1_and_more_of_it_to_pass_the_limit_of_127_bytes";
    return emp_slice_is(name, "train") ? "" : "/device:CPU:0";
}

/* The device of the sample, or of \a context no op has any. */
static const char *old_device(const void *context, emp_slice name)
{
    return context == NULL && emp_slice_is(name, "odd") ? "/job:ps/task:7" : "";
}

static emp_status expect_some(void *context, emp_slice name, emp_slice device,
                              emp_error *err)
{
    (void)err;
    ++*(int *)context;
    cr_expect(emp_slice_is(device, some_device(NULL, name)), "%.*s is on %.*s",
              EMP_SLICE_ARG(name), EMP_SLICE_ARG(device));
    return EMP_OK;
}

/* Writes the file after that one. */
static void write_next(int from, emp_nodes_device_of *device_of, const void *context)
{
    ASSERT_OK(emp_nodes_write(path[from], path[from + 1], device_of, context, &err));
}

static uint64_t hash_of(const char *file)
{
    emp_graph     *graph = graph_import(file, NULL, NULL);
    const uint64_t hash = graph->hash;

    emp_graph_destroy(graph);
    return hash;
}

static void expect_same_file(const char *name, const char *other)
{
    size_t size, other_size;
    char  *bytes = scratch_bytes(name, &size),
         *other_bytes = scratch_bytes(other, &other_size);

    cr_assert_eq(size, other_size, "%s has %zu bytes, %s %zu", name, size, other,
                 other_size);
    cr_expect_arr_eq(bytes, other_bytes, size);
}

/* The second time, and with the devices of before where the file is binary, nothing else changes. */
Test(node_devices, come_back_from_files_that_do_not_change_otherwise)
{
    for (int is_text = 0; is_text <= 1; is_text++)
        for (around outer = GRAPH; outer <= SAVED; outer++) {
            int count = 0;
            prepare(is_text, outer);
            cr_expect_eq(emp_nodes_syntax_of(path[0]),
                         is_text ? EMP_NODES_TEXT : EMP_NODES_BINARY);
            write_next(0, some_device, NULL);
            cr_assert_eq(emp_nodes_each_device(path[1], expect_some, &count, NULL),
                         EMP_OK);
            cr_expect_eq(count, 15);
            cr_expect_eq(hash_of(path[1]), hash_of(path[0]), "the graph is the same");
            write_next(1, some_device, NULL);
            expect_same_file("out", "third");
            if (is_text) continue;
            write_next(1, old_device, NULL);
            expect_same_file("in", "third");
        }
}

/* Text with devices is the text before with them in it. */
Test(node_devices, nothing_else_of_a_text_file_changes)
{
    static const char before[] =
        "# a comment\n"
        "node {\n"
        "  name: \"a\"\n"
        "  op: \"NoOp\"  # device: no\n"
        "  unknown < x: [1, 2] y: 'device' >\n"
        "}\n"
        "node { name: \"c\" }\n"
        "node{op:'NoOp' name:'b' device : '/gpu:3' }versions{producer:9}";
    static const char after[] =
        "# a comment\n"
        "node {\n"
        "  name: \"a\"\n"
        "  op: \"NoOp\"\n"
        "  device: \"/device:CPU:0\"  # device: no\n"
        "  unknown < x: [1, 2] y: 'device' >\n"
        "}\n"
        "node { name: \"c\" device: \"/device:CPU:0\" }\n"
        "node{op:'NoOp' name:'b' device: \"/device:CPU:0\" }versions{producer:9}";

    prepare(true, GRAPH);
    scratch_write("in", before, sizeof before - 1);
    write_next(0, some_device, NULL);
    cr_expect_str_eq(scratch_text("out"), after);
}

Test(node_devices, a_node_may_lose_its_device)
{
    size_t size, smaller;

    prepare(false, GRAPH);
    write_next(0, old_device, "none");
    free(scratch_read("in", &size));
    free(scratch_read("out", &smaller));
    cr_expect_eq(size - smaller, strlen("/job:ps/task:7") + 2);
}

Test(node_devices, other_files_have_none)
{
    emp_error err = {0};
    int       count = 0;

    prepare(true, GRAPH);
    scratch_write("in", "{\"format\": \"emplace-placement-1\"}", 33);
    cr_expect_eq(emp_nodes_syntax_of(path[0]), EMP_NODES_NONE);
    cr_expect_eq(emp_nodes_syntax_of("/nowhere"), EMP_NODES_NONE);
    cr_expect_eq(emp_nodes_each_device(path[0], expect_some, &count, &err), EMP_EFORMAT);
    cr_expect_eq(strncmp(err.msg, path[0], strlen(path[0])), 0, "%s", err.msg);
    cr_expect_eq(emp_nodes_write(path[0], path[1], old_device, NULL, NULL), EMP_EFORMAT);
    cr_expect_eq(remove(path[1]), -1, "nothing is half written");
}

Test(node_devices, damage_is_refused_and_leaves_no_file)
{
    prepare(false, GRAPH);
    size_t size;
    char  *bytes = scratch_bytes("in", &size);
    int    refused = 0;

    for (size_t cut = 1; cut < size; cut += 3) {
        scratch_write("cut", bytes, cut);
        snprintf(path[2], sizeof path[2], "%s", scratch_path("cut"));
        emp_status st = emp_nodes_write(path[2], path[1], some_device, NULL, NULL);
        refused += st != EMP_OK;
        cr_expect_eq(remove(path[1]), st == EMP_OK ? 0 : -1);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
    cr_expect_gt(refused, 10);
}

Test(node_devices, survive_every_allocation_failure)
{
    for (int is_text = 0; is_text <= 1; is_text++) {
        prepare(is_text, SAVED);
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_nodes_write(path[0], path[1], some_device, NULL, NULL), (void)0);
    }
}
