// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a file that places ops opened once, whatever its form and whatever the command? */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

static void write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

#define NODE(name, op, input, device)                                      \
    "node { name: \"" name "\" op: \"" op "\" " input " device: \"" device \
    "\" attr { key: \"T\" value { type: DT_FLOAT } } }\n"

static const char graph[] =
    "node { name: \"node0\" op: \"Placeholder\" device: \"/cpu:0\" "
    "attr { key: \"dtype\" value { type: DT_FLOAT } } attr { key: "
    "\"shape\" value { shape { dim { size: 4096 } } } } }\n" NODE(
        "node1", "Relu", "input: \"node0\"", "/gpu:0")
        NODE("node2", "Tanh", "input: \"node1\"", "/gpu:0")
            NODE("node3", "Relu", "input: \"node2\"", "/gpu:1");

static const char named[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"graph.pbtxt\", "
    "\"machine\": \"k40x2\", \"devices\": {\"cpu:0\": [\"node0\"], "
    "\"gpu:0\": [\"node1\", \"node2\"], \"gpu:1\": [\"node3\"]}, "
    "\"levels\": {\"3\": [\"node1\"]}, \"leaders\": {\"node2\": [\"node1\"]}}";

static const char rules[] = "format: \"emplace-placement-1\"\n"
                            "rules:\n"
                            "  - {op: \"node0\", device: \"cpu:0\"}\n"
                            "default: \"gpu:0\"\n";

static const char split[] = "{\"fpgas\": [{\"nodes\": [1, 2]}, {\"nodes\": [3]}], "
                            "\"cpus\": [{\"nodes\": [0]}]}";

static const char map[] = "DEVICE_MAP = {\n    \"\": \"cuda:0\",\n}\n";

/* All forms that can be read. */
static const char *const files[] = {"named.json", "packed.json", "rules.yaml",
                                    "split.json", "run.h5",      "copy.pbtxt",
                                    "map.py"};
enum { FILES = sizeof files / sizeof *files };

static void write_packed(void)
{
    gzFile file = gzopen(scratch_path("packed.json"), "wb");

    cr_assert_not_null(file);
    cr_assert_gt(gzputs(file, named), 0);
    cr_assert_eq(gzclose(file), Z_OK);
}

static void set_up(void)
{
    emplace_set_up();
    write_text("graph.pbtxt", graph);
    write_text("copy.pbtxt", graph);
    write_text("named.json", named);
    write_packed();
    write_text("rules.yaml", rules);
    write_text("split.json", split);
    write_text("map.py", map);
    cr_assert_eq(emplace_run("place graph.pbtxt -m k40x2 --method heft "
                             "--decide devices,order --record run.h5"),
                 0, "%s", program_err);
}

TestSuite(opened_once, .init = set_up, .fini = emplace_tear_down);

/* How often the command opens the file. Between two openings the file is closed, so that the kernel
 * does not take them for one event. */
static int count_openings(const char *name, const char *command)
{
    _Alignas(struct inotify_event) char buffer[1 << 14];
    int                                 count = 0;
    const int                           watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    cr_assert_geq(watcher, 0);
    cr_assert_geq(inotify_add_watch(watcher, scratch_path(name), IN_OPEN | IN_CLOSE), 0);
    cr_assert_eq(emplace_run(command), 0, "%s: %s", command, program_err);
    const ssize_t size = read(watcher, buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
        struct inotify_event event;
        memcpy(&event, buffer + at, sizeof event);
        count += (event.mask & IN_OPEN) != 0;
        at += (ssize_t)(sizeof event + event.len);
    }
    close(watcher);
    return count;
}

/* \a format has the file's name once. */
static void expect_one_opening(const char *format)
{
    for (int i = 0; i < FILES; i++) {
        char command[200];
        snprintf(command, sizeof command, format, files[i]);
        cr_expect_eq(count_openings(files[i], command), 1, "%s", command);
    }
}

Test(opened_once, by_a_simulation)
{
    expect_one_opening("simulate graph.pbtxt -m k40x2 --no-bound -p %s");
}

Test(opened_once, by_a_search_that_begins_there)
{
    expect_one_opening("place graph.pbtxt -m k40x2 --no-bound --method refine --budget 1 "
                       "--start %s");
}

Test(opened_once, by_a_replay)
{
    expect_one_opening("replay %s --workload graph.pbtxt -m k40x2 --export plan.txt "
                       "--force");
}
