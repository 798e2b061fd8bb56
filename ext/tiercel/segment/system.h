/*
 * Layer "system": what differs between systems. Every file includes this header first. The portable build
 * (--enable-portable) uses POSIX and C11 alone, on every system, and has an equivalent for each Linux call. adr/018
 * lists them.
 */
#ifndef TIERCEL_SEGMENT_SYSTEM_H
#define TIERCEL_SEGMENT_SYSTEM_H

#if defined(__linux__) && !defined(TSEG_PORTABLE)
#define TSEG_LINUX 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/*
 * The host is the program around the core. In Ruby it is the extension's binding, and the host's lock is the GVL. The
 * core calls the host when a call has to wait, takes a long time, or follows its path to another file.
 *
 * No callback jumps out of the core. A callback that meets an exception stores the exception and returns false or NULL.
 * The core then cleans up and returns TSEG_INTERRUPTED, and the host raises the exception.
 */
struct tseg;

typedef struct {
    int code;          /* errno, or 0; EAGAIN: another process is making or removing the file, so try again */
    bool replaced;     /* not a failure: a damaged file of ours was replaced; the message gives the reason */
    bool paused;       /* an attempt to make the lost file in this second failed, and was reported */
    char message[512]; /* names the path and says what to do */
} tseg_error;

/* A part of long work. The part touches its argument alone, and returns true once the work is done. */
typedef bool tseg_step(void *argument, const atomic_bool *stop);

typedef struct tseg_host {
    /*
     * Runs step(argument, &stop) without the host's lock, and repeats it until it returns true. After the host sets
     * `stop`, the step soon returns false. The next call of the step continues the work. Returns false if an
     * exception ends the work early.
     */
    bool (*run)(struct tseg_host *host, tseg_step *step, void *argument);
    /*
     * Runs work(argument), which sleeps in the system, without the host's lock. A signal wakes the work. The host
     * ignores its result.
     */
    bool (*block)(struct tseg_host *host, void *(*work)(void *argument), void *argument);
    /* The segment to use until the host releases its lock. NULL: `error` gives the reason. */
    struct tseg *(*current)(struct tseg_host *host);
    /* Reports that a damaged file was replaced. */
    void (*report_replaced)(struct tseg_host *host, const char *message);
    tseg_error error;
} tseg_host;

/* Clocks at their last tick: a few milliseconds late, and cheaper to read than the precise clocks. */
#ifdef TSEG_LINUX
#define TSEG_COARSE_MONOTONIC CLOCK_MONOTONIC_COARSE
#define TSEG_COARSE_REALTIME CLOCK_REALTIME_COARSE
enum { TSEG_IS_PORTABLE = false };
#else
#define TSEG_COARSE_MONOTONIC CLOCK_MONOTONIC
#define TSEG_COARSE_REALTIME CLOCK_REALTIME
enum { TSEG_IS_PORTABLE = true };
#endif

static inline struct timespec tseg_coarse_time(void)
{
    struct timespec time;

    clock_gettime(TSEG_COARSE_MONOTONIC, &time);
    return time;
}
static inline uint64_t tseg_monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#define TSEG_FIT_FILE_SYSTEM "use a path on tmpfs (/dev/shm), ext4 or XFS"

#endif
