/*
 * The host is the program around the core. In Ruby it is the extension's binding, and the host's lock is the GVL. The
 * core calls the host when a call has to wait, takes a long time, or follows its path to another file.
 *
 * No callback jumps out of the core. A callback that meets an exception stores the exception and returns false or NULL.
 * The core then cleans up and returns TSEG_INTERRUPTED, and the host raises the exception.
 */
#ifndef TIERCEL_SEGMENT_HOST_H
#define TIERCEL_SEGMENT_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct tseg;

typedef struct {
    int code;          /* errno, or 0; EAGAIN: another process is making or removing the file, so try again */
    pid_t holder;      /* with EAGAIN: the pid of that process, or 0 if the pid is unknown */
    bool replaced;     /* not a failure: a damaged file of ours was replaced; the message gives the reason */
    bool remaking;     /* the file is gone and too large to be made within a call: a thread of the host makes it */
    bool start_thread; /* with remaking: no thread makes the file yet, so the host starts one */
    bool paused;       /* the lost file could not be made in this second, which was reported */
    char message[512]; /* names the path and says what to do */
} tseg_error;

/* A part of long work. It touches its argument alone, and returns true once the work is done. */
typedef bool tseg_step(void *argument, const atomic_bool *stop);

typedef struct tseg_host {
    /*
     * Runs step(argument, &stop) without the host's lock, and repeats it until it returns true. After the host sets
     * `stop`, the step soon returns false. The next call of the step continues from there. Returns false if an
     * exception ends the work early.
     */
    bool (*run)(struct tseg_host *host, tseg_step *step, void *argument);
    /* Runs work(argument), which sleeps in the system, without the host's lock. A signal wakes the work. */
    bool (*block)(struct tseg_host *host, void (*work)(void *argument), void *argument);
    /* The segment to use now. It stays valid until the host releases its lock. NULL: `error` gives the reason. */
    struct tseg *(*current)(struct tseg_host *host);
    /* Reports that a damaged file was replaced. */
    void (*report_replaced)(struct tseg_host *host, const char *message);
    tseg_error error;
} tseg_host;

#endif
