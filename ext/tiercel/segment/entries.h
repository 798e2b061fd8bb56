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

typedef tseg_result tseg_delete_function(tseg *segment, const tseg_key *key, double *expires_at);

#endif
