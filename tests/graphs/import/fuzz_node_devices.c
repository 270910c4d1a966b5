// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the devices of nodes: what can be read can be written and read again.
#include <stdlib.h>
#include <unistd.h>

#include "graphs/import/node_devices.h"
#include "tests/support/fuzz_file.h"

static char out[] = P_tmpdir "/emplace-fuzz-out-XXXXXX";

static const char *device_of(const void *context, emp_slice name)
{
    (void)context;
    return name.size % 2 == 1 ? "/device:GPU:0" : "";
}

static emp_status check(void *context, emp_slice name, emp_slice device, emp_error *err)
{
    (void)err;
    if (context != NULL && !emp_slice_is(device, device_of(NULL, name))) abort();
    return EMP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool is_set_up;
    int         is_written = 1;

    if (!is_set_up) close(mkstemp(out));
    is_set_up = true;
    const char *in = fuzz_file(bytes, size);
    (void)emp_nodes_each_device(in, check, NULL, NULL);
    if (emp_nodes_write(in, out, device_of, NULL, NULL) == EMP_OK &&
        emp_nodes_each_device(out, check, &is_written, NULL) != EMP_OK)
        abort();
    return 0;
}
