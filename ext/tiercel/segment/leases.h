/* Leases, as the binding and the tests call them. No Ruby here. */
#ifndef TIERCEL_SEGMENT_LEASES_H
#define TIERCEL_SEGMENT_LEASES_H

#include "segment.h"

/*
 * lease.c, lease_take.c, lease_fill.c: who computes the value of a key that is not there. take, fill and release are
 * made under the shard's lock, as writes are; look takes none. Lineages and holders are random numbers, neither 0 nor
 * all ones.
 */
typedef struct {
    uint64_t lineage;           /* where there is none to go on with */
    uint64_t holder, ttl_ns;
    uint64_t displaces;         /* a lineage that gives way although it stands, or 0 */
    uint32_t version;           /* from tseg_lease_version, or 0 */
    const tseg_token *replaces; /* the entry that may be there; NULL: none may */
    bool drops;                 /* that entry goes; else reads see it, or what is shown, until the fill */
    const tseg_value *shown;    /* NULL: the entry as it is */
    double shown_expires_at;
} tseg_lease_request;
/* The state that a caller without a lease saw before its block: once any of it changes, the fill is late. */
typedef struct {
    uint64_t file_id, epoch, deletes; /* deletes: of the key's shard */
} tseg_unheld;
typedef struct {
    uint64_t lineage, holder, lapses_ns;
    uint32_t version;
    tseg_unheld unheld;    /* of a take that is TSEG_FULL */
    bool has_entry;        /* of a take: whether the entry that it replaces was there */
    bool taken_over;       /* of a take: from a holder who had lapsed or was dead */
    tseg_half *signal;     /* of a look: to be slept on while it has the value that was seen */
    uint32_t signal_seen;
} tseg_lease;
typedef enum { TSEG_LEASE_STANDS, TSEG_LEASE_LAPSED, TSEG_LEASE_GIVEN_BACK, TSEG_LEASE_GONE } tseg_lease_state;

uint32_t tseg_lease_version(const tseg *segment, const void *bytes, size_t count);
/*
 * TSEG_OK: taken; *lease has the lineage. TSEG_HELD: *lease is somebody else's, who has not lapsed. TSEG_PRESENT:
 * another entry than `replaces`. TSEG_FULL: there is no slot, *lease has what a fill without a lease asks for.
 */
tseg_result tseg_lease_take(tseg *segment, const tseg_key *key, const tseg_lease_request *request, double now,
                            tseg_lease *lease);
/* TSEG_OK, or TSEG_CHANGED where the lineage has ended; also TSEG_TOO_LARGE, which ends it. */
tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now);
/*
 * Without a lease, where the table was full: TSEG_CHANGED where a key of the shard was deleted since, or another entry
 * than `replaces` (which may be NULL) is there.
 */
tseg_result tseg_lease_fill_unheld(tseg *segment, const tseg_key *key, const tseg_unheld *unheld,
                                   const tseg_token *replaces, const tseg_value *value, double expires_at, double now);
/* TSEG_ABSENT where it is not this holder's any more. Paused: nobody is given it for so long. */
tseg_result tseg_lease_release(tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                               uint64_t pause_ns);
/*
 * For a fill or a release that cannot have the lock: ends the lineage without it, so that waiters go on. Does nothing
 * (TSEG_ABSENT) if another process holds the lease by now, or another holder than this one (0: any of this process).
 */
tseg_result tseg_lease_abandon(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder);
/* The state of a lease for a caller that saw this holder. to_wait: tseg_sleep on its signal then ends with a change. */
tseg_lease_state tseg_lease_look(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                                 bool to_wait, tseg_lease *lease);
/* Ends a key's lineage, or those of a shard that are older than an epoch, and wakes who waits. No lock. */
void tseg_lease_end(const tseg *segment, const tseg_key *key);
void tseg_lease_end_all(const tseg *segment, uint32_t shard, uint32_t epoch);
uint64_t tseg_lease_count(const tseg *segment); /* that stand */

#endif
