// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a cut end when its caller is to stop, and is its CPU time counted? Does METIS's process keep nothing of
 * its parent's open, end with it, and outlive signals that are for its parent? */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/work.h"
#include "search/partition/metis_cut.h"
#include "search/partition/scotch_cut.h"
#include "tests/support/survive.h"

enum { RING_VERTICES = 200000, RING_PARTS = 64, CHORD = 5000, ARCS = 4 };
enum { UNTOUCHED = -7, MOST_TRIES = 20 };

static emp_partition_graph graph;
static int32_t             part[RING_VERTICES];
static atomic_int          stop;
static atomic_bool         is_over;

/* A ring with chords: large enough for a cut to take tenths of a second. */
static void make_graph(void)
{
    static const int32_t step[ARCS] = {1, RING_VERTICES - 1, CHORD,
                                       RING_VERTICES - CHORD};
    const size_t         count = RING_VERTICES;
    graph = (emp_partition_graph){.vertex_count = RING_VERTICES,
                                  .row = malloc((count + 1) * sizeof(int32_t)),
                                  .load = malloc(count * sizeof(int32_t)),
                                  .is_cpu_only = calloc(count, sizeof *graph.is_cpu_only),
                                  .neighbor = malloc(ARCS * count * sizeof(int32_t)),
                                  .traffic = malloc(ARCS * count * sizeof(int32_t))};
    for (int32_t v = 0; v <= RING_VERTICES; v++) graph.row[v] = ARCS * v;
    for (int32_t v = 0; v < RING_VERTICES; v++) {
        graph.load[v] = 1;
        for (int32_t i = 0; i < ARCS; i++) {
            graph.neighbor[ARCS * v + i] = (v + step[i]) % RING_VERTICES;
            graph.traffic[ARCS * v + i] = 1;
        }
    }
    part[0] = UNTOUCHED;
}

static void free_graph(void)
{
    free(graph.row);
    free(graph.load);
    free(graph.is_cpu_only);
    free(graph.neighbor);
    free(graph.traffic);
}

TestSuite(cut_stops, .init = make_graph, .fini = free_graph);

static emp_status cut_by_scotch(emp_error *err)
{
    return emp_scotch_parts(&graph, RING_PARTS, 0.05, 1, &stop, part, err);
}

static double process_s(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static emp_status cut_by_metis(emp_error *err)
{
    return emp_metis_kway(&graph, RING_PARTS, 1.05, 1, &stop, part, err);
}

#ifdef METIS_HAS_A_PROCESS

static double children_s(void)
{
    struct rusage used;

    getrusage(RUSAGE_CHILDREN, &used);
    return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

#endif

static void *set_stop(void *unused)
{
    const char *stage = NULL;

    while (!is_over) {
        stage = emp_stage_get();
        if (stage != NULL && strcmp(stage, "partitioning by Scotch") == 0) break;
        usleep(100);
    }
    stop = 1;
    return unused;
}

static emp_status cut_and_stop(emp_error *err)
{
    pthread_t other;

    stop = 0;
    is_over = false;
    cr_assert_eq(pthread_create(&other, NULL, set_stop, NULL), 0);
    const emp_status st = cut_by_scotch(err);
    is_over = true;
    pthread_join(other, NULL);
    return st;
}

Test(cut_stops, scotch)
{
    emp_error err = {0};

    for (int i = 0; i < MOST_TRIES && cut_and_stop(&err) == EMP_OK; i++)
        part[0] = UNTOUCHED;
    cr_expect_eq(err.status, EMP_EINTERRUPTED);
    cr_expect_str_eq(err.msg, "interrupted");
    cr_expect_eq(part[0], UNTOUCHED);
}

/* Little of what the process uses is not the cut's. */
Test(cut_stops, scotch_is_counted)
{
    const double before_s = emp_clock_thread_s(), all_before_s = process_s();

    ASSERT_OK(cut_by_scotch(NULL));
    cr_expect_neq(part[0], UNTOUCHED);
    cr_expect_geq(emp_clock_thread_s() - before_s, 0.9 * (process_s() - all_before_s));
}

Test(cut_stops, metis)
{
    stop = 1;
    EXPECT_REFUSED(cut_by_metis(&err), EMP_EINTERRUPTED, "interrupted");
    cr_expect_eq(part[0], UNTOUCHED);
}

#ifdef METIS_HAS_A_PROCESS

Test(cut_stops, metis_is_counted)
{
    const double before_s = emp_clock_thread_s();

    ASSERT_OK(cut_by_metis(NULL));
    cr_expect_neq(part[0], UNTOUCHED);
    cr_expect_gt(children_s(), 0.0);
    cr_expect_geq(emp_clock_thread_s() - before_s, children_s());
}

#endif

#ifdef METIS_HAS_A_PROCESS

/* ---- METIS's process ---- */

enum { OWN_FILES = 4 };
static const double PATIENCE_S = 60, AFTER_KILL_S = 2;

TestSuite(metis_child, .init = make_graph, .fini = free_graph);

static void *cut_again_and_again(void *unused)
{
    while (!is_over) (void)emp_metis_kway(&graph, RING_PARTS, 1.03, 1, NULL, part, NULL);
    return unused;
}

/* The child of one of the threads of a process; 0 = there is none now. */
static pid_t find_child(pid_t process)
{
    char           path[300];
    int            child = 0;
    DIR           *folder;
    struct dirent *thread;

    snprintf(path, sizeof path, "/proc/%d/task", process);
    if ((folder = opendir(path)) == NULL) return 0;
    while (child == 0 && (thread = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", process, thread->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fscanf(file, "%d", &child) != 1) child = 0;
        fclose(file);
    }
    closedir(folder);
    return child;
}

/* Valgrind keeps its own files above the limit. */
static int count_files(pid_t process)
{
    const long limit = sysconf(_SC_OPEN_MAX);
    char       path[64];
    int        count = 0;
    DIR       *folder;

    snprintf(path, sizeof path, "/proc/%d/fd", process);
    if ((folder = opendir(path)) == NULL) return 0;
    for (struct dirent *file; (file = readdir(folder)) != NULL;)
        count += file->d_name[0] != '.' && atol(file->d_name) < limit;
    closedir(folder);
    return count;
}

/* The pipe is there before METIS's process, as those of other children would be. */
Test(metis_child, has_no_files_of_its_parent)
{
    pthread_t    thread;
    int          fd[2], files = 0;
    const double before_s = emp_clock_now_s();

    cr_assert_eq(pipe(fd), 0);
    cr_assert_eq(pthread_create(&thread, NULL, cut_again_and_again, NULL), 0);
    while (files != OWN_FILES && emp_clock_now_s() - before_s < PATIENCE_S) {
        const pid_t child = find_child(getpid());
        if (child != 0) files = count_files(child);
    }
    is_over = true;
    pthread_join(thread, NULL);
    cr_expect_eq(files, OWN_FILES);
    close(fd[0]);
    close(fd[1]);
}

static void *cut_once(void *status)
{
    *(emp_status *)status = emp_metis_kway(&graph, RING_PARTS, 1.03, 1, NULL, part, NULL);
    is_over = true;
    return NULL;
}

static void let_pass(int signal_number) { (void)signal_number; }

/* A signal for all of the group, from the child's first moment to its last. */
static void expect_left_to_parent(int signal_number)
{
    struct sigaction is_answered = {.sa_handler = let_pass, .sa_flags = SA_RESTART};
    pthread_t        thread;
    emp_status       st = EMP_EEXTERNAL;

    is_over = false;
    sigaction(signal_number, &is_answered, NULL);
    cr_assert_eq(pthread_create(&thread, NULL, cut_once, &st), 0);
    while (!is_over) {
        kill(0, signal_number);
        usleep(100);
    }
    pthread_join(thread, NULL);
    cr_expect_eq(st, EMP_OK, "signal %d", signal_number);
}

Test(metis_child, leaves_signals_of_the_group_to_its_parent)
{
    cr_assert(getpgrp() == getpid() || setpgid(0, 0) == 0);
    expect_left_to_parent(SIGINT);
    expect_left_to_parent(SIGTERM);
    expect_left_to_parent(SIGHUP);
    expect_left_to_parent(SIGUSR1);
}

/* No process waits for the orphan: it is gone when /proc does not know it, or only as a zombie. */
static bool is_running(pid_t process)
{
    char  path[64], state = 'X';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", process);
    if ((file = fopen(path, "r")) == NULL) return false;
    if (fscanf(file, "%*d %*s %c", &state) != 1) state = 'X';
    fclose(file);
    return state != 'Z' && state != 'X';
}

Test(metis_child, ends_with_a_parent_that_is_killed)
{
    const double before_s = emp_clock_now_s();
    pid_t        child = 0, parent = fork();

    cr_assert_geq(parent, 0);
    if (parent == 0) {
        cut_again_and_again(NULL);
        _exit(0);
    }
    while (child == 0 && emp_clock_now_s() - before_s < PATIENCE_S)
        child = find_child(parent);
    cr_assert_neq(child, 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    const double killed_s = emp_clock_now_s();
    while (is_running(child) && emp_clock_now_s() - killed_s < AFTER_KILL_S) usleep(1000);
    cr_expect_not(is_running(child));
}

#endif
