// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the program take each TensorFlow graph in ../shared/graphs, or refuse it politely? */
#include <glob.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(graph_files, .init = emplace_set_up, .fini = emplace_tear_down);

Test(graph_files, are_placed_or_refused_with_a_sentence)
{
    static const char *const endings[] = {"pb", "pb.gz", "pbtxt"};
    glob_t                   files = {0};
    int                      placed = 0;

    for (int i = 0; i < 3; i++)
        glob(scratch_print("%s/../shared/graphs/*.%s", getenv("EMP_SOURCE_DIR"),
                           endings[i]),
             i > 0 ? GLOB_APPEND : 0, NULL, &files);
    if (files.gl_pathc == 0) cr_skip_test("there is no file in ../shared/graphs");
    for (size_t i = 0; i < files.gl_pathc; i++) {
        int status = emplace_run(
            scratch_print("place '%s' --machine k40x2 --method gpu", files.gl_pathv[i]));
        placed += status == 0;
        if (status == 0) continue;
        cr_expect_eq(status, 1, "%s: %s", files.gl_pathv[i], program_err);
        cr_expect(program_is_one_sentence(program_err, "emplace"), "%s: %s",
                  files.gl_pathv[i], program_err);
    }
    globfree(&files);
    cr_expect_geq(placed, 10);
}
