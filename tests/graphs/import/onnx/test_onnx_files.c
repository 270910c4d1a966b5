// SPDX-License-Identifier: GPL-3.0-or-later
/* Do ONNX files of the folder EMP_ONNX_FILES (by default shared/graphs beside the tree) train as the traced steps of
 * their models? Without files the test is skipped; test_indexed reads all files of that folder. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/graph/graph.h"

enum { PATH_BYTES = 4096 };

static const char *folder(void)
{
    static char path[PATH_BYTES];
    const char *given = getenv("EMP_ONNX_FILES"), *tree = getenv("EMP_SOURCE_DIR");

    if (given != NULL) return given;
    snprintf(path, sizeof path, "%s/../shared/graphs", tree != NULL ? tree : ".");
    return path;
}

static int is_onnx(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".onnx") == 0;
}

/* path: "FOLDER/" and the first length bytes of name, then end. */
static void path_of(char path[static PATH_BYTES], const char *name, size_t length,
                    const char *end)
{
    int written =
        snprintf(path, PATH_BYTES, "%s/%.*s%s", folder(), (int)length, name, end);

    cr_assert(written > 0 && written < PATH_BYTES, "%s is too long", name);
}

/* What is compared of two graphs of one training step. */
typedef struct {
    double  flops;
    int64_t parameter_bytes, activation_bytes;
} step_facts;

static bool read_step(const char *spec, step_facts *facts, emp_error *err)
{
    emp_graph       *step = NULL;
    emp_import_notes notes = {0};

    *err = (emp_error){0};
    emp_status st = emp_source_load_noted(&step, NULL, NULL, &notes, spec, err);
    emp_import_notes_clear(&notes);
    if (st != EMP_OK) return false;
    facts->flops = step->flops;
    facts->parameter_bytes = step->parameter_bytes;
    cr_assert_eq(emp_graph_activation_bytes(&facts->activation_bytes, step, NULL),
                 EMP_OK);
    emp_graph_destroy(step);
    return true;
}

static void print_step(const char *what, const step_facts *facts)
{
    printf("%-44s %12.5g %12lld %12lld\n", what, facts->flops,
           (long long)facts->parameter_bytes, (long long)facts->activation_bytes);
}

/* "torchgen_X_inference.onnx", trained, beside "torchgen_X_train_fx.json.gz". */
static void try_pair(const char *name)
{
    static const char end[] = "_inference.onnx";
    char              spec[8192], path[PATH_BYTES];
    size_t            stem = strlen(name) - (sizeof end - 1);
    step_facts        derived, traced;
    emp_error         err;

    snprintf(spec, sizeof spec, "onnx:path=%s/%s,train=adam", folder(), name);
    cr_assert(read_step(spec, &derived, &err), "%s: %s", name, err.msg);
    print_step(name, &derived);
    path_of(path, name, stem, "_train_fx.json.gz");
    if (!read_step(path, &traced, &err)) {
        printf("%.*s_train_fx.json.gz: %s\n", (int)stem, name, err.msg);
        return;
    }
    print_step("  as PyTorch traced it", &traced);
    cr_expect_float_eq(derived.flops / traced.flops, 1.0, 0.02, "%s", name);
    cr_expect_eq(derived.parameter_bytes, traced.parameter_bytes, "%s", name);
}

static int is_half_of_a_pair(const struct dirent *entry)
{
    return is_onnx(entry) && strstr(entry->d_name, "_inference.onnx") != NULL;
}

Test(onnx_files, train_as_the_traced_steps_of_their_models)
{
    struct dirent **entry = NULL;
    int             count = scandir(folder(), &entry, is_half_of_a_pair, alphasort);

    if (count <= 0) cr_skip_test("no pairs in %s", folder());
    printf("%-44s %12s %12s %12s\n", "training step", "FLOPs", "parameters",
           "activations");
    for (int i = 0; i < count; i++) {
        try_pair(entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
}
