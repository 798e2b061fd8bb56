/* A change to one entry, as the files that write share it. */
#ifndef TIERCEL_SEGMENT_CHANGE_H
#define TIERCEL_SEGMENT_CHANGE_H

#include "internal.h"

typedef struct {
    const tseg_key *key;
    const tseg_value *value;
    double expires_at;
    uint64_t least_value_bytes; /* of the allocation */
    bool may_take_empty_slot;   /* set and add; what changes an entry finds it gone instead */
    bool counts_as_hit;
    bool published_odd;         /* near fill, and fill of a lease */
    bool keeps_lease;           /* what is written is what is seen until the lease's fill, or is that fill */
    const tseg_word *watched;   /* of a near fill, and of one without a lease: the word that says whether it is late */
    uint64_t expected;          /* and what that word was before the value was fetched or computed */
    tseg_lease_slot *lease;     /* of the fill of one, with its lineage; else NULL */
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
    return (sequence & 0xffffffff) | tseg_value_bytes(value) << 32;
}

bool tseg_too_large(const tseg *segment, const tseg_change *change);
/* In place or appended; `old` is the key's entry as it was found under the lock, or NULL. */
tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old);
/*
 * append.c: where `old` is, or in a slot of its own. TSEG_ABSENT: old is gone by now; TSEG_CHANGED: the watched word
 * has changed, or the lineage was ended (a lease's fill); TSEG_RETIRED: no position is left.
 */
tseg_result tseg_append(tseg_section *section, const tseg_change *change, const tseg_entry *old);
void tseg_count_write(tseg *segment);
tseg_result tseg_refuse(tseg *segment); /* counts, and says TSEG_TOO_LARGE */
/* lease_fill.c: ends the lineage as its fill does; false where it was ended before. */
bool tseg_lease_consume(const tseg_change *change);

#endif
