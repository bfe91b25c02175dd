// The system's log of a process under test: built and preloaded by PreloadedLibrary.swift, never part of a product.
//
// What goes to syslog is appended to the file named by JOURNAL_FILE, one line each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

void vsyslog(int priority, const char *format, va_list arguments) {
    const char *path = getenv("JOURNAL_FILE");
    char line[1024];
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    int descriptor = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (descriptor < 0 || length < 0) return;
    if (length > (int)sizeof line - 2) length = sizeof line - 2;
    line[length] = '\n';
    if (write(descriptor, line, length + 1) < 0) abort();
    close(descriptor);
}

void syslog(int priority, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsyslog(priority, format, arguments);
    va_end(arguments);
}
