/*
 * The memo's table (chains of slots, by the key's hash), who gets in and who goes.
 *
 * In: what is read a second time. A direct-mapped table of marks remembers what was read once; a scan leaves marks
 * and nothing else.
 *
 * Out: a hand goes round the slots; each hit since it passed saves a value once, three times at most. Each value that
 * is thrown out is paid for: four hits earn one, and so do 32 reads of values that would like to get in. So a working
 * set that is far larger than the memo does not make it copy all day, and another working set still gets in.
 */
#include <stdlib.h>

#include "internal.h"
#include "memo.h"

#define TSEG_MEMO_MOST_WANTED 3u
#define TSEG_MEMO_FIRST_SLOTS 64u
#define TSEG_MEMO_STEPS 64u     /* of the hand, for one value */
#define TSEG_MEMO_EVICTION 32u  /* what one costs */
#define TSEG_MEMO_HIT 8u        /* what one earns */
#define TSEG_MEMO_MOST_CREDIT 512u
#define TSEG_MEMO_SHARE 4u      /* no value is larger than this part of the memo */

static inline uint64_t cost_of(uint32_t bytes) { return (uint64_t)bytes + TSEG_MEMO_ENTRY_BYTES; }

static inline uint64_t table_bytes(uint32_t capacity)
{
    return (uint64_t)capacity * (sizeof(tseg_memo_slot) + sizeof(uint32_t));
}

static inline uint32_t next_capacity(const tseg_memo *memo)
{
    return memo->capacity ? memo->capacity * 2 : TSEG_MEMO_FIRST_SLOTS;
}

/* With what the table has to grow by for one more. */
static inline bool has_room(const tseg_memo *memo, uint64_t cost)
{
    if (!memo->free_slot && memo->used == memo->capacity)
        cost += table_bytes(next_capacity(memo)) - table_bytes(memo->capacity);
    return memo->bytes + cost <= memo->limit_bytes;
}

static inline uint32_t *chain_of(const tseg_memo *memo, uint64_t hash)
{
    return memo->chains + (tseg_mix(hash) & (memo->capacity - 1));
}

tseg_memo_slot *tseg_memo_find(tseg_memo *memo, uint64_t hash, const tseg_token *token)
{
    if (!memo->count) return NULL;
    for (uint32_t at = *chain_of(memo, hash); at; at = memo->slots[at - 1].next) {
        tseg_memo_slot *slot = memo->slots + at - 1;
        if (slot->hash == hash) return tseg_is_same(&slot->token, token) ? slot : NULL;
    }
    return NULL;
}

void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot)
{
    memo->hits++;
    if (slot->wanted < TSEG_MEMO_MOST_WANTED) slot->wanted++;
    if (memo->credit < TSEG_MEMO_MOST_CREDIT) memo->credit += TSEG_MEMO_HIT;
}

/* Takes a slot that is in use out of its chain; it is free then. */
static void drop(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;
    uint32_t *link = chain_of(memo, slot->hash);

    while (*link != index + 1) link = &memo->slots[*link - 1].next;
    *link = slot->next;
    memo->bytes -= cost_of(slot->bytes);
    memo->count--;
    slot->value = 0;
    slot->next = memo->free_slot;
    memo->free_slot = index + 1;
}

static void drop_key(tseg_memo *memo, uint64_t hash)
{
    if (!memo->count) return;
    for (uint32_t at = *chain_of(memo, hash); at; at = memo->slots[at - 1].next) {
        if (memo->slots[at - 1].hash != hash) continue;
        drop(memo, at - 1);
        return;
    }
}

/* Whether it was marked before; it is afterwards. */
static bool marked(tseg_memo *memo, uint64_t hash, const tseg_token *token)
{
    uint64_t mixed = tseg_mix(hash ^ tseg_mix(token->origin ^ (uint64_t)token->sequence << 40));
    uint32_t mark = (uint32_t)(mixed >> 32) | 1, *place;

    if (!memo->marks) {
        if (memo->bytes + TSEG_MEMO_MARKS * sizeof(*memo->marks) > memo->limit_bytes) return false;
        memo->marks = calloc(TSEG_MEMO_MARKS, sizeof(*memo->marks));
        if (!memo->marks) return false;
        memo->bytes += TSEG_MEMO_MARKS * sizeof(*memo->marks);
    }
    place = memo->marks + (mixed & (TSEG_MEMO_MARKS - 1));
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
        memo->credit -= TSEG_MEMO_EVICTION;
    }
    if (++memo->hand >= memo->used) memo->hand = 0;
}

static bool room_for(tseg_memo *memo, uint64_t cost)
{
    if (has_room(memo, cost)) return true;
    memo->credit++;
    for (unsigned step = 0; step < TSEG_MEMO_STEPS && memo->count; step++) {
        if (memo->credit < TSEG_MEMO_EVICTION) return false;
        pass_one(memo);
        if (has_room(memo, cost)) return true;
    }
    return false;
}

bool tseg_memo_wants(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes)
{
    uint64_t cost = cost_of(bytes);

    if (bytes < TSEG_MEMO_LEAST_BYTES || cost > memo->limit_bytes / TSEG_MEMO_SHARE) return false;
    return marked(memo, hash, token) && room_for(memo, cost);
}

static bool grow_table(tseg_memo *memo)
{
    uint32_t capacity = next_capacity(memo);
    uint32_t *chains = calloc(capacity, sizeof(*chains));
    tseg_memo_slot *slots = chains ? realloc(memo->slots, capacity * sizeof(*slots)) : NULL;

    if (!slots) free(chains);
    if (!slots) return false;
    free(memo->chains);
    memo->slots = slots;
    memo->chains = chains;
    memo->bytes += table_bytes(capacity) - table_bytes(memo->capacity);
    memo->capacity = capacity;
    for (uint32_t i = 0; i < memo->used; i++) {
        uint32_t *first = chain_of(memo, slots[i].hash); /* only a full table grows: all of them are in use */
        slots[i].next = *first;
        *first = i + 1;
    }
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
                    uint32_t bytes)
{
    uint32_t taken, *first;

    drop_key(memo, hash);
    if (!has_room(memo, cost_of(bytes))) return false;
    taken = take_slot(memo);
    if (!taken) return false;
    first = chain_of(memo, hash);
    memo->slots[taken - 1] = (tseg_memo_slot){hash, *token, expires_at, value, bytes, *first, 1};
    *first = taken;
    memo->bytes += cost_of(bytes);
    memo->count++;
    return true;
}

void tseg_memo_clear(tseg_memo *memo)
{
    uint64_t limit_bytes = memo->limit_bytes, hits = memo->hits, evictions = memo->evictions;

    free(memo->slots);
    free(memo->chains);
    free(memo->marks);
    *memo = (tseg_memo){.limit_bytes = limit_bytes, .hits = hits, .evictions = evictions};
}

void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes)
{
    tseg_memo_clear(memo);
    memo->limit_bytes = limit_bytes;
}

size_t tseg_memo_memory(const tseg_memo *memo)
{
    return table_bytes(memo->capacity) + (memo->marks ? TSEG_MEMO_MARKS * sizeof(*memo->marks) : 0);
}
