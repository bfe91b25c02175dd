// Interrupted system calls of a process under test: built and preloaded by PreloadedLibrary.swift, never part of a product.
//
// Of the calls that read, write, sync or open a file whose path contains INTERRUPT_PATH, the one with the number in
// INTERRUPT_AT fails once with EINTR, as if a signal had come. Its name is then written to the file INTERRUPT_STRUCK.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int calls;

static int strikes(const char *name, const char *path) {
    const char *part = getenv("INTERRUPT_PATH"), *at = getenv("INTERRUPT_AT"), *struck = getenv("INTERRUPT_STRUCK");
    if (!part || !at || !struck || !strstr(path, part) || atomic_fetch_add(&calls, 1) + 1 != atoi(at)) return 0;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, struck, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", name, path);
    if (descriptor < 0 || syscall(SYS_write, descriptor, line, length) != length) abort();
    syscall(SYS_close, descriptor);
    errno = EINTR;
    return 1;
}

static int strikes_file(const char *name, int descriptor) {
    char link[64], path[400];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strikes(name, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int f) { return strikes_file("fsync", f) ? -1 : REAL(fsync)(f); }
int fdatasync(int f) { return strikes_file("fdatasync", f) ? -1 : REAL(fdatasync)(f); }
int ftruncate(int f, off_t n) { return strikes_file("ftruncate", f) ? -1 : REAL(ftruncate)(f, n); }
int ftruncate64(int f, off64_t n) { return strikes_file("ftruncate", f) ? -1 : REAL(ftruncate64)(f, n); }
ssize_t read(int f, void *b, size_t n) { return strikes_file("read", f) ? -1 : REAL(read)(f, b, n); }
ssize_t write(int f, const void *b, size_t n) { return strikes_file("write", f) ? -1 : REAL(write)(f, b, n); }
ssize_t pread(int f, void *b, size_t n, off_t o) { return strikes_file("pread", f) ? -1 : REAL(pread)(f, b, n, o); }
ssize_t pread64(int f, void *b, size_t n, off64_t o) {
    return strikes_file("pread", f) ? -1 : REAL(pread64)(f, b, n, o);
}
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
    return strikes_file("pwrite", f) ? -1 : REAL(pwrite)(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
    return strikes_file("pwrite", f) ? -1 : REAL(pwrite64)(f, b, n, o);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return strikes("open", path) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return strikes("open", path) ? -1 : REAL(open64)(path, flags, mode);
}
