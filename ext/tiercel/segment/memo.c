/*
 * The memo's table (chains of slots, by the key's hash), who gets in and who goes.
 *
 * In: what is read a second time. A direct-mapped table of marks remembers what was read once; a scan leaves marks
 * and nothing else.
 *
 * Out: a hand goes round the slots; each hit since it passed saves a value once, three times at most. What others
 * have to go for is paid for: a hit earns two, a read of a value that would like to get in one; a value of 1 KB costs
 * 512, one of 16 KB or more 32. So a working set that is far larger than the memo does not make it copy all day, and
 * another working set still gets in.
 */
#include <stdlib.h>

#include "internal.h"
#include "memo.h"

#define TSEG_MEMO_MOST_WANTED 3u
#define TSEG_MEMO_FIRST_SLOTS 64u
#define TSEG_MEMO_INDEX_BITS 24
#define TSEG_MEMO_MOST_SLOTS ((UINT32_C(1) << TSEG_MEMO_INDEX_BITS) - 1)
#define TSEG_MEMO_STEPS 64u     /* of the hand, for one value */
#define TSEG_MEMO_PRICE_OF_1_KB 512u /* of letting something in for which others go; less of what is larger */
#define TSEG_MEMO_LEAST_PRICE 32u
#define TSEG_MEMO_HIT 2u        /* what one earns */
#define TSEG_MEMO_TURN 128u     /* how many reads an eighth of the keys has its turn */
#define TSEG_MEMO_MOST_CREDIT 1024u
#define TSEG_MEMO_SHARE 4u      /* no value is larger than this part of the memo */

static inline uint64_t cost_of(uint32_t bytes) { return (uint64_t)bytes + TSEG_MEMO_ENTRY_BYTES; }

static inline uint64_t table_bytes(uint32_t capacity, uint32_t chain_count)
{
    return (uint64_t)capacity * sizeof(tseg_memo_slot) + (uint64_t)chain_count * sizeof(uint32_t);
}

/* By a quarter, so that little of it is unused; there are as many chains or more. */
static inline uint32_t next_capacity(const tseg_memo *memo)
{
    return memo->capacity ? memo->capacity + memo->capacity / 4 : TSEG_MEMO_FIRST_SLOTS;
}

static inline uint32_t chains_for(const tseg_memo *memo, uint32_t capacity)
{
    uint32_t chain_count = memo->chain_count ? memo->chain_count : TSEG_MEMO_FIRST_SLOTS;
    return chain_count < capacity ? chain_count * 2 : chain_count;
}

/* With what the table has to grow by for one more. */
static inline bool has_room(const tseg_memo *memo, uint64_t cost)
{
    if (memo->limit_count && memo->count >= memo->limit_count) return false;
    if (!memo->free_slot && memo->used == memo->capacity) {
        uint32_t capacity = next_capacity(memo);
        if (capacity > TSEG_MEMO_MOST_SLOTS) return false;
        cost += table_bytes(capacity, chains_for(memo, capacity)) - table_bytes(memo->capacity, memo->chain_count);
    }
    return memo->bytes + cost <= memo->limit_bytes;
}

/* A chain's number is the lower part of the mixed hash; the upper one chooses the bit. */
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
    if (!(chain & bit_of(hash))) return NULL; /* said without looking at a slot, which may be far from the cache */
    for (uint32_t at = first_of(chain); at; at = memo->slots[at - 1].next) {
        tseg_memo_slot *slot = memo->slots + at - 1;
        if (slot->hash == hash) return is_token_of(slot, token) ? slot : NULL;
    }
    return NULL;
}

static inline uint32_t *mark_of(const tseg_memo *memo, uint64_t hash)
{
    return memo->marks + (tseg_mix(hash) >> 8 & (TSEG_MEMO_MARKS - 1));
}

void tseg_memo_prefetch(const tseg_memo *memo, uint64_t hash)
{
    if (memo->count) __builtin_prefetch(chain_of(memo, hash));
    if (memo->marks && !memo->full) __builtin_prefetch(mark_of(memo, hash), 1);
}

static inline void earn(tseg_memo *memo, uint32_t credit)
{
    if (memo->credit < TSEG_MEMO_MOST_CREDIT) memo->credit += credit;
}

void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot)
{
    memo->hits++;
    if (slot->wanted < TSEG_MEMO_MOST_WANTED) slot->wanted++;
    earn(memo, TSEG_MEMO_HIT);
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
        *chain = slot->next ? *chain - at + slot->next : 0; /* bits are taken back when nothing is left */
        return;
    }
    while (memo->slots[at - 1].next != index + 1) at = memo->slots[at - 1].next;
    memo->slots[at - 1].next = slot->next;
}

/* Frees a slot that is in use. */
static void drop(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;

    take_out_of_chain(memo, index);
    memo->bytes -= cost_of(slot->bytes);
    memo->count--;
    slot->value = 0;
    slot->next = memo->free_slot;
    memo->free_slot = index + 1;
}

static void drop_key(tseg_memo *memo, uint64_t hash)
{
    if (!memo->count) return;
    for (uint32_t at = first_of(*chain_of(memo, hash)); at; at = memo->slots[at - 1].next) {
        if (memo->slots[at - 1].hash != hash) continue;
        drop(memo, at - 1);
        return;
    }
}

/* Where others would have to go, one key in eight is looked at, in turns: marks are far from the processor's cache. */
static bool has_its_turn(tseg_memo *memo, uint64_t hash)
{
    if (!memo->full) return true;
    if (((hash >> 20 ^ memo->asked / TSEG_MEMO_TURN) & 7) == 0) return true;
    earn(memo, 1);
    return false;
}

bool tseg_memo_is_read_again(tseg_memo *memo, uint64_t hash, const tseg_token *token)
{
    uint32_t mark = (uint32_t)(tseg_mix(token->origin ^ (uint64_t)token->sequence << 40) >> 32) | 1, *place;

    memo->asked++;
    if (!has_its_turn(memo, hash)) return false;
    if (!memo->marks) {
        if (memo->bytes + TSEG_MEMO_MARKS * sizeof(*memo->marks) > memo->limit_bytes) return false;
        memo->marks = calloc(TSEG_MEMO_MARKS, sizeof(*memo->marks));
        if (!memo->marks) return false;
        memo->bytes += TSEG_MEMO_MARKS * sizeof(*memo->marks);
    }
    place = mark_of(memo, hash);
    if (*place == mark) return true;
    *place = mark;
    return false;
}

/* One step of the hand. */
static void pass_one(tseg_memo *memo)
{
    tseg_memo_slot *slot = memo->slots + memo->hand;

    if (slot->value && slot->wanted) {
        slot->wanted--;
    } else if (slot->value) {
        drop(memo, memo->hand);
        memo->evictions++;
    }
    if (++memo->hand >= memo->used) memo->hand = 0;
}

/* The collector pays by the object, and what is saved is the bytes. */
static uint32_t price_of(uint64_t bytes)
{
    uint64_t price = TSEG_MEMO_PRICE_OF_1_KB * 1024 / (bytes + 1);

    if (price > TSEG_MEMO_PRICE_OF_1_KB) return TSEG_MEMO_PRICE_OF_1_KB;
    return price < TSEG_MEMO_LEAST_PRICE ? TSEG_MEMO_LEAST_PRICE : (uint32_t)price;
}

bool tseg_memo_make_room(tseg_memo *memo, uint64_t bytes)
{
    uint64_t cost = bytes + TSEG_MEMO_ENTRY_BYTES, price = price_of(bytes);

    if (bytes > UINT32_MAX || cost > memo->limit_bytes / TSEG_MEMO_SHARE) return false;
    memo->full = !has_room(memo, cost);
    if (!memo->full) return true;
    earn(memo, 1);
    if (memo->credit < price || !memo->count) return false;
    memo->credit -= (uint32_t)price;
    for (unsigned step = 0; step < TSEG_MEMO_STEPS && memo->count; step++) {
        pass_one(memo);
        if (has_room(memo, cost)) return true;
    }
    return false;
}

/* All slots are in use. */
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

/* A free slot's index plus 1, or 0. */
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

bool tseg_memo_keep(tseg_memo *memo, uint64_t hash, const tseg_token *token, double expires_at, uintptr_t value,
                    uintptr_t version, uint32_t bytes)
{
    uint32_t taken;

    drop_key(memo, hash);
    if (!has_room(memo, cost_of(bytes))) return false;
    taken = take_slot(memo);
    if (!taken) return false;
    memo->slots[taken - 1] = (tseg_memo_slot){hash,    token->file_id,  token->origin, expires_at, value,
                                              version, token->sequence, bytes,         0,          1};
    put_in_chain(memo, taken - 1);
    memo->bytes += cost_of(bytes);
    memo->count++;
    return true;
}

void tseg_memo_clear(tseg_memo *memo)
{
    tseg_memo was = *memo;

    free(memo->slots);
    free(memo->chains);
    free(memo->marks);
    *memo = (tseg_memo){.limit_bytes = was.limit_bytes, .limit_count = was.limit_count, .hits = was.hits,
                        .evictions = was.evictions};
}

void tseg_memo_set_limits(tseg_memo *memo, uint64_t limit_bytes, uint32_t limit_count)
{
    tseg_memo_clear(memo);
    memo->limit_bytes = limit_bytes;
    memo->limit_count = limit_count;
}

size_t tseg_memo_memory(const tseg_memo *memo)
{
    return table_bytes(memo->capacity, memo->chain_count) +
           (memo->marks ? TSEG_MEMO_MARKS * sizeof(*memo->marks) : 0);
}
