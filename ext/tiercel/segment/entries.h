/* Layer "entries": writes, counters and deletes of single entries. */
#ifndef TIERCEL_SEGMENT_ENTRIES_H
#define TIERCEL_SEGMENT_ENTRIES_H

#include "leases.h"

typedef struct {
    const tseg_key *key;
    const tseg_value *value;
    double expires_at;
    uint64_t least_value_bytes; /* the allocation has room for a value of this size */
    bool may_take_empty_slot;   /* for set and add; a change of an existing entry answers TSEG_ABSENT instead */
    bool counts_as_hit;
    bool published_odd;         /* for near fills and fills of leases: the slot is published with an odd sequence */
    bool keeps_lease;           /* for the value that reads see until a lease's fill, and for that fill */
    const tseg_word *watched;   /* for a near fill: the fill is late if this word has changed */
    uint64_t expected;          /* the watched word before the value was fetched */
    tseg_lease_slot *lease;     /* for the fill of a lease: its slot; else NULL */
    uint64_t lineage;
} tseg_change;

static inline uint64_t tseg_value_bytes(const tseg_value *value)
{
    return 8u * (uint64_t)value->head_words + value->body_bytes;
}

static inline uint64_t tseg_needed_units(const tseg_change *change)
{
    uint64_t bytes = tseg_value_bytes(change->value);
    return tseg_units(change->key->count, bytes > change->least_value_bytes ? bytes : change->least_value_bytes);
}

static inline void tseg_write_value(tseg_word *to, const tseg_value *value)
{
    for (uint32_t i = 0; i < value->head_words; i++) tseg_store(to++, value->head[i]);
    tseg_copy_in(to, value->body, value->body_bytes);
}

static inline uint64_t tseg_lengths_word(uint64_t sequence, const tseg_value *value)
{
    return tseg_halves(sequence, tseg_value_bytes(value));
}

/* No larger value is stored: its copy under the lock would hold other writers up for more than some milliseconds. */
#define TSEG_MAX_VALUE_BYTES (UINT64_C(16) << 20)
bool tseg_too_large(const tseg *segment, const tseg_change *change);
/*
 * Maps the pages that a large value will cover, before the lock is taken. If this process has not touched a page yet, a
 * write maps that page alone, at four times the cost for each page. A read also maps the neighbours, and also for
 * writing. See adr/002.
 */
void tseg_map_ahead(const tseg *segment, const tseg_change *change);
/* Writes in place or appends. `old` is the key's entry, found under the lock; NULL: the key has none. */
tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old);
/*
 * Appends an entry to a log. The slot of `old` then points to the new entry; if `old` is NULL, an empty slot
 * does. TSEG_ABSENT: old was deleted concurrently. TSEG_CHANGED: the watched word has changed, or the lineage has
 * ended. TSEG_RETIRED: the log has no positions left. TSEG_WOULD_WAIT: see tseg_reserve.
 */
tseg_result tseg_append(tseg_section *section, const tseg_change *change, const tseg_entry *old);
void tseg_count_write(tseg *segment);
tseg_result tseg_refuse(tseg *segment); /* counts a refused write, and returns TSEG_TOO_LARGE */

/*
 * Each call takes the lock of one shard. `now` (epoch seconds) decides which entries have expired. In tseg_set
 * it matters only for the entries that the write meets at a tail, and may be -infinity.
 */
tseg_result tseg_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now);
tseg_result tseg_add(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now);
tseg_result tseg_compare_and_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at,
                                 double now, const tseg_token *token);
tseg_result tseg_increment(tseg *segment, const tseg_key *key, int64_t amount, double expires_at, double now,
                           int64_t *count);
tseg_result tseg_touch(tseg *segment, const tseg_key *key, double expires_at, double now);

/* Takes no lock. *expires_at is the end of the deleted entry; +infinity if the entry could not be read. */
tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at);
typedef tseg_result tseg_delete_function(tseg *segment, const tseg_key *key, double *expires_at);
/*
 * Deletes, and raises *latest_end to the end of the deleted entry. Returns TSEG_RETIRED if the segment was retired
 * before the delete. The caller then has to delete the key in the new file too, because other processes may already
 * have written it there.
 */
tseg_result tseg_delete_once(tseg *segment, const tseg_key *key, tseg_delete_function *delete, double *latest_end);

#endif
