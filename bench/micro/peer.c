// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/micro/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/program.h"

/* The first run warms caches and allocators up. */
#define RUNS "2"
enum { RUN_COUNT = 2, PATH_BYTES = 64, LINE_BYTES = 4096 };

/* A program and its first argument; the file and the runs follow. */
static const char *const program[][2] = {
    [EMP_PEER_SIMGRID_FIFO] = {EMP_SIMGRID_ORACLE, "fifo"},
    [EMP_PEER_SIMGRID_DAG] = {EMP_SIMGRID_ORACLE, "dag"},
    [EMP_PEER_PYTHON] = {"python3", EMP_HEAPQ_ORACLE},
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

/* To a file without a name, of which nothing is left whatever happens. */
static emp_status write_problem(FILE **file, const emp_plain *plain,
                                const emp_device_id *device_of_op, emp_error *err)
{
    *file = tmpfile();
    if (*file == NULL)
        return EMP_ERROR(EMP_EIO, "no temporary file: %s", strerror(errno));
    emp_plain_write(plain, device_of_op, *file);
    if (fflush(*file) != 0 || ferror(*file) != 0)
        return EMP_ERROR(EMP_EIO, "a temporary file cannot be written: %s",
                         strerror(errno));
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
    FILE      *problem = NULL;
    char       path[PATH_BYTES], line[LINE_BYTES];
    int        line_count = 0;

    EMP_TRY(write_problem(&problem, plain, device_of_op, err));
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(problem));
    emp_program peer = emp_program_open(
        (const char *const[]){program[kind][0], program[kind][1], path, RUNS, NULL});
    while (peer.output != NULL && fgets(line, sizeof line, peer.output) != NULL)
        line_count += parse_line(run, line);
    if (!emp_program_close(&peer) || line_count != RUN_COUNT)
        EMP_FAIL(EMP_EEXTERNAL, "this failed: %s %s", program[kind][0], program[kind][1]);

cleanup:
    if (problem != NULL) fclose(problem);
    return st;
}
