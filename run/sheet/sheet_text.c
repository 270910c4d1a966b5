// SPDX-License-Identifier: GPL-3.0-or-later
/* For people: aligned text in blocks as wide as a line, and Markdown. */
#include <string.h>

#include "base/io/terminal.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "run/sheet/sheet_internal.h"

emp_status emp_sheet_check(const emp_sheet *s, emp_error *err)
{
    if (s->failure == EMP_OK) return EMP_OK;
    return EMP_ERROR(s->failure, s->failure == EMP_ENOMEM
                                     ? "table"
                                     : "a table has other values than columns, or more "
                                       "columns than there is room for");
}

static bool is_same(const emp_value *a, const emp_value *b)
{
    if (a->tag != b->tag) return false;
    if (a->tag == EMP_VALUE_WORD) return strcmp(a->word, b->word) == 0;
    return a->count == b->count && !(a->real < b->real) && !(a->real > b->real);
}

/* True if both lines agree in the columns of that place. */
static bool agree(const emp_sheet *s, int32_t a, int32_t b, emp_sheet_place place)
{
    for (int32_t c = 0; c < s->column_count; c++) {
        if (s->column[c].place == place &&
            !is_same(emp_sheet_at(s, a, c), emp_sheet_at(s, b, c)))
            return false;
    }
    return true;
}

/* The number of the row or group of a line, which may begin one. */
static int32_t find(const emp_sheet *s, int32_t *first, int32_t *count, int32_t line,
                    emp_sheet_place place)
{
    for (int32_t i = 0; i < *count; i++)
        if (agree(s, first[i], line, place)) return i;
    first[*count] = line;
    return (*count)++;
}

emp_status emp_sheet_grid_create(emp_sheet_grid *g, const emp_sheet *s, emp_error *err)
{
    size_t lines = (size_t)s->line_count + 1;

    *g = (emp_sheet_grid){.sheet = s, .across = -1};
    for (int32_t c = 0; c < s->column_count; c++)
        if (s->column[c].place == EMP_SHEET_ACROSS) g->across = c;
    EMP_CHECK(EMP_ALLOC(g->first, 2 * lines));
    g->group = g->first + lines;
    bool is_spread = g->across >= 0;
    for (int32_t i = 0; i < s->line_count; i++) {
        if (is_spread) {
            find(s, g->first, &g->row_count, i, EMP_SHEET_ROW);
            find(s, g->group, &g->group_count, i, EMP_SHEET_ACROSS);
        } else
            g->first[g->row_count++] = i;
    }
    if (!is_spread) g->group_count = 1;
    size_t cells = (size_t)g->row_count * (size_t)g->group_count;
    g->line = EMP_NEW_ARRAY(int32_t, cells + 1);
    if (g->line == NULL) {
        emp_sheet_grid_clear(g);
        return EMP_ERROR(EMP_ENOMEM, "table of %zu cells", cells);
    }
    for (size_t i = 0; i < cells; i++) g->line[i] = -1;
    for (int32_t i = 0; i < s->line_count; i++) {
        int32_t row = is_spread ? find(s, g->first, &g->row_count, i, EMP_SHEET_ROW) : i;
        int32_t group =
            is_spread ? find(s, g->group, &g->group_count, i, EMP_SHEET_ACROSS) : 0;
        g->line[row * g->group_count + group] = i;
    }
    return EMP_OK;
}

void emp_sheet_grid_clear(emp_sheet_grid *g)
{
    emp_free(g->first);
    emp_free(g->line);
}

enum { LINE_WIDTH = 110, LINE_BYTES = 1024, GAP = 2, MOST_ITEMS = 256 };

/* ---- values ---- */

/* Three significant digits, as the papers' tables have; - for NaN, OOM for infinity. Returns
 * text. */
static const char *emp_sheet_number(double value, char text[EMP_SHEET_CELL_BYTES])
{
    int digits = value < 1 ? 3 : value < 100 ? 2 : 1;

    if (isnan(value)) return "-";
    if (isinf(value)) return "OOM";
    snprintf(text, EMP_SHEET_CELL_BYTES, "%.*f", digits, value);
    return text;
}

const char *emp_sheet_number_fine(double value, char text[EMP_SHEET_CELL_BYTES])
{
    enum { DIGITS = 4 };

    if (!(value > 0 && value < 1)) return emp_sheet_number(value, text);
    snprintf(text, EMP_SHEET_CELL_BYTES, "%.*f", DIGITS - 1 - (int)floor(log10(value)),
             value);
    return text;
}

static void add_real(emp_text *out, const emp_sheet *s, const emp_sheet_column *column,
                     double value)
{
    char   text[EMP_SHEET_CELL_BYTES];
    bool   is_share = column->kind == EMP_SHEET_SHARE || column->kind == EMP_SHEET_CHANGE;
    double shown = is_share ? 100.0 * value : value;

    if (isnan(value))
        emp_text_add(out, "-");
    else if (isinf(value))
        emp_text_add(out, "%s",
                     column->infinite != NULL ? column->infinite : s->infinite);
    else if (column->form != NULL) {
        snprintf(text, sizeof text, column->form, shown);
        emp_text_add(out, "%s", text);
    } else if (column->kind == EMP_SHEET_SHARE)
        emp_text_add(out, "%s", emp_units_format_percent(value, text, sizeof text));
    else if (column->kind == EMP_SHEET_CHANGE)
        emp_text_add(out, "%s", emp_units_format_change(value, text, sizeof text));
    else if (column->kind == EMP_SHEET_SECONDS)
        emp_text_add(out, "%s", emp_units_format_seconds(value, text, sizeof text));
    else if (column->kind == EMP_SHEET_BYTES)
        emp_text_add(out, "%s",
                     emp_units_format_bytes((int64_t)value, text, sizeof text));
    else if (column->digits > 0)
        emp_text_add(out, "%s",
                     emp_units_format_number(value, column->digits, text, sizeof text));
    else
        emp_text_add(out, "%s",
                     column->is_fine ? emp_sheet_number_fine(value, text)
                                     : emp_sheet_number(value, text));
}

static void add_range(emp_text *out, const emp_sheet *s, const emp_sheet_column *column,
                      const emp_value *v)
{
    add_real(out, s, column, v->low);
    emp_text_add(out, "-");
    add_real(out, s, column, v->high);
}

static bool has_range(const emp_sheet_column *column, const emp_value *v,
                      emp_sheet_range where)
{
    return v->has_range && column->range == where && !isnan(v->real) &&
           (where == EMP_SHEET_BEHIND || v->low < v->high);
}

/* The text of a value for people, without its mark; \a is_wide: and its range. */
static const char *format_value(const emp_sheet *s, int32_t c, const emp_value *v,
                                bool is_wide, char text[EMP_SHEET_CELL_BYTES])
{
    const emp_sheet_column *column = &s->column[c];
    emp_text                out = {text, EMP_SHEET_CELL_BYTES, 0};

    text[0] = '\0';
    switch (v->tag) {
    case EMP_VALUE_NONE: return text;
    case EMP_VALUE_WORD: return v->word;
    case EMP_VALUE_COUNT:
        if (column->kind == EMP_SHEET_FLAG) return v->count != 0 ? "yes" : "no";
        if (column->kind == EMP_SHEET_HASH)
            emp_text_add(&out, "%016llx", (unsigned long long)v->count);
        else if (column->kind == EMP_SHEET_COUNT)
            emp_text_add(&out, "%lld", (long long)v->count);
        else
            add_real(&out, s, column, (double)v->count);
        break;
    case EMP_VALUE_REAL:
        if (column->kind == EMP_SHEET_COUNT && isfinite(v->real) && column->form == NULL)
            emp_text_add(&out, "%.0f", v->real);
        else
            add_real(&out, s, column, v->real);
        if (has_range(column, v, EMP_SHEET_BEHIND)) {
            emp_text_add(&out, " [");
            add_range(&out, s, column, v);
            emp_text_add(&out, "]");
        } else if (is_wide && has_range(column, v, EMP_SHEET_BELOW)) {
            if (v->mark != NULL) emp_text_add(&out, "%s", v->mark);
            emp_text_add(&out, " [");
            add_range(&out, s, column, v);
            emp_text_add(&out, "]");
        }
    }
    return text;
}

/* Characters, not bytes. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text != '\0'; text++) width += (*text & 0xC0) != 0x80;
    return width;
}

/* ---- layout ---- */

/* A column as it stands on a line: of a group, or of the row (-1). */
typedef struct {
    int32_t column, group;
    int     gap, width, mark, pad; /* blanks before, of the text, of its mark, behind */
} item;

static const emp_value *value_of(const emp_sheet_grid *g, const item *at, int32_t row)
{
    int32_t line =
        at->group < 0 ? g->first[row] : g->line[row * g->group_count + at->group];

    return line < 0 ? NULL : emp_sheet_at(g->sheet, line, at->column);
}

/* True if there is something to see, or the column need not have anything. */
static bool measure(const emp_sheet_grid *g, item *at)
{
    const emp_sheet_column *column = &g->sheet->column[at->column];
    char                    text[EMP_SHEET_CELL_BYTES];
    bool                    is_there = false;

    at->width =
        column->width > width_of(column->title) ? column->width : width_of(column->title);
    at->mark = column->mark;
    for (int32_t r = 0; r < g->row_count; r++) {
        const emp_value *v = value_of(g, at, r);
        if (v == NULL || v->tag == EMP_VALUE_NONE) continue;
        int width = width_of(format_value(g->sheet, at->column, v, false, text));
        int mark = v->mark == NULL ? 0 : width_of(v->mark);
        if (width > at->width) at->width = width;
        if (mark > at->mark) at->mark = mark;
        is_there = true;
    }
    bool is_of_group = g->across >= 0 && at->group >= 0;
    return is_there || !(column->is_optional || is_of_group);
}

static const char *group_title(const emp_sheet_grid *g, int32_t group)
{
    return g->across < 0 ? "" : emp_sheet_at(g->sheet, g->group[group], g->across)->word;
}

/* Adds the items of a place, of a group unless that is -1; returns their width. */
static int add_items(const emp_sheet_grid *g, emp_sheet_place place, int32_t group,
                     int first_gap, item *items, int *count)
{
    bool is_spread = g->across >= 0;
    int  width = 0, from = *count;

    for (int32_t c = 0; c < g->sheet->column_count && *count < MOST_ITEMS; c++) {
        const emp_sheet_column *column = &g->sheet->column[c];
        if (column->title == NULL || (is_spread && column->place != place)) continue;
        item at = {.column = c, .group = group};
        if (!measure(g, &at)) continue;
        at.gap = *count == from                        ? first_gap
                 : is_spread && place != EMP_SHEET_END ? 1
                                                       : GAP;
        width += at.gap + at.width + at.mark;
        items[(*count)++] = at;
    }
    if (group < 0 || !is_spread || *count == from) return width;
    int least = width_of(group_title(g, group));
    if (least < g->sheet->group_width) least = g->sheet->group_width;
    items[*count - 1].pad = least > width - first_gap ? least - width + first_gap : 0;
    return width + items[*count - 1].pad;
}

/* The items of a block; returns its end, the first group that does not fit. */
static int32_t lay_out(const emp_sheet_grid *g, int32_t from, int line_width, item *items,
                       int *count)
{
    bool    is_spread = g->across >= 0;
    int32_t end = from;
    int     width;

    *count = 0;
    if (!is_spread) {
        add_items(g, EMP_SHEET_CELL, 0, 0, items, count);
        return g->group_count;
    }
    width = add_items(g, EMP_SHEET_ROW, -1, 0, items, count);
    while (end < g->group_count) {
        int before = *count;
        width +=
            add_items(g, EMP_SHEET_CELL, end, end == from ? 2 * GAP : GAP, items, count);
        int end_blanks = *count > 0 ? items[*count - 1].pad : 0;
        if (width - end_blanks > line_width && end > from) {
            *count = before;
            break;
        }
        end++;
    }
    if (end == g->group_count) add_items(g, EMP_SHEET_END, -1, GAP, items, count);
    return end;
}

/* ---- text ---- */

static bool is_right(const emp_sheet *s, const item *at)
{
    return s->column[at->column].kind != EMP_SHEET_WORD;
}

/* No line ends in blanks. */
static void end_line(FILE *out, emp_text *line)
{
    while (line->used > 0 && line->at[line->used - 1] == ' ') line->used--;
    fprintf(out, "%.*s\n", (int)line->used, line->at);
    line->used = 0;
}

static void add_item(emp_text *line, const emp_sheet *s, const item *at, const char *text,
                     const char *mark)
{
    int blanks = at->width - width_of(text);

    emp_text_add(line, "%*s", at->gap + (is_right(s, at) ? blanks : 0), "");
    emp_text_add(line, "%s%s", text, mark == NULL ? "" : mark);
    int marked = mark == NULL ? 0 : width_of(mark);
    emp_text_add(line, "%*s",
                 (is_right(s, at) ? 0 : blanks) + at->mark - marked + at->pad, "");
}

/* Groups of one column without a title of its own have theirs on the line of the others. */
static bool has_bare_groups(const emp_sheet_grid *g, const item *items, int count)
{
    for (int i = 0; i < count; i++)
        if (items[i].group >= 0 && g->sheet->column[items[i].column].title[0] != '\0')
            return false;
    return g->across >= 0;
}

static void print_head(FILE *out, const emp_sheet_grid *g, const item *items, int count)
{
    char     array[LINE_BYTES] = "";
    emp_text line = {array, sizeof array, 0};
    bool     is_bare = has_bare_groups(g, items, count);

    for (int i = 0; g->across >= 0 && !is_bare && i < count;) {
        int from = i, width = 0;
        do {
            width += items[i].gap + items[i].width + items[i].mark + items[i].pad;
            i++;
        } while (i < count && items[i].group >= 0 && items[i].group == items[from].group);
        emp_text_add(&line, "%*s%-*s", items[from].gap, "", width - items[from].gap,
                     items[from].group < 0 ? "" : group_title(g, items[from].group));
    }
    if (line.used > 0) end_line(out, &line);
    for (int i = 0; i < count; i++) {
        add_item(&line, g->sheet, &items[i],
                 is_bare && items[i].group >= 0 ? group_title(g, items[i].group)
                                                : g->sheet->column[items[i].column].title,
                 NULL);
    }
    if (strspn(line.at, " ") < line.used) end_line(out, &line);
}

/* Below a row: the ranges, if any, where they fit, or else from the start of the group, or else
 * behind the range before. */
static void print_ranges(FILE *out, const emp_sheet_grid *g, const item *items, int count,
                         int32_t row)
{
    char     array[LINE_BYTES], text[EMP_SHEET_CELL_BYTES];
    emp_text line = {array, sizeof array, 0};
    int      at = 0, start = 0;

    for (int i = 0; i < count; i++) {
        const item      *it = &items[i];
        const emp_value *v = value_of(g, it, row);
        emp_text         range = {text, sizeof text, 0};
        if (i == 0 || it->group != items[i - 1].group) start = at + it->gap + GAP;
        at += it->gap + it->width;
        if (v != NULL && has_range(&g->sheet->column[it->column], v, EMP_SHEET_BELOW)) {
            add_range(&range, g->sheet, &g->sheet->column[it->column], v);
            int first = (int)range.used <= it->width ? at - (int)range.used : start;
            int gap = first - (int)line.used, least = line.used > 0 ? 1 : 0;
            emp_text_add(&line, "%*s%s", gap > least ? gap : least, "", text);
        }
        at += it->mark + it->pad;
    }
    if (line.used > 0) end_line(out, &line);
}

static void print_block(FILE *out, const emp_sheet_grid *g, const item *items, int count)
{
    char     array[LINE_BYTES], text[EMP_SHEET_CELL_BYTES];
    emp_text line = {array, sizeof array, 0};

    print_head(out, g, items, count);
    for (int32_t r = 0; r < g->row_count; r++) {
        for (int i = 0; i < count; i++) {
            const emp_value *v = value_of(g, &items[i], r);
            add_item(&line, g->sheet, &items[i],
                     v == NULL ? ""
                               : format_value(g->sheet, items[i].column, v, false, text),
                     v == NULL ? NULL : v->mark);
        }
        end_line(out, &line);
        print_ranges(out, g, items, count, r);
    }
    fputc('\n', out);
}

/* Wrapped under itself, after so many blanks. */
static void print_wrapped(FILE *out, const char *text, int indent, int line_width)
{
    size_t width = 0;

    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (width > 0 && width + 1 + length > (size_t)line_width) {
            fputc('\n', out);
            width = 0;
        }
        size_t blanks = (size_t)(width > 0 ? 1 : word == text ? indent : indent + 2);
        fprintf(out, "%*s%.*s", (int)blanks, "", (int)length, word);
        width += length + blanks;
        word += length + strspn(word + length, " ");
    }
    fputc('\n', out);
}

static void print_notes(FILE *out, const emp_sheet *s, bool is_md, int line_width)
{
    char origin[2048];

    snprintf(origin, sizeof origin, "Made by: %s (emplace %s, commit %.12s%s).",
             s->command, s->version, s->commit, s->is_dirty ? ", modified" : "");
    for (int32_t i = 0; i < s->note_count + (s->next == NULL && !s->is_bare); i++) {
        const char *note = i < s->note_count ? s->note[i] : origin;
        if (is_md)
            fprintf(out, "- %s\n", note);
        else
            print_wrapped(out, note, 2, line_width);
    }
    if (s->next != NULL && s->note_count > 0) fputc('\n', out);
}

/* A terminal would break longer lines anywhere. */
static int line_width_of(const emp_sheet *s, FILE *out)
{
    int columns = s->line_width > 0 ? s->line_width : emp_terminal_size_of(out).columns;

    return columns > 0 && columns < LINE_WIDTH ? columns : LINE_WIDTH;
}

emp_status emp_sheet_print_text(FILE *out, const emp_sheet *s, emp_error *err)
{
    emp_sheet_grid g;
    item           items[MOST_ITEMS];
    int            count, width = line_width_of(s, out);

    EMP_CHECK(emp_sheet_grid_create(&g, s, err));
    if (s->title != NULL) {
        print_wrapped(out, s->title, 0, width);
        fputc('\n', out);
    }
    for (int32_t from = 0; from < g.group_count && g.row_count > 0;) {
        from = lay_out(&g, from, width, items, &count);
        print_block(out, &g, items, count);
    }
    print_notes(out, s, false, width);
    emp_sheet_grid_clear(&g);
    return EMP_OK;
}

/* ---- Markdown ---- */

/* A bar would end the cell. */
static void print_md_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void print_md_head(FILE *out, const emp_sheet_grid *g, const item *items,
                          int count)
{
    const char *main_title = NULL; /* of a group, which then needs no title but its own */

    fputc('|', out);
    for (int i = 0; i < count; i++) {
        const char *title = g->sheet->column[items[i].column].title;
        bool        is_first = i == 0 || items[i].group != items[i - 1].group;
        bool        is_alone = items[i].group < 0 || g->across < 0 || !is_first;
        if (!is_alone) {
            if (main_title == NULL) main_title = title;
            fputc(' ', out);
            print_md_text(out, group_title(g, items[i].group));
            if (strcmp(title, main_title) == 0) title = "";
        }
        if (title[0] != '\0') fputs(is_alone ? " " : ", ", out);
        print_md_text(out, title);
        fputs(" |", out);
    }
    fputs("\n|", out);
    for (int i = 0; i < count; i++) fputs(" --- |", out);
    fputc('\n', out);
}

/* The items of all groups beside each other; returns their number. */
static int list_items(const emp_sheet_grid *g, item *items)
{
    int count = 0;

    if (g->across >= 0) add_items(g, EMP_SHEET_ROW, -1, 0, items, &count);
    for (int32_t i = 0; i < g->group_count; i++)
        add_items(g, EMP_SHEET_CELL, i, 0, items, &count);
    if (g->across >= 0) add_items(g, EMP_SHEET_END, -1, 0, items, &count);
    return count;
}

emp_status emp_sheet_print_md(FILE *out, const emp_sheet *s, emp_error *err)
{
    emp_sheet_grid g;
    item           items[MOST_ITEMS];
    char           text[EMP_SHEET_CELL_BYTES];

    EMP_CHECK(emp_sheet_grid_create(&g, s, err));
    if (s->title != NULL) fprintf(out, "**%s**\n\n", s->title);
    int count = list_items(&g, items);
    print_md_head(out, &g, items, count);
    for (int32_t r = 0; r < g.row_count; r++) {
        fputc('|', out);
        for (int i = 0; i < count; i++) {
            const emp_value *found = value_of(&g, &items[i], r), *none = &EMP_NONE;
            const emp_value *v = found != NULL ? found : none;
            const char      *shown = format_value(s, items[i].column, v, true, text);
            bool             is_marked = v->mark != NULL && strchr(shown, '[') == NULL;
            fputc(' ', out);
            print_md_text(out, shown);
            fprintf(out, "%s |", is_marked ? v->mark : "");
        }
        fputc('\n', out);
    }
    fputc('\n', out);
    print_notes(out, s, true, 0);
    emp_sheet_grid_clear(&g);
    return EMP_OK;
}

/* ---- HTML ---- */

typedef void (*write_text)(FILE *out, const char *text);

static void print_html_head(FILE *out, const emp_sheet_grid *g, const item *items,
                            int count, write_text text)
{
    bool is_bare = has_bare_groups(g, items, count);

    fputs("<thead>", out);
    if (g->across >= 0 && !is_bare) {
        fputs("<tr>", out);
        for (int i = 0, from = 0; i < count; i = from) {
            for (from = i + 1; from < count && items[i].group >= 0 &&
                               items[from].group == items[i].group;)
                from++;
            fprintf(out, "<th colspan=\"%d\">", from - i);
            if (items[i].group >= 0) text(out, group_title(g, items[i].group));
            fputs("</th>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("<tr>", out);
    for (int i = 0; i < count; i++) {
        fputs(is_right(g->sheet, &items[i]) ? "<th>" : "<th class=\"text\">", out);
        text(out, is_bare && items[i].group >= 0
                      ? group_title(g, items[i].group)
                      : g->sheet->column[items[i].column].title);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void print_html_value(FILE *out, const emp_sheet_grid *g, const item *at,
                             const emp_value *v, write_text text)
{
    char                    array[EMP_SHEET_CELL_BYTES];
    const emp_sheet_column *column = &g->sheet->column[at->column];

    fputs(is_right(g->sheet, at) ? "<td>" : "<td class=\"text wrap\">", out);
    text(out, v == NULL ? "" : format_value(g->sheet, at->column, v, false, array));
    if (v != NULL && v->mark != NULL) text(out, v->mark);
    if (v != NULL && has_range(column, v, EMP_SHEET_BELOW)) {
        emp_text range = {array, sizeof array, 0};
        add_range(&range, g->sheet, column, v);
        fprintf(out, "<small>%s</small>", array);
    }
    fputs("</td>", out);
}

emp_status emp_sheet_print_html(FILE *out, const emp_sheet *s, write_text text,
                                emp_error *err)
{
    emp_sheet_grid g;
    item           items[MOST_ITEMS];

    EMP_CHECK(emp_sheet_check(s, err));
    EMP_CHECK(emp_sheet_grid_create(&g, s, err));
    int count = list_items(&g, items);
    fputs("<div class=\"scroll\"><table><caption>", out);
    text(out, s->title == NULL ? "" : s->title);
    fputs("</caption>\n", out);
    print_html_head(out, &g, items, count, text);
    for (int32_t r = 0; r < g.row_count; r++) {
        bool is_best = false;
        for (int32_t k = 0; s->best_line >= 0 && k < g.group_count; k++)
            is_best |= g.line[r * g.group_count + k] == s->best_line;
        fputs(is_best ? "<tr class=\"best\">" : "<tr>", out);
        for (int i = 0; i < count; i++)
            print_html_value(out, &g, &items[i], value_of(&g, &items[i], r), text);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    for (int32_t i = 0; i < s->note_count; i++) {
        fputs("<p class=\"how\">", out);
        text(out, s->note[i]);
        fputs("</p>\n", out);
    }
    emp_sheet_grid_clear(&g);
    return ferror(out) ? EMP_ERROR(EMP_EIO, "cannot write the table") : EMP_OK;
}
