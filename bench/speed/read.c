// SPDX-License-Identifier: GPL-3.0-or-later
/* Readers of graph files: CPU time, and memory beside the graph that they make. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/work.h"
#include "bench/speed/speed.h"
#include "graphs/load.h"
#include "run/sheet/sheet.h"

static const double MEGABYTE = 1e6;

/* A line of /proc/self/status, in bytes; 0: the system has none. */
static int64_t status_bytes(const char *key)
{
    FILE   *file = fopen("/proc/self/status", "r");
    char    line[256];
    int64_t kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            (void)sscanf(line + strlen(key), ": %ld", &kib);
    if (file != NULL) fclose(file);
    return 1024 * kib;
}

/* Lets the largest resident size of the process begin anew at its present size, where the system can do that. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    malloc_trim(0);
    if (file == NULL) return;
    fputs("5", file);
    fclose(file);
}

/* The memory at the peak that is gone when the graph is there. */
static emp_status read_once(double *seconds, int64_t *beside_bytes, const char *path,
                            emp_error *err)
{
    const emp_import_params params = emp_import_params_default();
    emp_graph              *graph = NULL;

    reset_peak();
    const double start_s = emp_clock_thread_s();
    EMP_CHECK(emp_import_load(&graph, NULL, path, &params, err));
    *seconds = emp_clock_thread_s() - start_s;
    const int64_t peak_bytes = status_bytes("VmHWM");
    malloc_trim(0);
    *beside_bytes = peak_bytes - status_bytes("VmRSS");
    emp_graph_destroy(graph);
    return EMP_OK;
}

static emp_status read_file(emp_sheet *sheet, const char *path, int32_t rounds,
                            emp_error *err)
{
    emp_status  st = EMP_OK;
    double     *seconds = NULL;
    int64_t     beside_bytes = 0;
    struct stat info;

    if (stat(path, &info) != 0)
        return EMP_ERROR(EMP_EIO,
                         "%s cannot be read; "
                         "bench/speed/large_files.py makes such files",
                         path);
    EMP_TRY(EMP_ALLOC(seconds, (size_t)rounds));
    for (int32_t i = 0; i < rounds; i++)
        EMP_TRY(read_once(&seconds[i], &beside_bytes, path, err));
    const emp_quartiles s = emp_quartiles_of(seconds, (size_t)rounds);
    const double        megabytes = (double)info.st_size / MEGABYTE;
    EMP_SHEET_ADD(
        sheet, EMP_V(path), EMP_V(megabytes), EMP_V(rounds), emp_quartiles_value(&s),
        emp_value_range(megabytes / s.median, megabytes / s.high, megabytes / s.low),
        EMP_V((double)beside_bytes / (double)info.st_size));

cleanup:
    emp_free(seconds);
    return st;
}

emp_status emp_speed_read(emp_speed_table *table, const emp_speed_params *params,
                          emp_error *err)
{
    const emp_sheet_column columns[] = {
        EMP_COLUMN("file", "file", EMP_SHEET_WORD),
        EMP_COLUMN("megabytes", "MB", EMP_SHEET_REAL),
        EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT),
        EMP_COLUMN("seconds", NULL, EMP_SHEET_REAL, .low = "seconds_q1",
                   .high = "seconds_q3"),
        EMP_COLUMN("rate", "MB/s", EMP_SHEET_REAL, .low = "rate_q1", .high = "rate_q3",
                   .range = EMP_SHEET_BEHIND),
        EMP_COLUMN("memory", "memory beside the graph / file", EMP_SHEET_REAL)};

    EMP_SHEET_INIT(&table->sheet, columns);
    if (params->source_count == 0)
        return EMP_ERROR(EMP_EINVAL, "name files to read; bench/speed/large_files.py "
                                     "makes some");
    for (int32_t i = 0; i < params->source_count; i++)
        EMP_CHECK(read_file(&table->sheet, params->source[i], params->repeats, err));
    return EMP_OK;
}
