// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/text/whole_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io/input.h"
#include "base/mem.h"

enum { FIRST_ROOM = 1 << 14 };

/* Bytes between here and the end of a regular file; 0: nobody knows, as of a pipe. */
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
