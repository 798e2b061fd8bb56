/* The memo's table: a hash table with chains. The rule for admission follows it. */
#include "memo.h"

#define TSEG_MEMO_FIRST_SLOTS 64u
#define TSEG_MEMO_MOST_SLOTS ((UINT32_C(1) << TSEG_MEMO_INDEX_BITS) - 1)

static inline uint64_t table_bytes(uint32_t capacity, uint32_t chain_count)
{
    return (uint64_t)capacity * sizeof(tseg_memo_slot) + (uint64_t)chain_count * sizeof(uint32_t);
}

/* The table grows by a quarter, so that few slots are unused. The table has at least as many chains as slots. */
static inline uint32_t next_capacity(const tseg_memo *memo)
{
    return memo->capacity ? memo->capacity + memo->capacity / 4 : TSEG_MEMO_FIRST_SLOTS;
}

static inline uint32_t chains_for(const tseg_memo *memo, uint32_t capacity)
{
    uint32_t chain_count = memo->chain_count ? memo->chain_count : TSEG_MEMO_FIRST_SLOTS;
    return chain_count < capacity ? chain_count * 2 : chain_count;
}

static uint64_t table_growth(const tseg_memo *memo)
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

/* The slot of this entry's value, or NULL. The slot stays valid until the memo changes. */
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

/* Prefetches the keys' chains, unless the memo keeps long values alone. */
void tseg_memo_prefetch(const tseg_memo *memo, const tseg_key *keys, unsigned count)
{
    if (!memo->count || memo->least_bytes >= TSEG_MEMO_LONG_BYTES) return;
    for (unsigned i = 0; i < count; i++) __builtin_prefetch(chain_of(memo, keys[i].hash));
}

/* Prefetches the memory that reads of these keys will need, so that their cache misses overlap. memo: NULL for none. */
void tseg_prefetch_reads(const tseg *segment, const tseg_memo *memo, const tseg_key *keys, unsigned count)
{
    if (memo) tseg_memo_prefetch(memo, keys, count);
    tseg_prefetch_buckets(segment, keys, count);
    tseg_prefetch_entries(segment, keys, count);
}

static void add_to_chain(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;
    uint32_t *chain = chain_of(memo, slot->hash);

    slot->next = first_of(*chain);
    *chain = (*chain - slot->next) | bit_of(slot->hash) | (index + 1);
}

static void remove_from_chain(tseg_memo *memo, uint32_t index)
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

/* Frees a slot that is in use. */
void tseg_memo_drop(tseg_memo *memo, uint32_t index)
{
    tseg_memo_slot *slot = memo->slots + index;

    remove_from_chain(memo, index);
    memo->bytes -= tseg_memo_cost(slot->bytes);
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
    for (uint32_t i = 0; i < memo->used; i++) add_to_chain(memo, i);
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
static uint32_t free_slot(tseg_memo *memo)
{
    uint32_t number = memo->free_slot;

    if (number) {
        memo->free_slot = memo->slots[number - 1].next;
        return number;
    }
    if (memo->used == memo->capacity && !grow_table(memo)) return 0;
    return ++memo->used;
}

/* Keeps the value; the caller has made room. Returns false if memory cannot be allocated. */
bool tseg_memo_keep(tseg_memo *memo, const tseg_memo_candidate *candidate, double expires_at, uintptr_t value,
                    uintptr_t terms, unsigned reads)
{
    const tseg_token *token = candidate->token;
    uint32_t number = free_slot(memo);

    if (!number) return false;
    memo->slots[number - 1] = (tseg_memo_slot){
        .hash = candidate->hash, .file_id = token->file_id, .origin = token->origin, .sequence = token->sequence,
        .expires_at = expires_at, .value = value, .terms = terms, .bytes = (uint32_t)candidate->bytes,
        .decoded = candidate->decoded, .reads = (uint16_t)reads, .period = memo->period};
    add_to_chain(memo, number - 1);
    memo->bytes += tseg_memo_cost(candidate->bytes);
    memo->count++;
    return true;
}

static void pass_slot(tseg_memo *memo)
{
    if (memo->slots[memo->hand].value) {
        tseg_memo_drop(memo, memo->hand);
        memo->evictions++;
    }
    if (++memo->hand >= memo->used) memo->hand = 0;
}

/* Drops all values and frees the memory. Keeps the bound. */
void tseg_memo_clear(tseg_memo *memo)
{
    tseg_memo was = *memo;

    free(memo->slots);
    free(memo->chains);
    free(memo->marks);
    *memo = (tseg_memo){.limit_bytes = was.limit_bytes, .least_bytes = was.least_bytes, .hits = was.hits,
                        .evictions = was.evictions};
}

/* Drops all values and sets a new bound. least_bytes: see tseg_memo. */
void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes, uint32_t least_bytes)
{
    tseg_memo_clear(memo);
    memo->limit_bytes = limit_bytes;
    memo->least_bytes = least_bytes;
}

size_t tseg_memo_memory(const tseg_memo *memo)
{
    return table_bytes(memo->capacity, memo->chain_count) +
           (memo->marks ? TSEG_MEMO_MARKS * sizeof(*memo->marks) : 0);
}

/* Changes the bound, and drops values only if they exceed it. */
void tseg_memo_resize(tseg_memo *memo, uint64_t limit_bytes)
{
    memo->limit_bytes = limit_bytes;
    if (tseg_memo_memory(memo) > limit_bytes) tseg_memo_clear(memo); /* the table does not shrink */
    while (memo->bytes > limit_bytes && memo->count) pass_slot(memo);
}

/*
 * Admission to the memo, by one rule. A value enters if it will save more copying than the values that it displaces
 * have saved, plus the cost of a value to the garbage collector:
 *
 *   reads * bytes  >=  TSEG_MEMO_PRICE_BYTES  +  the sum of reads * bytes over the values that leave
 *
 * So a scan fills nothing, and a working set that exceeds the memo does not displace itself. A value of 24 KB enters at
 * its third read, and one of 100 KB at its second. The first read of an entry never counts.
 *
 * Marks count the reads of entries whose values are not kept. Marks form buckets of four; a new mark replaces the mark
 * with the fewest reads. All counts are halved from time to time, so that values which were once popular leave. A clock
 * hand visits the slots in a circle and chooses the values to evict; it skips values that save more.
 */
#define TSEG_MEMO_MARK_BUCKET 4u
#define TSEG_MEMO_MARK_READS UINT32_C(0xff) /* the other bits of a mark identify the entry */

static void halve_marks(tseg_memo *memo)
{
    for (uint32_t i = 0; i < TSEG_MEMO_MARKS; i++) {
        uint32_t mark = memo->marks[i];
        memo->marks[i] = (mark & ~TSEG_MEMO_MARK_READS) | (mark & TSEG_MEMO_MARK_READS) >> 1;
    }
}

static inline void count_period(tseg_memo *memo, uint64_t bytes)
{
    memo->period_bytes += bytes;
    if (TSEG_LIKELY(memo->period_bytes < TSEG_MEMO_PERIOD_BYTES)) return;
    memo->period_bytes = 0;
    memo->period++;
    if (memo->marks) halve_marks(memo);
}

static inline uint32_t reads_of(const tseg_memo *memo, const tseg_memo_slot *slot)
{
    uint16_t age = (uint16_t)(memo->period - slot->period);
    return age < 16 ? (uint32_t)slot->reads >> age : 0;
}

/* Counts a hit: a read whose value is kept. */
void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot)
{
    uint32_t reads = reads_of(memo, slot);

    memo->hits++;
    slot->reads = (uint16_t)(reads < UINT16_MAX ? reads + 1 : reads);
    slot->period = memo->period;
    count_period(memo, slot->bytes);
}

/* Decoding a value in Ruby costs at least as much as keeping one. */
static inline uint64_t saved_bytes(uint64_t reads, uint64_t bytes, bool decoded)
{
    return reads * (decoded && bytes < TSEG_MEMO_PRICE_BYTES ? TSEG_MEMO_PRICE_BYTES : bytes);
}

static uint32_t *marks_of(const tseg_memo *memo, uint64_t hash)
{
    return memo->marks + (tseg_mix(hash) >> 8 & (TSEG_MEMO_MARKS - TSEG_MEMO_MARK_BUCKET));
}

/* The mark includes the key's hash, because entries of two shards may have the same position. */
static uint32_t mark_of(const tseg_memo_candidate *candidate)
{
    const tseg_token *token = candidate->token;
    uint64_t mixed = tseg_mix(candidate->hash ^ token->origin ^ (uint64_t)token->sequence << 40);

    return ((uint32_t)(mixed >> 32) & ~TSEG_MEMO_MARK_READS) | (TSEG_MEMO_MARK_READS + 1); /* 0 is a free mark */
}

/* The candidate's mark, or NULL. */
static uint32_t *find_mark(const tseg_memo *memo, const tseg_memo_candidate *candidate)
{
    uint32_t mark = mark_of(candidate), *bucket;

    if (!memo->marks) return NULL;
    bucket = marks_of(memo, candidate->hash);
    for (unsigned i = 0; i < TSEG_MEMO_MARK_BUCKET; i++)
        if ((bucket[i] & ~TSEG_MEMO_MARK_READS) == mark) return bucket + i;
    return NULL;
}

static bool has_marks(tseg_memo *memo)
{
    uint64_t bytes = TSEG_MEMO_MARKS * sizeof(*memo->marks);

    if (memo->marks) return true;
    if (memo->bytes + bytes > memo->limit_bytes) return false;
    memo->marks = calloc(TSEG_MEMO_MARKS, sizeof(*memo->marks));
    if (!memo->marks) return false;
    memo->bytes += bytes;
    return true;
}

static void leave_mark(tseg_memo *memo, const tseg_memo_candidate *candidate)
{
    uint32_t *bucket = marks_of(memo, candidate->hash), *fewest = bucket;

    for (unsigned i = 1; i < TSEG_MEMO_MARK_BUCKET; i++)
        if ((bucket[i] & TSEG_MEMO_MARK_READS) < (*fewest & TSEG_MEMO_MARK_READS)) fewest = bucket + i;
    for (unsigned i = 0; i < TSEG_MEMO_MARK_BUCKET; i++)
        if (!bucket[i]) fewest = bucket + i;
    *fewest = mark_of(candidate);
}

/* The number of slots that the hand has to pass to make room for the value; negative: the rule does not admit it. */
static int64_t slots_to_pass(const tseg_memo *memo, const tseg_memo_candidate *candidate, uint32_t reads)
{
    uint64_t worth = saved_bytes(reads, candidate->bytes, candidate->decoded), price = TSEG_MEMO_PRICE_BYTES;
    uint64_t wanted = memo->bytes + tseg_memo_cost(candidate->bytes), growth = table_growth(memo);
    uint32_t at = memo->hand;

    if (worth < price || candidate->bytes > UINT32_MAX) return -1;
    if (wanted + growth <= memo->limit_bytes) return 0;
    for (int64_t passed = 1; passed <= (int64_t)memo->used; passed++) {
        const tseg_memo_slot *slot = memo->slots + at;
        if (slot->value) {
            price += saved_bytes(reads_of(memo, slot), slot->bytes, slot->decoded);
            if (worth < price) return -1;
            wanted -= tseg_memo_cost(slot->bytes); /* without `growth`: the value can have this slot */
            if (wanted <= memo->limit_bytes) return passed;
        }
        if (++at == memo->used) at = 0;
    }
    return -1;
}

/* Counts a read of an entry that is not kept. Returns true if the rule would admit the entry's value now. */
bool tseg_memo_wants(tseg_memo *memo, const tseg_memo_candidate *candidate)
{
    uint32_t *mark;

    if (!has_marks(memo)) return false;
    count_period(memo, candidate->bytes);
    mark = find_mark(memo, candidate);
    if (!mark) {
        leave_mark(memo, candidate);
        return false;
    }
    if ((*mark & TSEG_MEMO_MARK_READS) < TSEG_MEMO_MARK_READS) ++*mark;
    if (slots_to_pass(memo, candidate, *mark & TSEG_MEMO_MARK_READS) >= 0) return true;
    if (++memo->hand >= memo->used) memo->hand = 0;
    return false;
}

/* Makes room for the value if the rule admits it, and returns the number of its reads; else returns 0. */
unsigned tseg_memo_admit(tseg_memo *memo, const tseg_memo_candidate *candidate)
{
    uint32_t *mark = find_mark(memo, candidate), reads;
    int64_t passed;

    if (!mark) return 0;
    reads = *mark & TSEG_MEMO_MARK_READS;
    drop_key(memo, candidate->hash);
    passed = slots_to_pass(memo, candidate, reads);
    if (passed < 0) return 0;
    while (passed--) pass_slot(memo);
    *mark = 0;
    return reads;
}

/* The bound of one handle's memo: its part of the machine's budget. */
uint64_t tseg_memo_share(uint64_t segment_bytes, unsigned processes, unsigned handles)
{
    uint64_t share = segment_bytes / TSEG_MEMO_BUDGET_PART / (processes ? processes : 1);

    if (share > TSEG_MEMO_LARGEST_SHARE) share = TSEG_MEMO_LARGEST_SHARE;
    share /= handles ? handles : 1;
    return share < TSEG_MEMO_LEAST_SHARE ? 0 : share;
}
