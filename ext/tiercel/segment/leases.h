/*
 * Layer "leases": leases, as the host and the tests call them. A lease is the right to compute the value of a key that
 * has no entry. "Leases" in memory-model.md.
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

#include "entries.h"

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

#endif
