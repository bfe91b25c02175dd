// A wall clock of its own for a process under test: built and preloaded by FakeClock.swift, never part of a product.
//
// Adds the seconds in the file named by FAKE_CLOCK_FILE (one 64-bit integer, mapped, so that a change is seen at once) to CLOCK_REALTIME,
// and to nothing else: timers and the time since boot go on as they are, as when somebody sets a machine's clock.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("FAKE_CLOCK_FILE");
    int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *memory = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory != MAP_FAILED) offset = memory;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
