// SPDX-License-Identifier: GPL-3.0-or-later
/* The runner of Criterion's tests under ThreadSanitizer and valgrind. Criterion's own maps memory where
 * they allow none, and does not start. This one runs each test in a fork, one after the other,
 * and says what Criterion's would have said: functions that the tests call in Criterion's library are
 * defined here instead. A parameterized test is one for each parameter. Arguments are not looked at. */
#include <criterion/criterion.h>
#include <criterion/event.h>
#include <criterion/parameterized.h>
#include <criterion/stats.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The statuses of a fork whose assertions failed, or that was skipped; no test expects them. */
enum { FAILED = 99, SKIPPED = 97 };
enum { ALL_SKIPPED = 77 }; /* of the program, as CTest knows it */

extern struct criterion_test  *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* State of the fork. */
static const struct criterion_test_extra_data *test_data, *suite_data;
static void                                   *parameter; /* NULL: the test has none */
static jmp_buf                                 end_of_test;
static int                                     failures;

/* ---- what tests call ---- */

static void call(void (*function)(void))
{
    if (function != NULL) function();
}

void criterion_internal_test_setup(void)
{
    if (suite_data != NULL) call(suite_data->init);
    call(test_data->init);
}

void criterion_internal_test_main(void (*test)(void))
{
    if (setjmp(end_of_test) != 0) return;
    if (parameter == NULL)
        test();
    else
        ((void (*)(void *))test)(parameter);
}

void criterion_internal_test_teardown(void)
{
    call(test_data->fini);
    if (suite_data != NULL) call(suite_data->fini);
}

void criterion_abort_test(void) { longjmp(end_of_test, 1); }

void criterion_skip_test(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(failures > 0 ? FAILED : SKIPPED);
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
    va_list values;

    (void)severity;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
}

void criterion_continue_test(void) {}
void cri_asserts_passed_incr(void) {}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (stats->passed) return;
    fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
    failures++;
}

/* ---- running them ---- */

static const struct criterion_test_extra_data *data_of_suite(const char *name)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
        if (*s != NULL && strcmp((*s)->name, name) == 0) return (*s)->data;
    return NULL;
}

static bool is_as_expected(const struct criterion_test *test, int status)
{
    if (WIFSIGNALED(status)) return WTERMSIG(status) == test->data->signal;
    return test->data->signal == 0 && WEXITSTATUS(status) == test->data->exit_code;
}

typedef enum { PASSED_TEST, FAILED_TEST, SKIPPED_TEST, OUTCOMES } outcome;

static outcome run_in_fork(const struct criterion_test *test, void *with)
{
    int status = 0;

    fflush(stdout); /* or the fork would print it, too */
    const pid_t child = fork();

    if (child == 0) {
        test_data = test->data;
        suite_data = data_of_suite(test->category);
        parameter = with;
        test->test();
        exit(failures > 0 ? FAILED : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return FAILED_TEST;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) return SKIPPED_TEST;
    return is_as_expected(test, status) ? PASSED_TEST : FAILED_TEST;
}

static void run(const struct criterion_test *test, void *with, int count[OUTCOMES])
{
    static const char *const said[OUTCOMES] = {NULL, "FAILED", "skipped"};
    const outcome            end = run_in_fork(test, with);

    count[end]++;
    if (said[end] != NULL) printf("%s: %s/%s\n", said[end], test->category, test->name);
}

static void run_with_each(const struct criterion_test *test, int count[OUTCOMES])
{
    struct criterion_test_params with = test->data->param_();

    for (size_t i = 0; i < with.length; i++)
        run(test, (char *)with.params + i * with.size, count);
    if (with.cleanup != NULL) with.cleanup(&with);
}

int main(void)
{
    int count[OUTCOMES] = {0};

    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        const struct criterion_test *test = *t;
        if (test == NULL || test->data->disabled) continue;
        if (test->data->kind_ == CR_TEST_PARAMETERIZED)
            run_with_each(test, count);
        else
            run(test, NULL, count);
    }
    printf("%d passed, %d failed, %d skipped\n", count[PASSED_TEST], count[FAILED_TEST],
           count[SKIPPED_TEST]);
    if (count[FAILED_TEST] + count[PASSED_TEST] == 0) return ALL_SKIPPED;
    return count[FAILED_TEST] > 0;
}
