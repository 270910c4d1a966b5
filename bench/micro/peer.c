// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/micro/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/program.h"

/* The first of them warms caches and allocators up. */
enum { RUNS = 2, PATH_BYTES = 1024, LINE_BYTES = 4096 };

static const char *const program[] = {
    [EMP_PEER_SIMGRID_FIFO] = "'" EMP_SIMGRID_ORACLE "' fifo",
    [EMP_PEER_SIMGRID_DAG] = "'" EMP_SIMGRID_ORACLE "' dag",
    [EMP_PEER_PYTHON] = "python3 '" EMP_HEAPQ_ORACLE "'",
};

const char *emp_peer_absence(emp_peer_kind kind)
{
    if (kind != EMP_PEER_PYTHON) {
        return access(EMP_SIMGRID_ORACLE, X_OK) == 0
                   ? NULL
                   : "SimGrid was not there when this was built: install libsimgrid-dev "
                     "and "
                     "g++, and configure again (scripts/test --peers does)";
    }
    const char *const python[] = {"python3", "-c", "", NULL};
    if (!emp_program_succeeds(python)) return "there is no python3";
    return access(EMP_HEAPQ_ORACLE, R_OK) == 0 ? NULL : EMP_HEAPQ_ORACLE " is missing";
}

static emp_status write_problem(char *path, const emp_plain *plain,
                                const emp_device_id *device_of_op, emp_error *err)
{
    const char *folder = getenv("TMPDIR");
    FILE       *stream = NULL;

    if (folder == NULL || strchr(folder, '\'') != NULL) folder = "/tmp";
    snprintf(path, PATH_BYTES, "%s/emplace-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd >= 0) stream = fdopen(fd, "w");
    if (stream == NULL)
        return EMP_ERROR(EMP_EIO, "no temporary file in %s: %s", folder, strerror(errno));
    emp_plain_write(plain, device_of_op, stream);
    bool is_written = ferror(stream) == 0;
    if (fclose(stream) != 0 || !is_written)
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s", path, strerror(errno));
    return EMP_OK;
}

/* "0.001062912 6146581 0 150025216": seconds, step time, peaks if it knows them. */
static bool parse_line(emp_peer_run *run, const char *line)
{
    int used = 0;

    memset(run, 0, sizeof *run);
    if (sscanf(line, "%lf %" SCNd64 "%n", &run->cpu_s, &run->step_time_ns, &used) != 2)
        return false;
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) {
        int more = 0;
        if (sscanf(line + used, "%" SCNd64 "%n", &run->peak_bytes[d], &more) != 1) break;
        used += more;
    }
    return true;
}

emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind, const emp_plain *plain,
                            const emp_device_id *device_of_op, emp_error *err)
{
    emp_status st = EMP_OK;
    char       path[PATH_BYTES] = "", command[2 * PATH_BYTES + LINE_BYTES];
    char       line[LINE_BYTES];
    int        line_count = 0;

    EMP_TRY(write_problem(path, plain, device_of_op, err));
    snprintf(command, sizeof command, "%s '%s' %d", program[kind], path, RUNS);
    FILE *answer = emp_program_read(command); /* after Ctrl-C it ends its two runs */
    if (answer == NULL) EMP_FAIL(EMP_EIO, "%s: %s", command, strerror(errno));
    while (fgets(line, sizeof line, answer) != NULL) line_count += parse_line(run, line);
    if (pclose(answer) != 0 || line_count != RUNS)
        EMP_FAIL(EMP_EEXTERNAL, "this failed: %s", command);

cleanup:
    if (path[0] != '\0') unlink(path);
    return st;
}
