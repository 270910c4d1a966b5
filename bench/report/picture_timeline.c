// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>

#include "base/text/units.h"
#include "bench/plots/colours.h"
#include "bench/plots/html.h"
#include "bench/report/pictures.h"

/* Sizes in units of the picture, which is scaled to the page. A bin is one unit wide. */
enum {
    LEFT = 100,
    WIDTH = LEFT + EMP_TIMELINE_BINS,
    COMPUTE = 16, /* heights of tracks */
    COPY = 7,
    GAP = 9, /* between devices */
    AXIS = 22,
    LEVELS = 4 /* of busy shares that are told apart */
};

static const char *const track_name[EMP_TRACK_COUNT] = {"computes", "receives", "sends"};

static int height_of(int32_t kind) { return kind == EMP_TRACK_COMPUTE ? COMPUTE : COPY; }

static bool is_drawn(const emp_timeline *t, emp_device_id d, int32_t kind)
{
    return kind == EMP_TRACK_COMPUTE ||
           emp_timeline_at(t, d, (emp_track_kind)kind)->busy_ns > 0;
}

static int level_of(float busy)
{
    return busy <= 0.0f ? 0 : (int)ceilf(fminf(busy, 1.0f) * LEVELS - 0.001f);
}

/* Neighbouring bins of one level are one rectangle; the busier the less transparent. */
static void draw_track(FILE *file, const emp_track *track, int y, int height,
                       const char *colour)
{
    fprintf(file, "<g fill=\"%s\">\n", colour);
    for (int32_t bin = 0; bin < EMP_TIMELINE_BINS;) {
        int32_t first = bin;
        int     level = level_of(track->busy_frac[bin]);
        while (bin < EMP_TIMELINE_BINS && level_of(track->busy_frac[bin]) == level) bin++;
        if (level == 0) continue;
        fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", LEFT + first,
                y, bin - first, height);
        if (level < LEVELS) fprintf(file, " opacity=\"%.2f\"", (double)level / LEVELS);
        fputs("/>\n", file);
    }
    fputs("</g>\n", file);
}

static int draw_device(FILE *file, const emp_timeline *t, const emp_machine *machine,
                       emp_device_id d, int y)
{
    double step = (double)t->result.step_time_ns;

    fprintf(file,
            "<text class=\"name\" x=\"%d\" y=\"%d\" font-size=\"12\" "
            "text-anchor=\"end\">%c ",
            LEFT - 8, y + 12, emp_report_device_letter(d));
    emp_html_text(file, machine->device[d].name);
    fputs("</text>\n", file);
    for (int32_t kind = 0; kind < EMP_TRACK_COUNT; kind++) {
        const emp_track *track = emp_timeline_at(t, d, (emp_track_kind)kind);
        char             text[32];
        if (!is_drawn(t, d, kind)) continue;
        fputs("<g><title>", file);
        emp_html_text(file, machine->device[d].name);
        fprintf(
            file, " %s for %s, %.1f %% of the step</title>\n", track_name[kind],
            emp_units_format_seconds((double)track->busy_ns * 1e-9, text, sizeof text),
            step > 0 ? 100.0 * (double)track->busy_ns / step : 0.0);
        fprintf(file,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#808080\" "
                "opacity=\"0.1\"/>\n",
                LEFT, y, EMP_TIMELINE_BINS, height_of(kind));
        draw_track(file, track, y, height_of(kind),
                   kind == EMP_TRACK_COMPUTE ? emp_report_device_colour(machine, d)
                                             : "currentColor");
        fputs("</g>\n", file);
        y += height_of(kind) + 1;
    }
    return y + GAP;
}

/* Marks at 1, 2 or 5 times a power of ten, four to ten of them. */
static void draw_axis(FILE *file, double step_s, int y)
{
    double unit = step_s > 0 ? pow(10.0, floor(log10(step_s / 4))) : 1.0;
    char   text[32];

    if (step_s / unit > 20)
        unit *= 5;
    else if (step_s / unit > 10)
        unit *= 2;
    for (double at = 0; at <= step_s * 1.0001; at += unit) {
        double x = LEFT + (step_s > 0 ? at / step_s * EMP_TIMELINE_BINS : 0);
        fprintf(
            file,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" stroke=\"#808080\" "
            "stroke-width=\"0.5\" opacity=\"0.5\"/>"
            "<text x=\"%.1f\" y=\"%d\" font-size=\"11\" text-anchor=\"%s\">%s</text>\n",
            x, x, y, x, y + 14,
            at == 0                             ? "start"
            : x > LEFT + EMP_TIMELINE_BINS - 20 ? "end"
                                                : "middle",
            at == 0 ? "0" : emp_units_format_seconds(at, text, sizeof text));
    }
}

void emp_picture_timeline(FILE *file, const emp_timeline *timeline,
                          const emp_machine *machine)
{
    int height = AXIS, y = 0;

    for (emp_device_id d = 0; d < timeline->device_count; d++) {
        height += GAP;
        for (int32_t kind = 0; kind < EMP_TRACK_COUNT; kind++)
            height += is_drawn(timeline, d, kind) ? height_of(kind) + 1 : 0;
    }
    fprintf(file,
            "<svg class=\"timeline\" role=\"img\" aria-label=\"timeline of a step\" "
            "viewBox=\"0 0 %d %d\">\n",
            WIDTH, height);
    draw_axis(file, (double)timeline->result.step_time_ns * 1e-9, height - AXIS);
    for (emp_device_id d = 0; d < timeline->device_count; d++)
        y = draw_device(file, timeline, machine, d, y);
    fputs("</svg>\n", file);
}
