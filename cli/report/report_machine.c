// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report_machine.h"

#include <stdio.h>

#include "base/text/units.h"
#include "cli/cli.h"
#include "sim/machine/queries/check.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("from", "from", EMP_SHEET_WORD),
    EMP_COLUMN("to", "to", EMP_SHEET_WORD),
    EMP_COLUMN("by", "by", EMP_SHEET_WORD),
    EMP_COLUMN("gb_per_s", "GB/s", EMP_SHEET_REAL),
    EMP_COLUMN("s_1kb", "1 kB", EMP_SHEET_SECONDS),
    EMP_COLUMN("s_1mb", "1 MB", EMP_SHEET_SECONDS),
    EMP_COLUMN("s_100mb", "100 MB", EMP_SHEET_SECONDS)};

/* Of a copy alone. */
static double seconds_of(const emp_route *route, double bytes)
{
    return route->latency_s + bytes / route->bytes_per_s;
}

static void add_ways(emp_sheet *sheet, const emp_machine *m)
{
    for (int32_t a = 0; a < m->device_count; a++) {
        for (int32_t b = 0; b < m->device_count; b++) {
            const emp_fabric *fabric = emp_machine_fabric_between(m, a, b);
            const emp_route  *route = &m->route[a][b];
            if (a == b) continue;
            EMP_SHEET_ADD(sheet, EMP_V(m->device[a].name), EMP_V(m->device[b].name),
                          EMP_V(fabric == NULL ? "tree" : fabric->name),
                          EMP_V(route->bytes_per_s * 1e-9), EMP_V(seconds_of(route, 1e3)),
                          EMP_V(seconds_of(route, 1e6)), EMP_V(seconds_of(route, 1e8)));
        }
    }
}

/* One line a device: its model and memory. */
static void print_devices(const emp_machine *m)
{
    char memory[32];

    for (emp_device_id d = 0; d < m->device_count; d++)
        printf("  %-8s %-14s %s\n", m->device[d].name, m->model[m->device[d].model].name,
               emp_units_format_bytes(m->device[d].memory_bytes, memory, sizeof memory));
}

emp_status cli_machine_show(const emp_machine *machine, emp_sheet_format format,
                            emp_error *err)
{
    emp_sheet sheet;

    EMP_SHEET_INIT(&sheet, columns);
    sheet.is_bare = true;
    add_ways(&sheet, machine);
    if (format == EMP_SHEET_TEXT) {
        printf("%s: %s\n", machine->name, machine->description);
        print_devices(machine);
    }
    emp_status st = emp_sheet_print(stdout, &sheet, format, err);
    emp_sheet_clear(&sheet);
    return st;
}

static const emp_sheet_column complaint_columns[] = {
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("what", "implausible", EMP_SHEET_WORD)};

typedef struct {
    emp_sheet        sheet;
    const char      *machine;
    emp_sheet_format format;
} complaints;

static void add_complaint(void *context, const char *sentence)
{
    complaints *c = (complaints *)context;

    if (c->format == EMP_SHEET_TEXT) printf("%s\n", sentence);
    EMP_SHEET_ADD(&c->sheet, EMP_V(c->machine), EMP_V(sentence));
}

emp_status cli_machine_check(const emp_machine *machine, emp_sheet_format format,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    complaints c = {.machine = machine->name, .format = format};

    EMP_SHEET_INIT(&c.sheet, complaint_columns);
    c.sheet.is_bare = true;
    c.sheet.rows = "implausible";
    emp_sheet_set_facts(&c.sheet, json_pack("{s:s}", "machine", machine->name));
    const int32_t count = emp_machine_check(machine, add_complaint, &c);
    if (format != EMP_SHEET_TEXT)
        EMP_TRY(emp_sheet_print(stdout, &c.sheet, format, err));
    else if (count == 0)
        printf("machine %s: nothing is implausible\n", machine->name);
    if (count > 0)
        EMP_FAIL(EMP_EINVAL, "%d value%s of machine %s %s implausible", count,
                 emp_units_plural(count), machine->name, count == 1 ? "is" : "are");

cleanup:
    emp_sheet_clear(&c.sheet);
    return st;
}
