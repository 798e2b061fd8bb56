/* Waiting for the end of another caller's lease. */
#include "call.h"
#include "lease.h"

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
