// SPDX-License-Identifier: GPL-3.0-or-later
/* A profiler's trace: does the step wait for what it waited for, does it take as long placed as it
 * ran, and is every fault one sentence? */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/traces/as_it_ran.h"
#include "tests/test.h"

TestSuite(kineto, .init = scratch_create, .fini = graph_tear_down);

enum { TEXT_BYTES = 1 << 13 };

static const char *seed(void)
{
    return graph_source_path("tests/graphs/import/traces/seeds/step.kineto.json");
}

static const char *change(const char *from, const char *to)
{
    static char text[TEXT_BYTES];
    FILE       *file = fopen(seed(), "rb");

    cr_assert_not_null(file, "%s", seed());
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return graph_replace(text, from, to);
}

#define EVENT(cat, name, at, dur, rest) \
    "{'ph':'X','cat':'" cat "','name':'" name "','ts':" #at ",'dur':" #dur "," rest "}"
#define STEP(number, at, dur) \
    EVENT("user_annotation", "ProfilerStep#" #number, at, dur, "'pid':1,'tid':1")
#define LAUNCH(id, at)                                \
    EVENT("cuda_runtime", "cudaLaunchKernel", at, 10, \
          "'pid':1,'tid':1,'args':{'correlation':" #id "}")
#define KERNEL(id, at, dur)       \
    EVENT("kernel", "k", at, dur, \
          "'pid':0,'tid':7,'args':{'device':0,'stream':7,'correlation':" #id "}")

#define GEMM  "gpu0.stream7/aten::linear/aten::addmm/gemm.0"
#define ADD   "gpu0.stream7/aten::add/add_kernel.2"
#define COPY  "gpu0.stream8/MmBackward0/Memcpy_HtoD.6"
#define MM    "gpu0.stream7/MmBackward0/mm_backward.9"
#define SET   "gpu0.stream7/Memset.12"
#define WAIT  "gpu0.stream7/MmBackward0/mm_backward.wait.8"
#define LINE1 "host.thread0/aten::linear/aten::addmm/cudaLaunchKernel.14"

static int64_t gpu_ns(const emp_graph *g, const char *name)
{
    return g->stated[graph_find(g, name)].gpu_ns;
}

Test(kineto, has_what_ran_with_its_measured_time)
{
    emp_import_devices devices;
    emp_graph         *g = graph_load(seed(), NULL, &devices);
    const emp_op_id    line = graph_find(g, LINE1);

    cr_expect_str_eq(graph_type(g, GEMM), "aten::addmm");
    cr_expect_str_eq(graph_type(g, LINE1), "Host");
    cr_expect_eq(gpu_ns(g, GEMM), 105000, "5 us from the launch to its begin");
    cr_expect_eq(g->stated[graph_find(g, GEMM)].cpu_ns, 1050000);
    cr_expect_eq(g->stated[line].cpu_ns, 30000);
    cr_expect_eq(g->op[line].kinds, EMP_KIND_CPU);
    cr_expect_eq(gpu_ns(g, ADD), 52000, "2 us behind its predecessor");
    /* the copy is on another stream; the first launch of a step is done at the end, for the step after */
    graph_expect_waits(g, ADD "<" GEMM " " SET "<" MM " " COPY "<!" ADD " " GEMM
                              "<!" LINE1 " " LINE1 "<host.thread0/python.13");
    /* the kernel of the backward pass begins 190 us after its launch, and nothing says why */
    graph_expect_waits(g, MM "<" WAIT);
    cr_expect_str_eq(graph_type(g, WAIT), "Wait");
    cr_expect_eq(gpu_ns(g, WAIT), 190000);
    cr_expect_eq(gpu_ns(g, MM), 600000);
    cr_expect_eq(devices.gpu_count, 2);
    cr_expect_eq(devices.core_count, 2);
    cr_expect_str_eq(devices.runtime, "traced");
    cr_expect_not_null(strstr(devices.note, "ProfilerStep#3"), "%s", devices.note);
    cr_expect_not_null(strstr(devices.note, "Test GPU"), "%s", devices.note);
}

/* From the first launch at 1030 us to the end of the last kernel at 2210 us. The thread that synchronizes waits for the
 * kernel, and not for a time: with a kernel that takes less, all that follows is earlier. The main thread waits for
 * another that works for it. */
Test(kineto, takes_as_long_as_it_did)
{
    emp_import_devices devices;
    emp_graph         *g = graph_load(seed(), NULL, &devices);

    cr_expect_eq(as_it_ran_ns(g, &devices), 1180000);
    cr_expect_not_null(strstr(devices.note, "1.18 ms"), "%s", devices.note);
    g->stated[graph_find(g, ADD)].gpu_ns -= 30000;
    cr_expect_eq(as_it_ran_ns(g, &devices), 1150000);
    g->stated[graph_find(g, "host.thread1/MmBackward0/cudaLaunchKernel.7")].cpu_ns +=
        1000000;
    cr_expect_eq(as_it_ran_ns(g, &devices), 2150000);
}

/* The step before holds the stream until 1250 us; the host has then launched two kernels of three, which
 * take 300 us each. The host takes 500 us. */
Test(kineto, a_stream_that_is_busy_lets_the_host_run_ahead)
{
    static const char *const events[] = {
        STEP(3, 1000, 500),    LAUNCH(9, 900),        KERNEL(9, 950, 300),
        LAUNCH(11, 1100),      KERNEL(11, 1250, 300), LAUNCH(12, 1200),
        KERNEL(12, 1550, 300), LAUNCH(13, 1300),      KERNEL(13, 1850, 300)};
    char               text[TEXT_BYTES] = "{'traceEvents':[";
    emp_import_devices devices;

    for (size_t i = 0; i < COUNT(events); i++)
        strcat(strcat(text, events[i]), i + 1 < COUNT(events) ? "," : "]}");
    scratch_write_json("busy.json", text);
    emp_graph *g = graph_load(scratch_path("busy.json"), NULL, &devices);
    cr_expect_eq(as_it_ran_ns(g, &devices), 900000);
    cr_expect_not_null(strstr(devices.note, "took 900 us"), "%s", devices.note);
    for (emp_op_id op = 0; op < g->op_count; op++) g->stated[op].gpu_ns /= 3;
    cr_expect_eq(as_it_ran_ns(g, &devices), 500000, "the host's time");
}

/* Stream 8 fetches data while stream 7 has the step before until 1250 us: neither part of the step's time, nor a wait. */
Test(kineto, a_step_lasts_from_one_to_the_next_on_its_main_stream)
{
    static const char side[] =
        EVENT("kernel", "fetch", 1060, 50,
              "'pid':0,'tid':8,'args':{'device':0,'stream':8,'correlation':10}");
    static const char *const events[] = {STEP(3, 1000, 500),
                                         LAUNCH(9, 900),
                                         KERNEL(9, 950, 300),
                                         LAUNCH(10, 1040),
                                         side,
                                         LAUNCH(11, 1100),
                                         KERNEL(11, 1250, 300),
                                         LAUNCH(12, 1200),
                                         KERNEL(12, 1550, 300),
                                         LAUNCH(13, 1300),
                                         KERNEL(13, 1850, 300)};
    char                     text[TEXT_BYTES] = "{'traceEvents':[";
    emp_import_devices       devices;

    for (size_t i = 0; i < COUNT(events); i++)
        strcat(strcat(text, events[i]), i + 1 < COUNT(events) ? "," : "]}");
    scratch_write_json("side.json", text);
    emp_graph *g = graph_load(scratch_path("side.json"), NULL, &devices);
    cr_expect_eq(as_it_ran_ns(g, &devices), 900000);
    cr_expect_not_null(strstr(devices.note, "took 900 us"), "%s", devices.note);
    cr_expect_null(strstr(devices.note, "Waits"), "%s", devices.note);
    cr_expect_eq(graph_count_type(g, "Wait"), 0);
    cr_expect_eq(devices.gpu_count, 2);
}

static const char execution[] =
    "{'schema': '1.1.0-chakra.0.0.4', 'nodes': [ {'id': 5, 'name': 'aten::addmm', "
    "'ctrl_deps': 4,  'inputs': {'values': [[1, 10, 0, 8, 4, 'cuda:0'], 3]},  "
    "'outputs': {'values': [[2, 20, 0, 25, 4, 'cuda:0']]},  'attrs': [{'name': 'rf_id',"
    " 'type': 'uint64', 'value': 5}]}, {'id': 7, 'name': 'MmBackward0', 'rf_id': 7,  "
    "'inputs': [[[3, 20, 0, 25, 4, 'cuda:0'], [1, 10, 0, 8, 4, 'cuda:0']]],  "
    "'outputs': []}]}";

static emp_status load_pair(emp_graph **graph, emp_import_devices *devices,
                            const char *text, emp_error *err)
{
    scratch_write_json("et.json", text);
    return emp_source_load(
        graph, NULL, devices,
        scratch_print("trace:kineto=%s,et=%s", seed(), scratch_path("et.json")), err);
}

Test(kineto, kernels_read_what_the_execution_trace_says)
{
    emp_import_devices devices;
    emp_graph         *g = NULL;

    ASSERT_OK(load_pair(&g, &devices, execution, &err));
    cr_expect_eq(g->tensor[g->output_offset[graph_find(g, GEMM)]].copy_bytes, 100);
    graph_expect_reads(g, MM "<" GEMM);
    graph_expect_waits(g,
                       ADD "<" GEMM); /* not joined, it keeps its place in the stream */
    cr_expect_not_null(strstr(devices.note, "3 of these are joined"), "%s", devices.note);
    cr_expect_eq(as_it_ran_ns(g, &devices), 1180000);
    emp_graph_destroy(g);
}

/* ProfilerStep#3 of a ResNet-50 of 8 pictures: PyTorch 2.11 with CUDA 13 on an H200, Adam by _foreach ops, three streams,
 * a thread for the backward pass. Its own recording, without the arguments that are not read; names are cut. */
#define SAMPLE     "tests/graphs/import/traces/samples/resnet50_h200."
#define SAMPLE_NS  76496709.0
#define WHAT_JOINS "641 kernels, 0 copies and 19 memsets. 660 of these are joined"

Test(kineto, a_step_of_pytorch_2_takes_as_long_as_it_did)
{
    char               source[2 * SCRATCH_PATH_BYTES];
    const char        *root = graph_source_path("");
    emp_import_devices devices;

    for (int is_pair = 0; is_pair < 2; is_pair++) {
        int used = snprintf(source, sizeof source,
                            "trace:kineto=%s" SAMPLE "kineto.json.gz", root);
        if (is_pair)
            snprintf(source + used, sizeof source - (size_t)used,
                     ",et=%s" SAMPLE "et.json.gz", root);
        emp_graph *g = graph_load(source, NULL, &devices);
        double     ratio = (double)as_it_ran_ns(g, &devices) / SAMPLE_NS;
        cr_expect(ratio > 0.97 && ratio < 1.03, "%g of the measured step", ratio);
        cr_expect_eq(devices.gpu_count, 3, "a GPU for each stream");
        if (is_pair)
            cr_expect_not_null(strstr(devices.note, WHAT_JOINS), "%s", devices.note);
    }
}

Test(kineto, an_execution_trace_that_is_none_or_has_no_shapes_is_refused)
{
    const graph_fault faults[] = {
        {"{'nodes':[]}", "no PyTorch execution trace"},
        {"{'schema':'1','nodes':[{'rf_id':1,'inputs':[[1,2,0,-3,4,'cpu']]}]}",
         "nodes[0]: tensor 1 has -3"}};

    for (size_t i = 0; i < COUNT(faults); i++) {
        scratch_write_json("et.json", faults[i].text);
        graph_expect_refused(
            scratch_print("trace:kineto=%s,et=%s", seed(), scratch_path("et.json")),
            EMP_EFORMAT, faults[i].part);
    }
    scratch_write_json("et.json", execution); /* by itself */
    graph_expect_refused(scratch_path("et.json"), EMP_EFORMAT, "has no shape");
}

Test(kineto, names_of_sources_that_are_wrong_are_refused)
{
    static const graph_fault faults[] = {{"trace:", "path"},
                                         {"trace:step=1", "path"},
                                         {"trace:kineto=", "path"},
                                         {"trace:kineto=a,step=x", "step is x"},
                                         {"trace:kineto=a,step=-2", "step is -2"},
                                         {"trace:kineto=a,file=a", "\"file\""},
                                         {"trace:a.json", "trace:kineto=trace.json"}};

    for (size_t i = 0; i < COUNT(faults); i++)
        graph_expect_refused(faults[i].text, EMP_EINVAL, faults[i].part);
    (void)graph_load(scratch_print("trace:kineto=%s,step=3", seed()), NULL, NULL);
    graph_expect_refused(scratch_print("trace:kineto=%s,step=4", seed()), EMP_EINVAL,
                         "no step 4; its steps: 3");
}

Test(kineto, faults_are_named)
{
    static const struct {
        const char *from, *to, *part;
    } faults[] = {
        {"\"ts\": 1020", "\"ts\": \"x\"", "event 3, \"cudaLaunchKernel\""},
        {"\"ts\": 1020,", "", "event 3, \"cudaLaunchKernel\""},
        {"\"dur\": 100,", "\"dur\": 1e300,", "event 4, \"void ns::gemm<int>(float*)\""},
        {"\"name\": \"aten::add\",", "", "event 5 has no name"},
    };

    for (size_t i = 0; i < COUNT(faults); i++)
        graph_expect_faults(
            "trace.json",
            &(graph_fault){change(faults[i].from, faults[i].to), faults[i].part}, 1,
            EMP_EFORMAT);
}

Test(kineto, members_of_the_list_that_are_no_events_are_skipped)
{
    emp_graph *plain = graph_load(seed(), NULL, NULL);

    scratch_write_json("trace.json",
                       change("\"ts\": 1000, \"dur\": 1000},",
                              "\"ts\": 1000, \"dur\": 1000}, [1, [\"ph\"]], 7, {},"));
    cr_expect_eq(graph_load(scratch_path("trace.json"), NULL, NULL)->hash, plain->hash);
}

/* A clock of the GPU that is off may let a kernel begin before its launch, which makes no cycle. */
Test(kineto, without_steps_the_whole_trace_is_one)
{
    emp_import_devices devices;

    scratch_write_json("trace.json", change("\"ts\": 1137", "\"ts\": 1001"));
    (void)graph_load(scratch_path("trace.json"), NULL, NULL);
    scratch_write_json("trace.json", change("ProfilerStep#3", "training"));
    emp_graph *g = graph_load(scratch_path("trace.json"), NULL, &devices);
    cr_expect_not_null(strstr(devices.note, "the whole trace"), "%s", devices.note);
    cr_expect_eq(as_it_ran_ns(g, &devices), 1210001);
}

Test(kineto, a_trace_without_kernels_is_a_warning)
{
    static const char text[] = "{'traceEvents':[" STEP(3, 0, 900) "," EVENT(
        "cpu_op", "aten::mm", 10, 500, "'pid':1,'tid':1") "]}";
    emp_import_devices devices;

    scratch_write_json("host.json", text);
    const char *spec = scratch_print("trace:kineto=%s", scratch_path("host.json"));
    for (int i = 0; i < 3; i++) {
        emp_import_notes notes = {0};
        const char *source = i == 0 ? spec : i == 1 ? scratch_path("host.json") : seed();
        (void)graph_load(source, &notes, &devices);
        cr_expect_eq(notes.warning_count, i < 2, "%s", source);
        cr_expect_eq(graph_is_noted(&notes, "no GPU kernels"), i < 2);
        cr_expect_eq(strstr(devices.note, "GPU") == NULL, i < 2, "%s", devices.note);
        emp_import_notes_clear(&notes);
    }
}

Test(kineto, kernels_of_other_accelerators_are_a_warning)
{
    emp_import_notes   notes = {0};
    emp_import_devices devices;

    scratch_write_json("mtia.json",
                       "{'traceEvents':[" STEP(3, 0, 900) "," EVENT(
                           "cpu_op", "aten::mm", 10, 500,
                           "'pid':1,'tid':1") "," EVENT("mtia_ccp_events", "mm", 60, 300,
                                                        "'pid':0,'tid':7") "]}");
    (void)graph_load(scratch_path("mtia.json"), &notes, &devices);
    cr_expect_eq(notes.warning_count, 1);
    cr_expect(graph_is_noted(&notes, "1 event of MTIA or HPU devices in the trace is"));
    emp_import_notes_clear(&notes);
}

/* PyTorch's names of calls for Intel's GPUs and for others' (libkineto/include/ActivityType.h). The kernels of a call that
 * is not known are counted in the warning. */
Test(kineto, calls_of_any_vendor_start_kernels)
{
    static const char text[] =
        "{'traceEvents':[" STEP(3, 0, 900) "," LAUNCH(5, 20) "," KERNEL(5, 40, 700) "]}";
    static const char *const calls[] = {"xpu_runtime", "xpu_driver",
                                        "privateuse1_runtime", "privateuse1_driver",
                                        "unheard_of_runtime"};
    emp_import_devices       devices;

    for (size_t i = 0; i < COUNT(calls); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        const bool is_known = i + 1 < COUNT(calls);
        scratch_write_json("step.json", graph_replace(text, "cuda_runtime", calls[i]));
        (void)graph_load(scratch_path("step.json"), &notes, &devices);
        cr_expect_eq(notes.warning_count, !is_known, "%s", calls[i]);
        cr_expect_eq(graph_is_noted(&notes, "1 kernel of this step of the trace is left"),
                     !is_known, "%s", calls[i]);
        cr_expect_eq(strstr(devices.note, "1 kernel, 0 copies and 0 memsets") != NULL,
                     is_known, "%s", devices.note);
    }
}

Test(kineto, survives_every_allocation_failure)
{
    emp_graph *g = NULL;

    graph_survives(seed());
    SURVIVES_EVERY_ALLOCATION_FAILURE(load_pair(&g, NULL, execution, NULL),
                                      emp_graph_destroy(g));
    emp_graph_destroy(g);
}
