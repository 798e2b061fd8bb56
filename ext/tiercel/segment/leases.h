/*
 * Leases, as the host and the tests call them. A lease is the right to compute the value of a key that has no entry.
 * lease.c, lease_take.c, lease_fill.c and lease_wait.c; "Leases" in docs/memory-model.md.
 *
 * A holder takes a lease, computes the value, and then fills or releases the lease. If the holder takes too long or
 * dies, the lease lapses, and another caller takes it over. All leases of one chain of computations share a lineage.
 * Every other change of the key ends the lineage, and a fill with an ended lineage stores nothing.
 *
 * Take, fill and release run under the shard's lock, as writes do; tseg_lease_look takes no lock. Lineages and holders
 * are random numbers, neither 0 nor all ones.
 */
#ifndef TIERCEL_SEGMENT_LEASES_H
#define TIERCEL_SEGMENT_LEASES_H

#include "segment.h"

typedef struct {
    uint64_t lineage;           /* a new lineage begins if the key has no lineage to continue */
    uint64_t holder, ttl_ns;
    uint32_t version;           /* from tseg_lease_version, or 0 */
    const tseg_token *replaces; /* the only entry that the key may have; NULL: it may have none */
    bool drops;                 /* deletes that entry; otherwise reads return it, or `shown`, until the fill */
    const tseg_value *shown;    /* replaces that entry until the fill; NULL: the entry stays as it is */
    double shown_expires_at;
} tseg_lease_request;
/*
 * The state that a caller without a lease saw before it computed. If any of these values changes, the caller's fill is
 * too late.
 */
typedef struct {
    uint64_t file_id, epoch, deletes; /* deletes: the count of the key's shard */
} tseg_unheld;
typedef struct {
    uint64_t lineage, holder, lapses_ns;
    uint32_t version;
    tseg_unheld unheld;    /* set by a take that returns TSEG_FULL */
    bool has_entry;        /* set by a take: the entry that it replaces exists */
    bool taken_over;       /* set by a take: the former holder had lapsed or was dead */
    tseg_half *signal;     /* set by a look: the word to sleep on while it has the value `signal_seen` */
    uint32_t signal_seen;
} tseg_lease;
typedef enum { TSEG_LEASE_STANDS, TSEG_LEASE_LAPSED, TSEG_LEASE_GIVEN_BACK, TSEG_LEASE_GONE } tseg_lease_state;

uint32_t tseg_lease_version(const tseg *segment, const void *bytes, size_t count);
/*
 * TSEG_OK: the caller holds the lease, and *lease has its lineage. TSEG_HELD: *lease is another holder's, which has not
 * lapsed. TSEG_PRESENT: the key has another entry than `replaces`. TSEG_FULL: no slot is free; *lease has the state for
 * tseg_lease_fill_unheld.
 */
tseg_result tseg_lease_take(tseg *segment, const tseg_key *key, const tseg_lease_request *request, double now,
                            tseg_lease *lease);
/* TSEG_OK, or TSEG_CHANGED if the lineage has ended. TSEG_TOO_LARGE ends the lineage too. */
tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now);
/*
 * A fill without a lease, after TSEG_FULL. Returns TSEG_CHANGED if a key of the shard was deleted since, or if the key
 * has another entry than `replaces` (which may be NULL).
 */
tseg_result tseg_lease_fill_unheld(tseg *segment, const tseg_key *key, const tseg_unheld *unheld,
                                   const tseg_token *replaces, const tseg_value *value, double expires_at, double now);
/* Returns TSEG_ABSENT if the holder has lost the lease. For the next pause_ns no caller gets the lease. */
tseg_result tseg_lease_release(tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                               uint64_t pause_ns);
/*
 * For a fill or a release that cannot acquire the lock: ends the lineage without the lock, so that waiters continue.
 * Returns TSEG_ABSENT and does nothing if another process holds the lease by now, or another holder than this one (0:
 * any holder of this process).
 */
tseg_result tseg_lease_abandon(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder);

/*
 * The state of a lease for a caller that saw it with this holder. With `to_wait`, a later change wakes a tseg_sleep on
 * the lease's signal.
 */
tseg_lease_state tseg_lease_look(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                                 bool to_wait, tseg_lease *lease);
/* Another caller's lease, whose end a waiter wants to see. */
typedef struct {
    const void *key;
    uint32_t key_bytes;
    uint64_t lineage, holder;
} tseg_awaited_lease;
/* Waits for that end, at most longest_ns, and sets *state. Returns false if the host was interrupted. */
bool tseg_lease_wait(tseg_host *host, const tseg_awaited_lease *awaited, uint64_t longest_ns, tseg_lease_state *state);

/* These three take no lock. Each ends lineages and wakes their waiters: those of a key; those of a shard that are older
 * than an epoch; all lineages of the segment. */
void tseg_lease_end(const tseg *segment, const tseg_key *key);
void tseg_lease_end_all(const tseg *segment, uint32_t shard, uint32_t epoch);
void tseg_lease_end_everywhere(const tseg *segment);
uint64_t tseg_lease_count(const tseg *segment); /* standing leases */

#endif
