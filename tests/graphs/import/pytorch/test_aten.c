// SPDX-License-Identifier: GPL-3.0-or-later
/* Names of PyTorch's ops in all spellings that files have. */
#include <criterion/criterion.h>
#include <string.h>

#include "graphs/import/pytorch/lower.h"

static emp_aten_op parse(const char *target)
{
    emp_aten_op op;

    cr_assert(emp_aten_parse(&op, target, strlen(target)), "%s", target);
    return op;
}

Test(aten, every_spelling_is_the_same_op)
{
    static const char *const spellings[] = {"aten.mm.default",
                                            "aten::mm",
                                            "aten::mm.default",
                                            "torch.ops.aten.mm.default",
                                            "mm",
                                            "torch._ops.aten.mm.default",
                                            "aten.mm"};

    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        emp_aten_op op = parse(spellings[i]);
        cr_expect_str_eq(op.name, "aten.mm", "%s", spellings[i]);
        cr_expect_eq(op.type, emp_op_type_find("aten.mm"), "%s", spellings[i]);
        cr_expect_not(op.is_view || op.is_in_place || op.is_list || op.is_out);
    }
    cr_expect_str_eq(parse("aten.add.Tensor").overload, "Tensor");
    cr_expect_str_eq(parse("aten::mm").overload, "");
}

Test(aten, a_name_says_what_an_op_writes)
{
    cr_expect(parse("aten.add_.Tensor").is_in_place);
    cr_expect(parse("aten._fused_adam_.default").is_in_place);
    cr_expect(parse("aten._fused_adam_.default").is_list);
    cr_expect(parse("aten._foreach_add.List").is_list);
    cr_expect(parse("aten.add.out").is_out);
    cr_expect(parse("aten.sum.IntList_out").is_out);
    cr_expect_not(parse("aten.add.Tensor").is_in_place);
    cr_expect_not(parse("aten.__and__.Tensor").is_in_place);
    /* What it changes is how the tensor is seen. */
    cr_expect_not(parse("aten.squeeze_.dim").is_in_place);
    cr_expect(parse("aten.squeeze_.dim").is_view);
    cr_expect(parse("aten.permute.default").is_view);
    cr_expect_not(parse("aten.permute_copy.default").is_view);
}

Test(aten, functions_of_python_work_on_sizes)
{
    cr_expect(parse("<built-in function getitem>").is_getitem);
    cr_expect(parse("_operator.getitem").is_getitem);
    cr_expect_not(parse("<built-in function mul>").is_getitem);
    cr_expect_eq(parse("<built-in function mul>").type->work, EMP_WORK_NOTHING);
    cr_expect_eq(parse("math.ceil").type->work, EMP_WORK_NOTHING);
}

Test(aten, unknown_names_are_kept_as_they_are)
{
    emp_aten_op op = parse("mylib.fancy_op.default");

    cr_expect_null(op.type);
    cr_expect_str_eq(op.name, "mylib.fancy_op");
    cr_expect_null(parse("aten.never_heard_of.default").type);
}

Test(aten, what_is_no_name_is_refused)
{
    static const char *const bad[] = {"",    ".",        "aten.", ".mm",
                                      "a b", "aten.m m", "::mm",  "<x>"};
    char                     longer[4 * EMP_ATEN_NAME_BYTES];
    emp_aten_op              op;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(emp_aten_parse(&op, bad[i], strlen(bad[i])), "\"%s\"", bad[i]);
    memset(longer, 'a', sizeof longer);
    cr_expect_not(emp_aten_parse(&op, longer, sizeof longer));
    cr_expect_eq(op.name[0], '\0');
}
