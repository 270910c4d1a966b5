// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/curves.h"
#include "bench/plots/gnuplot.h"
#include "bench/plots/html.h"
#include "bench/report/pictures.h"
#include "bench/report/tables.h"

static const char how_tables[] = "Every number is simulated. Where a method ran with "
                                 "several seeds it is the median over "
                                 "them, with the range below; the line in bold holds the "
                                 "best placement. Peak memory is "
                                 "that of a series' best run.";
static const char how_curves[] = "A line is the median over the seeds of a method, its "
                                 "band their range; a dashed line is "
                                 "a method that had all it proposed scored at once. A "
                                 "run keeps its last value after its "
                                 "end. The best so far counts what fits in memory only; "
                                 "the mean of a batch counts all "
                                 "of it.";
static const char how_quality[] =
    "How far the best so far of each method is above the best placement of all these "
    "runs, "
    "which is 1: lower and further left is better. In seconds, an evaluation is taken to "
    "last equally long all through a run.";
static const char how_placement[] =
    "The best placement found. A cell is a layer at a time step, in the colour and with "
    "the "
    "letter of the device that has most of its ops; a strip at its foot is the share of "
    "the "
    "second device. Under \"rest\" is what belongs to no step, as weights and sums of "
    "gradients. A model that is not unrolled has a cell for each name scope and pass. "
    "Point "
    "at a cell for its counts.";
static const char how_timeline[] =
    "One step under that placement, simulated. A thick track is computing (of a CPU: at "
    "least one core), the thin ones below it are copies received and sent; the paler, "
    "the "
    "less of that moment is busy. Point at a track for its sum.";

static bool is_stopped(const emp_report_params *params)
{
    return params->stop != NULL && *params->stop != 0;
}

static void begin_section(FILE *file, const char *id, const char *title, const char *how)
{
    fprintf(file, "<section id=\"%s\">\n<h2>%s</h2>\n<p class=\"how\">", id, title);
    emp_html_put(file, "", how, "</p>\n");
}

static void write_group_title(FILE *file, const emp_report_runs *runs,
                              const emp_report_group *g)
{
    const emp_record *r = &runs->run[g->first_run].record;

    emp_html_put(file, "<h3>", r->workload, " on ");
    emp_html_put(file, "", r->machine, ", runtime ");
    emp_html_put(file, "", r->runtime, "</h3>\n");
}

static void write_note(FILE *file, const char *text)
{
    emp_html_put(file, "<p class=\"note\">", text, "</p>\n");
}

/* ---- sections of every group --------------------------------------------------------- */

typedef emp_status (*write_group)(FILE *file, const emp_report_runs *runs,
                                  const emp_report_group *group, emp_error *err);

static emp_status write_inputs(FILE *file, const emp_report_runs *runs,
                               const emp_report_group *group, emp_error *err)
{
    const emp_record *r = &runs->run[group->first_run].record;

    fprintf(file,
            "<p class=\"note\">%d ops; graph %016" PRIx64 ", machine %016" PRIx64
            ", runtime %016" PRIx64 "</p>\n",
            r->op_count, r->graph_hash, r->machine_hash, r->runtime_hash);
    return emp_report_tables(file, runs, group, err);
}

static emp_status write_section(FILE *file, const emp_report_runs *runs,
                                const emp_report_params *params, write_group write,
                                bool needs_gnuplot, emp_error *err)
{
    if (needs_gnuplot && !params->has_figures) {
        write_note(file, "These figures are left out: " EMP_GNUPLOT_ABSENCE ".");
        return EMP_OK;
    }
    for (int32_t g = 0; g < runs->group_count; g++) {
        if (is_stopped(params)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
        write_group_title(file, runs, &runs->group[g]);
        EMP_CHECK(write(file, runs, &runs->group[g], err));
    }
    return EMP_OK;
}

/* ---- sections of the best placements ------------------------------------------------- */

/* What the last two sections show of a group. */
struct show {
    emp_cells          cells;
    emp_timeline       timeline;
    const emp_problem *problem; /* NULL = could not be made again; then err says why */
    emp_device_id     *device_of_op;
    emp_error          err;
};

static emp_status check_problem(const emp_record *r, const emp_problem *problem,
                                emp_error *err)
{
    const emp_machine *m = problem->machine;

    if (problem->graph->hash != r->graph_hash || problem->graph->op_count != r->op_count)
        return EMP_ERROR(EMP_EINVAL,
                         "%.100s is now another graph than the one that was placed",
                         r->workload);
    if (m->device_count != r->device_count)
        return EMP_ERROR(EMP_EINVAL, "%s has %d devices, and the run had %d", m->name,
                         m->device_count, r->device_count);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (strcmp(m->device[d].name, r->device_name[d]) != 0)
            return EMP_ERROR(EMP_EINVAL, "%s has a device %s where the run had %.31s",
                             m->name, m->device[d].name, r->device_name[d]);
    }
    for (emp_op_id op = 0; op < r->op_count; op++) {
        if (r->device_of_op[op] < 0 || r->device_of_op[op] >= m->device_count)
            return EMP_ERROR(EMP_EINVAL, "the record places op %d on device %d of %d", op,
                             r->device_of_op[op], m->device_count);
    }
    return EMP_OK;
}

static emp_status load(struct show *s, const emp_record *r,
                       const emp_report_params *params, emp_error *err)
{
    const emp_problem *problem = NULL;

    EMP_CHECK(params->get_problem(params->context, r, &problem, err));
    EMP_CHECK(check_problem(r, problem, err));
    EMP_CHECK(EMP_ALLOC(s->device_of_op, (size_t)r->op_count));
    memcpy(s->device_of_op, r->device_of_op,
           (size_t)r->op_count * sizeof *s->device_of_op);
    emp_problem_legalize(problem, s->device_of_op);
    EMP_CHECK(emp_cells_create(&s->cells, problem, s->device_of_op, err));
    EMP_CHECK(emp_timeline_create(&s->timeline, problem, s->device_of_op, err));
    s->problem = problem;
    return EMP_OK;
}

/* The page itself tells of every failure except missing memory. */
static emp_status prepare(struct show *s, const emp_record *r,
                          const emp_report_params *params, emp_error *err)
{
    emp_status st = load(s, r, params, &s->err);

    return st == EMP_ENOMEM ? EMP_ERROR(st, "%s", s->err.msg) : EMP_OK;
}

static void write_absence(FILE *file, const struct show *s)
{
    char text[EMP_ERROR_MSG_BYTES + 64];

    snprintf(text, sizeof text, "This is left out: %s.", s->err.msg);
    write_note(file, text);
}

static void write_best(FILE *file, const emp_report_runs *runs, const emp_report_group *g)
{
    char                     text[32];
    const emp_record        *r = &runs->run[g->best_run].record;
    const emp_report_series *s = &runs->series[g->first_series];

    while (g->best_run >= s->first_run + s->run_count) s++;
    fputs("<p>By ", file);
    emp_html_text(file, s->label);
    fprintf(file, ", seed %" PRIu64 ": %s a step%s.</p>\n", r->seed,
            emp_units_format_seconds(r->best_step_time_s, text, sizeof text),
            r->is_feasible ? "" : ", if it fitted in memory, which it does not");
}

/* Constants of the machine or runtime may have changed since the run. */
static void write_difference(FILE *file, const struct show *s, const emp_record *r)
{
    char   was[32], is[32], text[256];
    double now_s = (double)s->timeline.result.step_time_ns * 1e-9;

    if (now_s == r->best_step_time_s) return;
    emp_units_format_seconds(r->best_step_time_s, was, sizeof was);
    emp_units_format_seconds(now_s, is, sizeof is);
    snprintf(text, sizeof text,
             "Simulated now, this step takes %s; the record says %s: machine, runtime or "
             "program have changed since.",
             is, was);
    write_note(file, text);
}

/* Both sections of a group need its graph, which is made once: the second section is kept
 * in \a later. */
static emp_status show_group(FILE *file, FILE *later, const emp_report_runs *runs,
                             const emp_report_group *g, const emp_report_params *params,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_record *r = &runs->run[g->best_run].record;
    struct show       show = {0};

    if (is_stopped(params)) EMP_FAIL(EMP_EINTERRUPTED, "interrupted");
    EMP_TRY(prepare(&show, r, params, err));
    write_group_title(file, runs, g);
    write_best(file, runs, g);
    write_group_title(later, runs, g);
    write_best(later, runs, g);
    if (show.problem == NULL) {
        write_absence(file, &show);
        write_absence(later, &show);
        if (params->on_absence != NULL)
            params->on_absence(params->context, r, show.err.msg);
        goto cleanup;
    }
    emp_picture_devices(file, show.problem, show.device_of_op);
    fputs("<div class=\"figure wide\">\n", file);
    emp_picture_cells(file, &show.cells, show.problem->machine);
    fputs("</div>\n", file);
    write_difference(later, &show, r);
    fputs("<div class=\"figure wide\">\n", later);
    emp_picture_timeline(later, &show.timeline, show.problem->machine);
    fputs("</div>\n", later);

cleanup:
    emp_cells_clear(&show.cells);
    emp_timeline_clear(&show.timeline);
    emp_free(show.device_of_op);
    return st;
}

static emp_status append(FILE *file, FILE *later, emp_error *err)
{
    char   block[8192];
    size_t size;

    rewind(later);
    while ((size = fread(block, 1, sizeof block, later)) > 0)
        fwrite(block, 1, size, file);
    if (ferror(later)) return EMP_ERROR(EMP_EIO, "cannot read a temporary file");
    return EMP_OK;
}

static emp_status show_groups(FILE *file, const emp_report_runs *runs,
                              const emp_report_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    FILE      *later = tmpfile();

    if (later == NULL) EMP_FAIL(EMP_EIO, "no temporary file");
    begin_section(file, "placement", "Placement", how_placement);
    begin_section(later, "timeline", "Timeline", how_timeline);
    for (int32_t g = 0; g < runs->group_count; g++)
        EMP_TRY(show_group(file, later, runs, &runs->group[g], params, err));
    fputs("</section>\n", file);
    fputs("</section>\n", later);
    EMP_TRY(append(file, later, err));

cleanup:
    if (later != NULL) fclose(later);
    return st;
}

/* ---- all ----------------------------------------------------------------------------- */

static void write_head(FILE *file, const emp_report_runs *runs)
{
    char title[2 * EMP_RECORD_TEXT_BYTES];

    if (runs->group_count == 1)
        snprintf(title, sizeof title, "Device placement: %s on %s",
                 runs->run[0].record.workload, runs->run[0].record.machine);
    else
        snprintf(title, sizeof title, "Device placement: %d problems", runs->group_count);
    emp_html_begin(file, title);
    fputs("<h1>", file);
    emp_html_text(file, title);
    fprintf(file,
            "</h1>\n<p class=\"note\">%d run%s of %d method%s, by emplace.</p>\n"
            "<nav><a href=\"#tables\">Tables</a> <a href=\"#curves\">Learning curves</a> "
            "<a href=\"#quality\">Quality</a> <a href=\"#placement\">Placement</a> "
            "<a href=\"#timeline\">Timeline</a></nav>\n",
            runs->run_count, runs->run_count == 1 ? "" : "s", runs->series_count,
            runs->series_count == 1 ? "" : " settings");
}

emp_status emp_report_write(FILE *file, const emp_report_runs *runs,
                            const emp_report_params *params, emp_error *err)
{
    write_head(file, runs);
    begin_section(file, "tables", "Tables", how_tables);
    EMP_CHECK(write_section(file, runs, params, write_inputs, false, err));
    fputs("</section>\n", file);
    begin_section(file, "curves", "Learning curves", how_curves);
    EMP_CHECK(write_section(file, runs, params, emp_report_curves, true, err));
    fputs("</section>\n", file);
    begin_section(file, "quality", "Quality against samples and seconds", how_quality);
    EMP_CHECK(write_section(file, runs, params, emp_report_quality, true, err));
    fputs("</section>\n", file);
    EMP_CHECK(show_groups(file, runs, params, err));
    emp_html_end(file);
    return EMP_OK;
}
