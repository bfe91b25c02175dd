// Kills a process under test at a step: built and preloaded by KillSteps.swift, never part of a product.
//
// A step is a call that changes what a crash leaves of the files below STEPS_UNDER: sync, rename, link, removal, cut,
// and writing to a file that is no SQLite database (what SQLite writes between two syncs is undone by its own rules).
// The file STEPS_FILE is mapped. Its first number is how many steps are left until the process dies, before it takes
// the step; 0: it lives. The second number counts all steps. The third is added, in seconds, to the clock by which
// timers go. Then comes a text: the step at which it died.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct order {
    _Atomic int64_t left, count, clock;
    char struck[512];
};

static struct order *order;
static char under[PATH_MAX];

__attribute__((constructor)) static void map_order(void) {
    const char *path = getenv("STEPS_FILE"), *directory = getenv("STEPS_UNDER");
    int descriptor = path && directory ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    snprintf(under, sizeof under, "%s", directory);
    void *memory = mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory != MAP_FAILED) order = memory;
}

static void step(const char *name, const char *path) {
    if (!order || !strstr(path, under)) return;
    atomic_fetch_add(&order->count, 1);
    if (atomic_load(&order->left) <= 0 || atomic_fetch_sub(&order->left, 1) != 1) return;
    snprintf(order->struck, sizeof order->struck, "%s %s", name, path);
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

static void path_of(int descriptor, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void step_file(const char *name, int descriptor, int of_database) {
    if (!order) return;
    int error = errno;
    char path[PATH_MAX];
    path_of(descriptor, path, sizeof path);
    if (of_database || !strstr(path, ".sqlite")) step(name, path);
    errno = error;
}

static void step_at(const char *name, int directory, const char *file) {
    if (!order) return;
    int error = errno;
    char path[PATH_MAX], whole[2 * PATH_MAX];
    path[0] = 0;
    if (file[0] != '/' && directory != AT_FDCWD) path_of(directory, path, sizeof path);
    snprintf(whole, sizeof whole, "%s%s%s", path, path[0] ? "/" : "", file);
    step(name, whole);
    errno = error;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int f) { return step_file("fsync", f, 1), REAL(fsync)(f); }
int fdatasync(int f) { return step_file("fdatasync", f, 1), REAL(fdatasync)(f); }
int ftruncate(int f, off_t n) { return step_file("ftruncate", f, 1), REAL(ftruncate)(f, n); }
int ftruncate64(int f, off64_t n) { return step_file("ftruncate", f, 1), REAL(ftruncate64)(f, n); }
ssize_t write(int f, const void *b, size_t n) { return step_file("write", f, 0), REAL(write)(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) { return step_file("pwrite", f, 0), REAL(pwrite)(f, b, n, o); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
    return step_file("pwrite", f, 0), REAL(pwrite64)(f, b, n, o);
}
int rename(const char *a, const char *b) { return step_at("rename to", AT_FDCWD, b), REAL(rename)(a, b); }
int renameat(int d, const char *a, int e, const char *b) {
    return step_at("rename to", e, b), REAL(renameat)(d, a, e, b);
}
int renameat2(int d, const char *a, int e, const char *b, unsigned flags) {
    return step_at("rename to", e, b), REAL(renameat2)(d, a, e, b, flags);
}
int link(const char *a, const char *b) { return step_at("link to", AT_FDCWD, b), REAL(link)(a, b); }
int linkat(int d, const char *a, int e, const char *b, int flags) {
    return step_at("link to", e, b), REAL(linkat)(d, a, e, b, flags);
}
int unlink(const char *path) { return step_at("unlink", AT_FDCWD, path), REAL(unlink)(path); }
int unlinkat(int d, const char *path, int flags) { return step_at("unlink", d, path), REAL(unlinkat)(d, path, flags); }
int rmdir(const char *path) { return step_at("rmdir", AT_FDCWD, path), REAL(rmdir)(path); }

// The clock of timers, ahead by what the order says.

static _Atomic int clocks[4096];

int timerfd_create(clockid_t clock, int flags) {
    int result = (int)syscall(SYS_timerfd_create, clock, flags);
    if (result >= 0 && result < 4096) atomic_store(&clocks[result], clock);
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static _Atomic(__typeof__(&clock_gettime)) real;
    // Another preloaded library may have a wall clock.
    __typeof__(&clock_gettime) next = atomic_load(&real);
    if (!next) atomic_store(&real, next = REAL(clock_gettime));
    int result = next(clock, time);
    if (result == 0 && order && clock == CLOCK_MONOTONIC) time->tv_sec += atomic_load(&order->clock);
    return result;
}

int timerfd_settime(int f, int flags, const struct itimerspec *new, struct itimerspec *old) {
    struct itimerspec moved = *new;
    int64_t ahead = order && f >= 0 && f < 4096 && atomic_load(&clocks[f]) == CLOCK_MONOTONIC
        ? atomic_load(&order->clock) : 0;
    if (flags & TFD_TIMER_ABSTIME && moved.it_value.tv_sec > ahead) moved.it_value.tv_sec -= ahead;
    return (int)syscall(SYS_timerfd_settime, f, flags, &moved, old);
}
