// SPDX-License-Identifier: GPL-3.0-or-later
/* Profiles of ONNX Runtime: is each time that of its node, and does the simulated step take the sum? */
#include "base/mem.h"
#include "graphs/import/onnx/model.h"
#include "graphs/import/profiles.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/support/program.h"
#include "tests/test.h"

static void tear_down(void)
{
    program_forget();
    scratch_remove();
    expect_all_freed();
}

TestSuite(onnx_profile, .init = scratch_create, .fini = tear_down);

static char   text[1 << 14];
static size_t text_size;

static void put(const char *cat, const char *name, int ts, int dur, const char *args)
{
    text_size += (size_t)snprintf(
        text + text_size, sizeof text - text_size, "%s",
        scratch_json(scratch_print(",\n{'cat':'%s','pid':5,'dur':%d,'ts':%d,'ph':'X','"
                                   "name':'%s','args':{%s}}",
                                   cat, dur, ts, name, args) +
                     (text_size == 0)));
}

/* Another event of a node: its name, or - for none, the type and the index. */
static void put_node(const char *node, int ts, int dur)
{
    char name[64], type[32], index[8];

    cr_assert_eq(sscanf(node, "%63s %31s %7s", name, type, index), 3, "%s", node);
    const char *args = scratch_print(
        "'op_name':'%s','node_index':'%s','provider':'CPUExecutionProvider'", type,
        index);
    put("Node", scratch_print("%s_kernel_time", name), ts, dur, args);
}

static void put_run(int ts, int dur) { put("Session", "model_run", ts, dur, ""); }

static emp_status load(emp_onnx_profile *profile, emp_error *err)
{
    const char *whole = scratch_print("[%s\n]\n", text);
    text_size = 0;
    return emp_onnx_profile_load(profile, scratch_file("profile.json", whole), err);
}

static void expect_refusal(emp_status status, const char *word)
{
    SCOPED(emp_onnx_profile, emp_onnx_profile_clear) profile = {0};
    emp_error err = {0};

    cr_expect_eq(load(&profile, &err), status, "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, word), "\"%s\" does not say \"%s\"", err.msg,
                       word);
    cr_expect_not_null(strstr(err.msg, "profile.json"), "%s", err.msg);
}

/* Times of the nodes of a model by the profile that was written; returns how many are of none. */
static int32_t match(emp_onnx_node_time *time, const emp_import_node *node, int32_t count)
{
    emp_onnx_profile profile = {0};
    int32_t          unmatched = -1;

    ASSERT_OK(load(&profile, &err));
    ASSERT_OK(emp_onnx_profile_match(time, &unmatched, &profile, node, count, &err));
    emp_onnx_profile_clear(&profile);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return unmatched;
}

/* A profile of one run with these nodes, split by ;: each as put_node() reads it, then the start and the
 * time. */
static void put_nodes(const char *nodes)
{
    for (const char *at = nodes; at != NULL; at = strchr(at, ';')) {
        char node[104];
        int  ts, dur;

        at += *at == ';';
        cr_assert_eq(sscanf(at, " %103[^@]@%d+%d", node, &ts, &dur), 3, "%s", at);
        put_node(node, ts, dur);
    }
    put_run(5, 100);
}

static const emp_import_node three[] = {
    {"conv", "Conv", "conv", -1}, {"", "Relu", "r", -1}, {"act", "HardSwish", "act", -1}};

Test(onnx_profile, the_times_are_those_of_the_median_run)
{
    const int          us[4] = {900, 40, 60, 50};
    emp_onnx_node_time time[3];

    put("Session", "model_loading_uri", 1, 2000, "");
    for (int i = 0; i < 4; i++) {
        put_node("conv Conv 0", 1000 * i, us[i]);
        put_node("Relu_1 Relu 1", 1000 * i + us[i], 7);
        put_node("act HardSwish 2", 1000 * i + us[i] + 8, 3);
        put("Session", "SequentialExecutor::Execute", 1000 * i, us[i] + 11, "");
        put_run(1000 * i, us[i] + 12);
    }
    put_node("conv Conv 0", 9000, 123); /* of a run that did not end */
    cr_expect_eq(match(time, three, 3), 0);
    cr_expect_eq(time[0].us, 50.0, "%g: that of the faster of the middle two",
                 time[0].us);
    cr_expect_eq(time[1].us, 7.0);
    cr_expect_eq(time[2].us, 3.0);
}

Test(onnx_profile, fences_of_older_runtimes_are_not_read)
{
    emp_onnx_node_time time[3];

    put("Node", "conv_fence_before", 10, 5, "'op_name':'Conv'");
    put("Node", "conv_kernel_time", 15, 50, "'op_name':'Conv'");
    put("Node", "conv_fence_after", 65, 6, "'op_name':'Conv'");
    put("Node", "_kernel_time", 75, 8, "'op_name':'Relu'");
    put("Node", "act_kernel_time", 85, 9, "'op_name':'HardSwish'");
    put_run(5, 100);
    cr_expect_eq(match(time, three, 3), 0);
    for (int i = 0; i < 3; i++) cr_expect_eq(time[i].us, i == 0 ? 50.0 : 7.0 + i);
}

static void expect_times(const char *event, const emp_import_node *node, int32_t count,
                         const double *us, int32_t unmatched)
{
    emp_onnx_node_time time[4];

    put_nodes(event);
    cr_expect_eq(match(time, node, count), unmatched);
    for (int32_t i = 0; i < count; i++)
        cr_expect_eq(time[i].us < 0 ? 0 : time[i].us, us[i], "node %d: %g", i,
                     time[i].us);
}

/* Those in the body have the same name. */
Test(onnx_profile, nodes_within_a_loop_are_part_of_its_time)
{
    const emp_import_node nodes[] = {{"conv", "Conv", "conv", -1},
                                     {"loop", "Loop", "loop", -1}};
    static const char     events[] =
        "conv Conv 0 @10+30; conv Conv 0 @41+20; conv Conv 0 @62+20; loop Loop 1 @41+45";

    expect_times(events, nodes, 2, (double[]){30, 45}, 0);
}

Test(onnx_profile, where_indices_do_not_fit_names_and_their_order_do)
{
    const emp_import_node nodes[] = {{"", "Relu", "a", -1},
                                     {"reorder", "Reorder", "b", -1},
                                     {"", "Relu", "c", -1},
                                     {"reorder", "Reorder", "d", -1}};
    static const char events[] = "Relu_9 Relu 9 @10+1; reorder Reorder 3 @20+2; Relu_0 "
                                 "Relu 0 @30+3; reorder Reorder 2 @40+4";
    /* nodes of an optimized model had other indices in the session that saved it */
    static const char optimized[] =
        "act HardSwish 13 @10+1; Relu_1 Relu 1 @20+2; conv Conv 12 @30+3";

    expect_times(events, nodes, 4, (double[]){1, 2, 3, 4}, 0);
    expect_times(optimized, three, 3, (double[]){3, 2, 1}, 0);
}

/* HardSwish is a function: two nodes that the file does not have, with indices behind its own. The copy is behind
 * all others: no node lacks a time. */
Test(onnx_profile, a_function_takes_the_time_of_its_parts)
{
    const emp_import_node nodes[] = {{"conv", "Conv", "conv", -1},
                                     {"act", "HardSwish", "act", -1},
                                     {"shape", "Constant", NULL, -1},
                                     {"end", "Relu", "end", -1}};
    static const char     events[] =
        "conv Conv 0 @10+30; HardSigmoid_4 HardSigmoid 4 @41+20; Mul_5 Mul 5 @62+5; end "
        "Relu 3 @70+2; copy Copy 6 @80+9";

    expect_times(events, nodes, 4, (double[]){30, 25, 0, 11}, 3);
}

/* A kernel of the runtime for several nodes, and a norm that is one op here and two nodes there. */
Test(onnx_profile, fused_nodes_are_groups)
{
    const emp_import_node nodes[] = {{"conv", "Conv", "conv", -1},
                                     {"relu", "Relu", "relu", -1},
                                     {"mean", "ReduceMean", NULL, 3},
                                     {"div", "Div", "div", -1}};
    emp_onnx_node_time    time[4];

    put_nodes("conv_nchwc Conv 7 @10+30; mean ReduceMean 2 @40+4; div Div 3 @50+6");
    cr_expect_eq(match(time, nodes, 4), 1);
    cr_expect_eq(time[0].group, 0);
    cr_expect_eq(time[1].group, 0);
    cr_expect_eq(time[0].us, 30.0);
    cr_expect_eq(time[2].group, 3);
    cr_expect_eq(time[3].us, 10.0);
}

Test(onnx_profile, profiles_that_say_nothing_are_refused)
{
    put_run(0, 10);
    expect_refusal(EMP_EFORMAT, "no event of a node");
    put_node("conv Conv 0", 10, -3);
    expect_refusal(EMP_EFORMAT, "conv_kernel_time");
    put_nodes("conv Conv 0 @10+3");
    put_run(50, 100);
    expect_refusal(EMP_EUNSUPPORTED, "overlap");
    put("Node", "conv_kernel_time", 10, 3, "'provider':'CUDAExecutionProvider'");
    expect_refusal(EMP_EFORMAT, "on the CPU");
}

/* A convolution, a norm of seven nodes, and an LSTM, which is many ops. */
static void write_model(onnx_writer *w)
{
    onnx_text(w, "in x 4,2,64; weight w 1,256,64; weight r 1,256,64;"
                 "m = ReduceMean x axes=-1,; d = Sub x,m");
    onnx_floats(w, "two", "", "2");
    onnx_floats(w, "eps", "", "0.001");
    onnx_text(w, "q = Pow d,two; v = ReduceMean q axes=-1,; e = Add v,eps; s = Sqrt e;"
                 "n = Div d,s; y = LSTM n,w,r hidden_size=64; z = Relu y; out z");
    emp_slice model = onnx_model(w, 14);
    scratch_write("model.onnx", model.data, model.size);
}

Test(onnx_profile, a_step_on_a_cpu_takes_the_sum)
{
    static onnx_writer       w;
    static const char *const types[] = {"ReduceMean", "Sub", "Pow",  "ReduceMean", "Add",
                                        "Sqrt",       "Div", "LSTM", "Relu"};
    char                     command[4 * SCRATCH_PATH_BYTES], folder[SCRATCH_PATH_BYTES];
    emp_onnx_profile         profile = {0};

    write_model(&w);
    for (int i = 0; i < 9; i++) {
        put_node(scratch_print("%s_%d %s %d", types[i], i, types[i], i), 100 + 1000 * i,
                 i == 7 ? 900 : 10 + i);
    }
    put_run(0, 10000);
    cr_assert_eq(load(&profile, NULL), EMP_OK);
    emp_onnx_profile_clear(&profile);
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    snprintf(command, sizeof command,
             "simulate %s/model.onnx -m cpu2 -p cpu -r ideal --no-bound --costs "
             "%s/profile.json",
             folder, folder);
    cr_assert_eq(program_run("cli/emplace", command), 0, "%s", program_err);
    /* 10 + ... + 18 without the LSTM's 17, and 900; the op of a weight has no time. */
    cr_expect_not_null(strstr(program_out, "step time    1.01 ms"), "%s%s", program_out,
                       program_err);
    snprintf(command, sizeof command,
             "simulate rnnlm -m cpu2 -p cpu --costs %s/profile.json", folder);
    cr_expect_neq(program_run("cli/emplace", command), 0);
    cr_expect_not_null(strstr(program_err, "the graph is no ONNX model"), "%s",
                       program_err);
}

/* A matrix product exchanges the first one's dims itself, an op of its own the second one's; the last node keeps
 * all. */
Test(onnx_profile, transposes_and_what_makes_no_op_count)
{
    static onnx_writer w;
    emp_onnx_profile   profile = {0};
    const char        *folder = scratch_path("");

    onnx_text(&w, "in x 4,8,16; t = Transpose x perm=0,2,1,; p = MatMul x,t;"
                  "u = Transpose p perm=0,2,1,; z = Relu u; i = Identity z; out i");
    emp_slice model = onnx_model(&w, 14);
    scratch_write("model.onnx", model.data, model.size);
    put_nodes("Transpose_0 Transpose 0 @10+100; MatMul_1 MatMul 1 @20+300;"
              "Transpose_2 Transpose 2 @30+500; Relu_3 Relu 3 @40+700;"
              "Identity_4 Identity 4 @50+900");
    cr_assert_eq(load(&profile, NULL), EMP_OK);
    emp_onnx_profile_clear(&profile);
    const char *command = scratch_print(
        "simulate %s/model.onnx -m cpu2 -p cpu -r ideal --no-bound -f json --costs "
        "%s/profile.json",
        folder, folder);
    cr_assert_eq(program_run("cli/emplace", command), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "\"step_time_s\": 0.0025,"), "%s%s",
                       program_out, program_err);
}

static emp_status load_and_match(emp_onnx_profile *profile, emp_onnx_node_time *time)
{
    int32_t unmatched;

    EMP_CHECK(emp_onnx_profile_load(profile, scratch_path("profile.json"), NULL));
    return emp_onnx_profile_match(time, &unmatched, profile, three, 3, NULL);
}

Test(onnx_profile, every_allocation_may_fail)
{
    emp_onnx_profile   profile = {0};
    emp_onnx_node_time time[3];

    put_nodes("conv Conv 9 @10+30; act HardSwish 2 @50+6");
    cr_assert_eq(load(&profile, NULL), EMP_OK);
    emp_onnx_profile_clear(&profile);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load_and_match(&profile, time),
                                      emp_onnx_profile_clear(&profile));
    emp_onnx_profile_clear(&profile);
}
