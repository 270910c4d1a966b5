// SPDX-License-Identifier: GPL-3.0-or-later
/* Loops, branches, calls, what is started and ended, and what goes between devices. */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/hlo/sample.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(hlo_control, .init = scratch_create, .fini = graph_tear_down);

#define HEAD "HloModule m, is_scheduled=true\n"
#define SUM                                                                              \
    "%sum {\n%p = f32[] parameter(0)\n%q = f32[] parameter(1)\nROOT %r = f32[] add(%p, " \
    "%q)\n}\n"
#define TEST \
    "%test {\n%s = (s32[], f32[4,4]) parameter(0)\nROOT %c = pred[] constant(true)\n}\n"
/* One product and one sum of numbers in each iteration. */
#define BODY                                                                           \
    "%body {\n%s = (s32[], f32[4,4]) parameter(0)\n"                                   \
    "%n = s32[] get-tuple-element(%s), index=0\n%x = f32[4,4] get-tuple-element(%s), " \
    "index=1\n"                                                                        \
    "%one = s32[] constant(1)\n%m = s32[] add(%n, %one)\n"                             \
    "%y = f32[4,4] dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"  \
    "ROOT %t = (s32[], f32[4,4]) tuple(%m, %y)\n}\n"
#define LOOP(config)                                                                \
    HEAD TEST BODY                                                                  \
        "ENTRY %main {\n%k = s32[] constant(0)\n%x = f32[4,4] parameter(0)\n"       \
        "%t = (s32[], f32[4,4]) tuple(%k, %x)\n"                                    \
        "%w = (s32[], f32[4,4]) while(%t), condition=%test, body=%body" config "\n" \
        "ROOT %r = f32[4,4] get-tuple-element(%w), index=1\n}\n"
#define TRIPS(n) ", backend_config={\"known_trip_count\":{\"n\":\"" n "\"}}"

/* Modules that XLA has not compiled have no known_trip_count: lax.scan and lax.fori_loop are loops by a
 * counter, whose bound stands in the condition or in the state. */
#define UNTIL(bound, direction)                                                        \
    "%test {\n%s = (s32[], f32[4,4]) parameter(0)\n%n = s32[] get-tuple-element(%s), " \
    "index=0\n%e = s32[] constant(" bound ")\nROOT %c = pred[] compare(%n, %e), "      \
    "direction=" direction "\n}\n"
#define COUNTED(test, begin)                                                         \
    HEAD test BODY "ENTRY %main {\n%k = s32[] constant(" begin                       \
                   ")\n%x = f32[4,4] parameter(0)\n"                                 \
                   "%t = (s32[], f32[4,4]) tuple(%k, %x)\n"                          \
                   "%w = (s32[], f32[4,4]) while(%t), condition=%test, body=%body\n" \
                   "ROOT %r = f32[4,4] get-tuple-element(%w), index=1\n}\n"

/* Data may end a loop earlier than its counter, as a decoder that writes at most so many tokens ends when all sequences
 * have ended; nothing but data ends Newton's method, say. */
#define EARLIER                                                                        \
    "%test {\n%s = (s32[], f32[4,4]) parameter(0)\n%n = s32[] get-tuple-element(%s), " \
    "index=0\n%x = f32[4,4] get-tuple-element(%s), index=1\n%e = s32[] constant(6)\n"  \
    "%c = pred[] compare(%n, %e), direction=LT\n%f = f32[] slice(%x)\n"                \
    "%d = pred[] compare(%f, %f), direction=EQ\nROOT %b = pred[] and(%d, %c)\n}\n"
#define BY_DATA                                                               \
    "%test {\n%s = (s32[], f32[4,4]) parameter(0)\n%x = f32[4,4] "            \
    "get-tuple-element(%s), index=1\n%f = f32[] slice(%x)\nROOT %d = pred[] " \
    "compare(%f, %f), direction=EQ\n}\n"

/* An outer loop whose counter is the bound of the inner one, which counts down by 2 in a fusion: 1 + 2 + 3
 * products, and a condition behind a call. */
static const char nested[] =
    HEAD "%less {\n%a = s32[] parameter(0)\n%b = s32[] parameter(1)\n"
         "ROOT %c = pred[] compare(%a, %b), direction=GT\n}\n%down {\n"
         "%a = s32[] parameter(0)\n%two = s32[] constant(2)\n"
         "ROOT %c = s32[] subtract(%a, %two)\n}\n%test.1 {\n%s = (s32[], "
         "f32[4,4]) parameter(0)\n%n = s32[] get-tuple-element(%s), index=0\n"
         "%zero = s32[] constant(0)\nROOT %c = pred[] call(%n, %zero), to_apply=%less\n"
         "}\n%body.1 {\n%s = (s32[], f32[4,4]) parameter(0)\n"
         "%n = s32[] get-tuple-element(%s), index=0\n%x = f32[4,4] "
         "get-tuple-element(%s), index=1\n%m = s32[] fusion(%n), kind=kLoop, "
         "calls=%down\n%y = f32[4,4] dot(%x, %x), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}\nROOT %t = (s32[], f32[4,4]) tuple(%m, %y)\n}\n"
         "%test.2 {\n%s = (f32[4,4], (s64[], s64[])) parameter(0)\n"
         "%p = (s64[], s64[]) get-tuple-element(%s), index=1\n"
         "%n = s64[] get-tuple-element(%p), index=0\n%e = s64[] get-tuple-element(%p), "
         "index=1\nROOT %c = pred[] compare(%n, %e), direction=LT\n}\n%body.2 {\n"
         "%s = (f32[4,4], (s64[], s64[])) parameter(0)\n%x = f32[4,4] "
         "get-tuple-element(%s), index=0\n%p = (s64[], s64[]) get-tuple-element(%s), "
         "index=1\n%n = s64[] get-tuple-element(%p), index=0\n"
         "%e = s64[] get-tuple-element(%p), index=1\n%one = s64[] constant(1)\n"
         "%m = s64[] add(%n, %one)\n%i = s32[] convert(%m)\n%two = s32[] constant(2)\n"
         "%d = s32[] multiply(%i, %two)\n%t = (s32[], f32[4,4]) tuple(%d, %x)\n"
         "%w = (s32[], f32[4,4]) while(%t), condition=%test.1, body=%body.1\n"
         "%y = f32[4,4] get-tuple-element(%w), index=1\n%q = (s64[], s64[]) tuple(%m, "
         "%e)\nROOT %r = (f32[4,4], (s64[], s64[])) tuple(%y, %q)\n}\nENTRY %main {\n"
         "%x = f32[4,4] parameter(0)\n%k = s64[] constant(0)\n%e = s64[] constant(3)\n"
         "%p = (s64[], s64[]) tuple(%k, %e)\n%t = (f32[4,4], (s64[], s64[])) tuple(%x, "
         "%p)\n%w = (f32[4,4], (s64[], s64[])) while(%t), condition=%test.2, "
         "body=%body.2\nROOT %r = f32[4,4] get-tuple-element(%w), index=0\n}\n";

Test(hlo_control, loops_have_as_many_bodies_as_iterations)
{
    static const struct {
        const char *text;
        int         iterations;
        const char *assumed;
    } cases[] = {{LOOP(TRIPS("25")), 25, NULL},
                 {COUNTED(UNTIL("32", "LT"), "0"), 32, NULL},
                 {COUNTED(UNTIL("32", "LE"), "30"), 3, NULL},
                 {COUNTED(UNTIL("-1", "LT"), "-4"), 3, NULL},
                 {COUNTED(UNTIL("7", "NE"), "0"), 7, NULL},
                 {COUNTED(UNTIL("0", "LT"), "0"), 0, NULL},
                 {COUNTED(EARLIER, "0"), 6, "w has all of its 6 iterations"},
                 {COUNTED(BY_DATA, "0"), 1, "w has one iteration"},
                 {nested, 1 + 2 + 3, NULL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_graph *g = hlo_graph(cases[i].text, &notes);
        cr_expect_eq(graph_class_flops(g, EMP_OP_GEMM),
                     cases[i].iterations * 2.0 * 4 * 4 * 4, "case %zu: %g", i,
                     graph_class_flops(g, EMP_OP_GEMM));
        if (cases[i].assumed != NULL) cr_expect(graph_is_noted(&notes, cases[i].assumed));
    }
}

Test(hlo_control, iterations_read_those_before)
{
    emp_graph *g = hlo_graph(LOOP(TRIPS("25")), NULL);

    cr_expect_eq(g->op_count, 3 + 25 * 2, "a parameter, two constants, and %d",
                 g->op_count);
    graph_expect_reads(g, "w.0/y<x w.24/y<w.23/y");
    cr_expect(g->is_target[graph_find(g, "w.24/y")]);
    g = hlo_graph(LOOP(TRIPS("0")), NULL);
    cr_expect(g->is_target[graph_find(g, "x")]);
    /* of two loops that data end one must not use up what the other needs */
    g = hlo_graph(
        graph_replace(COUNTED(BY_DATA, "0"), "ROOT %r = f32[4,4] get-tuple-element(%w)",
                      "%v = (s32[], f32[4,4]) while(%w), condition=%test, body=%body\n"
                      "ROOT %r = f32[4,4] get-tuple-element(%v)"),
        NULL);
    cr_expect(graph_reads(g, "v.0/y", "w.0/y"));
}

Test(hlo_control, loops_that_cannot_be_read_are_refused)
{
    static const graph_fault endless[] = {
        {LOOP(""), "w has no known_trip_count"},
        {LOOP(", backend_config={\"other\":1}"), "known_trip_count"},
        {LOOP(TRIPS("-3")), "known_trip_count"},
        {COUNTED(UNTIL("0", "GE"), "0"), "known_trip_count"},
        {HEAD TEST
         "%body {\n%a = f32[] parameter(0)\nROOT %b = f32[] negate(%a)\n}\n"
         "ENTRY %main {\n%k = s32[] constant(0)\n%x = f32[4,4] parameter(0)\n"
         "%t = (s32[], f32[4,4]) tuple(%k, %x)\n"
         "ROOT %w = (s32[], f32[4,4]) while(%t), condition=%test, body=%body" TRIPS(
             "2") "\n}\n",
         "operands of w"}};
    char text[8192] =
        HEAD "%test {\n%s = (f32[]) parameter(0)\nROOT %c = pred[] constant(true)\n}\n"
             "%b0 {\nROOT %s = (f32[]) parameter(0)\n}\n";

    graph_expect_faults("module.txt", endless, COUNT(endless), EMP_EFORMAT);
    /* 2^40 runs of an empty body: no ops, and yet no end */
    for (int i = 1; i <= 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%%b%d {\n%%s = (f32[]) parameter(0)\nROOT %%w = (f32[]) while(%%s), "
                 "condition=%%test, body=%%b%d" TRIPS("4") "\n}\n",
                 i, i - 1);
    strcat(text, "ENTRY %main {\n%s = (f32[]) parameter(0)\nROOT %w = (f32[]) while(%s), "
                 "condition=%test, body=%b20" TRIPS("4") "\n}\n");
    const graph_fault large[] = {{LOOP(TRIPS("1000000000000")), "more ops than are read"},
                                 {text, "more ops than are read"}};
    graph_expect_faults("module.txt", large, COUNT(large), EMP_EUNSUPPORTED);
}

/* XLA has folded what it folds: a buffer that it fills with zeros in each step is a kernel and has memory. */
Test(hlo_control, what_a_compiled_module_makes_of_constants_runs)
{
    static const char *const heads[] = {HEAD, "HloModule m\n"};

    for (int i = 0; i < 2; i++) {
        emp_graph *g = hlo_graph(
            scratch_print(
                "%sENTRY %%main {\n%%k = f32[] constant(0)\n"
                "%%n = f32[] negate(%%k)\n"
                "%%b = f32[8,16] broadcast(%%n), dimensions={}\n"
                "%%x = f32[1,16] parameter(0)\n%%i = s32[] parameter(1)\n"
                "ROOT %%u = f32[8,16] dynamic-update-slice(%%b, %%x, %%i, %%i)\n"
                "}\n",
                heads[i]),
            NULL);
        cr_expect(g->op[graph_find(g, "n")].is_folded);
        cr_expect_eq(g->op[graph_find(g, "b")].is_folded, i == 1);
        cr_expect_eq(hlo_cost(g, "b")->bytes_written, 4 * 8 * 16);
    }
}

/* More instructions count only where FLOPs are as many, and a product in a fusion is more work than three passes. */
Test(hlo_control, a_conditional_takes_the_branch_with_the_most_work)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    emp_graph *g = hlo_graph(
        HEAD "%short {\nROOT %a = f32[4] parameter(0)\n}\n%long {\n"
             "%a = f32[9] parameter(0)\nROOT %b = f32[4] slice(%a), slice={[0:4]}\n}\n"
             "ENTRY %main {\n%i = s32[] parameter(0)\n%x = f32[4] parameter(1)\n"
             "%y = f32[9] parameter(2)\nROOT %c = f32[4] conditional(%i, %x, %y), "
             "branch_computations={%short, %long}\n}\n",
        &notes);
    cr_expect(graph_is_noted(&notes, "c takes the branch with the most work, long"));
    cr_expect(graph_reads(g, "c/b", "y"));
    g = hlo_graph(
        HEAD "%product {\n%a = f32[8,8] parameter(0)\nROOT %d = f32[8,8] dot(%a, %a), "
             "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n%big {\n"
             "%a = f32[8,8] parameter(0)\nROOT %f = f32[8,8] fusion(%a), kind=kOutput, "
             "calls=%product\n}\n%small {\n%a = f32[8,8] parameter(0)\n"
             "%b = f32[8,8] negate(%a)\n%c = f32[8,8] abs(%b)\n"
             "ROOT %d = f32[8,8] add(%c, %a)\n}\nENTRY %main {\n"
             "%p = pred[] parameter(0)\n%x = f32[8,8] parameter(1)\n"
             "ROOT %c = f32[8,8] conditional(%p, %x, %x), true_computation=%small, "
             "false_computation=%big\n}\n",
        NULL);
    cr_expect_eq(graph_class_flops(g, EMP_OP_GEMM), 2.0 * 8 * 8 * 8);
}

Test(hlo_control, calls_and_starts_run_in_their_place)
{
    emp_graph *g = hlo_graph(
        HEAD "%twice {\n%a = f32[4] parameter(0)\nROOT %b = f32[4] add(%a, %a)\n}\n"
             "ENTRY %main {\n%x = f32[4] parameter(0)\n%c = f32[4] call(%x), "
             "to_apply=%twice\n%s = ((f32[4]), f32[4], u32[]) async-start(%c), "
             "calls=%twice\n%u = ((f32[4]), f32[4], u32[]) async-update(%s)\n"
             "%d = f32[4] async-done(%u)\n%k = (f32[4]{0:S(5)}, f32[4], "
             "u32[]) copy-start(%d)\n%l = f32[4]{0:S(5)} copy-done(%k)\n"
             "%f = ((f32[4]), f32[4], u32[]) fusion-start(%l), kind=kLoop, "
             "calls=%twice\nROOT %e = f32[4] fusion-done(%f)\n}\n",
        NULL);

    cr_expect_eq(g->op_count, 5);
    graph_expect_reads(g, "s/b<c/b k<s/b f<k");
    cr_expect_eq(hlo_cost(g, "k")->bytes_read, 16);
    cr_expect_eq(hlo_cost(g, "k")->bytes_written, 16);
    cr_expect_str_eq(graph_type(g, "k"), "hlo.copy");
    cr_expect_eq(hlo_cost(g, "f")->bytes_written, 16);
}

static void expect_part(const emp_graph *g, const char *name, emp_collective op,
                        int32_t ranks, int64_t bytes)
{
    const emp_collective_part *part = &g->collective[graph_find(g, name)];

    cr_expect_eq(part->op, op, "%s", name);
    cr_expect_eq(part->ranks, ranks, "%s: %d", name, part->ranks);
    cr_expect_eq(part->bytes, bytes, "%s", name);
}

/* Groups of a list, of a shape, and all devices. */
Test(hlo_control, collectives_have_ranks_and_the_others_are_told)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    emp_graph *g = hlo_graph(
        "HloModule m, is_scheduled=true, num_partitions=4\n" SUM
        "ENTRY %main {\n%x = f32[8] parameter(0)\n%r = f32[8] all-reduce-start(%x), "
        "replica_groups=[4,2]<=[8], to_apply=%sum\n%s = f32[8] all-reduce-done(%r)\n"
        "%g = (f32[8], f32[32]) all-gather-start(%s), replica_groups={{0,1,2,3},{4,5,6,"
        "7}}, dimensions={0}\n%h = f32[32] all-gather-done(%g)\n"
        "%c = f32[8] reduce-scatter(%h), replica_groups={}, dimensions={0}, "
        "to_apply=%sum\nROOT %p = f32[8] collective-permute(%c), "
        "source_target_pairs={{0,1},{1,0}}\n}\n",
        &notes);
    cr_expect_eq(g->op_count, 5);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(hlo_cost(g, "g")->bytes_read, 32);
    cr_expect_eq(hlo_cost(g, "g")->bytes_written, 128);
    cr_expect_eq(hlo_cost(g, "c")->bytes_read, 128);
    cr_expect_eq(hlo_cost(g, "r")->op_class, EMP_OP_MOVEMENT);
    expect_part(g, "r", EMP_COLLECTIVE_ALL_REDUCE, 2, 32);
    expect_part(g, "g", EMP_COLLECTIVE_ALL_GATHER, 4, 128);
    expect_part(g, "c", EMP_COLLECTIVE_REDUCE_SCATTER, 4, 128);
    expect_part(g, "p", EMP_COLLECTIVE_ALL_REDUCE, 0, 0);
    cr_expect(graph_is_noted(&notes, "the other ranks of all-reduce and its like begin"));
    cr_expect(graph_is_noted(
        &notes, "collective-permute and its like are copies within a device"));
    cr_expect(graph_is_noted(&notes, "the program of one of 4 devices"));
}

/* XLA's operation semantics: without a channel groups are of replicas, with one of replicas in all their partitions. */
Test(hlo_control, collectives_without_groups_have_all_replicas_or_all_devices)
{
    static const struct {
        const char *module, *attributes;
        int32_t     ranks;
    } cases[] = {
        {"replica_count=2", "replica_groups={}", 2},
        {"replica_count=2, num_partitions=4", "replica_groups={}", 2},
        {"replica_count=2, num_partitions=4", "channel_id=1, replica_groups={}", 8},
        {"num_partitions=4", "channel_id=1, replica_groups={{0}}", 4},
        {"replica_count=2, num_partitions=4", "channel_id=1, replica_groups={{0,1}}", 8},
        {"num_partitions=4",
         "channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true", 2},
        {"is_scheduled=true", "replica_groups={}", EMP_RANKS_ALL},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_graph *g = hlo_graph(
            scratch_print("HloModule m, %s\n%sENTRY %%main {\n%%x = f32[8] parameter(0)\n"
                          "ROOT %%r = f32[8] all-reduce(%%x), %s, to_apply=%%sum\n}\n",
                          cases[i].module, SUM, cases[i].attributes),
            &notes);
        expect_part(g, "r", EMP_COLLECTIVE_ALL_REDUCE, cases[i].ranks, 32);
        cr_expect_eq(graph_is_noted(&notes, "the program of one of"),
                     i + 1 < COUNT(cases));
    }
}

Test(hlo_control, a_module_that_is_not_compiled_is_read_and_told)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    emp_graph *g = hlo_graph("HloModule m\nENTRY main {\nx = f32[8]{0} parameter(0)\n"
                             "y = f32[8]{0} frobnicate(f32[8]{0} x)\n"
                             "ROOT z = f32[8]{0} add(f32[8]{0} x, f32[8]{0} y)\n}\n",
                             &notes);
    cr_expect(graph_is_noted(&notes, "XLA has not compiled the module"));
    cr_expect(graph_is_noted(&notes, "the opcode \"frobnicate\" is not known"));
    cr_expect_eq(g->unknown_op_count, 1);
}

/* XLA's Layout::kHostMemorySpace is 5; 1 is memory of the device. */
Test(hlo_control, tensors_in_host_memory_are_told)
{
    for (int space = 1; space <= 5; space += 4) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        (void)hlo_graph(scratch_print("HloModule m, is_scheduled=true\nENTRY %%main {\n"
                                      "%%x = f32[8]{0:S(%d)} parameter(0)\n"
                                      "ROOT %%y = f32[8]{0} negate(%%x)\n}\n",
                                      space),
                        &notes);
        cr_expect_eq(graph_is_noted(&notes, "in host memory"), space == 5);
    }
}

#define N_BYTES (1048576 * (int64_t)sizeof(float))
#define F32     "f32[1048576]{0}"

/* Ops that form a chain, and two that could run at once but come late in the schedule. Beside the two arguments, which are there
 * all the time, no more than three tensors are: two operands and a result. */
Test(hlo_control, instructions_run_as_they_are_scheduled)
{
    hlo_graph("HloModule m, is_scheduled=true\nENTRY %main {\n"
              "%m = " F32 " parameter(0)\n%x = " F32 " parameter(1)\n"
              "%a = " F32 " exponential(%x)\n%b = " F32 " exponential(%a)\n"
              "%c = " F32 " exponential(%b)\n%d = " F32 " negate(%m)\n"
              "%f = " F32 " add(%d, %c)\n%g = " F32 " cosine(%m)\n"
              "ROOT %e = " F32 " add(%f, %g)\n}\n",
              NULL);
    OWN_TASK t = {0};

    task_create(&t, scratch_path("module.txt"), "h200x8", "torch-eager");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = 1;
    emp_sim_result r = task_run(&t);
    cr_expect_eq(r.peak_bytes[1], 5 * N_BYTES, "%lld", (long long)r.peak_bytes[1]);
}

/* A branch that is not taken has arguments, too: of 4 and of 1024 numbers, an index and the result. */
Test(hlo_control, arguments_of_other_branches_are_in_memory)
{
    emp_graph *g = hlo_graph(
        "HloModule m, is_scheduled=true\n"
        "%one {\n%p = f32[1024] parameter(0)\nROOT %q = f32[1024] copy(%p)\n}\n"
        "%two {\n%p = f32[1024] parameter(0)\nROOT %q = f32[1024] exponential(%p)\n}\n"
        "ENTRY %main {\n%i = pred[] parameter(0)\n%w = f32[1024] parameter(1)\n"
        "%x = f32[1024] parameter(2)\nROOT %c = f32[1024] conditional(%i, %w, %x), "
        "true_computation=%one, false_computation=%two\n}\n",
        NULL);

    cr_expect_eq(g->op[graph_find(g, "w")].persistent_bytes, 4096);
    cr_expect_eq(g->op[graph_find(g, "i")].persistent_bytes, 1);
}

/* One kernel writes w and its momentum m; another one b, in a view; x is fed. */
Test(hlo_control, donated_parameters_are_kept_and_written_in_place)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    emp_graph *g = hlo_graph(
        "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, "
        "may-alias), {2}: (1, {}, may-alias), {3}: (3, {}) }\n%both {\n"
        "%w = f32[4,4] parameter(0)\n%m = f32[4,4] parameter(1)\n"
        "%g = f32[4,4] parameter(2)\n%n = f32[4,4] add(%m, %g)\n"
        "%v = f32[4,4] subtract(%w, %n)\nROOT %t = (f32[4,4], f32[4,4]) tuple(%v, "
        "%n)\n}\nENTRY %main {\n%w = f32[4,4] parameter(0)\n"
        "%m = f32[4,4] parameter(1)\n%x = f32[4,4] parameter(2)\n"
        "%b = f32[16] parameter(3)\n%y = f32[4,4] dot(%x, %w), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "%f = (f32[4,4], f32[4,4]) fusion(%w, %m, %y), kind=kLoop, calls=%both\n"
        "%v = f32[4,4] get-tuple-element(%f), index=0\n%n = f32[4,4] "
        "get-tuple-element(%f), index=1\n%a = f32[16] negate(%b)\n"
        "%c = f32[16] bitcast(%a)\nROOT %t = (f32[4,4], f32[4,4], f32[4,4], "
        "f32[16]) tuple(%v, %y, %n, %c)\n}\n",
        &notes);
    cr_expect(graph_is_noted(&notes, "of its 4 parameters 3 are given back in place"));
    emp_op_id w = graph_find(g, "w"), m = graph_find(g, "m"), b = graph_find(g, "b");
    emp_op_id f = graph_find(g, "f"), x = graph_find(g, "x"), y = graph_find(g, "y");
    cr_expect_str_eq(graph_type(g, "w"), "hlo.state");
    cr_expect_str_eq(graph_type(g, "x"), "hlo.parameter");
    cr_expect(g->op[w].persistent_bytes == 64 && g->op[m].persistent_bytes == 64 &&
              g->op[b].persistent_bytes == 64 && g->op[x].persistent_bytes == 64);
    cr_expect((g->op[x].flags & EMP_OP_FEED) != 0 && (g->op[w].flags & EMP_OP_FEED) == 0);
    cr_expect_eq(g->tensor[g->output_offset[f]].bytes, 0, "written where w is");
    cr_expect_eq(g->tensor[g->output_offset[f] + 1].bytes, 0);
    cr_expect_eq(g->tensor[g->output_offset[y]].bytes, 64);
    cr_expect(graph_is_bound(g, "f", "w") && graph_is_bound(g, "f", "m") &&
              graph_is_bound(g, "a", "b"));
    cr_expect(!graph_is_bound(g, "b", "w") && !graph_is_bound(g, "y", "w"));
    cr_expect(graph_waits(g, "f", "y"), "what reads the old w comes first");
}

/* Numbers that are none, results and parameters that are not there, a parameter twice. */
Test(hlo_control, aliases_of_nothing_are_no_states)
{
    static const char *const aliases[] = {"{ {0}: (7, {}) }",
                                          "{ {9}: (0, {}) }",
                                          "{ {x}: (0, {}) }",
                                          "{ {0}: (0, {1}) }",
                                          "{ {0}: (99999999999999999999, {}) }",
                                          "{{0}:}",
                                          "{ {0, 1}: (0, {}) }"};

    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        emp_graph *g = hlo_graph(
            scratch_print(
                "HloModule t, input_output_alias=%s\nENTRY e {\na = f32[2] parameter(0)\n"
                "b = f32[2] abs(a)\nROOT r = (f32[2]) tuple(b)\n}\n",
                aliases[i]),
            NULL);
        cr_expect_str_eq(graph_type(g, "a"), "hlo.parameter", "%s", aliases[i]);
    }
}
