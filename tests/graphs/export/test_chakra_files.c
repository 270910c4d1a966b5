// SPDX-License-Identifier: GPL-3.0-or-later
/* A placed step as Chakra's traces: does our own reader find the same work on each device, and has every
 * message both of its ends? */
#define _GNU_SOURCE /* memmem() */
#include "baselines/baselines.h"
#include "graphs/export/chakra.h"
#include "graphs/import/proto/wire.h"
#include "tests/graphs/graphs.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(chakra_files, .init = scratch_create, .fini = graph_tear_down);

enum { NODES_MAX = 4096, DEPS_MAX = 64 };
enum { COMP = 4, SEND = 5, RECEIVE = 6 };

typedef struct {
    int64_t id, type, us, is_cpu, size, src, dst, tag;
    int64_t dep[DEPS_MAX];
    int     dep_count;
    char    name[256];
} node;

typedef struct {
    node *node;
    int   count;
} trace;

static emp_cursor cursor_on(emp_slice bytes)
{
    return (emp_cursor){bytes.data, bytes.data, bytes.data + bytes.size};
}

static void read_attr(node *n, emp_slice bytes)
{
    static const char *const names[] = {"is_cpu_op", "comm_size", "comm_src", "comm_dst",
                                        "comm_tag"};
    int64_t *const           values[] = {&n->is_cpu, &n->size, &n->src, &n->dst, &n->tag};
    emp_cursor               c = cursor_on(bytes);
    emp_wire_field           name, value;

    cr_assert_eq(emp_wire_next(&c, &name, NULL), EMP_OK);
    cr_assert_eq(emp_wire_next(&c, &value, NULL), EMP_OK);
    cr_assert_eq(c.at, c.end);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (emp_slice_is(name.bytes, names[i])) *values[i] = (int64_t)value.bits;
}

static void read_node(node *n, emp_slice bytes)
{
    emp_cursor     c = cursor_on(bytes);
    emp_wire_field f;

    *n = (node){.us = -1, .tag = -1};
    while (c.at < c.end) {
        cr_assert_eq(emp_wire_next(&c, &f, NULL), EMP_OK);
        if (f.number == 1) n->id = (int64_t)f.bits;
        if (f.number == 2)
            snprintf(n->name, sizeof n->name, "%.*s", EMP_SLICE_ARG(f.bytes));
        if (f.number == 3) n->type = (int64_t)f.bits;
        if (f.number == 7) n->us = (int64_t)f.bits;
        if (f.number == 10) read_attr(n, f.bytes);
        if (f.number != 5) continue;
        for (emp_cursor d = cursor_on(f.bytes); d.at < d.end;) {
            uint64_t id;
            cr_assert_lt(n->dep_count, (int)DEPS_MAX);
            cr_assert_eq(emp_wire_varint(&d, &id, NULL), EMP_OK);
            n->dep[n->dep_count++] = (int64_t)id;
        }
    }
}

static trace read_trace(emp_device_id device)
{
    size_t size = 0;
    trace  t = {calloc(NODES_MAX, sizeof(node)), -1};

    char *bytes = scratch_bytes(scratch_print("t.%d.et", device), &size);
    for (emp_cursor c = cursor_on((emp_slice){bytes, size}); c.at < c.end; t.count++) {
        uint64_t length;
        cr_assert_lt(t.count, (int)NODES_MAX);
        cr_assert_eq(emp_wire_varint(&c, &length, NULL), EMP_OK);
        if (t.count >= 0) read_node(&t.node[t.count], (emp_slice){c.at, (size_t)length});
        c.at += length;
    }
    return t;
}

static const node *find(const trace *t, const char *name)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->node[i].name, name) == 0) return &t->node[i];
    cr_assert_fail("no node %s", name);
    return NULL;
}

static const node *find_end(const trace *t, int64_t type, int64_t tag)
{
    const node *found = NULL;

    for (int i = 0; i < t->count; i++) {
        if (t->node[i].type != type || t->node[i].tag != tag) continue;
        cr_expect_null(found, "tag %ld twice", (long)tag);
        found = &t->node[i];
    }
    return found;
}

static emp_status write_files(const task *t, emp_error *err)
{
    return emp_chakra_write(scratch_path("t"), t->problem, t->device_of_op, err);
}

static emp_time_ns work_of(const task *t, emp_device_id device)
{
    emp_time_ns sum = 0;

    for (emp_op_id op = 0; op < t->graph->op_count; op++)
        if (t->device_of_op[op] == device && !t->graph->op[op].is_folded)
            sum += emp_problem_op_time_ns(t->problem, op, device);
    return sum;
}

static emp_time_ns busy_of_file(emp_device_id device, bool is_cpu)
{
    OWN_TASK    read = {0};
    emp_error   err = {0};
    emp_runtime runtime;

    const char *name = scratch_print("t.%d.et", device);
    cr_assert_eq(emp_source_load(&read.graph, NULL, NULL, scratch_path(name), &err),
                 EMP_OK);
    cr_assert_eq(emp_machine_create(&read.machine, "one", 1, 1, INT64_C(1) << 40, &err),
                 EMP_OK);
    cr_assert_eq(emp_runtime_init(&runtime, "traced", &err), EMP_OK);
    task_pose(&read, &runtime, name);
    for (emp_op_id op = 0; op < read.graph->op_count; op++)
        read.device_of_op[op] = is_cpu ? 0 : 1;
    emp_sim_result result = task_run(&read);
    return emp_sim_result_busy_ns(&result, is_cpu ? 0 : 1);
}

Test(chakra_files, each_device_has_the_same_work_when_it_is_read_back)
{
    OWN_TASK t = {0};

    task_create(&t, "nmt:layers=2,src_steps=2,tgt_steps=2", "k40x2", "tf-r1.3");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = op % 7 % 3;
    emp_problem_legalize(t.problem, t.device_of_op);
    ASSERT_OK(write_files(&t, &err));
    for (emp_device_id d = 0; d < 3; d++) {
        emp_time_ns work = work_of(&t, d), read = busy_of_file(d, d == 0);
        cr_expect_gt(work, 1000000, "device %d has something to do", d);
        cr_expect_leq(llabs(read - work), 500, "device %d: %ld ns, read %ld", d,
                      (long)work, (long)read);
    }
}

Test(chakra_files, every_message_has_both_ends_and_every_dependency_is_in_the_file)
{
    task  t = {0};
    trace traces[3];
    int   message_count = 0;

    task_create(&t, "rnnlm:layers=1,units=64,steps=2", "k40x2", "tf-r1.3");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = op % 3;
    emp_problem_legalize(t.problem, t.device_of_op);
    ASSERT_OK(write_files(&t, &err));
    for (emp_device_id d = 0; d < 3; d++) traces[d] = read_trace(d);
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < traces[d].count; i++) {
            const node *n = &traces[d].node[i];
            for (int k = 0; k < n->dep_count; k++) {
                int at = 0;
                while (at < i && traces[d].node[at].id != n->dep[k]) at++;
                cr_expect_lt(at, i, "%s depends on a node before it", n->name);
            }
            if (n->type == COMP) continue;
            bool        is_send = n->type == SEND;
            const node *other = find_end(&traces[is_send ? n->dst : n->src],
                                         is_send ? RECEIVE : SEND, n->tag);
            cr_assert_not_null(other, "%s", n->name);
            cr_expect_eq(is_send ? n->src : n->dst, d);
            cr_expect_eq(other->size, n->size);
            cr_expect_geq(n->size, 1);
            cr_expect_eq(n->dep_count, is_send);
            message_count++;
        }
    }
    cr_expect_gt(message_count, 20);
    for (emp_device_id d = 0; d < 3; d++) free(traces[d].node);
    task_destroy(&t);
}

/* The first op goes to the second device twice, but is sent once. The third op waits for the second. */
Test(chakra_files, a_small_step_is_as_by_hand)
{
    static const tiny_op ops[] = {
        {.device = 1, .weight = 150},
        {.device = 1, .weight = 100},
        {.device = 2, .input_count = 1, .input = {0}, .control = 2},
        {.device = 2, .input_count = 2, .input = {0, 2}, .weight = 140}};
    OWN_TASK    t = {0};
    emp_runtime runtime = tiny_list_scheduling();
    trace       traces[3];

    task_create_tiny(&t, ops, 4, &runtime);
    for (int i = 0; i < 4; i++) t.device_of_op[i] = ops[i].device;
    ASSERT_OK(write_files(&t, &err));
    for (emp_device_id d = 0; d < 3; d++) traces[d] = read_trace(d);
    cr_expect_eq(traces[0].count, 1);
    cr_expect_eq(find(&traces[0], "idle")->us, 0);
    cr_expect_eq(traces[1].count, 4, "two ops, one tensor, one control edge");
    cr_expect_eq(traces[2].count, 4);
    const node *first = find(&traces[1], t.graph->name[0]);
    const node *second = find(&traces[1], t.graph->name[1]);
    cr_expect_eq(first->us, 2, "1500 ns");
    cr_expect_eq(second->us, 1, "1000 ns, of which half a microsecond is told already");
    cr_expect_eq(first->is_cpu, 0);
    const char *name = scratch_print("send gpu:1/%s", first->name);
    cr_expect_eq(find(&traces[1], name)->size, 256);
    cr_expect_eq(find(&traces[1], name)->dep[0], first->id);
    name = scratch_print("receive gpu:0/%s", first->name);
    const node *data = find(&traces[2], name);
    name = scratch_print("receive gpu:0/%s", second->name);
    const node *word = find(&traces[2], name);
    cr_expect_eq(word->size, 1);
    const node *third = find(&traces[2], t.graph->name[2]);
    cr_expect_eq(third->dep_count, 2);
    cr_expect_eq(third->dep[0], word->id);
    cr_expect_eq(third->dep[1], data->id);
    const node *last = find(&traces[2], t.graph->name[3]);
    cr_expect_eq(last->dep_count, 2);
    cr_expect_eq(last->dep[0] + last->dep[1], data->id + third->id);
    for (emp_device_id d = 0; d < 3; d++) free(traces[d].node);
}

Test(chakra_files, a_failure_leaves_all_files_as_they_were)
{
    OWN_TASK t = task_chain(16);
    char     path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "t.0.et", "mine");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        write_files(&t, NULL), { cr_assert_str_eq(scratch_text("t.0.et"), "mine"); });
    EXPECT_REFUSED(
        emp_chakra_write(scratch_path("no/t"), t.problem, t.device_of_op, &err), EMP_EIO,
        "no/t.0.et");
}
