// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/collections.h"

enum { MOST_KEPT = 1024, GIVEN_UP = 1 };

static atomic_bool is_keeping;

/* Names of the files that stay; 0: none yet. */
static _Atomic uint64_t kept[MOST_KEPT];

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) return "folder";
    if (S_ISFIFO(mode)) return "pipe";
    return S_ISSOCK(mode) ? "socket" : "device";
}

emp_status emp_input_open(FILE **file, const char *path, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct stat info;

    *file = NULL;
    if (path[0] == '\0') return EMP_ERROR(EMP_EIO, "\"\" names no file");
    /* A pipe would be waited for, and a terminal would become this process's. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &info) != 0)
        EMP_FAIL(EMP_EIO, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        EMP_FAIL(EMP_EIO, "%s cannot be read: it is a %s, not a file", path,
                 kind_of(info.st_mode));
    *file = fdopen(descriptor, "rb");
    if (*file == NULL) EMP_FAIL(EMP_ENOMEM, "stream of %s", path);
    descriptor = -1;

cleanup:
    if (descriptor >= 0) close(descriptor);
    return st;
}

uint64_t emp_input_state(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0) return 0;
    const uint64_t is[] = {(uint64_t)info.st_dev, (uint64_t)info.st_ino,
                           (uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                           (uint64_t)info.st_mtim.tv_nsec};
    return emp_hash_bytes(EMP_HASH_SEED, is, sizeof is);
}

void emp_input_keep_all(void) { is_keeping = true; }

void emp_input_keep(const char *path)
{
    const uint64_t name = is_keeping ? emp_input_state(path) : 0;

    for (int32_t i = 0; name != 0 && i < MOST_KEPT; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&kept[i], &there, name) || there == name)
            return;
    }
}

void emp_input_give_up(const char *path, const char *source)
{
    const uint64_t name = emp_input_state(path);
    const bool     is_source = name == emp_input_state(source);

    for (int32_t i = 0; is_source && name != 0 && i < MOST_KEPT; i++) {
        uint64_t there = name;
        if (atomic_compare_exchange_strong(&kept[i], &there, GIVEN_UP)) return;
    }
}

bool emp_input_is_kept(const char *path)
{
    const uint64_t name = emp_input_state(path);
    uint64_t       there;

    for (int32_t i = 0; name != 0 && i < MOST_KEPT; i++) {
        there = atomic_load(&kept[i]);
        if (there == name || there == 0) return there == name;
    }
    return false;
}
