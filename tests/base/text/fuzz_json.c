// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of JSON.
#include "base/text/json.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_json_document d = {0};

    if (emp_json_parse(&d, (const char *)bytes, size, NULL) == EMP_OK)
        for (const emp_json *v = emp_json_first(d.root); v != NULL; v = emp_json_next(v))
            (void)emp_json_get(v, emp_json_string(v) != NULL ? emp_json_string(v) : "");
    emp_json_clear(&d);
    return 0;
}
