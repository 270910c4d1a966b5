// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "bench/report/html.h"
#include "run/stats.h"

enum {
    MAX_DEVICE_COLUMNS = 10 /* on larger machines the fullest device stands for all */
};

typedef double (*value_of_run)(const emp_report_run *run);
typedef const char *(*format_value)(double value, char *text, size_t size);

static double best_of(const emp_report_run *run)
{
    return run->record.is_feasible ? run->record.best_step_time_s : INFINITY;
}

static double median_of(const emp_report_run *run) { return run->record.median_s; }

static double feasible_of(const emp_report_run *run)
{
    return (double)run->record.feasible_count / (double)run->record.evaluations;
}

static double evaluations_of(const emp_report_run *run)
{
    return (double)run->record.evaluations;
}

static double traffic_of(const emp_report_run *run)
{
    return (double)run->record.traffic_bytes;
}

static double elapsed_of(const emp_report_run *run) { return run->elapsed_s; }

static const char *format_seconds(double value, char *text, size_t size)
{
    if (isinf(value)) return "does not fit";
    return emp_units_format_seconds(value, text, size);
}

static const char *format_bytes(double value, char *text, size_t size)
{
    return emp_units_format_bytes((int64_t)value, text, size);
}

static const char *format_percent(double value, char *text, size_t size)
{
    snprintf(text, size, "%.1f %%", 100.0 * value);
    return text;
}

static const char *format_count(double value, char *text, size_t size)
{
    snprintf(text, size, "%.0f", value);
    return text;
}

/* Median over the seeds; below it the range, if they differ as printed. */
static void write_summary(FILE *file, const emp_report_run *run, int32_t count,
                          value_of_run value_of, format_value format, double *value)
{
    char   median[48], low[48], high[48];
    size_t known = 0;

    for (int32_t i = 0; i < count; i++) {
        double v = value_of(&run[i]);
        if (!isnan(v)) value[known++] = v;
    }
    if (known == 0) {
        fputs("<td>–</td>", file);
        return;
    }
    emp_summary s = emp_summary_of(value, known);
    const char *from = format(s.min, low, sizeof low);
    const char *to = format(s.max, high, sizeof high);
    fprintf(file, "<td>%s", format(s.median, median, sizeof median));
    if (strcmp(from, to) != 0) fprintf(file, "<small>%s – %s</small>", from, to);
    fputs("</td>", file);
}

static void write_text(FILE *file, const char *class, const char *text)
{
    fprintf(file, "<td class=\"%s\">", class);
    emp_html_text(file, text[0] != '\0' ? text : "–");
    fputs("</td>", file);
}

static void write_seeds(FILE *file, const emp_report_run *run, int32_t count)
{
    fputs("<td class=\"text wrap\">", file);
    for (int32_t i = 0; i < count; i++)
        fprintf(file, "%s%" PRIu64, i > 0 ? ", " : "", run[i].record.seed);
    fputs("</td>", file);
}

static void write_budget(FILE *file, const emp_record *r)
{
    fputs("<td class=\"text\">", file);
    if (r->budget_evaluations > 0)
        fprintf(file, "%" PRId64 " evaluations", r->budget_evaluations);
    if (r->budget_evaluations > 0 && r->budget_s > 0) fputs(", ", file);
    if (r->budget_s > 0) fprintf(file, "%g s", r->budget_s);
    if (r->budget_evaluations == 0 && r->budget_s == 0) fputs("none", file);
    fputs("</td>", file);
}

/* Why runs ended, each reason once. */
static void write_ends(FILE *file, const emp_report_run *run, int32_t count)
{
    const char *separator = "";

    fputs("<td class=\"text\">", file);
    for (int32_t i = 0; i < count; i++) {
        const char *end = run[i].record.stopped_by;
        int32_t     before = 0;
        while (before < i && strcmp(run[before].record.stopped_by, end) != 0) before++;
        if (before < i) continue;
        fputs(separator, file);
        emp_html_text(file, end[0] == '\0' ? "under way" : end);
        separator = ", ";
    }
    fputs("</td>", file);
}

static void write_setup(FILE *file, const emp_report_runs *runs,
                        const emp_report_group *g)
{
    fputs("<div class=\"scroll\"><table><caption>What was run</caption>\n<thead><tr>"
          "<th>method</th><th class=\"text\">preset</th><th class=\"text\">options</th>"
          "<th class=\"text\">seeds</th><th class=\"text\">budget of a run</th>"
          "<th class=\"text\">ended by</th><th class=\"text\">version</th>"
          "<th class=\"text\">commit</th></tr></thead>\n<tbody>\n",
          file);
    for (int32_t i = 0; i < g->series_count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        const emp_report_run    *run = &runs->run[s->first_run];
        const emp_record        *r = &run->record;
        fputs("<tr>", file);
        write_text(file, "text", r->method);
        write_text(file, "text", r->preset);
        write_text(file, "text wrap", r->options);
        write_seeds(file, run, s->run_count);
        write_budget(file, r);
        write_ends(file, run, s->run_count);
        write_text(file, "text", r->version);
        fputs("<td class=\"text\">", file);
        char commit[16];
        snprintf(commit, sizeof commit, "%.12s", r->commit);
        emp_html_text(file, commit);
        fprintf(file, "%s</td></tr>\n", r->is_dirty ? ", modified" : "");
    }
    fputs("</tbody></table></div>\n", file);
}

/* Memory is shown of the best run of a series. */
static const emp_report_run *best_run_of(const emp_report_run *run, int32_t count)
{
    const emp_report_run *best = run;

    for (int32_t i = 1; i < count; i++) {
        if (best_of(&run[i]) < best_of(best)) best = &run[i];
    }
    return best;
}

static void write_peaks(FILE *file, const emp_record *r)
{
    char text[48];

    fputs("<td class=\"text memory\">", file);
    for (int32_t d = 0; d < r->device_count; d++) {
        fputs(d > 0 ? ", " : "", file);
        emp_html_text(file, r->device_name[d]);
        fprintf(file, "\u00a0%s",
                emp_units_format_bytes(r->peak_bytes[d], text, sizeof text));
    }
    if (!r->is_feasible && r->oom_device[0] != '\0') {
        fputs("<small>does not fit on ", file);
        emp_html_text(file, r->oom_device);
        fputs("</small>", file);
    }
    fputs("</td>", file);
}

static void write_results_head(FILE *file)
{
    fputs("<div class=\"scroll\"><table><caption>What came of it</caption>\n<thead><tr>"
          "<th>method</th><th>best step time</th><th>median candidate</th>"
          "<th>evaluations</th><th>fit in memory</th><th>run took</th><th>traffic</th>"
          "<th class=\"text\">peak memory</th></tr></thead>\n<tbody>\n",
          file);
}

static void write_result(FILE *file, const emp_report_series *s,
                         const emp_report_run *run, bool is_best, double *value)
{
    int32_t n = s->run_count;

    fprintf(file, "<tr%s>", is_best ? " class=\"best\"" : "");
    write_text(file, "text wrap", s->label);
    write_summary(file, run, n, best_of, format_seconds, value);
    write_summary(file, run, n, median_of, format_seconds, value);
    write_summary(file, run, n, evaluations_of, format_count, value);
    write_summary(file, run, n, feasible_of, format_percent, value);
    write_summary(file, run, n, elapsed_of, format_seconds, value);
    write_summary(file, run, n, traffic_of, format_bytes, value);
    write_peaks(file, &best_run_of(run, n)->record);
    fputs("</tr>\n", file);
}

emp_status emp_report_tables(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *value = EMP_NEW_ARRAY(double, (size_t)group->run_count);

    if (value == NULL) EMP_FAIL(EMP_ENOMEM, "summary of %d runs", group->run_count);
    write_setup(file, runs, group);
    write_results_head(file);
    for (int32_t i = 0; i < group->series_count; i++) {
        const emp_report_series *s = &runs->series[group->first_series + i];
        int32_t                  behind = group->best_run - s->first_run;
        write_result(file, s, &runs->run[s->first_run],
                     behind >= 0 && behind < s->run_count, value);
    }
    fputs("</tbody></table></div>\n", file);

cleanup:
    emp_free(value);
    return st;
}
