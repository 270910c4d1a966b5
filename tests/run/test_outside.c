// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a method from outside have the name that its other end gives, and a hash of the files of its
 * code, whichever way a command names them? */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <unistd.h>

#include "run/methods.h"
#include "run/outside/outside.h"
#include "tests/test.h"

TestSuite(outside, .init = scratch_create, .fini = scratch_remove);

static uint64_t code_of(const char *name)
{
    const emp_method *method = NULL;

    ASSERT_OK(emp_method_find(&method, name, &err));
    cr_expect_str_eq(method->name, name);
    return method->code_hash;
}

static void write_mine(const char *text)
{
    scratch_write("mine.py", text, strlen(text));
    scratch_write("mine.so", text, strlen(text));
}

static void expect_follows(const char *command, bool does_follow)
{
    write_mine("a = 1\n");
    const uint64_t before = code_of(command);
    cr_expect_eq(code_of(command), before, "%s", command);
    write_mine("a = 2\n");
    cr_expect_eq(code_of(command) != before, does_follow, "%s", command);
}

Test(outside, the_code_of_a_command_is_that_of_the_files_it_names)
{
    static const struct {
        const char *command;
        bool        does_follow;
    } cases[] = {{"cmd:python3 mine.py", true},
                 {"cmd:A=1 python3 -u 'mine.py' --fast", true},
                 {"cmd:python3 \"mine.py\"; true", true},
                 {"cmd:python3 other.py --rules=mine.py", true},
                 {"cmd:cat log <mine.py", true},
                 {"./mine.so", true}, /* a library */
                 {"mine.py", true},
                 {"mine.py:Agent", true},
                 {"agent=./mine.py", true},
                 {"agent=cmd:python3 mine.py", true},
                 {"cmd:true > mine.py", false},
                 {"cmd:true 2>>mine.py", false},
                 {"cmd:echo mine.pyc", false}};

    cr_assert_eq(chdir(scratch_path(NULL)), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_follows(cases[i].command, cases[i].does_follow);
    scratch_write("my own.py", "1", 1);
    const uint64_t quoted = code_of("cmd:python3 'my own.py'");
    scratch_write("my own.py", "2", 1);
    cr_expect_neq(code_of("cmd:python3 'my own.py'"), quoted);
    cr_expect_neq(code_of("cmd:python3 my\\ own.py"), 0);
}

Test(outside, a_program_on_the_path_is_a_file_of_the_command)
{
    cr_assert_eq(chmod(scratch_file("own-placer", "#!/bin/sh\n"), 0755), 0);
    setenv("PATH", scratch_path(NULL), 1);
    const uint64_t before = code_of("cmd:own-placer --fast");
    cr_expect_neq(before, 0);
    scratch_write("own-placer", "#!/bin/sh\nexit 1\n", 17);
    cr_expect_neq(code_of("cmd:own-placer --fast"), before);
    cr_expect_eq(code_of("cmd:no-such-placer"), 0);
}

Test(outside, a_socket_says_the_name_and_the_code)
{
    static const struct {
        const char *given, *name;
        uint64_t    code;
    } names[] = {{"socket:5", "socket", 0},
                 {"socket:6", "socket", 0},
                 {"socket:5:Mine:1f", "Mine", 0x1f},
                 {"socket:77:a:b c:00000000000000ff", "a:b c", 0xff}};
    const emp_method *method = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ASSERT_OK(emp_method_find(&method, names[i].given, &err));
        cr_expect_str_eq(method->name, names[i].name);
        cr_expect_eq(method->code_hash, names[i].code);
    }
}

Test(outside, other_names_are_refused)
{
    static const struct {
        const char *given, *message;
    } names[] = {{"socket:2", "names no descriptor"},
                 {"socket:5:Mine", "names no descriptor"},
                 {"socket:5::1f", "names no descriptor"},
                 {"socket:5:Mine:xyz", "\"xyz\" as the hash"},
                 {"socket:5:Mine:0", "\"0\" as the hash"},
                 {"socket:5:Mine:12345678901234567", "as the hash"},
                 {"socket:5:cmd:x:1f", "cannot be \"cmd:x\""},
                 {"socket:5:a\nb:1f", "cannot be \"a\nb\""},
                 {"socket:5:anneal:1f", "cannot have the name \"anneal\""}};
    const emp_method *method = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_REFUSED(emp_method_find(&method, names[i].given, &err), EMP_EINVAL,
                       names[i].message);
    }
}

static void expect_command(const emp_record *r, const char *want)
{
    char command[EMP_RECORD_COMMAND_BYTES];

    emp_record_command(command, r);
    cr_expect_str_eq(command, want);
}

Test(outside, the_call_that_makes_a_run_follows_from_its_record)
{
    emp_record r = {.method = "cmd:python3 mine.py",
                    .workload = "nmt:layers=2",
                    .machine = "k40x2",
                    .runtime = "ideal",
                    .options = "fast=1",
                    .seed = 3,
                    .budget_evaluations = 100};

    expect_command(&r,
                   "emplace place nmt:layers=2 --machine k40x2 --runtime ideal --method "
                   "'cmd:python3 mine.py' --options fast=1 --seed 3 --budget 100");
    r.budget_evaluations = 0; /* a run by the clock is repeated by what it scored */
    r.budget_cpu_s = 0.2;
    r.evaluations = 77;
    expect_command(&r,
                   "emplace place nmt:layers=2 --machine k40x2 --runtime ideal --method "
                   "'cmd:python3 mine.py' --options fast=1 --seed 3 --budget 77");
    r.budget_evaluations = 100;
    r.budget_cpu_s = 0.0;
    strcpy(r.stopped_by, "gap");
    expect_command(&r,
                   "emplace place nmt:layers=2 --machine k40x2 --runtime ideal --method "
                   "'cmd:python3 mine.py' --options fast=1 --seed 3 --budget 77");
    strcpy(r.stopped_by, "budget");
    strcpy(r.method, "Mine");
    expect_command(
        &r, "emplace.place(emplace.Problem(\"nmt:layers=2\", \"k40x2\", \"ideal\"), "
            "Mine, seed=3, budget=100, options=\"fast=1\")");
    strcpy(r.method, "hdp");
    strcpy(r.preset, "paper");
    r.ranks = 4;
    r.is_async = true;
    r.has_order = true;
    r.start_hash = 10;
    r.budget_s = 1.5;
    expect_command(
        &r, "mpirun -n 4 emplace train nmt:layers=2 --machine k40x2 --runtime ideal "
            "--method hdp --preset paper --options fast=1 --decide devices,order "
            "--start HASH-000000000000000a --seed 3 --budget 100 --seconds 1.5 --async "
            "--record run.h5");
}

Test(outside, names_of_methods_are_told_from_those_of_the_program)
{
    static const char *const outside[] = {"mine.py",  "a/mine.py:Agent", "x=mine.py",
                                          "x=./m.so", "cmd:true",        "x=cmd:a --b=c",
                                          "socket:5", "./mine.so"};
    static const char *const other[] = {"refine",   ".py",     "mine.py/x", "mine.pyc",
                                        "x=refine", "mine:py", "x=socket:5"};

    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        cr_expect(emp_outside_is_name(outside[i]), "%s", outside[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        cr_expect_not(emp_outside_is_name(other[i]), "%s", other[i]);
}

Test(outside, a_title_is_the_name_the_class_or_the_file)
{
    static const char *const cases[][2] = {{"mine=./other.so", "mine"},
                                           {"a/b/mine.py", "mine"},
                                           {"a/mine.py:Agent", "Agent"},
                                           {"./my.own.so", "my.own"},
                                           {"cmd:python3 x.py", "python3 x.py"}};
    char                     title[64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_outside_title(title, sizeof title, cases[i][0]);
        cr_expect_str_eq(title, cases[i][1]);
    }
}
