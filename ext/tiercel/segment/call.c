/* Calls that wait for a writer, or that continue in another file. */
#include "system.h"

#include <errno.h>

#include "call.h"
#include "internal.h"

/* The number of times that one call follows its path to another file. */
#define MOST_FILES 3
/* The interval between two looks at a file that another process makes or removes. */
#define FILES_NAP_NS 2000000

bool tseg_run_held(tseg_host *host, tseg *segment, tseg_step *step, void *argument)
{
    bool done;

    tseg_hold(segment);
    done = host->run(host, step, argument);
    tseg_let_go(host, segment);
    return done;
}

bool tseg_block_held(tseg_host *host, tseg *segment, void (*work)(void *argument), void *argument)
{
    bool done;

    tseg_hold(segment);
    done = host->block(host, work, argument);
    tseg_let_go(host, segment);
    return done;
}

typedef struct {
    const tseg *segment;
    uint32_t shard;
    tseg_wait *wait;
} lock_wait;

static void watch_lock(void *argument)
{
    const lock_wait *watched = argument;
    tseg_watch(watched->segment, watched->shard, watched->wait);
}

tseg_result tseg_wait_for_writer(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    lock_wait watched = {segment, shard, wait};

    if (!tseg_may_wait(segment, shard, wait)) return TSEG_BUSY;
    return tseg_block_held(host, segment, watch_lock, &watched) ? TSEG_OK : TSEG_INTERRUPTED;
}

bool tseg_wait_in_pass(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    tseg_result result = tseg_wait_for_writer(host, segment, shard, wait);

    if (result == TSEG_BUSY) *wait = (tseg_wait){0};
    return result != TSEG_INTERRUPTED;
}

static bool is_repeatable(tseg_result result) { return result == TSEG_WOULD_WAIT || result == TSEG_RETIRED; }

static void make_attempt(tseg_host *host, tseg *segment, tseg_call *call, tseg_wait *wait)
{
    tseg_result waited;

    call->result = call->attempt(call, segment);
    if (call->result != TSEG_WOULD_WAIT) return;
    waited = tseg_wait_for_writer(host, segment, call->shard, wait);
    if (waited != TSEG_OK) call->result = waited;
}

tseg_result tseg_repeat_call(tseg_host *host, tseg_call *call)
{
    tseg_wait wait = {0};

    for (int files = 0; files < MOST_FILES; files += call->result == TSEG_RETIRED) {
        tseg *segment = host->current(host);
        if (!segment) return call->result = TSEG_INTERRUPTED;
        tseg_hold(segment);
        if (is_repeatable(call->result)) make_attempt(host, segment, call, &wait);
        if (!tseg_is_answer(call->result) && !is_repeatable(call->result) && call->abandon)
            call->result = call->abandon(call, segment);
        tseg_let_go(host, segment);
        if (!is_repeatable(call->result)) break;
    }
    return call->result;
}

static void nap_for_files(void *counted_ns)
{
    const struct timespec pause = {0, FILES_NAP_NS};
    uint64_t began_ns = tseg_monotonic_ns();

    nanosleep(&pause, NULL);
    *(uint64_t *)counted_ns += tseg_counted_nap(began_ns, TSEG_LONGEST_COUNTED_NAP_NS);
}

bool tseg_wait_for_files(tseg_host *host, const tseg_error *error, uint64_t patience_ns, uint64_t *waited_ns,
                         pid_t *given_up_on)
{
    pid_t holder = error->holder ? error->holder : -1;

    if (error->code != EAGAIN || holder == *given_up_on) return false;
    if (*waited_ns >= patience_ns) {
        *given_up_on = holder;
        return false;
    }
    return host->block(host, nap_for_files, waited_ns);
}
