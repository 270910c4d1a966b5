// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "cli/cli.h"
#include "sim/machine/card.h"
#include "sim/machine/model.h"
#include "sim/machine/queries/check.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("from", "from", EMP_SHEET_WORD),
    EMP_COLUMN("to", "to", EMP_SHEET_WORD),
    EMP_COLUMN("by", "by", EMP_SHEET_WORD),
    EMP_COLUMN("gb_per_s", "GB/s", EMP_SHEET_REAL),
    EMP_COLUMN("s_1kb", "1 kB", EMP_SHEET_SECONDS),
    EMP_COLUMN("s_1mb", "1 MB", EMP_SHEET_SECONDS),
    EMP_COLUMN("s_100mb", "100 MB", EMP_SHEET_SECONDS)};

/* The time of a copy by itself. */
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

/* ---- constants that follow from a card ---- */

static const emp_device *device_of(const emp_machine *m, int32_t model)
{
    emp_device_id d = 0;

    while (d < m->device_count && m->device[d].model != model) d++;
    return d < m->device_count ? &m->device[d] : NULL;
}

static const char *format_constant(char                    text[EMP_UNITS_TEXT_BYTES],
                                   const emp_config_field *constant, double value)
{
    const size_t size = EMP_UNITS_TEXT_BYTES;

    switch (constant->kind) {
    case EMP_CONFIG_SECONDS: return emp_units_format_seconds(value, text, size);
    case EMP_CONFIG_BYTES: return emp_units_format_bytes((int64_t)value, text, size);
    case EMP_CONFIG_BYTES_PER_S: return emp_units_format_si(value, "B/s", text, size);
    case EMP_CONFIG_FLOPS_PER_S: return emp_units_format_si(value, "FLOP/s", text, size);
    case EMP_CONFIG_HERTZ: return emp_units_format_si(value, "Hz", text, size);
    default: return emp_units_format_number(value, 6, text, size);
    }
}

/* One constant of a model that a rule gave; false: it was stated. */
static bool is_derived(const emp_machine_model *model, int32_t i)
{
    return (model->derived >> i & 1) != 0;
}

/* Prints the constants of a rule on one line: "stream 1.43 TB/s: 0.8 of the card's rate". */
static void print_rule(const emp_machine_model *model, const emp_device *device,
                       int32_t first)
{
    int32_t                 count;
    const emp_config_field *constants = emp_device_constants(model->kind, &count);
    const char             *rule = emp_card_rule(model->kind, constants[first].key);
    char                    value[EMP_UNITS_TEXT_BYTES];

    for (int32_t i = first; i < count; i++) {
        const char *of = emp_card_rule(model->kind, constants[i].key);
        if (!is_derived(model, i) || strcmp(of, rule) != 0) continue;
        printf("%s%s %s", i == first ? "    " : ", ", constants[i].key,
               format_constant(value, &constants[i],
                               emp_config_number(&constants[i], device)));
    }
    printf(": %s\n", rule);
}

static bool is_first_of_rule(const emp_machine_model *model, int32_t i)
{
    int32_t                 count;
    const emp_config_field *constants = emp_device_constants(model->kind, &count);
    const char             *rule = emp_card_rule(model->kind, constants[i].key);

    if (!is_derived(model, i)) return false;
    for (int32_t k = 0; k < i; k++)
        if (is_derived(model, k) &&
            strcmp(emp_card_rule(model->kind, constants[k].key), rule) == 0)
            return false;
    return true;
}

/* Each model with a card, and what follows from it. */
static void print_derived(const emp_machine *m)
{
    int32_t count;
    char    card[256];

    for (int32_t i = 0; i < m->model_count; i++) {
        const emp_machine_model *model = &m->model[i];
        const emp_device        *device = device_of(m, i);
        if (!model->card.is_there || device == NULL) continue;
        emp_card_describe(card, sizeof card, &model->card);
        printf("%s: stated %s; derived from that:\n", model->name, card);
        (void)emp_device_constants(model->kind, &count);
        for (int32_t k = 0; k < count; k++)
            if (is_first_of_rule(model, k)) print_rule(model, device, k);
        if (model->kind != EMP_DEVICE_GPU || device->host == device - m->device) continue;
        const emp_route *r = &m->route[device - m->device][device->host];
        if (r->link_count == 0 || !m->link[r->link[0]].is_derived) continue;
        const emp_link *link = &m->link[r->link[0]];
        char            rate[32], latency[32];
        printf("    link %s, %s: by the bus %s and the class\n",
               emp_units_format_si(link->bytes_per_s, "B/s", rate, sizeof rate),
               emp_units_format_seconds(link->latency_s, latency, sizeof latency),
               model->card.bus);
    }
}

json_t *cli_machine_derived(const emp_machine *m)
{
    json_t *all = json_array();
    int32_t count;

    for (int32_t i = 0; i < m->model_count; i++) {
        const emp_machine_model *model = &m->model[i];
        const emp_device        *device = device_of(m, i);
        const emp_config_field  *constants = emp_device_constants(model->kind, &count);
        for (int32_t k = 0; k < count && device != NULL; k++)
            if (is_derived(model, k))
                json_array_append_new(
                    all, json_pack("{s:s, s:s, s:f, s:s}", "model", model->name,
                                   "constant", constants[k].key, "value",
                                   emp_config_number(&constants[k], device), "rule",
                                   emp_card_rule(model->kind, constants[k].key)));
    }
    return all;
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
    emp_sheet_set_facts(&sheet,
                        json_pack("{s:o}", "derived", cli_machine_derived(machine)));
    if (format == EMP_SHEET_TEXT) {
        printf("%s: %s\n", machine->name, machine->description);
        print_devices(machine);
        print_derived(machine);
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

/* A line a model: which of its constants follow from its card. */
static void print_derived_keys(const emp_machine *m)
{
    int32_t count;

    for (int32_t i = 0; i < m->model_count; i++) {
        const emp_machine_model *model = &m->model[i];
        const emp_config_field  *constants = emp_device_constants(model->kind, &count);
        if (model->derived == 0) continue;
        printf("model %s: derived from its %s:", model->name,
               model->kind == EMP_DEVICE_GPU ? "card" : "processor");
        for (int32_t k = 0; k < count; k++)
            if (is_derived(model, k)) printf(" %s", constants[k].key);
        printf("; emplace machines show says by which rules\n");
    }
}

void cli_machine_print_derived(const emp_machine *m)
{
    const char *lead = "derived      ";
    int32_t     count;
    bool        has_links = false;

    for (int32_t i = 0; i < m->model_count; i++) {
        int32_t derived = 0;
        (void)emp_device_constants(m->model[i].kind, &count);
        for (int32_t k = 0; k < count; k++) derived += is_derived(&m->model[i], k);
        if (derived == 0) continue;
        printf("%s%d constant%s of %s", lead, derived, emp_units_plural(derived),
               m->model[i].name);
        lead = ", ";
    }
    for (int32_t i = 0; i < m->link_count; i++)
        has_links = has_links || m->link[i].is_derived;
    if (has_links) printf("%slinks by the bus", lead);
    printf("; --sensitivity says which of them matter\n");
}

emp_status cli_machine_check(const emp_machine *machine, emp_sheet_format format,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    complaints c = {.machine = machine->name, .format = format};

    EMP_SHEET_INIT(&c.sheet, complaint_columns);
    c.sheet.is_bare = true;
    c.sheet.rows = "implausible";
    emp_sheet_set_facts(&c.sheet, json_pack("{s:s, s:o}", "machine", machine->name,
                                            "derived", cli_machine_derived(machine)));
    const int32_t count = emp_machine_check(machine, add_complaint, &c);
    if (format != EMP_SHEET_TEXT)
        EMP_TRY(emp_sheet_print(stdout, &c.sheet, format, err));
    else if (count == 0)
        printf("machine %s: nothing is implausible\n", machine->name);
    if (format == EMP_SHEET_TEXT) print_derived_keys(machine);
    if (count > 0)
        EMP_FAIL(EMP_EINVAL, "%d value%s of machine %s %s implausible", count,
                 emp_units_plural(count), machine->name, count == 1 ? "is" : "are");

cleanup:
    emp_sheet_clear(&c.sheet);
    return st;
}
