// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for device models: constants that are stated, and those that rules make of a card.
#include <math.h>
#include <stdlib.h>

#include "sim/machine/card.h"
#include "sim/machine/model.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_device_model model = {0};
    char             text[256];
    int32_t          count;

    if (emp_device_model_load(&model, fuzz_file(bytes, size), NULL) == EMP_OK) {
        const emp_config_field *constants =
            emp_device_constants(model.device.kind, &count);
        for (int32_t i = 0; i < count; i++)
            if (constants[i].to < sizeof model.device &&
                !isfinite(emp_config_number(&constants[i], &model.device)))
                abort();
        if (model.card.is_there) emp_card_describe(text, sizeof text, &model.card);
    }
    emp_device_model_clear(&model);
    return 0;
}
