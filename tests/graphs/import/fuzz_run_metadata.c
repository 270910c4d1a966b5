// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of TensorFlow's RunMetadata.
#include "graphs/import/profiles.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_run_metadata run = {0};
    emp_error        err = {0};

    (void)emp_run_metadata_read(&run, (emp_slice){(const char *)bytes, size}, &err);
    emp_run_metadata_clear(&run);
    return 0;
}
