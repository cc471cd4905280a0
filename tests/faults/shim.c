// Preloaded into a process (LD_PRELOAD) to make reads of one file fail or come back short, or the clock run backwards.
//
//   FAULT_FILE=name     reads of files whose path ends so are counted; they fail with EIO after FAULT_AFTER bytes
//   FAULT_SHORT=1       such reads give at most 7 bytes at first, then more, and are interrupted (EINTR) now and then
//   FAULT_CLOCK=1       the time of day goes back by an hour at each call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long bytes_read = 0;
static long calls = 0;

static int is_target(int file) {
    const char *name = getenv("FAULT_FILE");
    if (name == NULL) return 0;
    char link[64], path[PATH_MAX];
    const char digits[] = "0123456789";
    char *end = link + sizeof link - 1, *at = end;
    *at = 0;
    int number = file;
    do *--at = digits[number % 10]; while ((number /= 10) > 0);
    char full[96] = "/proc/self/fd/";
    strcat(full, at);
    const ssize_t length = readlink(full, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    const size_t wanted = strlen(name);
    return (size_t)length >= wanted && strcmp(path + length - wanted, name) == 0;
}

// Returns -1 if the read shall fail, else how many bytes it may ask for.
static ssize_t allowed(int file, size_t asked) {
    if (!is_target(file)) return (ssize_t)asked;
    const char *after = getenv("FAULT_AFTER");
    if (after != NULL) {
        const long room = atol(after) - bytes_read;
        if (room <= 0) {
            errno = EIO;
            return -1;
        }
        if ((size_t)room < asked) asked = (size_t)room;
    }
    if (getenv("FAULT_SHORT") != NULL) {
        if (++calls % 5 == 0) {
            errno = EINTR;
            return -1;
        }
        const size_t most = calls < 50 ? 7 : 4099;
        if (asked > most) asked = most;
    }
    return (ssize_t)asked;
}

static ssize_t counted(int file, ssize_t got) {
    if (got > 0 && is_target(file)) bytes_read += got;
    return got;
}

#define REAL(type, name) __typeof__(type) *real = (__typeof__(type) *)dlsym(RTLD_NEXT, name)

ssize_t read(int file, void *out, size_t n) {
    REAL(ssize_t(int, void *, size_t), "read");
    const ssize_t most = allowed(file, n);
    return most < 0 ? -1 : counted(file, real(file, out, (size_t)most));
}

ssize_t pread64(int file, void *out, size_t n, off64_t at) {
    REAL(ssize_t(int, void *, size_t, off64_t), "pread64");
    const ssize_t most = allowed(file, n);
    return most < 0 ? -1 : counted(file, real(file, out, (size_t)most, at));
}

ssize_t pread(int file, void *out, size_t n, off_t at) { return pread64(file, out, n, (off64_t)at); }

ssize_t preadv64v2(int file, const struct iovec *parts, int n, off64_t at, int flags) {
    REAL(ssize_t(int, const struct iovec *, int, off64_t, int), "preadv64v2");
    if (is_target(file)) {
        errno = EAGAIN;  // not in the cache: the ordinary way is taken
        return -1;
    }
    return real(file, parts, n, at, flags);
}

ssize_t preadv2(int file, const struct iovec *parts, int n, off_t at, int flags) {
    return preadv64v2(file, parts, n, (off64_t)at, flags);
}

int clock_gettime(clockid_t kind, struct timespec *now) {
    REAL(int(clockid_t, struct timespec *), "clock_gettime");
    const int status = real(kind, now);
    if (kind == CLOCK_REALTIME && getenv("FAULT_CLOCK") != NULL) now->tv_sec -= 3600 * ++calls;
    return status;
}
