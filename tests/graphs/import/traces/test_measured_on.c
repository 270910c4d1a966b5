// SPDX-License-Identifier: GPL-3.0-or-later
/* Does --as scale measured times to the GPUs of the machine, and say so? */
#include "tests/cli/emplace.h"
#include "tests/test.h"

/* A step that copies a gigabyte on an H100, as long as its memory needs, and waits for it. */
static const char trace[] =
    "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB "
    "HBM3\"}],\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::copy_\",\"pid\":1,\"tid\":1,"
    "\"ts\":10,"
    "\"dur\":30,\"args\":{\"External id\":4,\"Input Dims\":[[125000000],[125000000],[]],"
    "\"Input type\":[\"float\",\"float\",\"Scalar\"]}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
    "\"tid\":1,"
    "\"ts\":20,\"dur\":10,\"args\":{\"correlation\":11}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"copy_kernel\",\"pid\":0,\"tid\":7,"
    "\"ts\":31,"
    "\"dur\":346.8,\"args\":{\"device\":0,\"stream\":7,\"correlation\":11}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\",\"pid\":1,"
    "\"tid\":1,\"ts\":40,\"dur\":340,\"args\":{\"correlation\":12}}]}";

static const char both[] = "description: \"an H100 beside an MI300X\"\n"
                           "nodes:\n  - {name: \"host:0\"}\n"
                           "devices:\n  - {model: \"xeon-112\", at: \"host:0\"}\n"
                           "  - {model: \"h100-sxm\", at: \"host:0\", bandwidth: \"50 "
                           "GB/s\", latency: \"10 us\"}\n"
                           "  - {model: \"mi300x\", at: \"host:0\", bandwidth: \"50 "
                           "GB/s\", latency: \"10 us\"}\n";

static void set_up(void)
{
    emplace_set_up();
    emplace_write("step.json", trace);
    emplace_write("both.yaml", both);
}

TestSuite(measured_on, .init = set_up, .fini = emplace_tear_down);

#define SIMULATE "simulate trace:kineto=step.json -p file "

Test(measured_on, kernels_are_scaled_and_counted)
{
    json_t *o = emplace_json(SIMULATE "-m mi300x8 --as h100-sxm --format json");

    cr_expect_str_eq(text_at(o, "scaled/from"), "h100-sxm");
    cr_expect_str_eq(text_at(o, "scaled/to/0/model"), "mi300x");
    cr_expect_str_eq(text_at(o, "scaled/to/0/kernels/0/kind"), "other of known bytes");
    cr_expect_float_eq(number_at(o, "scaled/to/0/kernels/1/measured_s"), 346.8e-6, 1e-9);
    cr_expect_float_eq(number_at(o, "scaled/to/0/kernels/1/time_s"), 245.9e-6, 0.2e-6);
    cr_expect_lt(number_at(o, "step_time_s"), 300e-6);
    emplace_prints(SIMULATE "-m mi300x8 --as h100-sxm",
                   "from h100-sxm to mi300x|1 kernel|347 us|246 us|all");
}

Test(measured_on, without_as_times_stay_and_a_warning_says_so)
{
    emplace_warns(SIMULATE "-m mi300x8", "NVIDIA H100 80GB HBM3|mi300x|--as h100-sxm");
    cr_expect_gt(emplace_number(SIMULATE "-m mi300x8 --format json", "step_time_s"),
                 346e-6);
    emplace_ok(SIMULATE "-m dgx-h100");
    cr_expect_str_eq(program_err, "");
}

Test(measured_on, a_machine_may_hold_both_gpus)
{
    json_t *o = emplace_json("place trace:kineto=step.json -m both.yaml --as h100-sxm "
                             "--budget 20 --format json");

    cr_expect_str_eq(text_at(o, "scaled/to/0/model"), "h100-sxm");
    cr_expect_float_eq(number_at(o, "scaled/to/0/kernels/1/time_s"), 346.8e-6, 1e-9);
    cr_expect_str_eq(text_at(o, "scaled/to/1/model"), "mi300x");
    cr_expect_lt(number_at(o, "step_time_s"),
                 300e-6); /* the kernel goes where it is short */
}

Test(measured_on, measured_costs_are_scaled_by_predicted_ones)
{
    static const char transformer[] =
        "simulate transformer:layers=1,hidden=256,heads=4,batch=1,seq=64 -m mi300x8 -p "
        "gpu "
        "--costs costs.csv ";

    emplace_write("costs.csv", "op,us,model\n*,100000,h100-sxm\n");
    const char *command = scratch_print("%s", transformer);
    emplace_refuses(command, "no line for a device model");
    command = scratch_print("%s--as h100-sxm --format json", transformer);
    double scaled_s = emplace_number(command, "step_time_s");
    emplace_write("costs.csv", "op,us,model\n*,200000,h100-sxm\n");
    double twice_s = emplace_number(command, "step_time_s");
    cr_expect_gt(scaled_s, 1.0);
    cr_expect_float_eq(twice_s / scaled_s, 2.0, 0.02, "%g %g", scaled_s, twice_s);
}

Test(measured_on, refusals_are_one_sentence)
{
    emplace_refuses(SIMULATE "-m mi300x8 --as h100-sxn", "h100-sxn|did you mean");
    emplace_refuses(SIMULATE "-m mi300x8 --as haswell-18", "haswell-18 is a CPU");
    emplace_refuses(SIMULATE "--as h100-sxm", "--as|GPUs of --machine");
    emplace_refuses("simulate nmt:layers=2 -m k40x2 -p cpu --as k40", "no trace|k40");
}
