// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a cut end when its caller is to stop, and is its CPU time counted? */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/work.h"
#include "search/partition/metis_cut.h"
#include "search/partition/scotch_cut.h"
#include "tests/search/partition/ring_graph.h"
#include "tests/support/survive.h"

enum { UNTOUCHED = -7, MOST_TRIES = 20 };

static emp_partition_graph graph;
static int32_t             part[RING_VERTICES];
static atomic_int          stop;

static void make_graph(void)
{
    graph = ring_graph_make();
    part[0] = UNTOUCHED;
}

static void free_graph(void) { ring_graph_free(&graph); }

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

/* Sets the flag in the middle of a cut, unless it comes too late. */
static void *set_stop(void *cut)
{
    const char *stage = NULL;

    while (!*(atomic_bool *)cut) {
        stage = emp_stage_get();
        if (stage != NULL && strcmp(stage, "partitioning by Scotch") == 0) break;
        usleep(100);
    }
    stop = 1;
    return NULL;
}

static emp_status cut_and_stop(emp_error *err)
{
    pthread_t   other;
    atomic_bool is_over = false;

    stop = 0;
    cr_assert_eq(pthread_create(&other, NULL, set_stop, &is_over), 0);
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

    MUST(cut_by_scotch(NULL));
    cr_expect_neq(part[0], UNTOUCHED);
    cr_expect_geq(emp_clock_thread_s() - before_s, 0.9 * (process_s() - all_before_s));
}

Test(cut_stops, metis)
{
    stop = 1;
    MUST_FAIL(cut_by_metis(&why), EMP_EINTERRUPTED, "interrupted");
    cr_expect_eq(part[0], UNTOUCHED);
}

#ifdef METIS_HAS_A_PROCESS

Test(cut_stops, metis_is_counted)
{
    const double before_s = emp_clock_thread_s();

    MUST(cut_by_metis(NULL));
    cr_expect_neq(part[0], UNTOUCHED);
    cr_expect_gt(children_s(), 0.0);
    cr_expect_geq(emp_clock_thread_s() - before_s, children_s());
}

#endif
