// SPDX-License-Identifier: GPL-3.0-or-later
/* Counts known from other runs of TensorFlow's front end and from the paper, and what a
 * spec may say. */
#include "graphs/workloads/workloads.h"
#include "tests/graphs/graphs.h"
#include "tests/test.h"

TestSuite(workloads, .fini = graph_tear_down);

static int32_t count_nodes(const char *spec) { return graph_build(spec)->op_count; }

Test(workloads, have_the_front_ends_and_the_papers_counts)
{
    static const struct {
        const char *spec;
        int32_t     nodes;
        double      tolerance;
    } cases[] = {
        /* graphs that TensorFlow's front end made with these settings */
        {"inception_v3:fused_bn=1,old_broadcast_grads=0", 13523, 0},
        {"inception_v3:old_broadcast_grads=0", 23603, 0},
        {"resnet:depth=152,fused_bn=0,old_broadcast_grads=0,const_zeros=0", 38327, 0},
        {"resnet:depth=50,old_broadcast_grads=0,const_zeros=0", 7333, 0},
        {"resnet:version=2,old_broadcast_grads=0,const_zeros=0", 22057, 0},
        {"rnnlm:sampled=0,gate_gradients=0,old_broadcast_grads=0", 4264, 0},
        {"rnnlm:gate_gradients=0,old_broadcast_grads=0", 4566, 0},
        {"rnnlm:per_step_softmax=1", 9444, 0},
#define PLAIN "residual=0,bidirectional=0,per_step_softmax=0"
        {"nmt:layers=4," PLAIN, 38755, 0},
        {"nmt:layers=4,residual=1,bidirectional=0,per_step_softmax=0", 41556, 0},
        {"nmt:dropout=1," PLAIN, 28487, 0},
        {"nmt:layers=4,dropout=1," PLAIN, 51259, 0},
        {"nmt:" PLAIN ",gate_gradients=0,old_broadcast_grads=0", 12984, 0},
        /* The paper tells node counts but no settings: the defaults come within a few percent. */
        {"inception_v3", 24713, 0.06},
        {"resnet:depth=152", 20586, 0.06},
        {"rnnlm", 9021, 0.06},
        {"nmt:layers=2", 28044, 0.06},
        {"nmt:layers=4", 46600, 0.06},
        {"nmt:layers=8", 83712, 0.06}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t nodes = count_nodes(cases[i].spec);
        cr_expect_leq(fabs((double)nodes / cases[i].nodes - 1), cases[i].tolerance,
                      "%s: %d nodes, not %d", cases[i].spec, nodes, cases[i].nodes);
    }
}

static void expect_line(const char *rest, int32_t first, int32_t slope)
{
    int32_t before = 0;

    for (int32_t layers = first; layers <= first + 2; layers++) {
        const char *spec = scratch_print("nmt:layers=%d%s", layers, rest);
        int32_t     nodes = count_nodes(spec);
        if (layers > first) {
            cr_expect_eq(nodes - before, slope, "%s: %d more nodes", spec,
                         nodes - before);
        }
        before = nodes;
    }
}

/* 40 steps of two cells; 101 nodes each, 9 less where nothing is added to the input. */
Test(workloads, translation_grows_linearly_with_its_layers)
{
    expect_line(",residual=0,bidirectional=0,per_step_softmax=0", 1, 8260);
    expect_line(",residual=1,bidirectional=0,per_step_softmax=0", 2, 9220);
    expect_line("", 3, 9220);
}

/* The losses of all steps are the inputs of one op. */
Test(workloads, unrolls_over_many_steps)
{
    const char *const few = "rnnlm:layers=1,steps=700,units=8,vocab=10,batch=2,sampled=0",
                      *const many =
                          "rnnlm:layers=1,steps=1400,units=8,vocab=10,batch=2,sampled=0";
    emp_graph *a = graph_build(few), *b = graph_build(many);

    cr_expect_gt(b->op_count, 2 * a->op_count - 1000);
    cr_expect_lt(b->op_count, 2 * a->op_count);
}

Test(workloads, two_builds_are_the_same)
{
    emp_graph *a = graph_build("rnnlm:layers=1,steps=3"),
              *b = graph_build("rnnlm:layers=1,steps=3");

    cr_expect_eq(a->hash, b->hash);
}

Test(workloads, a_step_trains_and_does_not_save)
{
    emp_graph *whole = graph_build("resnet:depth=50,batch=2"), *step = NULL;

    ASSERT_OK(emp_graph_prune(&step, whole, &err));
    cr_expect_eq(graph_count_type(step, "ApplyMomentum"),
                 graph_count_type(whole, "ApplyMomentum"));
    cr_expect_eq(graph_count_type(step, "ApplyMomentum"), 161,
                 "53 + 1 kernels, 106 + 1 vectors");
    cr_expect_eq(graph_count_type(step, "AssignSub"), 106, "two averages per batch norm");
    cr_expect_eq(graph_count_type(step, "SaveV2"), 0);
    cr_expect_eq(graph_count_type(step, "RestoreV2"), 0);
    cr_expect_eq(graph_count_type(step, "Assign"), 0);
    cr_expect_eq(step->unknown_shape_count, 0);
    cr_expect_eq(step->parameter_count, whole->parameter_count);
    emp_graph_destroy(step);
}

/* The counts of slim's resnet_v2_152 from the front end. The layers by hand: 50 units of three
 * convolutions and three batch norms, four projections, first and last convolution, and the
 * last batch norm. */
Test(workloads, resnet_v2_has_batch_norm_before_convolutions)
{
    emp_graph *graph =
        graph_build("resnet:depth=152,version=2,old_broadcast_grads=0,const_zeros=0");

    cr_expect_eq(graph->edge_count + graph->control_edge_count, 34306);
    cr_expect_eq(graph->control_edge_count, 6203);
    cr_expect_eq(llround((double)graph->parameter_count / 1e3), 60239, "%lld",
                 (long long)graph->parameter_count);
    cr_expect_eq(graph_count_type(graph, "Conv2D"), 3 * 50 + 4 + 2);
    cr_expect_eq(graph_count_type(graph, "FusedBatchNorm"), 3 * 50 + 1);
    cr_expect_eq(graph_count_type(graph, "BiasAdd"), 50 + 4 + 2);
    cr_expect_geq(
        emp_graph_find(graph, "resnet_v2_152/block3/unit_36/bottleneck_v2/preact/Relu"),
        0);
}

Test(workloads, the_saver_can_be_left_out)
{
    emp_graph *graph =
        graph_build("nmt:layers=1,steps=2,units=8,vocab=10,batch=2,saver=0");

    cr_expect_eq(graph_count_type(graph, "SaveV2"), 0);
    cr_expect_eq(graph_count_type(graph, "RestoreV2"), 0);
    cr_expect_gt(graph_count_type(graph, "Assign"), 0);
}

/* A layer of the default translator is found by its scope, forward and backward. */
Test(workloads, names_tell_the_layer)
{
    static const char *const names[] = {
        "encoder/bidirectional_rnn/bw/multi_rnn_cell/cell_0/basic_lstm_cell/kernel",
        "encoder/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel",
        "encoder/rnn/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/MatMul_2",
        "decoder/step/step/attention/attention/multi_rnn_cell/cell_1/basic_lstm_cell/"
        "Mul_5",
        "gradients/decoder/step/step/attention/attention/multi_rnn_cell/cell_0/"
        "basic_lstm_cell/MatMul_1_grad/tuple/control_dependency_1",
        "softmax/MatMul_2",
    };
    emp_graph *graph = graph_build("nmt:layers=2,steps=3,units=8,vocab=10,batch=2");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_geq(emp_graph_find(graph, names[i]), 0, "no op %s", names[i]);
}

static int32_t count_forward(const char *attention)
{
    int32_t    nodes = 0;
    emp_graph *graph;

    graph = graph_build(scratch_print(
        "nmt:layers=1,steps=7,units=8,vocab=10,batch=2,optimizer=sgd,saver=0,"
        "attention=%s",
        attention));
    for (emp_op_id op = 0; op < graph->op_count; op++)
        nodes += strncmp(graph->name[op], "gradients/", 10) != 0;
    return nodes;
}

/* The nodes that the Python of contrib.seq2seq makes. A step of Bahdanau's score: MatMul, ExpandDims with
 * its Const, Add, Tanh, Mul, Sum with its Const. Normed: Mul, Square, Const, Sum, Rsqrt, Mul,
 * Add more, and the Const that get_variable() makes of the initial g. Luong: ExpandDims with its
 * Const, BatchMatMul, Squeeze; scaled: Mul and that Const more. A
 * trained variable has 7 nodes of a uniform initialiser, or 3 of zeros, or one number, and 3 of
 * its own; its update is one, its clipping 3 (L2Loss, Mul, Identity). */
Test(workloads, attention_has_the_nodes_of_its_formula)
{
    const int32_t steps = 7, uniform = 10 + 4, zeros = 6 + 4, number = 4 + 4;
    const int32_t bahdanau = count_forward("bahdanau");

    cr_expect_eq(count_forward("normed_bahdanau") - bahdanau, 8 * steps + number + zeros);
    cr_expect_eq(count_forward("luong") - bahdanau, (4 - 8) * steps - 2 * uniform);
    cr_expect_eq(count_forward("scaled_luong") - bahdanau,
                 (6 - 8) * steps - 2 * uniform + number);
}

/* d(v . v) = 2 v grad, once grad is there; the norm is computed at every step. */
Test(workloads, normed_attention_trains_its_norm)
{
    emp_graph *graph = graph_build(
        "nmt:layers=1,steps=3,units=8,vocab=10,batch=2,attention=normed_bahdanau");
    const char square[] =
        "gradients/decoder/step/step/attention/bahdanau_attention/Square_grad/";

    cr_expect_eq(graph_count_type(graph, "RsqrtGrad"), 3);
    const char *name = scratch_print("%smul/x", square);
    emp_op_id   two = emp_graph_find(graph, name);
    cr_assert_geq(two, 0, "no op %s", name);
    cr_expect_eq(graph->control_offset[two + 1] - graph->control_offset[two], 1);
    name = scratch_print("%smul_1", square);
    cr_expect_geq(emp_graph_find(graph, name), 0);
    cr_expect_geq(emp_graph_find(graph, "decoder/step/attention/bahdanau_attention/"
                                        "attention_g/Adam_1"),
                  0);
}

/* Above the third layer GNMT's decoder adds the input without the attention beside it. */
Test(workloads, gnmt_adds_what_the_layer_below_put_out)
{
    emp_graph *graph =
        graph_build("nmt:layers=4,steps=2,units=8,vocab=10,batch=2,architecture=gnmt");

    cr_expect_eq(graph_count_type(graph, "SplitV"), 2 * 2, "two layers, two steps");
    cr_expect_lt(emp_graph_find(graph, "decoder/cell_1/add"), 0);
    emp_op_id sum = emp_graph_find(graph, "decoder/cell_2_1/add");
    cr_assert_geq(sum, 0);
    emp_op_id split = graph->tensor[graph->input[graph->input_offset[sum]]].producer;
    cr_expect_str_eq(graph->name[split], "decoder/cell_2_1/split");
}

Test(workloads, table_has_defaults_in_range)
{
    int32_t             count = 0;
    const emp_workload *table = emp_workload_table(&count);

    cr_assert_geq(count, 4);
    for (int32_t i = 0; i < count; i++) {
        cr_expect(emp_workload_is_spec(table[i].name));
        for (const emp_option *p = table[i].params; p->name != NULL; p++) {
            char value[EMP_OPTION_TEXT_BYTES];
            emp_option_write_default(value, p, 0);
            if (p->kind == EMP_OPTION_INTEGER || p->kind == EMP_OPTION_REAL)
                cr_expect(p->low <= p->preset[0] && p->preset[0] <= p->high, "%s: %s",
                          table[i].name, p->name);
            else
                cr_expect_geq(emp_words_find(p->words, value, strlen(value)), 0);
            cr_expect_not_null(p->help, "%s: %s", table[i].name, p->name);
        }
    }
}

Test(workloads, a_spec_is_no_path)
{
    cr_expect(emp_workload_is_spec("nmt"));
    cr_expect(emp_workload_is_spec("rnnlm:steps=3"));
    cr_expect_not(emp_workload_is_spec("nmt.pb"));
    cr_expect_not(emp_workload_is_spec("./nmt"));
    cr_expect_not(emp_workload_is_spec("nm"));
    cr_expect_not(emp_workload_is_spec(""));
}

Test(workloads, say_what_a_spec_may_be)
{
    static const char *const cases[][2] = {
        {"vgg:batch=1", "no workload \"vgg\"; there are nmt, rnnlm, inception_v3"},
        {"", "no workload \"\""},
        {"resnet:color=3",
         "resnet has no option \"color\"; it has depth, version, batch"},
        {"nmt:layers=0", "option layers is 0, must be a whole number in 1..64"},
        {"nmt:layers=65", "option layers is 65"},
        {"nmt:layers=two", "option layers is two"},
        {"nmt:layers=2x", "option layers is 2x"},
        {"nmt:layers= 2", "option layers is  2"},
        {"nmt:layers=", "option layers has no value"},
        {"nmt:layers", "option layers has no value"},
        {"nmt:layers=99999999999999999999", "option layers is 99999999999999999999"},
        {"nmt:optimizer=lamb", "option optimizer is lamb, must be one of sgd|momentum"},
        {"resnet:depth=60", "resnet: depth=60"},
        {"rnnlm:vocab=100", "rnnlm: sampled=8192 is more than vocab=100"},
        {"giph:v=0", "option v is 0"},
        {"giph:v=501", "option v is 501"},
        {"giph:alpha=0", "option alpha is 0"},
        {"giph:p=1.5", "option p is 1.5"},
        {"giph:seed=-1", "option seed is -1"},
        {"giph:width=3", "\"width\""},
        {"transformer_xl:heads=7", "heads=7 do not divide units=500"},
        {"wavenet:steps=1000", "1023 samples"},
        {"cells:cells=4", "multiple of 3"},
        {"cells:filters=18", "filters=18 is no multiple of 4"},
        {"cells:filters=12", "option filters is 12"},
        {"bert:heads=7", "heads=7 do not divide hidden=768"},
        {"bert:phase=decode", "train|prefill"},
        {"transformer:experts=2,chosen=3", "the experts of a token is 3"},
        {"transformer:heads=4096,hidden=64", "heads=4096 do not divide hidden=64"},
        {"transformer:heads=7", "heads=7 do not divide hidden=768"},
        {"transformer:shared=2", "shared=2 is of layers of experts"},
        {"enas:task=svhn", "cifar10|ptb"},
        /* prompts that cannot be cut */
        {"transformer:phase=train,ubatch=512", "micro-batches"},
        {"transformer:phase=decode,ubatch=512", "micro-batches"},
        {"transformer:phase=prefill,encoder=1,ubatch=512", "micro-batches"},
        {"transformer:phase=prefill,batch=1,seq=65536,ubatch=8", "micro-batches"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *graph = NULL;
        EXPECT_FAILS(emp_workload_build(&graph, cases[i][0], &err), cases[i][1]);
        cr_expect_null(graph);
    }
}

/* Words are sampled by one loss only. */
Test(workloads, a_softmax_for_each_step_takes_any_vocabulary)
{
    emp_graph *graph = NULL;

    ASSERT_OK(emp_workload_build(
        &graph, "rnnlm:vocab=1000,steps=2,batch=2,units=8,per_step_softmax=1", &err));
    emp_graph_destroy(graph);
}

/* Source and target sentences can differ in length; `steps` is both. */
Test(workloads, sentences_have_their_own_lengths)
{
    static const char small[] = "nmt:layers=2,units=8,vocab=10,batch=2,architecture=gnmt";
    int32_t           nodes[2][2];

    for (int32_t source = 0; source < 2; source++)
        for (int32_t target = 0; target < 2; target++) {
            nodes[source][target] = count_nodes(scratch_print(
                "%s,steps=3,src_steps=%d,tgt_steps=%d", small, 3 + source, 3 + target));
        }
    cr_expect_eq(count_nodes(scratch_print("%s,steps=3", small)), nodes[0][0]);
    cr_expect_eq(count_nodes(scratch_print("%s,steps=4", small)), nodes[1][1]);
    cr_expect_gt(nodes[1][0], nodes[0][0]);
    cr_expect_eq(nodes[1][1] - nodes[1][0], nodes[0][1] - nodes[0][0]);
}

/* Between them: all optimizers, dense and sparse; all losses; all kinds of layers. */
Test(workloads, survive_every_allocation_failure)
{
#define TINY "units=8,vocab=10,batch=2"
    static const char *const specs[] = {
        "nmt:layers=1,steps=2," TINY,
        "nmt:layers=2,steps=2,optimizer=rmsprop,dropout=1," TINY,
        "nmt:layers=1,steps=2,bidirectional=0,per_step_softmax=0,optimizer=sgd," TINY,
        "nmt:layers=3,steps=2,architecture=gnmt,attention=normed_bahdanau,optimizer=sgd,"
        "dropout=1," TINY,
        "nmt:layers=1,steps=2,architecture=gnmt_v2,attention=scaled_luong," TINY,
        "nmt:layers=2,steps=2,architecture=gnmt_v2,dynamic=1," TINY,
        "rnnlm:layers=1,steps=2,sampled=3,projection=4," TINY,
        "rnnlm:layers=1,steps=18,sampled=0,optimizer=momentum," TINY,
        "transformer_xl:layers=1,segments=1,dropout=0,saver=0",
        "wavenet:stacks=1,layers=2,steps=64,saver=0",
        "enas:task=ptb,steps=1,saver=0",
        "bert:layers=1",
        "transformer:layers=1,experts=2",
        "giph:v=10"};

    for (size_t i = 0; i < COUNT(specs); i++) {
        emp_graph *graph = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_workload_build(&graph, specs[i], NULL),
                                          cr_assert_null(graph));
        emp_graph_destroy(graph);
    }
}
