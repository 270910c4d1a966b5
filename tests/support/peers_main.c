// SPDX-License-Identifier: GPL-3.0-or-later
/* The main function of programs that compare with others: their status is 77, which CTest
 * calls skipped, when all of their tests were skipped. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>

enum { SKIPPED = 77 };

static bool is_skipped;

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    is_skipped = stats->tests_skipped > 0 && stats->tests_passed == 0;
}

int main(int argc, char **argv)
{
    struct criterion_test_set *tests = criterion_initialize();
    int                        status = 0;

    if (criterion_handle_args(argc, argv, true)) status = !criterion_run_all_tests(tests);
    criterion_finalize(tests);
    return status == 0 && is_skipped ? SKIPPED : status;
}
