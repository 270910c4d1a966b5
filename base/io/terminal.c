// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE
#include "base/io/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

emp_terminal_size emp_terminal_size_of(FILE *stream)
{
    int            file = fileno(stream);
    struct winsize size = {0};

    if (file < 0 || isatty(file) != 1 || ioctl(file, TIOCGWINSZ, &size) != 0)
        return (emp_terminal_size){0};
    return (emp_terminal_size){size.ws_col, size.ws_row};
}
