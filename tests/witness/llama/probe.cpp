// SPDX-License-Identifier: GPL-3.0-or-later
/* Loads a model with llama.cpp's own parser of options and its loader, and prints where everything is:
 *
 *     tensor NAME BUFFER BYTES
 *     buffer NAME WEIGHTS CONTEXT COMPUTE        all in bytes
 *
 * NAME of a buffer is CPU, RPC0[127.0.0.1:50052] and the like. */
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common.h"
#include "arg.h"
#include "ggml-backend.h"
#include "llama.h"
#include "llama-ext.h"

const std::vector<std::pair<std::string, ggml_tensor *>> &
llama_internal_get_tensor_map(const llama_model *model);

int main(int argc, char **argv)
{
    common_params params;

    common_init();
    if (!common_params_parse(argc, argv, params, LLAMA_EXAMPLE_COMPLETION)) return 1;
    llama_backend_init();
    common_init_result_ptr loaded = common_init_from_params(params);
    if (loaded->model() == nullptr || loaded->context() == nullptr) return 1;
    for (const auto &[name, tensor] : llama_internal_get_tensor_map(loaded->model()))
        std::printf("tensor %s %s %zu\n", name.c_str(),
                    ggml_backend_buffer_name(tensor->buffer), ggml_nbytes(tensor));
    for (const auto &[type, bytes] : llama_get_memory_breakdown(loaded->context()))
        std::printf("buffer %s %zu %zu %zu\n", ggml_backend_buft_name(type), bytes.model,
                    bytes.context, bytes.compute);
    return 0;
}
