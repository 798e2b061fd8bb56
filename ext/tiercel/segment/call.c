/* Calls that wait for a writer, or that continue in another file. */
#include "calls.h"

#include <errno.h>

/* The number of times that one call follows its path to another file. */
#define MOST_FILES 3
/* The interval between two checks of a file that another process makes or removes. */
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

/* Waiting for the end of another caller's lease. */
/* The death of a holder's process wakes no sleeper, so sleepers check the lease at this interval. */
#define LOOK_NS UINT64_C(25000000)

typedef struct {
    tseg_half *signal;
    uint32_t seen;
    uint64_t longest_ns;
} signal_wait;

static void sleep_on_signal(void *argument)
{
    const signal_wait *wait = argument;
    tseg_sleep(wait->signal, wait->seen, wait->longest_ns);
}

static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Sleeps until the lease changes or lapses, the caller's time is over, or the next look is due. */
static bool sleep_on_lease(tseg_host *host, tseg *segment, const tseg_lease *lease, uint64_t now_ns,
                           uint64_t deadline_ns)
{
    signal_wait wait = {lease->signal, lease->signal_seen, smaller(LOOK_NS, deadline_ns - now_ns)};

    if (lease->lapses_ns > now_ns) wait.longest_ns = smaller(wait.longest_ns, lease->lapses_ns - now_ns + 1);
    return tseg_block_held(host, segment, sleep_on_signal, &wait);
}

bool tseg_lease_wait(tseg_host *host, const tseg_awaited_lease *awaited, uint64_t longest_ns, tseg_lease_state *state)
{
    uint64_t deadline_ns = tseg_monotonic_ns() + longest_ns, file_id = 0;

    for (;;) {
        tseg *segment = host->current(host);
        uint64_t now_ns = tseg_monotonic_ns();
        tseg_lease lease;
        tseg_key key;
        if (!segment) return false;
        if (!file_id) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_WAITS]);
        *state = TSEG_LEASE_GONE; /* a lease does not move to another file */
        if (file_id && file_id != segment->file_id) return true;
        file_id = segment->file_id;
        tseg_keep_registered(segment);
        tseg_make_key(segment, &key, awaited->key, awaited->key_bytes);
        *state = tseg_lease_look(segment, &key, awaited->lineage, awaited->holder, true, &lease);
        if (*state != TSEG_LEASE_STANDS || now_ns >= deadline_ns) return true;
        if (!sleep_on_lease(host, segment, &lease, now_ns, deadline_ns)) return false;
    }
}
