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
    bool published_odd;         /* near fill */
} tseg_change;

bool tseg_too_large(const tseg *segment, const tseg_change *change);
/* In place or appended; `old` is the key's entry as it was found under the lock, or NULL. */
tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old);
void tseg_count_write(tseg *segment);
tseg_result tseg_refuse(tseg *segment); /* counts, and says TSEG_TOO_LARGE */

#endif
