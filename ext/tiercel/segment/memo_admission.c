/*
 * Admission to the memo, by one rule. A value enters if it will save more copying than the values that it displaces
 * have saved, plus the cost of a value to the garbage collector:
 *
 *   reads * bytes  >=  TSEG_MEMO_PRICE_BYTES  +  the sum of reads * bytes over the values that leave
 *
 * So a scan fills nothing, and a working set that exceeds the memo does not displace itself. A value of 24 KB enters at
 * its third read, and one of 100 KB at its second. The first read of an entry never counts.
 *
 * Marks count the reads of entries whose values are not kept. They form buckets of four; a new mark replaces the mark
 * with the fewest reads. All counts are halved from time to time, so that values which were once popular leave. A clock
 * hand visits the slots in a circle and chooses the values to evict; it skips values that save more.
 */
#include <stdlib.h>

#include "internal.h"
#include "memo.h"

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
    uint64_t wanted = memo->bytes + tseg_memo_cost(candidate->bytes), growth = tseg_memo_growth(memo);
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

unsigned tseg_memo_admit(tseg_memo *memo, const tseg_memo_candidate *candidate)
{
    uint32_t *mark = find_mark(memo, candidate), reads;
    int64_t passed;

    if (!mark) return 0;
    reads = *mark & TSEG_MEMO_MARK_READS;
    tseg_memo_drop_key(memo, candidate->hash);
    passed = slots_to_pass(memo, candidate, reads);
    if (passed < 0) return 0;
    while (passed--) tseg_memo_pass(memo);
    *mark = 0;
    return reads;
}

uint64_t tseg_memo_share(uint64_t segment_bytes, unsigned processes, unsigned handles)
{
    uint64_t share = segment_bytes / TSEG_MEMO_BUDGET_PART / (processes ? processes : 1);

    if (share > TSEG_MEMO_LARGEST_SHARE) share = TSEG_MEMO_LARGEST_SHARE;
    share /= handles ? handles : 1;
    return share < TSEG_MEMO_LEAST_SHARE ? 0 : share;
}
