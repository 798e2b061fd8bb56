/*
 * The memo of a process: the values it keeps decoded, and the rule by which they enter and leave. No Ruby here: a value
 * is a number to it. The segment alone decides whether a kept value is current (an entry's token: file, origin,
 * sequence), so no invalidation reaches the memo. A kept value whose entry was overwritten is never looked up again,
 * and leaves when its room is wanted. Strings and decoded objects share one table and one bound.
 */
#ifndef TIERCEL_SEGMENT_MEMO_H
#define TIERCEL_SEGMENT_MEMO_H

#include "segment.h"

enum {
    /* Ruby keeps shorter Strings within their slot, where a copy costs as much as sharing. */
    TSEG_MEMO_LEAST_BYTES = 640,
    /* Counted for each value beside its own bytes: Ruby's slot and what malloc adds. The table is counted by itself. */
    TSEG_MEMO_ENTRY_BYTES = 56,
    /* From this size on malloc takes whole pages (until a mapping of this size was freed: then it may take less). */
    TSEG_MEMO_MAPPED_BYTES = 128 << 10,
    TSEG_MEMO_PAGE_BYTES = 4096,
    TSEG_MEMO_INDEX_BITS = 24,
    /* A share of the machine's budget: an eighth of the segment for all processes, at most this for each. A smaller
     * share than the least one does not pay for the marks, which are a sixteenth of it. */
    TSEG_MEMO_BUDGET_PART = 8,
    TSEG_MEMO_LARGEST_SHARE = 16 << 20,
    TSEG_MEMO_LEAST_SHARE = 1 << 20
};

/* The rule of admission has these constants; adr/020 has the measurement of each. */
enum {
    /* From this size on copying a String costs more than an object; shorter ones enter only where `memo:` is a size. */
    TSEG_MEMO_LONG_BYTES = 8192,
    /* An entry costs the collector about as much as copying so many bytes out of the segment (10 us). */
    TSEG_MEMO_PRICE_BYTES = 36 << 10,
    /* Entries that are not kept and whose reads are counted. */
    TSEG_MEMO_MARKS = 16384,
    /* All counts are halved after reads of so many bytes. */
    TSEG_MEMO_PERIOD_BYTES = 384 << 20
};

typedef struct {
    uint64_t hash; /* of the key */
    uint64_t file_id, origin;
    double expires_at; /* of the frame, which may expire before its entry does */
    uintptr_t value;   /* 0: free */
    uintptr_t terms;   /* for the binding: what the frame says of version and tags; 0: nothing */
    uint32_t sequence;
    uint32_t bytes;
    uint32_t next : TSEG_MEMO_INDEX_BITS; /* in its chain, or of the free ones; plus 1, 0 ends it */
    uint32_t decoded : 1;
    uint16_t reads, period; /* reads as of that period: see memo_admission.c */
} tseg_memo_slot;

typedef struct {
    uint64_t limit_bytes; /* 0: keeps nothing */
    uint64_t bytes;       /* of all that is kept, TSEG_MEMO_ENTRY_BYTES each included, of the table and the marks */
    uint64_t hits, evictions;
    tseg_memo_slot *slots;
    uint32_t *chains;      /* of each the first slot, plus 1, below a few bits that exclude keys */
    uint32_t *marks;
    uint32_t least_bytes;  /* of a String that enters as it is stored */
    uint32_t chain_count;  /* a power of two, or 0 */
    uint32_t capacity;     /* slots */
    uint32_t used;         /* slots that were ever in use */
    uint32_t count;
    uint32_t free_slot;    /* plus 1 */
    uint32_t hand;
    uint16_t period;       /* how often counts were halved */
    uint64_t period_bytes; /* of reads since then */
} tseg_memo;

/* A value that might enter. decoded: Ruby decodes it, which a hit saves. */
typedef struct {
    uint64_t hash; /* of the key */
    const tseg_token *token;
    uint64_t bytes;
    bool decoded;
} tseg_memo_candidate;

static inline uint64_t tseg_memo_cost(uint64_t bytes)
{
    uint64_t cost = bytes + TSEG_MEMO_ENTRY_BYTES;

    if (bytes < TSEG_MEMO_MAPPED_BYTES) return cost;
    return (cost + TSEG_MEMO_PAGE_BYTES - 1) / TSEG_MEMO_PAGE_BYTES * TSEG_MEMO_PAGE_BYTES;
}

/* memo_admission.c */
/* Counts a read that a kept value answers. */
void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot);
/* Counts a read of an entry that is not kept. Returns true if the rule would admit its value now. */
bool tseg_memo_wants(tseg_memo *memo, const tseg_memo_candidate *candidate);
/* Makes room for the value if the rule admits it: returns its reads, else 0. */
unsigned tseg_memo_admit(tseg_memo *memo, const tseg_memo_candidate *candidate);
/* Bytes that one process may take of the machine's budget, for each of so many handles on the segment. */
uint64_t tseg_memo_share(uint64_t segment_bytes, unsigned processes, unsigned handles);

/* memo.c */
/* The kept value of this entry, or NULL. Good until the memo is changed. */
tseg_memo_slot *tseg_memo_find(tseg_memo *memo, uint64_t hash, const tseg_token *token);
/* By how many bytes the table has to grow for one more entry; more than any bound if it cannot. */
uint64_t tseg_memo_growth(const tseg_memo *memo);
/* Keeps the value, for which there is room. Returns false without memory. */
bool tseg_memo_keep(tseg_memo *memo, const tseg_memo_candidate *candidate, double expires_at, uintptr_t value,
                    uintptr_t terms, unsigned reads);
/* Frees a slot that is in use. */
void tseg_memo_drop(tseg_memo *memo, uint32_t index);
/* Frees the slot of an earlier value of the key, if there is one. */
void tseg_memo_drop_key(tseg_memo *memo, uint64_t hash);
/* Drops the slot at the hand, if it is in use, and moves the hand on. */
void tseg_memo_pass(tseg_memo *memo);
/* Brings a key's chain into the processor's cache. */
void tseg_memo_prefetch(const tseg_memo *memo, uint64_t hash);
/* Forgets all. least_bytes: see tseg_memo. */
void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes, uint32_t least_bytes);
/* Changes the bound; drops only what exceeds it. */
void tseg_memo_resize(tseg_memo *memo, uint64_t limit_bytes);
/* Forgets all, and gives its memory back. */
void tseg_memo_clear(tseg_memo *memo);
size_t tseg_memo_memory(const tseg_memo *memo);

#endif
