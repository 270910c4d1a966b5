// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for headers of GGUF files and the models that they tell of.
#include "graphs/import/models/gguf.h"
#include "graphs/transformer/stack.h"
#include "tests/support/fuzz_file.h"

/* More layers take longer than an input may. */
enum { LAYERS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_gguf              h = {0};
    emp_transformer_model m = {0};
    emp_graph            *graph = NULL;
    emp_weight_types      types = {emp_gguf_find_type, &h};
    emp_transformer_step  step = {.phase = EMP_PHASE_TRAIN,
                                  .batch = 8,
                                  .sequence = 2048,
                                  .dtype = EMP_DTYPE_BFLOAT16,
                                  .update = EMP_UPDATE_ADAM,
                                  .has_master = true};

    step.phase = EMP_PHASE_DECODE;
    step.batch = 1;
    step.sequence = 2;
    if (emp_gguf_parse(&h, (const char *)bytes, size, NULL) == EMP_OK &&
        emp_gguf_model_read(&m, &h, NULL) == EMP_OK && m.layer_count <= LAYERS_MAX &&
        emp_transformer_graph_create(&graph, &m, &step, &types, NULL) == EMP_OK)
        (void)emp_gguf_check_used(&h, m.layer_count, NULL);
    emp_graph_destroy(graph);
    emp_transformer_model_clear(&m);
    emp_gguf_clear(&h);
    return 0;
}
