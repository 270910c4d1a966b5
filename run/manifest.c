// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/manifest.h"

#include <build_info.h>

emp_manifest emp_manifest_get(void)
{
    return (emp_manifest){EMP_BUILD_VERSION, EMP_BUILD_COMMIT, EMP_BUILD_IS_DIRTY};
}
