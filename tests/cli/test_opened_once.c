// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a file that places ops opened once, whatever its form and whatever the command? */
#define _GNU_SOURCE
#include <sys/inotify.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

#define NODE(name, op, input, device)                                      \
    "node { name: \"" name "\" op: \"" op "\" " input " device: \"" device \
    "\" attr { key: \"T\" value { type: DT_FLOAT } } }\n"

static const char graph[] =
    "node { name: \"node0\" op: \"Placeholder\" device: \"/cpu:0\" attr { key: \"dtype\" "
    "value { type: DT_FLOAT } } attr { key: \"shape\" value { shape { dim { size: 4096 } "
    "} } } }\n" NODE("node1", "Relu", "input: \"node0\"", "/gpu:0")
        NODE("node2", "Tanh", "input: \"node1\"", "/gpu:0")
            NODE("node3", "Relu", "input: \"node2\"", "/gpu:1");

static const char named[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"graph.pbtxt\", \"machine\": "
    "\"k40x2\", \"devices\": {\"cpu:0\": [\"node0\"], \"gpu:0\": [\"node1\", \"node2\"], "
    "\"gpu:1\": [\"node3\"]}, \"levels\": {\"3\": [\"node1\"]}, \"leaders\": {\"node2\": "
    "[\"node1\"]}}";

static const char rules[] = "format: \"emplace-placement-1\"\n"
                            "rules:\n"
                            "  - {op: \"node0\", device: \"cpu:0\"}\n"
                            "default: \"gpu:0\"\n";

static const char split[] =
    "{\"fpgas\": [{\"nodes\": [1, 2]}, {\"nodes\": [3]}], \"cpus\": [{\"nodes\": [0]}]}";

static const char map[] = "DEVICE_MAP = {\n    \"\": \"cuda:0\",\n}\n";

/* All forms that can be read. */
static const char *const files[] = {"named.json", "packed.json", "rules.yaml",
                                    "split.json", "run.h5",      "copy.pbtxt",
                                    "map.py"};
enum { FILES = sizeof files / sizeof *files };

static void set_up(void)
{
    emplace_set_up();
    emplace_write("graph.pbtxt", graph);
    emplace_write("copy.pbtxt", graph);
    emplace_write("named.json", named);
    gzFile file = gzopen(scratch_path("packed.json"), "wb");
    cr_assert_not_null(file);
    cr_assert_gt(gzputs(file, named), 0);
    cr_assert_eq(gzclose(file), Z_OK);
    emplace_write("rules.yaml", rules);
    emplace_write("split.json", split);
    emplace_write("map.py", map);
    emplace_ok("place graph.pbtxt -m k40x2 --method heft --decide devices,order "
               "--record run.h5");
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

/* By a simulation, by a search that begins there, and by a replay. */
Test(opened_once, by_every_command)
{
    static const char *const formats[] = {
        "simulate graph.pbtxt -m k40x2 --no-bound -p %s",
        "place graph.pbtxt -m k40x2 --no-bound --method refine --budget 1 --start %s",
        "replay %s --workload graph.pbtxt -m k40x2 --export plan.txt --force"};

    for (int i = 0; i < 3 * FILES; i++) {
        const char *file = files[i % FILES], *at = strstr(formats[i / FILES], "%s");
        const char *command = scratch_print("%.*s%s%s", (int)(at - formats[i / FILES]),
                                            formats[i / FILES], file, at + 2);
        cr_expect_eq(count_openings(file, command), 1, "%s", command);
    }
}
