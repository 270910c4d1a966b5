// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers of records, checkpoints, tables and weights, whose files are sealed.
#include "base/mem.h"
#include "run/store/checkpoint.h"
#include "run/store/columns.h"
#include "run/store/store.h"
#include "run/store/weights_file.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char    *path = fuzz_file(bytes, size);
    emp_record     record = {0}, begun = {0};
    emp_op_names   names = {0};
    emp_checkpoint checkpoint = {.record = &begun};
    emp_columns    columns = {0};
    emp_weights    weights = {0};
    char          *machine = NULL;

    emp_store_silence();
    (void)emp_record_load(&record, path, NULL);
    emp_record_clear(&record);
    (void)emp_record_load_names(&names, path, NULL);
    emp_op_names_clear(&names);
    (void)emp_record_load_machine(&machine, path, NULL);
    emp_free(machine);
    (void)emp_checkpoint_load(&checkpoint, path, NULL);
    emp_record_clear(&begun);
    (void)emp_columns_load(&columns, path, NULL);
    (void)emp_weights_load(&weights, path, NULL);
    emp_weights_clear(&weights);
    return 0;
}
