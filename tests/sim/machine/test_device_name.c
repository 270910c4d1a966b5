// SPDX-License-Identifier: GPL-3.0-or-later
/* Do TensorFlow's names of devices find the machine's, and come back as they were written? */
#include <criterion/criterion.h>
#include <string.h>

#include "sim/machine/queries/check.h"

static emp_machine *load(const char *name)
{
    emp_machine *machine = NULL;

    cr_assert_eq(emp_machine_load(&machine, name, NULL), EMP_OK);
    return machine;
}

static void expect(const emp_machine *m, const char *name, const char *device)
{
    emp_device_id got = emp_device_name_find(m, name, strlen(name));
    emp_device_id want = device != NULL ? emp_machine_find(m, device) : -1;

    cr_expect_eq(got, want, "\"%s\" is device %d of %s, want %d", name, got, m->name,
                 want);
}

Test(device_name, forms_of_one_host)
{
    emp_machine *m = load("k40x4");

    expect(m, "/job:localhost/replica:0/task:0/device:GPU:2", "gpu:2");
    expect(m, "/job:localhost/replica:0/task:0/cpu:0", "cpu:0");
    expect(m, "/device:GPU:3", "gpu:3");
    expect(m, "/gpu:0", "gpu:0");
    expect(m, "/GPU:1", "gpu:1");
    expect(m, "/cpu:0", "cpu:0");
    expect(m, "gpu:1", "gpu:1");
    expect(m, "/job:worker/task:0", "gpu:0");
    expect(m, "/job:ps", "gpu:0");
    expect(m, "", "gpu:0");
    emp_machine_destroy(m);
}

Test(device_name, a_task_is_a_host)
{
    emp_machine *m = load("k40x4x2");

    expect(m, "/job:worker/task:1/device:GPU:0", "gpu:4");
    expect(m, "/job:ps/task:1/device:CPU:0", "cpu:1");
    expect(m, "/job:worker/task:1", "gpu:4");
    expect(m, "/gpu:5", "gpu:5");
    expect(m, "/job:worker/task:0/gpu:4", NULL);
    expect(m, "/job:worker/task:2/gpu:0", NULL);
    expect(m, "/job:worker/task:1/cpu:1", NULL);
    emp_machine_destroy(m);
}

Test(device_name, others_fit_no_device)
{
    static const char *const names[] = {"/device:TPU:0",
                                        "/gpu:4",
                                        "/gpu:",
                                        "/gpu",
                                        "/gpu:*",
                                        "/gpu:-1",
                                        "/gpu:1x",
                                        "/task:x/gpu:0",
                                        "/task:/gpu:0",
                                        "/gpu:9999999999",
                                        "/device:XLA_GPU:0",
                                        "hello"};
    emp_machine             *m = load("k40x4");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) expect(m, names[i], NULL);
    emp_machine_destroy(m);
}

Test(device_name, what_is_written_is_found)
{
    static const char *const machines[] = {"k40x1", "k40x4", "k40x4x2", "k40x7x8",
                                           "cpu2"};

    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        emp_machine *m = load(machines[i]);
        for (emp_device_id d = 0; d < m->device_count; d++) {
            char name[EMP_DEVICE_NAME_BYTES];
            expect(m, emp_device_name_write(name, m, d), m->device[d].name);
        }
        emp_machine_destroy(m);
    }
}

Test(device_name, one_host_needs_no_task)
{
    emp_machine *one = load("k40x2"), *two = load("k40x4x2");
    char         name[EMP_DEVICE_NAME_BYTES];

    cr_expect_str_eq(emp_device_name_write(name, one, 2), "/device:GPU:1");
    cr_expect_str_eq(emp_device_name_write(name, two, emp_machine_find(two, "gpu:6")),
                     "/job:worker/task:1/device:GPU:2");
    emp_machine_destroy(one);
    emp_machine_destroy(two);
}
