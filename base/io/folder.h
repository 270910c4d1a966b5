/** \file base/io/folder.h
 * Folders for output.
 */
#ifndef EMP_BASE_IO_FOLDER_H
#define EMP_BASE_IO_FOLDER_H

#include "base/error.h"

/** Makes a folder unless it is there; those above it must be.
 * \retval EMP_EIO  The message names it. */
emp_status emp_folder_make(const char *path, emp_error *err);

#endif /* EMP_BASE_IO_FOLDER_H */
