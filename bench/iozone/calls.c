// SPDX-License-Identifier: Apache-2.0
/*
 * Times every call that a program makes on one file, and takes one habit of another program up where asked to. For LD_PRELOAD.
 *
 * CALLS_FILE   path of the file as the program names it
 * CALLS_LOG    gets a line for each descriptor that did I/O, when it is closed: number of I/Os; nanoseconds in read and write, in fsync, in
 *              lseek, in close
 * CALLS_ALTER  alter the buffer before each write as fio's scramble_buffers does: two lines of the cache in each 512 bytes
 * CALLS_TOUCH  look at one word of each page after each read, as IOzone does
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MOST 1024
#define REAL(name, type, ...)           \
    static type (*real)(__VA_ARGS__);   \
    if (!real)                          \
    real = dlsym(RTLD_NEXT, name)
#define SEEN(fd) ((fd) >= 0 && (fd) < MOST && file[fd].seen)

static struct {
    char seen;
    long ios, io_ns, sync_ns, seek_ns;
} file[MOST];

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int opened(int fd, const char *path)
{
    const char *name = getenv("CALLS_FILE");
    if (fd >= 0 && fd < MOST) {
        memset(&file[fd], 0, sizeof file[fd]);
        file[fd].seen = name && !strcmp(path, name);
    }
    return fd;
}

static void alter(const void *buffer, size_t bytes)
{
    static long turn;
    static int asked = -1;
    if (asked < 0)
        asked = getenv("CALLS_ALTER") != NULL;
    if (!asked)
        return;
    turn++;
    for (size_t at = 0; at + 512 <= bytes; at += 512) {
        volatile long *sector = (volatile long *)((char *)buffer + at);
        sector[(1 + turn % 7) * 8] = turn; /* not the first word, which IOzone looks for when it reads */
        sector[6] = sector[7] = turn;
    }
}

static void touch(const void *buffer, ssize_t bytes)
{
    static int asked = -1;
    if (asked < 0)
        asked = getenv("CALLS_TOUCH") != NULL;
    if (asked)
        for (ssize_t at = 0; at < bytes; at += 4096)
            (void)*(volatile const long *)((const char *)buffer + at);
}

#define OPENING(name)                                   \
    int name(const char *path, int flags, ...)          \
    {                                                   \
        va_list rest;                                   \
        va_start(rest, flags);                          \
        int mode = va_arg(rest, int);                   \
        va_end(rest);                                   \
        REAL(#name, int, const char *, int, ...);       \
        return opened(real(path, flags, mode), path);   \
    }
OPENING(open)
OPENING(open64)

#define WITH_NS(counter, call, type)    \
    long begin = now();                 \
    type result = call;                 \
    counter += now() - begin

#define WRITING(name, parameters, types, arguments) \
    ssize_t name parameters                         \
    {                                               \
        REAL(#name, ssize_t, types);                \
        if (!SEEN(fd))                              \
            return real arguments;                  \
        alter(buffer, bytes);                       \
        WITH_NS(file[fd].io_ns, real arguments, ssize_t); \
        file[fd].ios++;                             \
        return result;                              \
    }
#define READING(name, parameters, types, arguments) \
    ssize_t name parameters                         \
    {                                               \
        REAL(#name, ssize_t, types);                \
        if (!SEEN(fd))                              \
            return real arguments;                  \
        WITH_NS(file[fd].io_ns, real arguments, ssize_t); \
        file[fd].ios++;                             \
        touch(buffer, result);                      \
        return result;                              \
    }
#define LIST(...) __VA_ARGS__
WRITING(write, (int fd, const void *buffer, size_t bytes), LIST(int, const void *, size_t), (fd, buffer, bytes))
WRITING(pwrite, (int fd, const void *buffer, size_t bytes, off_t at), LIST(int, const void *, size_t, off_t), (fd, buffer, bytes, at))
WRITING(pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at), LIST(int, const void *, size_t, off64_t), (fd, buffer, bytes, at))
READING(read, (int fd, void *buffer, size_t bytes), LIST(int, void *, size_t), (fd, buffer, bytes))
READING(pread, (int fd, void *buffer, size_t bytes, off_t at), LIST(int, void *, size_t, off_t), (fd, buffer, bytes, at))
READING(pread64, (int fd, void *buffer, size_t bytes, off64_t at), LIST(int, void *, size_t, off64_t), (fd, buffer, bytes, at))

int fsync(int fd)
{
    REAL("fsync", int, int);
    if (!SEEN(fd) || !file[fd].ios) /* IOzone flushes once before its clock starts */
        return real(fd);
    WITH_NS(file[fd].sync_ns, real(fd), int);
    return result;
}

off64_t lseek64(int fd, off64_t at, int whence)
{
    REAL("lseek64", off64_t, int, off64_t, int);
    if (!SEEN(fd))
        return real(fd, at, whence);
    WITH_NS(file[fd].seek_ns, real(fd, at, whence), off64_t);
    return result;
}

off_t lseek(int fd, off_t at, int whence)
{
    return lseek64(fd, at, whence);
}

int close(int fd)
{
    REAL("close", int, int);
    if (!SEEN(fd))
        return real(fd);
    file[fd].seen = 0;
    long close_ns = 0;
    WITH_NS(close_ns, real(fd), int);
    const char *name = getenv("CALLS_LOG");
    FILE *log = name && file[fd].ios ? fopen(name, "a") : NULL;
    if (log) {
        fprintf(log, "%ld %ld %ld %ld %ld\n", file[fd].ios, file[fd].io_ns, file[fd].sync_ns, file[fd].seek_ns, close_ns);
        fclose(log);
    }
    return result;
}
