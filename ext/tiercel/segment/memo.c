/* The memo's table: a hash table with chains. memo_admission.c decides which values enter and leave. */
#include <stdlib.h>

#include "internal.h"
#include "memo.h"

#define TSEG_MEMO_FIRST_SLOTS 64u
#define TSEG_MEMO_MOST_SLOTS ((UINT32_C(1) << TSEG_MEMO_INDEX_BITS) - 1)

static inline uint64_t table_bytes(uint32_t capacity, uint32_t chain_count)
{
    return (uint64_t)capacity * sizeof(tseg_memo_slot) + (uint64_t)chain_count * sizeof(uint32_t);
}

/* The table grows by a quarter, so that few slots are unused. It has at least as many chains as slots. */
static inline uint32_t next_capacity(const tseg_memo *memo)
{
    return memo->capacity ? memo->capacity + memo->capacity / 4 : TSEG_MEMO_FIRST_SLOTS;
}

static inline uint32_t chains_for(const tseg_memo *memo, uint32_t capacity)
{
    uint32_t chain_count = memo->chain_count ? memo->chain_count : TSEG_MEMO_FIRST_SLOTS;
    return chain_count < capacity ? chain_count * 2 : chain_count;
}

uint64_t tseg_memo_growth(const tseg_memo *memo)
{
    uint32_t capacity = next_capacity(memo);

    if (memo->free_slot || memo->used < memo->capacity) return 0;
    if (capacity > TSEG_MEMO_MOST_SLOTS) return UINT64_MAX >> 1;
    return table_bytes(capacity, chains_for(memo, capacity)) - table_bytes(memo->capacity, memo->chain_count);
}

/*
 * A chain word has the first slot's index plus 1 in its low bits, and eight bits of a Bloom filter above. The low part
 * of the mixed hash chooses the chain, and the high part the filter's bit.
 */
static inline uint32_t *chain_of(const tseg_memo *memo, uint64_t hash)
{
    return memo->chains + (tseg_mix(hash) & (memo->chain_count - 1));
}
static inline uint32_t bit_of(uint64_t hash) { return UINT32_C(1) << (TSEG_MEMO_INDEX_BITS + (tseg_mix(hash) >> 61)); }
static inline uint32_t first_of(uint32_t chain) { return chain & ((UINT32_C(1) << TSEG_MEMO_INDEX_BITS) - 1); }

static inline bool is_token_of(const tseg_memo_slot *slot, const tseg_token *token)
{
    return slot->file_id == token->file_id && slot->origin == token->origin && slot->sequence == token->sequence;
}

tseg_memo_slot *tseg_memo_find(tseg_memo *memo, uint64_t hash, const tseg_token *token)
{
    uint32_t chain;

    if (!memo->count) return NULL;
    chain = *chain_of(memo, hash);
    if (!(chain & bit_of(hash))) return NULL; /* the filter excludes the key, and saves a cache miss on a slot */
    for (uint32_t at = first_of(chain); at; at = memo->slots[at - 1].next) {
        tseg_memo_slot *slot = memo->slots + at - 1;
        if (slot->hash == hash) return is_token_of(slot, token) ? slot : NULL;
    }
    return NULL;
}

void tseg_memo_prefetch(const tseg_memo *memo, const tseg_key *keys, unsigned count)
{
    if (!memo->count || memo->least_bytes >= TSEG_MEMO_LONG_BYTES) return;
    for (unsigned i = 0; i < count; i++) __builtin_prefetch(chain_of(memo, keys[i].hash));
}

void tseg_prefetch_reads(const tseg *segment, const tseg_memo *memo, const tseg_key *keys, unsigned count)
{
    if (memo) tseg_memo_prefetch(memo, keys, count);
    tseg_prefetch_buckets(segment, keys, count);
    tseg_prefetch_entries(segment, keys, count);
}

static void put_in_chain(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;
    uint32_t *chain = chain_of(memo, slot->hash);

    slot->next = first_of(*chain);
    *chain = (*chain - slot->next) | bit_of(slot->hash) | (index + 1);
}

static void take_out_of_chain(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;
    uint32_t *chain = chain_of(memo, slot->hash), at = first_of(*chain);

    if (at == index + 1) {
        *chain = slot->next ? *chain - at + slot->next : 0; /* an empty chain has an empty filter */
        return;
    }
    while (memo->slots[at - 1].next != index + 1) at = memo->slots[at - 1].next;
    memo->slots[at - 1].next = slot->next;
}

void tseg_memo_drop(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;

    take_out_of_chain(memo, index);
    memo->bytes -= tseg_memo_cost(slot->bytes);
    memo->count--;
    slot->value = 0;
    slot->next = memo->free_slot;
    memo->free_slot = index + 1;
}

void tseg_memo_drop_key(tseg_memo *memo, uint64_t hash)
{
    if (!memo->count) return;
    for (uint32_t at = first_of(*chain_of(memo, hash)); at; at = memo->slots[at - 1].next) {
        if (memo->slots[at - 1].hash != hash) continue;
        tseg_memo_drop(memo, at - 1);
        return;
    }
}

/* Called when all slots are in use. */
static bool grow_chains(tseg_memo *memo, uint32_t chain_count)
{
    uint32_t *chains = calloc(chain_count, sizeof(*chains));

    if (!chains) return false;
    free(memo->chains);
    memo->chains = chains;
    memo->bytes += (chain_count - memo->chain_count) * sizeof(*chains);
    memo->chain_count = chain_count;
    for (uint32_t i = 0; i < memo->used; i++) put_in_chain(memo, i);
    return true;
}

static bool grow_table(tseg_memo *memo)
{
    uint32_t capacity = next_capacity(memo), chain_count = chains_for(memo, capacity);
    tseg_memo_slot *slots;

    if (chain_count != memo->chain_count && !grow_chains(memo, chain_count)) return false;
    slots = realloc(memo->slots, capacity * sizeof(*slots));
    if (!slots) return false;
    memo->slots = slots;
    memo->bytes += (capacity - memo->capacity) * sizeof(*slots);
    memo->capacity = capacity;
    return true;
}

/* Returns the index of a free slot plus 1; 0 without memory. */
static uint32_t take_slot(tseg_memo *memo)
{
    uint32_t taken = memo->free_slot;

    if (taken) {
        memo->free_slot = memo->slots[taken - 1].next;
        return taken;
    }
    if (memo->used == memo->capacity && !grow_table(memo)) return 0;
    return ++memo->used;
}

bool tseg_memo_keep(tseg_memo *memo, const tseg_memo_candidate *candidate, double expires_at, uintptr_t value,
                    uintptr_t terms, unsigned reads)
{
    const tseg_token *token = candidate->token;
    uint32_t taken = take_slot(memo);

    if (!taken) return false;
    memo->slots[taken - 1] = (tseg_memo_slot){
        .hash = candidate->hash, .file_id = token->file_id, .origin = token->origin, .sequence = token->sequence,
        .expires_at = expires_at, .value = value, .terms = terms, .bytes = (uint32_t)candidate->bytes,
        .decoded = candidate->decoded, .reads = (uint16_t)reads, .period = memo->period};
    put_in_chain(memo, taken - 1);
    memo->bytes += tseg_memo_cost(candidate->bytes);
    memo->count++;
    return true;
}

void tseg_memo_pass(tseg_memo *memo)
{
    if (memo->slots[memo->hand].value) {
        tseg_memo_drop(memo, memo->hand);
        memo->evictions++;
    }
    if (++memo->hand >= memo->used) memo->hand = 0;
}

void tseg_memo_clear(tseg_memo *memo)
{
    tseg_memo was = *memo;

    free(memo->slots);
    free(memo->chains);
    free(memo->marks);
    *memo = (tseg_memo){.limit_bytes = was.limit_bytes, .least_bytes = was.least_bytes, .hits = was.hits,
                        .evictions = was.evictions};
}

void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes, uint32_t least_bytes)
{
    tseg_memo_clear(memo);
    memo->limit_bytes = limit_bytes;
    memo->least_bytes = least_bytes;
}

void tseg_memo_resize(tseg_memo *memo, uint64_t limit_bytes)
{
    memo->limit_bytes = limit_bytes;
    if (tseg_memo_memory(memo) > limit_bytes) tseg_memo_clear(memo); /* the table does not shrink */
    while (memo->bytes > limit_bytes && memo->count) tseg_memo_pass(memo);
}

size_t tseg_memo_memory(const tseg_memo *memo)
{
    return table_bytes(memo->capacity, memo->chain_count) +
           (memo->marks ? TSEG_MEMO_MARKS * sizeof(*memo->marks) : 0);
}
