/*
 * Who gets into the memo and who goes, and whether it pays at all.
 *
 * In: what is read a second time, as a mark says. A scan leaves marks and nothing else.
 *
 * Out: a hand goes round the slots; each hit since it passed saves a value once, three times at most. What others
 * have to go for is paid for: a hit earns two, a read of a value that would like to get in one; a value of 1 KB costs
 * 512, one of 16 KB or more 32. So a working set that is larger than the memo does not make it copy all day, and
 * another working set still gets in.
 *
 * Whether it pays: what is kept lies scattered in memory, which the collector and malloc pay for at each read, hit or
 * not. A hit saves a copy, the more the longer it is. Where the hits of a full memo are too few for that, it forgets
 * all and pauses: reads do not look at it. Then it tries, after longer pauses each time: with an eighth of its bytes
 * for an eighth of the keys, of which as many are hits, and without any values. When that pays, it begins anew.
 *
 * What has been kept is a burden until the collector looks at old objects. So short Strings, of which many fit, take
 * an eighth of it first. From the hits of that is seen whether they would pay with all of it, if each part of it had as
 * many hits.
 */
#include <math.h>

#include "internal.h"
#include "memo.h"

#define TSEG_MEMO_MOST_WANTED 3u
#define TSEG_MEMO_STEPS 64u     /* of the hand, for one value */
#define TSEG_MEMO_PRICE_OF_1_KB 512u /* of letting something in for which others go; less of what is larger */
#define TSEG_MEMO_LEAST_PRICE 32u
#define TSEG_MEMO_HIT 2u        /* what one earns */
#define TSEG_MEMO_TURN 128u     /* how many reads an eighth of the keys has its turn */
#define TSEG_MEMO_MOST_CREDIT 1024u
#define TSEG_MEMO_SHARE 4u      /* no value is larger than this part of the memo */
/* Worth: a hit on 1 KB is worth what a read costs that finds nothing while the memo is full; on 16 KB 16 times it. */
#define TSEG_MEMO_MOST_GAIN 16u
#define TSEG_MEMO_WORTH 4096 /* so far below 0 it does not pay; so far above it is not counted on */
#define TSEG_MEMO_TRIAL_WORTH 1024
#define TSEG_MEMO_TRIAL_READS 16384u
#define TSEG_MEMO_TRIAL_ENTRIES 64u
#define TSEG_MEMO_PROMISE 16u /* how often a hit counts while short Strings have an eighth: so half of all is enough */
#define TSEG_MEMO_LONGER_PAUSES 3u /* each is four times the one before */
#define TSEG_MEMO_PAUSE_PER_ENTRY 16u /* reads of the first pause, at most */

static inline void earn(tseg_memo *memo, uint32_t credit)
{
    if (memo->credit < TSEG_MEMO_MOST_CREDIT) memo->credit += credit;
}

static inline bool is_first_part_full(const tseg_memo *memo)
{
    return !memo->proven && memo->short_bytes >= memo->limit_bytes / TSEG_MEMO_TRIAL;
}

static inline bool is_judged(const tseg_memo *memo)
{
    return memo->full || memo->failed || is_first_part_full(memo);
}

static inline int32_t most_worth(const tseg_memo *memo)
{
    return memo->failed || !memo->proven ? TSEG_MEMO_TRIAL_WORTH : TSEG_MEMO_WORTH;
}

/* It has all of it from now on. */
static void prove(tseg_memo *memo)
{
    if (memo->failed) tseg_memo_clear(memo);
    memo->proven = true;
    memo->worth = 0;
}

static inline void gain(tseg_memo *memo, uint32_t bytes, bool decoded)
{
    uint32_t worth = decoded ? TSEG_MEMO_MOST_GAIN : bytes >> 10;

    if (worth > TSEG_MEMO_MOST_GAIN) worth = TSEG_MEMO_MOST_GAIN;
    if (!worth) worth = 1;
    memo->worth += (int32_t)(memo->failed || memo->proven ? worth : worth * TSEG_MEMO_PROMISE);
    if (memo->worth < most_worth(memo)) return;
    if (memo->failed || !memo->proven) prove(memo);
    else memo->worth = most_worth(memo);
}

void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot, bool decoded)
{
    if (!memo->failed) memo->hits++;
    if (slot->wanted < TSEG_MEMO_MOST_WANTED) slot->wanted++;
    earn(memo, TSEG_MEMO_HIT);
    if (is_judged(memo)) gain(memo, slot->bytes, decoded);
}

/* For as long as it took to find out that it does not pay, and each time that it still does not, four times that. */
static void pause_all(tseg_memo *memo)
{
    uint32_t failed = memo->failed < TSEG_MEMO_LONGER_PAUSES ? memo->failed : TSEG_MEMO_LONGER_PAUSES;
    uint64_t longest = ((uint64_t)memo->count * TSEG_MEMO_PAUSE_PER_ENTRY + TSEG_MEMO_WORTH) *
                       (memo->failed ? TSEG_MEMO_TRIAL : 1);
    uint64_t pause = (memo->asked < longest ? memo->asked : longest) << (2 * failed);

    if (!memo->failed) memo->evictions += memo->count;
    memo->pauses++;
    tseg_memo_clear(memo);
    memo->pause = pause;
    memo->failed = failed + 1;
}

/* Where others would have to go, one key in eight is looked at, in turns: marks are far from the processor's cache. */
static bool has_its_turn(tseg_memo *memo, uint64_t hash)
{
    if (!memo->full) return true;
    if (((hash >> 20 ^ memo->asked / TSEG_MEMO_TURN) & 7) == 0) return true;
    earn(memo, 1);
    return false;
}

/* Of few keys there may be none in the sample: then all are tried. */
static bool is_tried(tseg_memo *memo, uint64_t hash)
{
    if ((hash >> 40) % TSEG_MEMO_TRIAL == 0) return true;
    if (memo->asked >= TSEG_MEMO_TRIAL_READS && !memo->full && memo->count < TSEG_MEMO_TRIAL_ENTRIES) prove(memo);
    return false;
}

bool tseg_memo_is_read_again(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes)
{
    bool limited = !memo->failed && !memo->proven && bytes && bytes < TSEG_MEMO_SHORT_BYTES;

    memo->asked++;
    if (memo->failed && (!is_tried(memo, hash) || tseg_memo_find(memo, hash, token))) return false;
    if ((memo->full || is_first_part_full(memo)) && --memo->worth < -most_worth(memo)) {
        pause_all(memo);
        return false;
    }
    if (limited && is_first_part_full(memo)) return false;
    if (!has_its_turn(memo, hash) || !tseg_memo_mark(memo, hash, token)) return false;
    if (limited) memo->short_bytes += tseg_memo_cost(bytes);
    return true;
}

/* One step of the hand. */
static void pass_one(tseg_memo *memo)
{
    tseg_memo_slot *slot = memo->slots + memo->hand;

    if (slot->value && slot->wanted) {
        slot->wanted--;
    } else if (slot->value) {
        tseg_memo_drop(memo, memo->hand);
        if (!memo->failed) memo->evictions++;
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
    uint64_t cost = tseg_memo_cost(bytes), price = price_of(bytes);

    if (bytes > UINT32_MAX || cost > memo->limit_bytes / TSEG_MEMO_SHARE) return false;
    memo->full = !tseg_memo_has_room(memo, cost);
    if (!memo->full) return true;
    earn(memo, 1);
    if (memo->credit < price || !memo->count) return false;
    memo->credit -= (uint32_t)price;
    for (unsigned step = 0; step < TSEG_MEMO_STEPS && memo->count; step++) {
        pass_one(memo);
        if (tseg_memo_has_room(memo, cost)) return true;
    }
    return false;
}

void tseg_memo_try(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes, uintptr_t value)
{
    if (tseg_memo_make_room(memo, bytes)) tseg_memo_keep(memo, hash, token, INFINITY, value, 0, bytes);
}
