// SPDX-License-Identifier: GPL-3.0-or-later
/* The only includer of metis.h. */
#define _POSIX_C_SOURCE 200809L
#include "search/partition/metis_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <metis.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arrays.h"
#include "base/stage.h"

_Static_assert(sizeof(idx_t) >= sizeof(int32_t), "METIS must hold our 32-bit numbers");

typedef int metis_function(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *,
                           idx_t *, real_t *, real_t *, idx_t *, idx_t *, idx_t *);

/* A graph in METIS's integers, and what it is to be cut into. */
typedef struct {
    metis_function *function;
    idx_t           vertex_count, part_count;
    idx_t           constraint_count;
    idx_t          *row, *neighbor, *traffic;
    idx_t          *load;      /* [vertex][constraint] */
    real_t         *share;     /* [part][constraint]; borrowed; NULL = equal */
    real_t         *tolerance; /* [constraint] 1 + imbalance; borrowed; NULL = METIS's */
    idx_t           options[METIS_NOPTIONS];
    idx_t          *part; /* [vertex] the result */
    emp_arrays      arrays;
} task;

static idx_t *copy_to_idx(emp_arrays *arrays, const int32_t *value, int32_t count)
{
    idx_t *copy = EMP_ADD_ARRAY(arrays, idx_t, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

static emp_status init_task(task *t, metis_function *function,
                            const emp_partition_graph *g, int32_t part_count,
                            uint64_t seed, emp_error *err)
{
    int32_t arc_count = g->row[g->vertex_count];

    *t = (task){.function = function,
                .vertex_count = g->vertex_count,
                .part_count = part_count,
                .constraint_count = 1};
    t->row = copy_to_idx(&t->arrays, g->row, g->vertex_count + 1);
    t->neighbor = copy_to_idx(&t->arrays, g->neighbor, arc_count);
    t->load = copy_to_idx(&t->arrays, g->load, g->vertex_count);
    t->traffic = copy_to_idx(&t->arrays, g->traffic, arc_count);
    t->part = EMP_ADD_ARRAY(&t->arrays, idx_t, (size_t)g->vertex_count);
    if (t->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "METIS graph of %d vertices", g->vertex_count);
    METIS_SetDefaultOptions(t->options);
    t->options[METIS_OPTION_SEED] = (idx_t)(seed % INT_MAX);
    t->options[METIS_OPTION_DBGLVL] = 0;
    return EMP_OK;
}

static bool write_all(int fd, const void *data, size_t size)
{
    const char *next = data;

    while (size > 0) {
        ssize_t count = write(fd, next, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t size)
{
    char *next = data;

    while (size > 0) {
        ssize_t count = read(fd, next, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

/* Nobody else wants the result. A parent that ended before the call sends no signal. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

/* Never returns. */
static void be_child(const task *t, int fd, pid_t parent)
{
    idx_t vertices = t->vertex_count, parts = t->part_count, weight = 0;
    idx_t constraints = t->constraint_count;
    idx_t options[METIS_NOPTIONS];
    int   nowhere = open("/dev/null", O_WRONLY);

    end_with(parent);
    signal(SIGALRM, SIG_IGN); /* a time limit is the caller's, and ends it */
    memcpy(options, t->options, sizeof options);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    int  result = t->function(&vertices, &constraints, t->row, t->neighbor, t->load, NULL,
                              t->traffic, &parts, t->share, t->tolerance, options, &weight,
                              t->part);
    bool is_told = write_all(fd, &result, sizeof result) &&
                   write_all(fd, t->part, (size_t)vertices * sizeof *t->part);
    _exit(is_told ? 0 : 1);
}

/* Calls METIS in a child process and fills t->part. */
static emp_status run_child(const task *t, emp_error *err)
{
    emp_status st = EMP_OK;
    int        fd[2] = {-1, -1}, result = METIS_ERROR;
    pid_t      child = -1, parent = getpid();

    if (pipe(fd) != 0 || (child = fork()) < 0)
        EMP_FAIL(EMP_EIO, "no process for METIS: %s", strerror(errno));
    if (child == 0) be_child(t, fd[1], parent);
    close(fd[1]);
    fd[1] = -1;
    bool is_told = read_all(fd[0], &result, sizeof result) &&
                   read_all(fd[0], t->part, (size_t)t->vertex_count * sizeof *t->part);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    if (!is_told) EMP_FAIL(EMP_EEXTERNAL, "METIS ended without a result");
    if (result == METIS_ERROR_MEMORY)
        EMP_FAIL(EMP_ENOMEM, "METIS, %d vertices", (int)t->vertex_count);
    if (result != METIS_OK) {
        EMP_FAIL(EMP_EEXTERNAL, "METIS cannot cut %d vertices into %d parts (code %d)",
                 (int)t->vertex_count, (int)t->part_count, result);
    }

cleanup:
    if (fd[0] >= 0) close(fd[0]);
    if (fd[1] >= 0) close(fd[1]);
    return st;
}

static emp_status run_task(const task *t, int32_t *part_of_vertex, emp_error *err)
{
    const char *before = emp_stage_set("partitioning by METIS");
    emp_status  st = run_child(t, err);

    (void)emp_stage_set(before);
    EMP_CHECK(st);
    for (int32_t v = 0; v < t->vertex_count; v++) part_of_vertex[v] = (int32_t)t->part[v];
    return EMP_OK;
}

/* Puts memory beside the load of every vertex. */
static emp_status add_memory(task *t, const int32_t *memory, emp_error *err)
{
    idx_t *both = EMP_ADD_ARRAY(&t->arrays, idx_t, 2 * (size_t)t->vertex_count);

    if (both == NULL)
        return EMP_ERROR(EMP_ENOMEM, "memory of %d vertices", (int)t->vertex_count);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        both[2 * v] = t->load[v];
        both[2 * v + 1] = memory[v];
    }
    t->load = both;
    t->constraint_count = 2;
    return EMP_OK;
}

/* Fills tolerance [constraint] where the cut asks for any. METIS takes none or all. */
static void set_tolerance(task *t, const emp_metis_cut *cut, real_t *tolerance)
{
    double own = cut->is_kway ? 0.03 : t->constraint_count > 1 ? 0.01 : 0.001;
    double load = cut->imbalance > 0.0 ? cut->imbalance : own;

    if (cut->imbalance <= 0.0 && cut->memory_imbalance <= 0.0) return;
    tolerance[0] = (real_t)(1.0 + load);
    tolerance[1] =
        (real_t)(1.0 + (cut->memory_imbalance > 0.0 ? cut->memory_imbalance : load));
    t->tolerance = tolerance;
}

emp_status emp_metis_parts(const emp_partition_graph *graph, int32_t part_count,
                           const emp_metis_cut *cut, uint64_t seed,
                           int32_t *part_of_vertex, emp_error *err)
{
    emp_status st = EMP_OK;
    real_t     share[2 * EMP_MAX_DEVICES], tolerance[2];
    task       t;

    EMP_TRY(init_task(&t, cut->is_kway ? METIS_PartGraphKway : METIS_PartGraphRecursive,
                      graph, part_count, seed, err));
    if (cut->memory != NULL) EMP_TRY(add_memory(&t, cut->memory, err));
    for (int32_t p = 0; p < part_count; p++) {
        share[p * t.constraint_count] = (real_t)cut->share[p];
        if (cut->memory != NULL) share[2 * p + 1] = (real_t)cut->memory_share[p];
    }
    t.share = share;
    set_tolerance(&t, cut, tolerance);
    EMP_TRY(run_task(&t, part_of_vertex, err));

cleanup:
    emp_arrays_clear(&t.arrays);
    return st;
}

emp_status emp_metis_kway(const emp_partition_graph *graph, int32_t part_count,
                          double imbalance, uint64_t seed, int32_t *part_of_vertex,
                          emp_error *err)
{
    emp_status st = EMP_OK;
    task       t;

    EMP_TRY(init_task(&t, METIS_PartGraphKway, graph, part_count, seed, err));
    t.options[METIS_OPTION_UFACTOR] = (idx_t)(1000 * (imbalance - 1));
    EMP_TRY(run_task(&t, part_of_vertex, err));

cleanup:
    emp_arrays_clear(&t.arrays);
    return st;
}
