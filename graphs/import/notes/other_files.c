// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/notes/other_files.h"

#include <string.h>

enum { SNIFFED_BYTES = 4096 };

static const char yaml_mark[] = "---";

/* The beginning of a file, or of the key "format" of a JSON file. */
static const struct {
    const char *begins, *what;
} others[] = {
    {"\x89HDF\r\n\x1a\n", "HDF5, and no graph; emplace record shows a run record or a "
                          "checkpoint, and --placement takes its placement"},
    {yaml_mark, "YAML, and no graph; --machine takes a machine, --runtime a runtime "
                "profile, --placement a placement"},
    {"emplace-placement-", "a placement, and no graph; --placement takes it"},
    {"emplace-graph-", "a graph that emplace graph --out has written for other programs, "
                       "which is not read back; name the SPEC that it was made of"},
    {"emplace-replay-plan-", "a plan, and no graph; emplace-replay executes it"},
    {"emplace-replay-result-",
     "the result of a plan, and no graph; emplace validate --import takes it"},
    {"torch.fx",
     "a graph of PyTorch whose key \"format\" is not the first; put it first"},
};

static const char *find(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t length = strlen(others[i].begins);
        if (size >= length && memcmp(text, others[i].begins, length) == 0)
            return others[i].what;
    }
    return NULL;
}

/* Whether a line is an item of a list, or a key whose value is in the lines below it: protobuf's text has
 * neither. */
static bool is_yaml_line(const char *at, const char *end)
{
    while (at < end && *at == ' ') at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\r')) end--;
    if (at == end || *at == '#') return false;
    return end[-1] == ':' || (end - at > 1 && at[0] == '-' && at[1] == ' ');
}

static bool is_yaml(const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + (size < SNIFFED_BYTES ? size : SNIFFED_BYTES);

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        if (is_yaml_line(at, stop)) return true;
        at = stop + (stop < end);
    }
    return false;
}

const char *emp_other_file(const char *bytes, size_t size, bool is_text)
{
    if (is_text && is_yaml(bytes, size)) return find(yaml_mark, sizeof yaml_mark - 1);
    return find(bytes, size);
}

emp_status emp_other_json_refuse(const emp_json *root, emp_error *err)
{
    const char *format = emp_json_string(emp_json_get(root, "format"));
    const char *what = format == NULL ? NULL : find(format, strlen(format));

    if (what != NULL) return EMP_ERROR(EMP_EFORMAT, "%s", what);
    return EMP_ERROR(
        EMP_EFORMAT,
        "JSON of no known kind%s%.60s%s; the first key of PyTorch's graphs is "
        "\"format\", a text that begins with torch.fx; traces have the list "
        "\"traceEvents\" or \"workload_graph\", or the text \"schema\"; "
        "configs have \"model_type\", and dnn-partitioning's instances the "
        "lists \"nodes\" and \"edges\"",
        format == NULL ? "" : ", as its format is \"", format == NULL ? "" : format,
        format == NULL ? "" : "\"");
}
