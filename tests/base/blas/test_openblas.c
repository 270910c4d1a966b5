// SPDX-License-Identifier: GPL-3.0-or-later
/* Does OpenBLAS start when it is asked for, with kernels of this CPU and without threads, and is a
 * lack of address space told instead of waited out? */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/blas/openblas.h"

/* Megabytes of address space in use. */
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
    emp_error    err = {0};

    cr_assert_eq(emp_openblas_open(1, &err), EMP_OK, "%s", err.msg);
    emp_openblas_dgemm(false, false, 2, 2, 2, 2, a, 2, b, 2, 1, c, 2); /* c = 1 + 2 a b */
    cr_expect(c[0] == 11 && c[1] == 5 && c[2] == 23 && c[3] == 9);
    cr_expect_eq(count_threads(), threads);
    cr_expect_gt(strlen(emp_openblas_core_name()), 0);
}

/* A core that the user names is taken. */
Test(openblas, takes_the_core_of_the_environment)
{
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    cr_expect_str_eq(emp_openblas_core_name(), "Nehalem");
    cr_expect_null(emp_openblas_mistaken_core_name());
}

/* By itself it would spin in its first product. */
Test(openblas, without_address_space_is_refused, .timeout = 60)
{
    emp_error err = {0};

    cr_assert_eq(emp_openblas_open(1, &err), EMP_OK, "%s", err.msg);
    const rlim_t        most = (rlim_t)(used_mib() + 64) << 20;
    const struct rlimit limit = {most, most};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_expect_eq(emp_openblas_open(1, &err), EMP_ENOMEM);
    cr_expect_not_null(strstr(err.msg, "128 MiB of address space"), "%s", err.msg);
}
