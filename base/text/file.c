// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L

#include "base/text/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/nearest.h"

enum { CHUNK_BYTES_MAX = 1 << 26, SPARE_BYTES = 1 << 12 };

/* The largest ratio of an unpacked file: graphs in text shrink to a fiftieth, a bomb to a thousandth. */
static const size_t MAX_UNPACKING = 150, FREE_UNPACKING_BYTES = (size_t)1 << 24;

static const char lfs_pointer[] = "version https://git-lfs";

/* ---- open files ---- */

/* Room for more bytes: all of a plain file at once, and twice as many of a packed one, as the length
 * that gzip states may be a lie. */
static emp_status grow(emp_file *file, size_t least, size_t limit, emp_error *err)
{
    size_t wanted = least < file->disk_bytes ? least : file->disk_bytes;

    if (wanted < 2 * file->size) wanted = 2 * file->size;
    file->capacity = wanted + SPARE_BYTES < limit ? wanted + SPARE_BYTES : limit;
    char *larger = emp_realloc(file->bytes, file->capacity, 1);
    if (larger == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%zu bytes of a file", file->capacity);
    file->bytes = larger;
    return EMP_OK;
}

static emp_status check_end(gzFile stream, emp_error *err)
{
    int code = Z_OK;

    (void)gzerror(stream, &code);
    if (code == Z_ERRNO) return EMP_ERROR(EMP_EIO, "cannot be read: %s", strerror(errno));
    if (code == Z_BUF_ERROR) return EMP_ERROR(EMP_EFORMAT, "a truncated gzip file");
    if (code != Z_OK && code != Z_STREAM_END)
        return EMP_ERROR(EMP_EFORMAT, "a damaged gzip file");
    return EMP_OK;
}

/* zlib hands plain files through as they are. */
emp_status emp_file_read(emp_file *file, size_t least, emp_error *err)
{
    const size_t most = MAX_UNPACKING * file->disk_bytes + FREE_UNPACKING_BYTES;
    const size_t limit = (most < EMP_FILE_BYTES_MAX ? most : EMP_FILE_BYTES_MAX) + 1;

    if (least == EMP_FILE_ALL && file->disk_bytes > EMP_FILE_BYTES_MAX)
        return EMP_ERROR(EMP_EFORMAT, "more than %zu bytes", EMP_FILE_BYTES_MAX);
    while (!file->is_whole && file->size < least) {
        if (file->size == file->capacity) EMP_CHECK(grow(file, least, limit, err));
        size_t room = file->capacity - file->size;
        int    got = gzread(file->stream, file->bytes + file->size,
                            (unsigned)(room < CHUNK_BYTES_MAX ? room : CHUNK_BYTES_MAX));
        if (got > 0) file->size += (size_t)got;
        if (got <= 0) EMP_CHECK(check_end(file->stream, err));
        file->is_whole = got <= 0;
        if (file->size > EMP_FILE_BYTES_MAX)
            return EMP_ERROR(EMP_EFORMAT, "more than %zu bytes", EMP_FILE_BYTES_MAX);
        if (file->size > most)
            return EMP_ERROR(EMP_EFORMAT,
                             "a gzip file that unpacks to more than %zu times its size",
                             MAX_UNPACKING);
    }
    return EMP_OK;
}

static emp_status read_first(emp_file *file, emp_error *err)
{
    EMP_CHECK(emp_file_read(file, EMP_FILE_FIRST_BYTES, err));
    if (file->size == 0) return EMP_ERROR(EMP_EFORMAT, "an empty file");
    if (file->size >= sizeof lfs_pointer - 1 &&
        memcmp(file->bytes, lfs_pointer, sizeof lfs_pointer - 1) == 0)
        return EMP_ERROR(EMP_EFORMAT, "a Git LFS pointer in place of the file: run "
                                      "\"git lfs pull\" first");
    return EMP_OK;
}

emp_status emp_file_open(emp_file *file, const char *path, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct stat info;
    char        hint[EMP_NEAREST_BYTES];

    *file = (emp_file){0};
    if (stat(path, &info) != 0) {
        const int cause = errno;
        emp_nearest_file(path, hint);
        return EMP_ERROR(EMP_EIO, "cannot be read: %s%s", strerror(cause), hint);
    }
    if (S_ISDIR(info.st_mode)) return EMP_ERROR(EMP_EIO, "a directory, not a file");
    if (!S_ISREG(info.st_mode)) return EMP_ERROR(EMP_EIO, "not a regular file");
    file->disk_bytes = (size_t)info.st_size;
    file->stream = gzopen(path, "rb");
    if (file->stream == NULL)
        return EMP_ERROR(EMP_EIO, "cannot be read: %s", strerror(errno));
    (void)gzbuffer(file->stream, 1 << 18);
    EMP_TRY(read_first(file, err));
    emp_input_keep(path);

cleanup:
    if (st != EMP_OK) emp_file_close(file);
    return st;
}

void emp_file_close(emp_file *file)
{
    if (file->stream != NULL) (void)gzclose(file->stream);
    if (file->capacity > 0) emp_free(file->bytes);
    *file = (emp_file){0};
}

emp_status emp_file_load(const char *path, char **bytes, size_t *size, emp_error *err)
{
    emp_file   file;
    emp_status st = emp_file_open(&file, path, err);

    *bytes = NULL;
    *size = 0;
    if (st == EMP_OK) st = emp_file_read(&file, EMP_FILE_ALL, err);
    if (st == EMP_OK) {
        *bytes = file.bytes;
        *size = file.size;
        file.bytes = NULL;
    }
    emp_file_close(&file);
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

enum { FIRST_ROOM = 1 << 14 };

/* Bytes between here and the end of a regular file; 0: unknown, as for a pipe. */
static size_t bytes_left(FILE *file)
{
    struct stat info;
    const off_t here = ftello(file);

    if (here < 0 || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    return info.st_size > here ? (size_t)(info.st_size - here) : 0;
}

emp_status emp_whole_file_read(char **text, size_t *size, FILE *file, const char *path,
                               size_t most, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     room = 0, left = bytes_left(file);

    *text = NULL;
    *size = 0;
    if (left > most) EMP_FAIL(EMP_EFORMAT, "%s: longer than %zu bytes", path, most);
    do { /* the file may grow meanwhile; the end is seen where there is room behind it */
        room = room > 0 ? 2 * room : left + FIRST_ROOM;
        char *grown = emp_realloc(*text, room, 1);
        if (grown == NULL) EMP_FAIL(EMP_ENOMEM, "text of %s", path);
        *text = grown;
        *size += fread(grown + *size, 1, room - 1 - *size, file);
        if (ferror(file))
            EMP_FAIL(EMP_EIO, "%s cannot be read: %s", path, strerror(errno));
        if (*size > most) EMP_FAIL(EMP_EFORMAT, "%s: longer than %zu bytes", path, most);
    } while (!feof(file));
    (*text)[*size] = '\0';

cleanup:
    if (st != EMP_OK) {
        emp_free(*text);
        *text = NULL;
    }
    return st;
}

emp_status emp_whole_file_load(char **text, size_t *size, const char *path, size_t most,
                               emp_error *err)
{
    FILE *file;

    *text = NULL;
    EMP_CHECK(emp_input_open(&file, path, err));
    emp_status st = emp_whole_file_read(text, size, file, path, most, err);
    fclose(file);
    return st;
}
