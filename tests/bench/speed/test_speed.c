// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the updates that `emplace bench policy` times come out the same on any
 * number of threads, and are its figures whole? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/speed/limit.h"
#include "bench/speed/speed.h"
#include "tests/support/survive.h"

static bool has_one_width(emp_stand_kind kind)
{
    return kind == EMP_STAND_DOPPLER || kind == EMP_STAND_HSDAG;
}

static bool has_few_nodes(emp_stand_kind kind)
{
    return kind == EMP_STAND_GO || kind == EMP_STAND_HSDAG;
}

/* Hidden units that make panels and vectors incomplete. */
static emp_stand_params small(emp_stand_kind kind)
{
    return (emp_stand_params){.kind = kind,
                              .hidden = has_one_width(kind) ? 13 : 210,
                              .samples = 5,
                              .groups = 21,
                              .ops = has_few_nodes(kind) ? 90 : 700,
                              .threads = 7,
                              .seed = 3};
}

Test(stand, threads_do_not_change_an_update)
{
    for (int kind = 0; kind < EMP_STAND_COUNT; kind++) {
        const emp_stand_params network = small((emp_stand_kind)kind);
        for (int32_t threads = 2; threads <= 7; threads += 5) {
            emp_stand alone, together;
            cr_assert_eq(emp_stand_init(&alone, &network, NULL), EMP_OK);
            cr_assert_eq(emp_stand_init(&together, &network, NULL), EMP_OK);
            for (int update = 0; update < 3; update++) {
                double loss = emp_stand_update(&alone, 1);
                cr_expect(loss == emp_stand_update(&together, threads));
            }
            const emp_params *a = emp_stand_parameters(&alone);
            const emp_params *b = emp_stand_parameters(&together);
            cr_expect_eq(memcmp(a->value, b->value, a->count * sizeof *a->value), 0,
                         "%s on %d threads", emp_stand_name(network.kind), threads);
            emp_stand_clear(&alone);
            emp_stand_clear(&together);
        }
    }
}

Test(stand, every_failed_allocation_is_reported_and_freed)
{
    for (int kind = 0; kind < EMP_STAND_COUNT; kind++) {
        const emp_stand_params network = small((emp_stand_kind)kind);
        emp_stand              stand;
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_stand_init(&stand, &network, NULL),
                                          emp_stand_clear(&stand));
        emp_stand_clear(&stand);
    }
}

Test(limit, every_failed_allocation_is_reported_and_freed)
{
    const emp_stand_work work = {1e9, {{1e5, 10, 1}, {2e5, 10, 4}}};
    double               limit_s = 0;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_limit_measure(&limit_s, &work, 1, NULL), );
    cr_expect_gt(limit_s, 0);
}

Test(stand, work_is_that_of_the_products)
{
    emp_stand_params network = small(EMP_STAND_GROUPER);
    emp_stand        stand;

    /* Forward and two gradients of 64 x 21, and one less of 36 x 64. */
    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    emp_stand_work work = emp_stand_work_of(&stand);
    cr_expect_float_eq(emp_stand_flops(&work), 700.0 * 2 * (3 * 64 * 21 + 2 * 36 * 64),
                       1);
    cr_expect_float_eq(emp_stand_stream_bytes(&work), 0, 0);
    emp_stand_clear(&stand);
}

/* Every update moves the weights, towards what was drawn if that was good. */
Test(stand, learners_descend)
{
    static const emp_stand_kind kinds[] = {EMP_STAND_GO, EMP_STAND_PLACETO,
                                           EMP_STAND_DOPPLER, EMP_STAND_HSDAG,
                                           EMP_STAND_GIPH};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const emp_stand_params network = small(kinds[i]);
        emp_stand              stand;
        cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
        if (kinds[i] == EMP_STAND_GO)
            for (int32_t k = 0; k < network.samples; k++) stand.go.advantage[k] = 1;
        double first = emp_stand_update(&stand, 1), last = first;
        for (int update = 0; update < 5; update++) last = emp_stand_update(&stand, 1);
        cr_expect_lt(last, first, "%s", emp_stand_name(kinds[i]));
        emp_stand_clear(&stand);
    }
}

Test(stand, work_of_learners_is_that_of_their_maps)
{
    emp_stand_params network = small(EMP_STAND_PLACETO);
    emp_stand        stand;

    /* 21 steps, each twice forward and with two gradients: 9 x 9 maps of 21 groups, 3 and 8 times
     * 4 each way; 18 x 18 maps, two of the groups and two of one, for three relations; the head. */
    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    emp_stand_work work = emp_stand_work_of(&stand);
    cr_expect_float_eq(
        emp_stand_flops(&work),
        2.0 * 21 * 4 *
            (21 * (67 * 81 + 6 * 324) + 6 * 324 + 72 * 144 + 144 * 72 + 72 * 4),
        1);
    emp_stand_clear(&stand);
    network = small(EMP_STAND_GO);
    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    work = emp_stand_work_of(&stand);
    cr_expect_gt(emp_stand_flops(&work),
                 90.0 * 4 * 3 * (double)stand.go.net.params.count);
    emp_stand_clear(&stand);
}

Test(stand, work_of_graph_networks_is_that_of_their_maps)
{
    emp_stand_params network = small(EMP_STAND_HSDAG);
    emp_stand        stand;

    /* Five steps, each twice forward and with two gradients. All that are not pooled: two maps in,
     * two convolutions and an edge's score a set, four maps out. */
    network.ops = 1;
    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    emp_stand_update(&stand, 1);
    emp_stand_work work = emp_stand_work_of(&stand);
    cr_expect_float_eq(emp_stand_flops(&work),
                       2.0 * 5 * 4 * (10 * 13 + 169 + 169 + 2 * 13 * 10 + 13 * 4), 1);
    emp_stand_clear(&stand);
    network = small(EMP_STAND_GIPH);
    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    work = emp_stand_work_of(&stand);
    const double pairs = stand.giph.world.pair_count, links = stand.giph.world.link_count;
    cr_expect_float_eq(emp_stand_flops(&work),
                       2.0 * stand.giph.moves *
                           (2 * (pairs * 25 + links * 100) +
                            3 * (pairs * (25 + 100 + 160 + 16) + links * 100)),
                       1);
    emp_stand_clear(&stand);
}

/* The choices that are told to a peer are legal: each node is selected once, when it is ready, and
 * gets a device that it may use. */
Test(stand, episodes_of_doppler_select_every_node_once)
{
    const emp_stand_params network = small(EMP_STAND_DOPPLER);
    emp_stand              stand;

    cr_assert_eq(emp_stand_init(&stand, &network, NULL), EMP_OK);
    const emp_stand_doppler *s = &stand.doppler;
    const int32_t            nodes = s->agent.scene.graph->node_count;
    for (int32_t k = 0; k < network.samples; k++) {
        uint64_t seen = 0;
        for (int32_t t = 0; t < nodes; t++) {
            const int64_t at = (int64_t)k * nodes + t;
            const int32_t node =
                s->ready[at * s->most_ready + s->choice[EMP_DOPPLER_SELECTOR][at]];
            const int32_t device =
                s->candidate[at * EMP_STAND_DEVICES + s->choice[EMP_DOPPLER_PLACER][at]];
            cr_assert(node >= 0 && node < nodes && (seen >> node & 1) == 0);
            cr_expect(s->agent.scene.graph->devices[node] >> device & 1);
            seen |= UINT64_C(1) << node;
        }
    }
    emp_stand_clear(&stand);
}

static emp_speed_params tiny(void)
{
    return (emp_speed_params){.networks = 3,
                              .hidden = {12},
                              .hidden_count = 1,
                              .samples = {1, 3},
                              .samples_count = 2,
                              .threads = {1, 2},
                              .threads_count = 2,
                              .groups = 8,
                              .ops = 300,
                              .nodes = 40,
                              .sets = 30,
                              .steps = 6,
                              .repeats = 4,
                              .seed = 1};
}

static void check_prints(const emp_speed_report *report, const char *wanted)
{
    emp_sheet sheet;
    char     *text = NULL;
    size_t    size = 0;
    FILE     *stream = open_memstream(&text, &size);

    emp_speed_tabulate(&sheet, report);
    cr_assert_eq(emp_sheet_print(stream, &sheet, EMP_SHEET_TEXT, NULL), EMP_OK);
    cr_assert_eq(emp_sheet_print(stream, &sheet, EMP_SHEET_CSV, NULL), EMP_OK);
    fclose(stream);
    cr_expect_not_null(strstr(text, wanted), "no %s in\n%s", wanted, text);
    free(text);
    json_t *rows = emp_sheet_rows(&sheet);
    cr_expect_eq(json_array_size(rows), (size_t)report->row_count);
    json_decref(rows);
    emp_sheet_clear(&sheet);
}

Test(speed, rows_are_whole_without_a_peer)
{
    static emp_speed_report report;
    const emp_speed_params  params = tiny();

    cr_assert_eq(emp_speed_measure(&report, &params, NULL), EMP_OK);
    cr_assert_eq(report.row_count, 6, "a grouper and two placers on 1 and 2 threads");
    for (int32_t i = 0; i < report.row_count; i++) {
        const emp_speed_row *row = &report.row[i];
        cr_expect(row->ours_s.count == 4 && row->ours_s.median > 0);
        cr_expect(row->flops > 0 && row->limit_s > 0 && isnan(row->disagreement));
        cr_expect_eq(row->ratio.count, 0);
    }
    check_prints(&report, "placer,12,3,8,300,2,4,");
    report.torch_is_absent = true;
    check_prints(&report, "install python3-torch");
    report.row[0].disagreement = 0.5;
    check_prints(&report, "losses differ");
}

Test(speed, learners_have_rows_with_their_sizes)
{
    static emp_speed_report report;
    emp_speed_params        params = tiny();

    params.networks = ((1u << EMP_STAND_COUNT) - 1) &
                      ~(1u << EMP_STAND_PLACER | 1u << EMP_STAND_GROUPER);
    params.threads_count = 1;
    params.repeats = 1;
    cr_assert_eq(emp_speed_measure(&report, &params, NULL), EMP_OK);
    cr_assert_eq(report.row_count, 5);
    for (int32_t i = 0; i < report.row_count; i++)
        cr_expect(report.row[i].ours_s.median > 0 && report.row[i].flops > 0);
    check_prints(&report, "go,512,64,0,40,1,1,");
    check_prints(&report, "placeto,144,1,6,0,1,1,");
    check_prints(&report, "doppler,128,8,6,0,1,1,");
    check_prints(&report, "hsdag,128,20,0,30,1,1,");
    check_prints(&report, "giph,16,1,6,0,1,1,");
}

Test(speed, more_steps_than_a_network_is_timed_with_are_refused)
{
    static emp_speed_report report;
    emp_speed_params        params = tiny();
    emp_error               err = {0};

    params.steps = EMP_STAND_GIPH_NODES + 1;
    params.networks = 1u << EMP_STAND_GIPH;
    cr_expect_eq(emp_speed_measure(&report, &params, &err), EMP_EINVAL);
    cr_expect_str_eq(err.msg, "giph is timed with at most 64 steps, not with 65");
    err = (emp_error){0};
    params.networks = 1u << EMP_STAND_DOPPLER;
    params.steps = EMP_STAND_DOPPLER_NODES + 1;
    cr_expect_eq(emp_speed_measure(&report, &params, &err), EMP_EINVAL);
    cr_expect_str_eq(err.msg, "doppler is timed with at most 128 steps, not with 129");
}

Test(speed, ends_when_told_to)
{
    static emp_speed_report report;
    emp_speed_params        params = tiny();
    const atomic_int        stop = 1;

    params.stop = &stop;
    cr_expect_eq(emp_speed_measure(&report, &params, NULL), EMP_EINTERRUPTED);
    cr_expect_eq(report.row_count, 0);
}
