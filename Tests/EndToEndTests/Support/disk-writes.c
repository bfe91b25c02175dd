// Notes in order every change that a program makes to the files of one directory. A test can then make the directory as
// a power cut would leave it after any of these changes (DiskRecording.swift).
//
// DISK_WRITES_DIRECTORY is the directory. DISK_WRITES_LOG is the file of notes. A note has a head of 21 bytes: the kind
// of change (1), an offset or size (8), the lengths of two paths and of the data (4 each). Paths and data follow.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes = -1;
static char directory[PATH_MAX];
static size_t directory_length;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("DISK_WRITES_DIRECTORY"), *file = getenv("DISK_WRITES_LOG");
    if (!name || !file) return;
    directory_length = strlen(name);
    memcpy(directory, name, directory_length + 1);
    notes = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
    return notes >= 0 && strncmp(path, directory, directory_length) == 0
        && (path[directory_length] == '/' || path[directory_length] == 0);
}

// The path of a descriptor, or 0 if the file is not in the directory.
static int path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int error = errno;
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    errno = error;
    path[length > 0 ? length : 0] = 0;
    return length > 0 && is_ours(path);
}

static int full_path(int base, const char *name, char *path) {
    if (name[0] == '/') {
        if (strlen(name) >= PATH_MAX) return 0;
        strcpy(path, name);
        return is_ours(path);
    }
    char folder[PATH_MAX];
    if (base == AT_FDCWD) {
        if (!getcwd(folder, sizeof folder)) return 0;
    } else if (!path_of(base, folder)) {
        return 0;
    }
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && is_ours(path);
}

static void note(char operation, uint64_t offset, const char *first, const char *second, const void *data, uint32_t size) {
    uint32_t lengths[3] = {strlen(first), strlen(second), data ? size : 0};
    char head[21];
    head[0] = operation;
    memcpy(head + 1, &offset, 8);
    memcpy(head + 9, lengths, 12);
    struct iovec parts[4] = {
        {head, sizeof head}, {(void *)first, lengths[0]}, {(void *)second, lengths[1]}, {(void *)data, lengths[2]}};
    int error = errno;
    if (syscall(SYS_writev, notes, parts, 4) < 0) abort();
    errno = error;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static ssize_t written(int descriptor, const void *data, ssize_t size, off_t offset) {
    char path[PATH_MAX];
    if (size > 0 && path_of(descriptor, path)) note('w', offset, path, "", data, size);
    return size;
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    REAL(pwrite);
    pthread_mutex_lock(&lock);
    ssize_t result = written(descriptor, data, real(descriptor, data, size, offset), offset);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    pthread_mutex_lock(&lock);
    ssize_t result = written(descriptor, data, real(descriptor, data, size, offset), offset);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(write);
    struct stat status;
    if (notes < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return real(descriptor, data, size);
    pthread_mutex_lock(&lock);
    ssize_t result = real(descriptor, data, size);
    if (result > 0) written(descriptor, data, result, lseek(descriptor, 0, SEEK_CUR) - result);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(writev);
    struct stat status;
    if (notes < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return real(descriptor, parts, count);
    pthread_mutex_lock(&lock);
    ssize_t result = real(descriptor, parts, count);
    off_t place = lseek(descriptor, 0, SEEK_CUR) - (result > 0 ? result : 0);
    ssize_t left = result;
    for (int index = 0; index < count && left > 0; index++) {
        ssize_t size = (ssize_t)parts[index].iov_len < left ? (ssize_t)parts[index].iov_len : left;
        written(descriptor, parts[index].iov_base, size, place);
        place += size;
        left -= size;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

#define SIZED(name, type) \
    int name(int descriptor, type size) { \
        REAL(name); \
        char path[PATH_MAX]; \
        pthread_mutex_lock(&lock); \
        int result = real(descriptor, size); \
        if (result == 0 && path_of(descriptor, path)) note('t', size, path, "", 0, 0); \
        pthread_mutex_unlock(&lock); \
        return result; \
    }
SIZED(ftruncate, off_t)
SIZED(ftruncate64, off64_t)

#define ALLOCATED(name, type) \
    int name(int descriptor, type offset, type size) { \
        REAL(name); \
        char path[PATH_MAX]; \
        pthread_mutex_lock(&lock); \
        int result = real(descriptor, offset, size); \
        if (result == 0 && path_of(descriptor, path)) note('a', offset + size, path, "", 0, 0); \
        pthread_mutex_unlock(&lock); \
        return result; \
    }
ALLOCATED(posix_fallocate, off_t)
ALLOCATED(posix_fallocate64, off64_t)

#define SYNCED(name) \
    int name(int descriptor) { \
        REAL(name); \
        char path[PATH_MAX]; \
        pthread_mutex_lock(&lock); \
        int result = real(descriptor); \
        if (result == 0 && path_of(descriptor, path)) note('s', 0, path, "", 0, 0); \
        pthread_mutex_unlock(&lock); \
        return result; \
    }
SYNCED(fsync)
SYNCED(fdatasync)

static int opened(int base, const char *name, int flags, mode_t mode, int (*real)(int, const char *, int, ...)) {
    char path[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || !full_path(base, name, path)) return real(base, name, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    int was_there = fstatat(base, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    int result = real(base, name, flags, mode);
    if (result >= 0 && !was_there) note('c', 0, path, "", 0, 0);
    if (result >= 0 && was_there && flags & O_TRUNC) note('t', 0, path, "", 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

#define OPENED(name, realname, base, first, last) \
    int name first { \
        static int (*real)(int, const char *, int, ...); \
        if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, realname); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        } \
        return opened(base, path, flags, mode, real); \
    }
OPENED(open, "openat", AT_FDCWD, (const char *path, int flags, ...), 0)
OPENED(open64, "openat64", AT_FDCWD, (const char *path, int flags, ...), 0)
OPENED(openat, "openat", base, (int base, const char *path, int flags, ...), 0)
OPENED(openat64, "openat64", base, (int base, const char *path, int flags, ...), 0)

int rename(const char *from, const char *to) {
    REAL(rename);
    char first[PATH_MAX], second[PATH_MAX];
    pthread_mutex_lock(&lock);
    int result = real(from, to);
    if (result == 0 && full_path(AT_FDCWD, from, first) && full_path(AT_FDCWD, to, second))
        note('r', 0, first, second, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

static int renamed(int a, const char *from, int b, const char *to, int result) {
    char first[PATH_MAX], second[PATH_MAX];
    if (result == 0 && full_path(a, from, first) && full_path(b, to, second)) note('r', 0, first, second, 0, 0);
    return result;
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    pthread_mutex_lock(&lock);
    int result = renamed(a, from, b, to, real(a, from, b, to));
    pthread_mutex_unlock(&lock);
    return result;
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    REAL(renameat2);
    pthread_mutex_lock(&lock);
    int result = renamed(a, from, b, to, real(a, from, b, to, flags));
    pthread_mutex_unlock(&lock);
    return result;
}

static int removed(int base, const char *name, int result) {
    char path[PATH_MAX];
    if (result == 0 && full_path(base, name, path)) note('u', 0, path, "", 0, 0);
    return result;
}

int unlink(const char *path) {
    REAL(unlink);
    pthread_mutex_lock(&lock);
    int result = removed(AT_FDCWD, path, real(path));
    pthread_mutex_unlock(&lock);
    return result;
}

int rmdir(const char *path) {
    REAL(rmdir);
    pthread_mutex_lock(&lock);
    int result = removed(AT_FDCWD, path, real(path));
    pthread_mutex_unlock(&lock);
    return result;
}

int unlinkat(int base, const char *path, int flags) {
    REAL(unlinkat);
    pthread_mutex_lock(&lock);
    int result = removed(base, path, real(base, path, flags));
    pthread_mutex_unlock(&lock);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    char full[PATH_MAX];
    pthread_mutex_lock(&lock);
    int result = real(path, mode);
    if (result == 0 && full_path(AT_FDCWD, path, full)) note('m', 0, full, "", 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
