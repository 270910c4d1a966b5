// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/speed/torch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/process.h"
#include "base/mem.h"

enum { LINE_BYTES = 256 };

struct emp_torch {
    FILE *stand; /* the network; it has no name */
    pid_t process;
    int   requests;
    FILE *answers;
};

/* Debian's package is for Debian's Python, which need not be the first in PATH. */
static const char *const pythons[] = {"/usr/bin/python3", "python3"};

const char *emp_torch_find(void)
{
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        const char *const import[] = {pythons[i], "-c", "import torch", NULL};
        if (emp_program_succeeds(import)) return pythons[i];
    }
    return NULL;
}

/* In the new process. OPENBLAS_CORETYPE, which makes OpenBLAS fast on CPUs that it does
 * not know, is in the environment if this program needed it. One pool of threads is
 * enough; and malloc shall keep what it has: to give 2 MB tensors back to the system and
 * clear them again takes as long as to compute them. */
static void become_torch(int socket, const char *python, const char *path)
{
    if (dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0) _exit(127);
    execlp("env", "env", "OPENBLAS_NUM_THREADS=1", "MALLOC_MMAP_THRESHOLD_=4294967296",
           "MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_TOP_PAD_=67108864", python,
           EMP_POLICY_TORCH, path, (char *)NULL);
    _exit(127);
}

static emp_status start(emp_torch *t, const char *python, const char *path,
                        emp_error *err)
{
    emp_status st = EMP_OK;
    int        pair[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        EMP_FAIL(EMP_EIO, "no socket: %s", strerror(errno));
    t->requests = pair[0];
    t->answers = fdopen(pair[0], "r");
    if (t->answers == NULL) EMP_FAIL(EMP_EIO, "no stream: %s", strerror(errno));
    t->process = emp_program_fork();
    if (t->process < 0) EMP_FAIL(EMP_EIO, "no process: %s", strerror(errno));
    if (t->process == 0) {
        close(pair[0]);
        become_torch(pair[1], python, path);
    }

cleanup:
    if (pair[1] >= 0) close(pair[1]);
    return st;
}

emp_status emp_torch_create(emp_torch **out, const char *python, const emp_stand *stand,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    emp_torch *t = EMP_NEW(emp_torch);
    char       path[EMP_PROGRAM_PATH_BYTES], line[LINE_BYTES];

    *out = NULL;
    if (t == NULL) EMP_FAIL(EMP_ENOMEM, "a peer");
    t->requests = -1;
    EMP_TRY(emp_program_create_input(&t->stand, err));
    emp_stand_write(stand, t->stand);
    EMP_TRY(emp_program_finish_input(t->stand, path, err));
    EMP_TRY(start(t, python, path, err));
    if (fgets(line, sizeof line, t->answers) == NULL || strcmp(line, "ready\n") != 0)
        EMP_FAIL(EMP_EEXTERNAL, "%s %s did not start", python, EMP_POLICY_TORCH);
    *out = t;

cleanup:
    if (st != EMP_OK) emp_torch_destroy(t);
    return st;
}

emp_status emp_torch_run(emp_torch *t, int32_t threads, emp_torch_update *u,
                         emp_error *err)
{
    char line[LINE_BYTES];
    int  length = snprintf(line, sizeof line, "%d\n", threads);

    if (send(t->requests, line, (size_t)length, MSG_NOSIGNAL) != length ||
        fgets(line, sizeof line, t->answers) == NULL ||
        sscanf(line, "%lf %lf %lf", &u->cpu_s, &u->wall_s, &u->loss) != 3) {
        return EMP_ERROR(EMP_EEXTERNAL, "PyTorch ended early");
    }
    return EMP_OK;
}

void emp_torch_destroy(emp_torch *t)
{
    if (t == NULL) return;
    if (t->answers != NULL)
        fclose(t->answers);
    else if (t->requests >= 0)
        close(t->requests);
    if (t->process > 0) waitpid(t->process, NULL, 0);
    if (t->stand != NULL) fclose(t->stand);
    emp_free(t);
}
