/* call.c: calls that wait for a writer, or that continue in another file. */
#ifndef TIERCEL_SEGMENT_CALL_H
#define TIERCEL_SEGMENT_CALL_H

#include "segment.h"

/*
 * A call under a shard's lock, or one that has to reach the current file. The struct of a kind of call begins with it.
 */
typedef struct tseg_call {
    tseg_result (*attempt)(struct tseg_call *call, tseg *segment);
    /* Runs without the lock if no attempt gave an answer, and returns the call's result. NULL: nothing can be done. */
    tseg_result (*abandon)(struct tseg_call *call, tseg *segment);
    uint32_t shard;     /* the shard that the last attempt needed */
    tseg_result result; /* of the last attempt */
} tseg_call;

/* Whether a result answers the call. Every other result means that nothing was done. */
static inline bool tseg_is_answer(tseg_result result)
{
    return result != TSEG_BUSY && result != TSEG_READ_ONLY && result != TSEG_RETIRED && result != TSEG_WOULD_WAIT &&
           result != TSEG_INTERRUPTED;
}

/*
 * The retry loop of all calls. The caller has made the first attempt without a final result. The loop waits for
 * writers, and follows the path to a new file, until an attempt has a final result or a limit is reached.
 */
tseg_result tseg_repeat_call(tseg_host *host, tseg_call *call);

/*
 * Waits once after TSEG_WOULD_WAIT. Returns TSEG_OK if the call may try again, TSEG_BUSY once the call has waited for
 * the longest permitted time, or TSEG_INTERRUPTED.
 */
tseg_result tseg_wait_for_writer(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait);
/*
 * Like tseg_wait_for_writer, for a pass over an index. A pass never fails: if a writer blocks it for the longest
 * permitted wait, the writer counts as stuck, and the next attempt empties its slot. Returns false if the host was
 * interrupted.
 */
bool tseg_wait_in_pass(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait);

/*
 * Waits for another process or thread that makes or removes the file. Returns false for every other error, if this call
 * has waited for `patience_ns`, or if an earlier call waited that long for the same process (*given_up_on).
 */
bool tseg_wait_for_files(tseg_host *host, const tseg_error *error, uint64_t patience_ns, uint64_t *waited_ns,
                         pid_t *given_up_on);

/* The host's callbacks with the segment held, so that it stays mapped if another thread closes its last handle. */
bool tseg_run_held(tseg_host *host, tseg *segment, tseg_step *step, void *argument);
bool tseg_block_held(tseg_host *host, tseg *segment, void (*work)(void *argument), void *argument);

#endif
