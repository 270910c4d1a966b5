// SPDX-License-Identifier: GPL-3.0-or-later
/* Does OpenBLAS start when it is asked for, with kernels of this CPU and without threads, and is a
 * lack of address space reported instead of waited out? */
#include <dirent.h>
#include <sys/resource.h>
#include <threads.h>

#include "base/blas/openblas.h"
#include "tests/support/survive.h"

static long used_mib(void)
{
    long  pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages * 4096 >> 20;
}

static int count_threads(void)
{
    int  count = 0;
    DIR *folder = opendir("/proc/self/task");

    cr_assert_not_null(folder);
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

Test(openblas, starts_no_threads_and_multiplies)
{
    const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 2, 1};
    double       c[] = {1, 1, 1, 1};
    const int    threads = count_threads();

    ASSERT_OK(emp_openblas_open(&err));
    emp_openblas_dgemm(false, false, 2, 2, 2, 2, a, 2, b, 2, 1, c, 2); /* c = 1 + 2 a b */
    cr_expect(c[0] == 11 && c[1] == 5 && c[2] == 23 && c[3] == 9);
    cr_expect_eq(count_threads(), threads);
    cr_expect_gt(strlen(emp_openblas_core_name()), 0);
}

Test(openblas, takes_the_core_of_the_environment)
{
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    cr_expect_str_eq(emp_openblas_core_name(), "Nehalem");
    cr_expect_null(emp_openblas_mistaken_core_name());
}

/* Leaves so many MiB of addresses beyond those that are taken. */
static void leave_mib(long mib)
{
    const rlim_t        most = (rlim_t)(used_mib() + mib) << 20;
    const struct rlimit limit = {most, most};

    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* By itself it would spin in its first product. */
Test(openblas, without_address_space_is_refused, .timeout = 60)
{

    leave_mib(100);
    EXPECT_REFUSED(emp_openblas_open(&err), EMP_ENOMEM, "128 MiB of address space");
}

/* Small products take no buffer. */
enum { SIZE = 256, THREADS = 4 };

static float ones[SIZE * SIZE];

/* It begins when the lock is open, under the limit. Returns 1 if the product is right. */
static int multiply(void *lock)
{
    static thread_local float c[SIZE * SIZE];

    mtx_lock(lock);
    mtx_unlock(lock);
    for (int i = 0; i < 20; i++)
        emp_openblas_sgemm(false, false, SIZE, SIZE, SIZE, 1, ones, SIZE, ones, SIZE, 0,
                           c, SIZE);
    return c[0] == SIZE && c[SIZE * SIZE - 1] == SIZE;
}

/* There is room for the library and one product. */
Test(openblas, with_little_address_space_products_wait_for_each_other, .timeout = 60)
{
    thrd_t thread[THREADS];
    mtx_t  lock;

    for (int i = 0; i < SIZE * SIZE; i++) ones[i] = 1;
    cr_assert_eq(mtx_init(&lock, mtx_plain), thrd_success);
    mtx_lock(&lock);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(thrd_create(&thread[i], multiply, &lock), thrd_success);
    leave_mib(240);
    ASSERT_OK(emp_openblas_open(&err));
    mtx_unlock(&lock);
    for (int i = 0; i < THREADS; i++) {
        int is_right = 0;
        thrd_join(thread[i], &is_right);
        cr_expect(is_right);
    }
}
