// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/micro/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/process.h"

/* The first of them warms caches and allocators up. */
enum { RUNS = 2, LINE_BYTES = 4096 };

/* A program and its first argument; the file and the runs follow. */
static const char *const peers[][2] = {
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

static emp_status read_runs(emp_peer_run *run, const char *const *argument,
                            emp_error *err)
{
    emp_program program = emp_program_open(argument);
    const int   cause = errno;
    const bool  is_started = program.output != NULL;
    char        line[LINE_BYTES];
    int         line_count = 0;

    while (is_started && fgets(line, sizeof line, program.output) != NULL)
        line_count += parse_line(run, line);
    const bool has_succeeded = emp_program_close(&program);
    if (!is_started)
        return EMP_ERROR(EMP_EIO, "%s cannot be started: %s", argument[0],
                         strerror(cause));
    if (!has_succeeded || line_count != RUNS)
        return EMP_ERROR(EMP_EEXTERNAL, "this failed: %s %s", argument[0], argument[1]);
    return EMP_OK;
}

emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind, const emp_plain *plain,
                            const emp_device_id *device_of_op, emp_error *err)
{
    emp_status st = EMP_OK;
    FILE      *problem = NULL;
    char       path[EMP_PROGRAM_PATH_BYTES], runs[16];

    EMP_TRY(emp_program_create_input(&problem, err));
    emp_plain_write(plain, device_of_op, problem);
    EMP_TRY(emp_program_finish_input(problem, path, err));
    snprintf(runs, sizeof runs, "%d", RUNS);
    EMP_TRY(read_runs(
        run, (const char *const[]){peers[kind][0], peers[kind][1], path, runs, NULL},
        err));

cleanup:
    if (problem != NULL) fclose(problem);
    return st;
}
