// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/sheet/manifest.h"

#include <build_info.h>
#include <string.h>

#include "base/text/text.h"

static char command[1024];

emp_manifest emp_manifest_get(void)
{
    return (emp_manifest){EMP_BUILD_VERSION, EMP_BUILD_COMMIT, EMP_BUILD_IS_DIRTY,
                          EMP_BUILD_CODE, command};
}

void emp_manifest_set_command(int argc, char **argv)
{
    emp_text text = {command, sizeof command, 0};

    emp_text_add(&text, "emplace");
    for (int i = 1; i < argc; i++) {
        emp_text_add(&text, " ");
        emp_text_add_word(&text, argv[i]);
    }
    for (char *at = command; (at = strchr(at, '\n')) != NULL;) *at = ' ';
}
