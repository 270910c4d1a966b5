// SPDX-License-Identifier: GPL-3.0-or-later
#include <emplace/api.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *emp_version(void)
{
    return TEXT(EMP_VERSION_MAJOR) "." TEXT(EMP_VERSION_MINOR) "." TEXT(
        EMP_VERSION_PATCH);
}
