// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/report/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/plots/html.h"
#include "run/sheet/sheet.h"

static const char how_tables[] = "Every number is simulated. Of several seeds it is the "
                                 "median, with the range below it. "
                                 "The line in bold holds the best placement. Peak memory "
                                 "is that of a method's best run.";

/* Notes on a figure, below its title. */
static const char *const how_figure[EMP_FIGURES] = {
    [EMP_FIGURE_CURVES] = "A line is the median over the seeds of a method, its band "
                          "their range. A thin level "
                          "line is a method that had all it proposed scored at once. A "
                          "run keeps its last value "
                          "after its end. Only placements that fit in memory count.",
    [EMP_FIGURE_CLOCK] =
        "CPU seconds are those of one thread. Where a run had several, seconds of the "
        "wall "
        "clock are shown of all runs, and each evaluation counts as equally long.",
    [EMP_FIGURE_PLACEMENTS] =
        "The best placement of each method, fastest first, HDP and the expert always. A "
        "cell is a layer at a time step, "
        "in the colour of the device that has most of its ops. A strip at its foot is "
        "the "
        "share of the second device. Behind the last step is what belongs to no step, as "
        "weights and sums of gradients. A model that is not unrolled has a cell for each "
        "name "
        "scope and pass. Point at a cell for its counts.",
    [EMP_FIGURE_TIMELINE] = "One simulated step. A thick track is computing (of a CPU: "
                            "at least one core). The "
                            "thin ones below it are copies received and sent. The paler, "
                            "the less of that moment "
                            "is busy. Point at a track for its sum.",
    [EMP_FIGURE_MEANS] = "All placements of a batch count, also those that do not fit.",
    [EMP_FIGURE_METRICS] = "By placements scored."};

/* ---- pieces ---- */

static void write_note(FILE *file, const char *text)
{
    emp_html_put(file, "<p class=\"note\">", text, "</p>\n");
}

/* The figure as a file of its own, inside an address. */
static emp_status write_download(FILE *file, const emp_drawing *drawing, emp_error *err)
{
    char  *bytes = NULL;
    size_t size = 0;
    FILE  *memory = open_memstream(&bytes, &size);

    if (memory == NULL) return EMP_ERROR(EMP_ENOMEM, "file of figure %s", drawing->name);
    emp_status st = emp_drawing_print_file(memory, drawing, err);
    if (fclose(memory) != 0 && st == EMP_OK)
        st = EMP_ERROR(EMP_ENOMEM, "file of figure %s", drawing->name);
    if (st == EMP_OK) {
        fprintf(file, "<a download=\"%s.svg\" href=\"data:image/svg+xml;base64,",
                drawing->name);
        emp_html_base64(file, bytes, size);
        fputs("\">Save as SVG</a>", file);
    }
    free(bytes);
    return st;
}

static emp_status write_figure(FILE *file, const emp_study *study, emp_figure_kind kind,
                               emp_error *err)
{
    const emp_drawing *drawing = &study->figure[kind];

    if (emp_drawing_is_empty(drawing)) return EMP_OK;
    fprintf(file, "<figure class=\"figure\" id=\"%s\">\n<figcaption><b>%s.</b> %s ",
            drawing->name, emp_figure_title(kind), how_figure[kind]);
    EMP_CHECK(write_download(file, drawing, err));
    fputs("</figcaption>\n<div class=\"scroll\">\n", file);
    EMP_CHECK(emp_drawing_print_element(file, drawing, err));
    fputs("</div>\n</figure>\n", file);
    return EMP_OK;
}

/* ---- a problem ---- */

static void write_problem_title(FILE *file, const emp_study *s, int32_t number)
{
    const emp_record *r = &s->runs->run[s->group->first_run].record;

    fprintf(file, "<h2 id=\"problem-%d\">", number + 1);
    emp_html_put(file, "", r->workload, " on ");
    emp_html_put(file, "", r->machine, ", runtime ");
    emp_html_put(file, "", r->runtime, "");
    emp_html_put(file, "", r->overrides, "</h2>\n");
    fprintf(file,
            "<p class=\"note\">%d ops; graph %016" PRIx64 ", machine %016" PRIx64
            ", runtime %016" PRIx64 "</p>\n",
            r->decision.op_count, r->graph_hash, r->machine_hash, r->runtime_hash);
}

static void write_clock_note(FILE *file, const emp_report_clock *clock)
{
    char text[256];

    if (clock->timed == clock->runs) return;
    if (clock->timed == 0)
        snprintf(
            text, sizeof text,
            "There is no figure against time: no run has a .timing.json file beside its "
            "record, as runs in an archive folder have.");
    else
        snprintf(
            text, sizeof text,
            "%d of %d runs have no .timing.json file beside their record and are left "
            "out of the figure against time.",
            clock->runs - clock->timed, clock->runs);
    write_note(file, text);
}

/* Why figures are not there. */
static void write_absences(FILE *file, const emp_study *s)
{
    char text[EMP_ERROR_MSG_BYTES + 96];

    if (s->clock.runs == 0)
        write_note(file,
                   "There is no curve: all that these methods proposed was scored at "
                   "once.");
    else if (emp_drawing_is_empty(&s->figure[EMP_FIGURE_CURVES]))
        write_note(file, "There is no curve: no run found a placement that fits.");
    else
        write_clock_note(file, &s->clock);
    if (s->absence.status == EMP_OK) return;
    snprintf(text, sizeof text, "Lower bound, placements and timeline are left out: %s.",
             s->absence.msg);
    write_note(file, text);
}

static void write_best(FILE *file, const emp_study *s)
{
    char                     text[32];
    const emp_record        *r = &s->runs->run[s->group->best_run].record;
    const emp_report_series *series = &s->runs->series[s->group->first_series];

    while (s->group->best_run >= series->first_run + series->run_count) series++;
    fputs("<p>The best is by ", file);
    emp_html_text(file, series->label);
    fprintf(file, ", seed %" PRIu64 ": %s a step%s.</p>\n", r->seed,
            emp_units_format_seconds(r->best_step_time_s, text, sizeof text),
            r->is_feasible ? "" : ", if it fitted in memory, which it does not");
}

/* Constants of the machine or runtime may have changed since the run. */
static void write_difference(FILE *file, const emp_study *s)
{
    char              was[32], is[32], text[256];
    const emp_record *r = &s->runs->run[s->group->best_run].record;

    if (isnan(s->now_s) || s->now_s == r->best_step_time_s) return;
    emp_units_format_seconds(r->best_step_time_s, was, sizeof was);
    emp_units_format_seconds(s->now_s, is, sizeof is);
    snprintf(
        text, sizeof text,
        "Simulated now, the best step takes %s; the record says %s: machine, runtime or "
        "program have changed since.",
        is, was);
    write_note(file, text);
}

static emp_status write_placements(FILE *file, const emp_study *s, emp_error *err)
{
    char text[96];

    EMP_CHECK(write_figure(file, s, EMP_FIGURE_PLACEMENTS, err));
    if (emp_drawing_is_empty(&s->figure[EMP_FIGURE_PLACEMENTS])) return EMP_OK;
    if (s->left_out > 0) {
        snprintf(text, sizeof text, "%d more method%s left out of the figure.",
                 s->left_out, s->left_out == 1 ? " is" : "s are");
        write_note(file, text);
    }
    EMP_CHECK(emp_sheet_print_html(file, &s->shares, emp_html_text, err));
    write_difference(file, s);
    return write_figure(file, s, EMP_FIGURE_TIMELINE, err);
}

static emp_status write_problem(FILE *file, const emp_study *s, int32_t number,
                                emp_error *err)
{
    fputs("<section>\n", file);
    write_problem_title(file, s, number);
    write_best(file, s);
    EMP_CHECK(emp_report_tables(file, s->runs, s->group, s->bound_s, err));
    write_absences(file, s);
    fputs("<div class=\"pair\">\n", file);
    EMP_CHECK(write_figure(file, s, EMP_FIGURE_CURVES, err));
    EMP_CHECK(write_figure(file, s, EMP_FIGURE_CLOCK, err));
    fputs("</div>\n", file);
    EMP_CHECK(write_placements(file, s, err));
    EMP_CHECK(write_figure(file, s, EMP_FIGURE_MEANS, err));
    EMP_CHECK(write_figure(file, s, EMP_FIGURE_METRICS, err));
    fputs("</section>\n", file);
    return EMP_OK;
}

/* ---- all ---- */

/* The time of the page, or the one that builds which are to be repeated ask for
 * (reproducible-builds.org). */
static void write_date(FILE *file)
{
    const char *asked = getenv("SOURCE_DATE_EPOCH");
    char       *end = NULL, text[48] = "unknown";
    struct tm   parts;

    errno = 0;
    long long seconds = asked != NULL ? strtoll(asked, &end, 10) : (long long)time(NULL);
    if (asked != NULL && (errno != 0 || end == asked || *end != '\0'))
        seconds = (long long)time(NULL);
    time_t now = (time_t)seconds;
    if (gmtime_r(&now, &parts) != NULL)
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
    fputs(text, file);
}

static void write_origin(FILE *file, const emp_report_runs *runs)
{
    emp_manifest manifest = emp_manifest_get();

    fprintf(file, "<p class=\"note\">%d run%s of %d method%s. Made on ", runs->run_count,
            emp_units_plural(runs->run_count), runs->series_count,
            runs->series_count == 1 ? "" : " settings");
    write_date(file);
    emp_html_put(file, " by emplace ", manifest.version, ", commit ");
    fprintf(file, "%.12s%s", manifest.commit, manifest.is_dirty ? ", modified" : "");
    emp_html_put(file, ": <code>", manifest.command, "</code></p>\n");
}

static void write_head(FILE *file, const emp_report_runs *runs)
{
    char title[2 * EMP_RECORD_TEXT_BYTES];

    if (runs->group_count == 1)
        snprintf(title, sizeof title, "Device placement: %s on %s",
                 runs->run[0].record.workload, runs->run[0].record.machine);
    else
        snprintf(title, sizeof title, "Device placement: %d problems", runs->group_count);
    emp_html_begin(file, title);
    emp_html_put(file, "<h1>", title, "</h1>\n");
    write_origin(file, runs);
    if (runs->group_count == 1) return;
    fputs("<nav>", file);
    for (int32_t g = 0; g < runs->group_count; g++) {
        const emp_record *r = &runs->run[runs->group[g].first_run].record;
        fprintf(file, "<a href=\"#problem-%d\">", g + 1);
        emp_html_put(file, "", r->workload, " on ");
        emp_html_put(file, "", r->machine, "");
        emp_html_put(file, "", r->overrides, "</a>\n");
    }
    fputs("</nav>\n", file);
}

static emp_status write_paper(FILE *file, const emp_report_runs *runs, emp_error *err)
{
    emp_sheet  sheet;
    emp_status st = emp_report_paper(&sheet, runs, err);

    if (st == EMP_OK && sheet.line_count > 0)
        st = emp_sheet_print_html(file, &sheet, emp_html_text, err);
    emp_sheet_clear(&sheet);
    return st;
}

emp_status emp_report_write(FILE *file, const emp_report_runs *runs,
                            const emp_report_params *params, emp_error *err)
{
    write_head(file, runs);
    emp_html_put(file, "<p class=\"how\">", how_tables, "</p>\n");
    EMP_CHECK(write_paper(file, runs, err));
    for (int32_t g = 0; g < runs->group_count; g++) {
        emp_study  study;
        emp_status st = emp_study_create(&study, runs, g, params, err);
        if (st == EMP_OK) st = write_problem(file, &study, g, err);
        emp_study_clear(&study);
        EMP_CHECK(st);
    }
    emp_html_end(file);
    return EMP_OK;
}

/* ---- one figure ---- */

static bool find_figure(const emp_report_runs *runs, const char *name,
                        emp_figure_kind *kind, int32_t *group)
{
    char full[EMP_DRAWING_NAME_BYTES];

    for (int32_t i = 0; i < runs->group_count * EMP_FIGURES; i++) {
        *kind = (emp_figure_kind)(i % EMP_FIGURES);
        *group = i / EMP_FIGURES;
        if (strcmp(emp_figure_full_name(full, *kind, *group), name) == 0) return true;
    }
    return false;
}

static emp_status fail_unknown(const emp_report_runs *runs, const char *name,
                               emp_error *err)
{
    char     known[256] = "";
    emp_text text = {known, sizeof known, 0};

    for (int i = 0; i < EMP_FIGURES; i++)
        emp_text_add(&text, "%s%s", i > 0 ? ", " : "",
                     emp_figure_name((emp_figure_kind)i));
    if (runs->group_count > 1)
        emp_text_add(&text, "; of the other problems curves-2 to curves-%d, and so on",
                     runs->group_count);
    return EMP_ERROR(EMP_EINVAL, "there is no figure \"%.40s\"; there are %s", name,
                     known);
}

static emp_status print_figure(FILE *file, const emp_study *study, emp_figure_kind kind,
                               bool is_pdf, emp_error *err)
{
    const emp_drawing *drawing = &study->figure[kind];
    bool needs_graph = kind == EMP_FIGURE_PLACEMENTS || kind == EMP_FIGURE_TIMELINE;

    if (emp_drawing_is_empty(drawing) && needs_graph && study->absence.status != EMP_OK)
        return EMP_ERROR(EMP_EINVAL, "the figure %s has nothing to show: %.300s",
                         emp_figure_name(kind), study->absence.msg);
    if (emp_drawing_is_empty(drawing))
        return EMP_ERROR(
            EMP_EINVAL,
            "the figure %s has nothing to show of these records; the page of "
            "the report says why",
            emp_figure_name(kind));
    return is_pdf ? emp_drawing_print_pdf(file, drawing, err)
                  : emp_drawing_print_file(file, drawing, err);
}

emp_status emp_report_write_figure(FILE *file, const emp_report_runs *runs,
                                   const emp_report_params *params, const char *name,
                                   bool is_pdf, emp_error *err)
{
    emp_figure_kind kind;
    int32_t         group;
    emp_study       study;

    if (!find_figure(runs, name, &kind, &group)) return fail_unknown(runs, name, err);
    emp_status st = emp_study_create(&study, runs, group, params, err);
    if (st == EMP_OK) st = print_figure(file, &study, kind, is_pdf, err);
    emp_study_clear(&study);
    return st;
}

void emp_report_list_figures(FILE *file, const emp_report_runs *runs)
{
    char name[EMP_DRAWING_NAME_BYTES];

    for (int32_t i = 0; i < runs->group_count * EMP_FIGURES; i++) {
        emp_figure_kind   kind = (emp_figure_kind)(i % EMP_FIGURES);
        int32_t           group = i / EMP_FIGURES;
        const emp_record *r = &runs->run[runs->group[group].first_run].record;
        fprintf(file, "%-14s %s: %s on %s\n", emp_figure_full_name(name, kind, group),
                emp_figure_title(kind), r->workload, r->machine);
    }
}
