// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/source_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "graphs/load.h"
#include "graphs/workloads/workloads.h"

enum { KEY_BATCH = 768, KEY_DIM, KEY_TRAIN, KEY_LENIENT, KEY_SIGNATURE };

static const struct argp_option options[] = {
    {"batch", KEY_BATCH, "N", 0,
     "Of an ONNX model or a TensorFlow graph: the size of inputs that leave their first "
     "one open",
     0},
    {"dim", KEY_DIM, "NAME=N", 0, "Of an ONNX model: the size that it calls NAME", 0},
    {"train", KEY_TRAIN, "OPTIMIZER", 0,
     "Derive the training step of an ONNX model: sgd, momentum or adam", 0},
    {"lenient", KEY_LENIENT, NULL, 0,
     "Take ops of an ONNX model whose types are unknown as element-wise; with a machine, "
     "a "
     "warning says how much of the time they are",
     0},
    {"signature", KEY_SIGNATURE, "NAME", 0,
     "Of a SavedModel: the signature that is a step; serving_default if it has that one",
     0},
    {0},
};

static void add_dim(cli_source_options *o, const char *dim)
{
    size_t used = strlen(o->dims);

    if (strchr(dim, '=') == NULL) cli_usage_error("--dim takes NAME=N, not \"%s\"", dim);
    if (used + strlen(dim) + 8 > sizeof o->dims) cli_usage_error("too many --dim");
    snprintf(o->dims + used, sizeof o->dims - used, ",dim.%s", dim);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_source_options *o = (cli_source_options *)state->input;

    switch (key) {
    case KEY_BATCH: o->batch = arg; return 0;
    case KEY_DIM: add_dim(o, arg); return 0;
    case KEY_TRAIN: o->train = arg; return 0;
    case KEY_LENIENT: o->is_lenient = true; return 0;
    case KEY_SIGNATURE: o->signature = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_source_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

/* What the options make of a file: the beginning of a spec. */
static const char *prefix_of(const cli_source_options *o, const char *path)
{
    bool is_for_onnx = o->train || o->is_lenient || o->dims[0] != '\0';
    const emp_source_format *format = is_for_onnx ? NULL : emp_source_format_of(path);

    return is_for_onnx ||
                   (format != NULL && !o->signature && format->source == EMP_SOURCE_ONNX)
               ? "onnx:path="
               : "tf:path=";
}

const char *cli_source_spec(cli_source_options *o, const char *spec)
{
    bool is_given =
        o->batch || o->train || o->is_lenient || o->signature || o->dims[0] != '\0';
    bool is_spec = spec != NULL && (emp_source_has_prefix(spec, "onnx") ||
                                    emp_source_has_prefix(spec, "tf"));

    if (!is_given || spec == NULL) return spec;
    if (emp_workload_is_spec(spec))
        cli_usage_error(
            "--batch, --dim, --train, --lenient and --signature are for files; emplace "
            "workloads %.*s lists what may follow \"%.*s:\"",
            (int)strcspn(spec, ":"), spec, (int)strcspn(spec, ":"), spec);
    if (!is_spec && strchr(spec, ',') != NULL)
        cli_usage_error(
            "\"%s\" has a comma, so --batch, --dim, --train, --lenient and --signature "
            "cannot go with it",
            spec);
    int length = snprintf(
        o->spec, sizeof o->spec, "%s%s%s%s%s%s%s%s%s%s",
        is_spec ? "" : prefix_of(o, spec), spec, o->dims, o->batch ? ",batch=" : "",
        o->batch ? o->batch : "", o->train ? ",train=" : "", o->train ? o->train : "",
        o->is_lenient ? ",lenient=1" : "", o->signature ? ",signature=" : "",
        o->signature ? o->signature : "");
    if (length < 0 || (size_t)length >= sizeof o->spec)
        cli_usage_error("\"%s\" is too long", spec);
    return o->spec;
}
