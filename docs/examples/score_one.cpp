// score_one_cpp SPEC MACHINE: what score_one.c does without a placement file, in C++. Handles are
// released by unique_ptr, and failures are exceptions.
#include <emplace/emplace.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

template <auto destroy> struct releaser {
    template <typename T> void operator()(T *object) const { destroy(object); }
};
using graph_ptr = std::unique_ptr<emp_graph, releaser<emp_graph_destroy>>;
using machine_ptr = std::unique_ptr<emp_machine, releaser<emp_machine_destroy>>;
using runtime_ptr = std::unique_ptr<emp_runtime, releaser<emp_runtime_destroy>>;
using problem_ptr = std::unique_ptr<emp_problem, releaser<emp_problem_destroy>>;
using sim_ptr = std::unique_ptr<emp_sim, releaser<emp_sim_destroy>>;
using result_ptr = std::unique_ptr<emp_sim_result, releaser<emp_sim_result_destroy>>;

// Calls a function that creates an object as its first argument, or throws its sentence.
template <typename Pointer, typename Function, typename... Arguments>
Pointer make(Function function, Arguments... arguments)
{
    typename Pointer::pointer object = nullptr;
    emp_error                 err{};

    if (function(&object, arguments..., &err) != EMP_OK)
        throw std::runtime_error(err.msg);
    return Pointer(object);
}

static void score(const char *spec, const char *machine_name)
{
    auto graph = make<graph_ptr>(emp_graph_load, spec);
    auto machine = make<machine_ptr>(emp_machine_load, machine_name);
    auto runtime = make<runtime_ptr>(emp_runtime_load, "tf-r1.3");
    auto problem = make<problem_ptr>(emp_problem_create, graph.get(), machine.get(),
                                     runtime.get(), spec);
    auto sim = make<sim_ptr>(emp_sim_create, problem.get());
    auto result = make<result_ptr>(emp_sim_result_create);
    auto gpu = emp_machine_find(machine.get(), "gpu:0");

    std::vector<emp_device_id> device_of_op(
        static_cast<std::size_t>(emp_graph_op_count(graph.get())), gpu < 0 ? 0 : gpu);
    emp_problem_legalize(problem.get(), device_of_op.data());
    emp_error err{};
    if (emp_sim_run(sim.get(), device_of_op.data(), result.get(), &err) != EMP_OK)
        throw std::runtime_error(err.msg);
    std::printf("step_time_s %.15g\n",
                static_cast<double>(emp_sim_result_step_time_ns(result.get())) * 1e-9);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: score_one_cpp SPEC MACHINE\n");
        return 2;
    }
    try {
        score(argv[1], argv[2]);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "score_one_cpp: %s\n", failure.what());
        return 1;
    }
}
