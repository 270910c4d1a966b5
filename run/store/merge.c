// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* scandir */
#include "run/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "run/store/checkpoint.h"

#define RECORD     ".h5"
#define CHECKPOINT ".checkpoint.h5"
#define REFUSED    ".refused.txt"
#define TIMING     ".timing.json"
#define WEIGHTS    "weights." /* and .h5: what a learner has learned on several tasks */

enum {
    PATH_BYTES = 1024,
    BYTES_MAX = 1 << 30 /* of a file; a record of a million ops has some ten MiB */
};

/* The name without its ending, with another. */
static emp_status join(char path[PATH_BYTES], const char *folder, const char *name,
                       const char *ending, const char *other, emp_error *err)
{
    const int stem = (int)(strlen(name) - strlen(ending));

    if (snprintf(path, PATH_BYTES, "%s/%.*s%s", folder, stem, name, other) < PATH_BYTES)
        return EMP_OK;
    return EMP_ERROR(EMP_EIO, "the path %s/%s is too long", folder, name);
}

typedef struct {
    char  *text;
    size_t size;
} bytes;

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const bytes *b = what;

    (void)err;
    fwrite(b->text, 1, b->size, stream);
    return EMP_OK;
}

/* Copies a file, or sees that the one that is there is the same. */
static emp_status copy(const char *to, const char *from, bool *is_there, emp_error *err)
{
    emp_status st = EMP_OK;
    bytes      given = {0}, there = {0};

    EMP_TRY(emp_whole_file_load(&given.text, &given.size, from, BYTES_MAX, err));
    *is_there = access(to, F_OK) == 0;
    if (!*is_there) {
        st = emp_atomic_file_write(to, print, &given, err);
        goto cleanup;
    }
    EMP_TRY(emp_whole_file_load(&there.text, &there.size, to, BYTES_MAX, err));
    if (there.size != given.size || memcmp(there.text, given.text, given.size) != 0)
        EMP_FAIL(EMP_EINVAL, "%s and %s are of one run and differ; one of them is wrong",
                 to, from);

cleanup:
    emp_free(given.text);
    emp_free(there.text);
    return st;
}

/* How long a run took differs from time to time; the first is kept. */
static emp_status copy_timing(const char *to, const char *from, emp_error *err)
{
    bool is_there;

    if (access(to, F_OK) == 0 || access(from, F_OK) != 0) return EMP_OK;
    return copy(to, from, &is_there, err);
}

static emp_status check_record(const char *path, emp_error *err)
{
    emp_record record = {0};
    emp_status st = emp_record_load(&record, path, err);

    emp_record_clear(&record);
    return st;
}

/* The record comes last: with it, all is there. */
static emp_status merge_record(const char *into, const char *folder, const char *name,
                               emp_merge_counts *counts, emp_error *err)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    bool is_there;

    EMP_CHECK(join(from, folder, name, RECORD, RECORD, err));
    EMP_CHECK(check_record(from, err));
    EMP_CHECK(join(from, folder, name, RECORD, TIMING, err));
    EMP_CHECK(join(to, into, name, RECORD, TIMING, err));
    EMP_CHECK(copy_timing(to, from, err));
    EMP_CHECK(join(from, folder, name, RECORD, RECORD, err));
    EMP_CHECK(join(to, into, name, RECORD, RECORD, err));
    EMP_CHECK(copy(to, from, &is_there, err));
    counts->there += is_there;
    counts->copied += !is_there;
    return EMP_OK;
}

static emp_status merge_refusal(const char *into, const char *folder, const char *name,
                                emp_merge_counts *counts, emp_error *err)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    bool is_there;

    EMP_CHECK(join(from, folder, name, REFUSED, REFUSED, err));
    EMP_CHECK(join(to, into, name, REFUSED, REFUSED, err));
    EMP_CHECK(copy(to, from, &is_there, err));
    counts->there += is_there;
    counts->copied += !is_there;
    return EMP_OK;
}

/* A checkpoint whose record is there is only what a kill has left. */
static emp_status count_checkpoint(const char *folder, const char *name,
                                   emp_merge_counts *counts, emp_error *err)
{
    char record[PATH_BYTES];

    EMP_CHECK(join(record, folder, name, CHECKPOINT, RECORD, err));
    if (access(record, F_OK) != 0) counts->under_way++;
    return EMP_OK;
}

static emp_status merge_weights(const char *into, const char *folder, const char *name,
                                emp_error *err)
{
    char        from[PATH_BYTES], to[PATH_BYTES];
    emp_weights weights = {0};
    bool        is_there;

    EMP_CHECK(join(from, folder, name, RECORD, RECORD, err));
    EMP_CHECK(join(to, into, name, RECORD, RECORD, err));
    const emp_status st = emp_weights_load(&weights, from, err);
    emp_weights_clear(&weights);
    EMP_CHECK(st);
    return copy(to, from, &is_there, err);
}

/* NAME.1f0c5d9a.h5 and the like: a hash, and an ending of ours. */
static bool is_of_run(const char *name, size_t length)
{
    static const char *const endings[] = {CHECKPOINT, RECORD, REFUSED, TIMING};
    enum { HASH_DIGITS = 8 };
    size_t digits = 0, tail = 0;

    for (size_t i = 0; i < sizeof endings / sizeof *endings && tail == 0; i++) {
        const size_t size = strlen(endings[i]);
        if (length > size && strncmp(name + length - size, endings[i], size) == 0)
            tail = size;
    }
    if (tail == 0) return false;
    while (digits + tail < length &&
           strchr("0123456789abcdef", name[length - tail - digits - 1]) != NULL)
        digits++;
    return digits >= HASH_DIGITS && digits + tail < length &&
           name[length - tail - digits - 1] == '.';
}

void emp_runs_sweep(const char *folder)
{
    emp_atomic_file_sweep_folder(folder, is_of_run);
}

static bool is_of_weights(const char *name)
{
    return strncmp(name, WEIGHTS, strlen(WEIGHTS)) == 0 && emp_text_ends_in(name, RECORD);
}

static emp_status merge_file(const char *into, const char *folder, const char *name,
                             emp_merge_counts *counts, emp_error *err)
{
    if (name[0] == '.') return EMP_OK;
    if (emp_text_ends_in(name, CHECKPOINT))
        return count_checkpoint(folder, name, counts, err);
    if (is_of_weights(name)) return merge_weights(into, folder, name, err);
    if (emp_text_ends_in(name, RECORD))
        return merge_record(into, folder, name, counts, err);
    if (emp_text_ends_in(name, REFUSED))
        return merge_refusal(into, folder, name, counts, err);
    return EMP_OK;
}

emp_status emp_merge(const char *into, const char *folder, emp_merge_counts *counts,
                     emp_error *err)
{
    emp_status      st = EMP_OK;
    struct dirent **file = NULL;
    const int       count = scandir(folder, &file, NULL, alphasort);

    if (count < 0)
        return EMP_ERROR(EMP_EIO, "folder %s cannot be read: %s", folder,
                         strerror(errno));
    st = emp_folder_make(into, err);
    if (st == EMP_OK) emp_runs_sweep(into);
    for (int i = 0; i < count; i++) {
        if (st == EMP_OK) st = merge_file(into, folder, file[i]->d_name, counts, err);
        free(file[i]);
    }
    free(file);
    return st;
}
