// SPDX-License-Identifier: GPL-3.0-or-later
//
// Times of products with quantised weights by the kernels of llama.cpp: lines as in kernels.tsv. Weights are
// streamed from memory, since each product of a graph has its own, 300 MB together.
//
//   g++ -O2 -I ggml/include measure.cpp -o measure -L build/bin -lggml -lggml-base -lggml-cpu
//   measure                 on the first GPU, all formats
//   measure q4_0            one format
//   measure q4_0 cpu 16     on 16 threads of the CPU

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

constexpr double BYTES = 3e8;  // of the weights of a graph
constexpr int64_t PATTERN = 32; // rows of weights that are made; the others repeat them

struct Shape {
    int64_t m, k;
};

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ggml_backend_t backend_of(bool on_cpu, int threads)
{
    auto wanted = on_cpu ? GGML_BACKEND_DEVICE_TYPE_CPU : GGML_BACKEND_DEVICE_TYPE_GPU;
    ggml_backend_dev_t device = ggml_backend_dev_by_type(wanted);
    if (device == nullptr) return nullptr;
    auto set_threads = reinterpret_cast<void (*)(ggml_backend_t, int)>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
    ggml_backend_t backend = ggml_backend_dev_init(device, nullptr);
    if (backend != nullptr && set_threads != nullptr) set_threads(backend, threads);
    return backend;
}

std::vector<char> weights_of(ggml_type type, Shape s, const std::vector<float> &values)
{
    const size_t row = ggml_row_size(type, s.k);
    const std::vector<float> importance(s.k, 1.0F);
    std::vector<char> weights(row * s.m);

    ggml_quantize_init(type);
    if (type == GGML_TYPE_F32)
        memcpy(weights.data(), values.data(), PATTERN * row);
    else
        ggml_quantize_chunk(type, values.data(), weights.data(), 0, PATTERN, s.k, importance.data());
    for (int64_t i = PATTERN; i < s.m; i++) memcpy(&weights[i * row], &weights[i % PATTERN * row], row);
    return weights;
}

double median_s(ggml_backend_t backend, ggml_cgraph *graph)
{
    std::vector<double> times;
    for (int i = 0; i < 3; i++) ggml_backend_graph_compute(backend, graph);
    const double begin = now();
    while (times.size() < 3 || (times.size() < 15 && now() - begin < 0.15)) {
        const double before = now();
        ggml_backend_graph_compute(backend, graph);
        times.push_back(now() - before);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void measure(ggml_backend_t backend, ggml_type type, Shape s, int64_t n)
{
    const size_t bytes = ggml_row_size(type, s.k) * s.m;
    const int products = std::clamp(static_cast<int>(BYTES / bytes), 2, 48);
    ggml_context *context =
        ggml_init({ggml_tensor_overhead() * (2 * products + 8) + ggml_graph_overhead(), nullptr, true});
    ggml_cgraph *graph = ggml_new_graph(context);
    ggml_tensor *input = ggml_new_tensor_2d(context, GGML_TYPE_F32, s.k, n);
    std::vector<ggml_tensor *> all;
    for (int i = 0; i < products; i++) {
        all.push_back(ggml_new_tensor_2d(context, type, s.k, s.m));
        ggml_tensor *output = ggml_mul_mat(context, all.back(), input);
        ggml_set_output(output);
        ggml_build_forward_expand(graph, output);
    }
    ggml_backend_buffer_t buffer = nullptr;
    if (ggml_backend_supports_op(backend, ggml_graph_node(graph, 0)))
        buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    if (buffer != nullptr) {
        std::vector<float> values(s.k * std::max(n, PATTERN));
        for (float &v : values) v = static_cast<float>(rand() % 2001 - 1000) * 1e-4F;
        const std::vector<char> weights = weights_of(type, s, values);
        for (ggml_tensor *w : all) ggml_backend_tensor_set(w, weights.data(), 0, bytes);
        ggml_backend_tensor_set(input, values.data(), 0, sizeof(float) * s.k * n);
        printf("%s\t%lld\t%lld\t%lld\t%.2f\n", ggml_type_name(type), static_cast<long long>(n),
               static_cast<long long>(s.m), static_cast<long long>(s.k),
               1e6 * median_s(backend, graph) / products);
        fflush(stdout);
        ggml_backend_buffer_free(buffer);
    }
    ggml_free(context);
}

} // namespace

int main(int argc, char **argv)
{
    const bool on_cpu = argc > 2 && strcmp(argv[2], "cpu") == 0;

    ggml_backend_load_all();
    ggml_backend_t backend = backend_of(on_cpu, argc > 3 ? atoi(argv[3]) : 8);
    if (backend == nullptr) {
        fprintf(stderr, "measure: there is no %s here\n", on_cpu ? "CPU" : "GPU");
        return 1;
    }
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char *name = ggml_type_name(static_cast<ggml_type>(type));
        const bool is_wanted = argc < 2 || (name != nullptr && strcmp(argv[1], name) == 0);
        if (!is_wanted || (!ggml_is_quantized(static_cast<ggml_type>(type)) && type != GGML_TYPE_F16 &&
                           type != GGML_TYPE_BF16 && type != GGML_TYPE_F32))
            continue;
        for (Shape s : {Shape{4096, 4096}, Shape{11008, 4096}, Shape{4096, 11008}, Shape{2048, 2048}})
            for (int64_t n : {1, 2, 4, 8, 16, 32, 64, 128, 512, 2048})
                measure(backend, static_cast<ggml_type>(type), s, n);
    }
    ggml_backend_free(backend);
    return 0;
}
