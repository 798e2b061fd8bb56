/*
 * Layer "handles": a handle on the segment at a path. It follows the path to a new file, and makes a lost file again.
 * Several handles of a process share one attachment.
 */
#ifndef TIERCEL_SEGMENT_HANDLE_H
#define TIERCEL_SEGMENT_HANDLE_H

#include "calls.h"
#include "memo.h"

/* The longest time that a call which opens, replaces or removes a file waits for another process that does so. */
#define TSEG_OPENING_WAIT_NS UINT64_C(10000000000)

typedef struct {
    tseg *attached;       /* NULL: closed; the next call attaches it again */
    char *path;           /* NULL: private memory */
    tseg_options options; /* of a file that the handle makes */
    uint64_t hash_key[2];
    bool is_open;         /* has a path or private memory; Ruby can allocate a handle without either */
    bool joined;          /* made no file at first, but makes the same file again if the file is lost */
    int64_t checked_at;   /* when the handle last looked at its path, in seconds of the monotonic clock */
    uint64_t attached_ns; /* when it was attached, by the monotonic clock */
    tseg_memo memo;
    bool shares_budget;   /* the memo's bound is a share of the machine's budget */
    int64_t shared_at;    /* when that share was last computed, in seconds of the monotonic clock */
    uint64_t sample_below; /* reads of keys whose mixed hash is smaller are told to the observer; 0: none */
    uint64_t near_trust_ns;   /* reads trust copies for this long after the covered time; 0: always */
    bool near_unless_covered; /* reads also trust copies while no process covers them; see near_trust_recorded= */
    int64_t failed_at;      /* when the lost file could not be made, in seconds of the monotonic clock; 0: it could */
    bool given_up;          /* a process has held the lock for files for too long, so calls do not wait for it */
} tseg_handle;

/* Seconds of the monotonic clock. Their precision suffices to look at a path once a second. */
static inline int64_t tseg_coarse_seconds(void) { return (int64_t)tseg_coarse_time().tv_sec; }

/*
 * True if the handle's attachment is certainly current: the common case of every call. This is a macro, so that the
 * compiler applies the caller's branch hint to each condition.
 */
#define TSEG_IS_CURRENT(handle, attached)                                                           \
    ((attached) && !tseg_forked() && (!(handle)->path || tseg_coarse_seconds() == (handle)->checked_at) && \
     !tseg_is_retired(attached))
/*
 * The segment to use now: registered again after a fork, and attached to the file that the path leads to. NULL: no
 * segment is available, and host->error gives the reason.
 */
tseg *tseg_handle_current(tseg_handle *handle, tseg_host *host);

#endif
