/** \file tests/support/scratch.h
 * A folder of its own for each test, under the build folder.
 */
#ifndef EMP_TESTS_SUPPORT_SCRATCH_H
#define EMP_TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_PATH_BYTES = 1024 };

/** Makes the folder; as a Criterion .init. */
void scratch_create(void);
/** Removes it with all that is in it; as a Criterion .fini. */
void scratch_remove(void);

/** Keeps a text of malloc() until the test ends. */
char *scratch_keep(char *text);

/** The text as printf() makes it, kept likewise. */
__attribute__((format(printf, 1, 2))) const char *scratch_print(const char *format, ...);

/** Path of the folder (name NULL or "") or of a file in it, kept likewise. */
const char *scratch_path(const char *name);

/** Name of the one file in the folder that fits the pattern of the shell, kept likewise. NULL = there
 * is none. */
char *scratch_find(const char *pattern);

void scratch_write(const char *name, const void *bytes, size_t size);

/** Likewise a text. \return the file's path. */
const char *scratch_file(const char *name, const char *text);

/** Likewise; copies the file's path to \a path. */
void scratch_write_text(char *path, size_t size, const char *name, const char *text);

/** The text with " in place of each ', so that JSON can be written without escapes; valid until the
 * next call. */
const char *scratch_json(const char *text);

/** Writes such a text. */
void scratch_write_json(const char *name, const char *text);

/** Likewise \a text with \a put in place of the first \a find, which must be there. */
void scratch_write_changed(char *path, size_t size, const char *name, const char *text,
                           const char *find, const char *put);

/** The bytes of a file, terminated; release with free(). \a size may be NULL. */
char *scratch_read(const char *name, size_t *size);
/** Likewise, kept until the test ends. */
char *scratch_text(const char *name);
char *scratch_bytes(const char *name, size_t *size);
/** Expects that a file has these bytes; \a when is the message otherwise. */
void scratch_expect_bytes(const char *name, const char *bytes, size_t size,
                          const char *when);

#endif /* EMP_TESTS_SUPPORT_SCRATCH_H */
