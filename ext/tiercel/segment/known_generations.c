/* A table in two halves. A generation has a row in each half, and uses a free one, or else a random one of the two. */
#include "known_generations.h"

#include <stdlib.h>

#include "internal.h"

/*
 * For 4,000 tags in use, in 256 KB. A process has the pages of those that it reads, and the processor caches one line
 * for each.
 */
enum { HALF_ROWS = 2048 };

_Static_assert(sizeof(tseg_known_generation) == TSEG_CACHE_LINE, "a row is a cache line");

static tseg_known_generation *known_row(const tseg *segment, int half, uint64_t generation)
{
    return segment->known + half * HALF_ROWS + (generation >> (32 * half)) % HALF_ROWS;
}

const tseg_known_generation *tseg_find_generation(const tseg *segment, uint64_t generation)
{
    if (!segment->known) return NULL;
    for (int half = 0; half < 2; half++) {
        const tseg_known_generation *known = known_row(segment, half, generation);
        if (known->generation != generation || !known->slot) continue;
        __builtin_prefetch((const void *)known->slot);
        __builtin_prefetch((const void *)known->entry);
        return known;
    }
    return NULL;
}

bool tseg_generation_is_current(tseg *segment, const tseg_known_generation *known, const tseg_key *key,
                                uint64_t generation)
{
    uint64_t word;

    if (known->generation != generation || known->key_bytes != key->count || known->epoch != tseg_epoch(segment))
        return false;
    word = tseg_load_acquire(known->slot);
    if (!tseg_same_entry(word, known->word) || tseg_load(known->entry + TSEG_ENTRY_LENGTHS) != known->lengths)
        return false;
    if (!tseg_same_bytes(known->entry + TSEG_ENTRY_WORDS, key)) return false;
    tseg_fence(memory_order_acquire);
    if (tseg_position(word) < tseg_load(known->tail)) return false;
    tseg_hit(segment, &(tseg_entry){.slot = known->slot, .word = word});
    return true;
}

/* Rows that begin where a cache line begins. */
static void allocate_rows(tseg *segment)
{
    char *memory = calloc(2 * HALF_ROWS + 1, sizeof(tseg_known_generation));

    segment->known_memory = memory;
    if (memory) segment->known = (void *)(memory + TSEG_CACHE_LINE - (uintptr_t)memory % TSEG_CACHE_LINE);
}

void tseg_record_generation(tseg *segment, const tseg_key *key, uint64_t generation, const tseg_entry *entry)
{
    tseg_known_generation *known;

    if (entry->expires_at != INFINITY) return;
    if (!segment->known) allocate_rows(segment);
    if (!segment->known) return;
    known = known_row(segment, 0, generation);
    if (known->slot && known->generation != generation &&
        (generation >> 63 || !known_row(segment, 1, generation)->slot))
        known = known_row(segment, 1, generation);
    *known = (tseg_known_generation){generation, entry->slot, entry->entry, entry->tail,
                                     entry->word, entry->lengths, key->count, entry->epoch};
}
