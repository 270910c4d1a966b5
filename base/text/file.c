// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/nearest.h"

enum { CHUNK_BYTES_MAX = 1 << 26, SPARE_BYTES = 1 << 12 };

/* What a packed file may become: graphs in text shrink to a fiftieth, a bomb to a thousandth. */
static const size_t MAX_UNPACKING = 150, FREE_UNPACKING_BYTES = (size_t)1 << 24;

static const char lfs_pointer[] = "version https://git-lfs";

/* Reads everything; zlib hands plain files through as they are. The block doubles until
 * the end comes, as the length that gzip states may be a lie. */
static emp_status read_all(gzFile file, size_t packed_size, char **bytes, size_t *size,
                           emp_error *err)
{
    const size_t most = MAX_UNPACKING * packed_size + FREE_UNPACKING_BYTES;
    size_t       limit = (most < EMP_FILE_BYTES_MAX ? most : EMP_FILE_BYTES_MAX) + 1;
    size_t       capacity = packed_size + SPARE_BYTES, used = 0;
    int          got = 1, code = Z_OK;

    *bytes = emp_realloc(NULL, capacity, 1);
    if (*bytes == NULL) return EMP_ERROR(EMP_ENOMEM, "%zu bytes of a file", capacity);
    while (got > 0) {
        if (used == capacity) {
            capacity = 2 * capacity < limit ? 2 * capacity : limit;
            char *larger = emp_realloc(*bytes, capacity, 1);
            if (larger == NULL)
                return EMP_ERROR(EMP_ENOMEM, "%zu bytes of a file", capacity);
            *bytes = larger;
        }
        size_t room = capacity - used;
        got = gzread(file, *bytes + used,
                     (unsigned)(room < CHUNK_BYTES_MAX ? room : CHUNK_BYTES_MAX));
        if (got > 0) used += (size_t)got;
        if (used > EMP_FILE_BYTES_MAX)
            return EMP_ERROR(EMP_EFORMAT, "more than %zu bytes", EMP_FILE_BYTES_MAX);
        if (used > most)
            return EMP_ERROR(EMP_EFORMAT,
                             "a gzip file that unpacks to more than %zu times its size",
                             MAX_UNPACKING);
    }
    (void)gzerror(file, &code);
    if (code == Z_ERRNO) return EMP_ERROR(EMP_EIO, "cannot be read: %s", strerror(errno));
    if (code == Z_BUF_ERROR) return EMP_ERROR(EMP_EFORMAT, "a truncated gzip file");
    if (code != Z_OK && code != Z_STREAM_END)
        return EMP_ERROR(EMP_EFORMAT, "a damaged gzip file");
    *size = used;
    return EMP_OK;
}

emp_status emp_file_load(const char *path, char **bytes, size_t *size, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct stat info;
    gzFile      file = NULL;
    char        hint[EMP_NEAREST_BYTES];

    *bytes = NULL;
    *size = 0;
    if (stat(path, &info) != 0) {
        const int cause = errno;
        emp_nearest_file(path, hint);
        EMP_FAIL(EMP_EIO, "cannot be read: %s%s", strerror(cause), hint);
    }
    if (S_ISDIR(info.st_mode)) EMP_FAIL(EMP_EIO, "a directory, not a file");
    if (!S_ISREG(info.st_mode)) EMP_FAIL(EMP_EIO, "not a regular file");
    if ((uint64_t)info.st_size > EMP_FILE_BYTES_MAX)
        EMP_FAIL(EMP_EFORMAT, "more than %zu bytes", EMP_FILE_BYTES_MAX);

    file = gzopen(path, "rb");
    if (file == NULL) EMP_FAIL(EMP_EIO, "cannot be read: %s", strerror(errno));
    (void)gzbuffer(file, 1 << 18);
    EMP_TRY(read_all(file, (size_t)info.st_size, bytes, size, err));
    if (*size == 0) EMP_FAIL(EMP_EFORMAT, "an empty file");
    if (*size >= sizeof lfs_pointer - 1 &&
        memcmp(*bytes, lfs_pointer, sizeof lfs_pointer - 1) == 0)
        EMP_FAIL(EMP_EFORMAT,
                 "a Git LFS pointer in place of the file: run \"git lfs pull\" first");
    emp_input_keep(path);

cleanup:
    if (file != NULL) (void)gzclose(file);
    if (st != EMP_OK) {
        emp_free(*bytes);
        *bytes = NULL;
    }
    return st;
}

emp_status emp_file_load_named(const char *path, char **bytes, size_t *size,
                               emp_error *err)
{
    emp_error        reason = {0};
    const emp_status st = emp_file_load(path, bytes, size, &reason);

    if (st == EMP_OK) return st;
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}
