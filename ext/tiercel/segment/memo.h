/*
 * The memo keeps decoded values in the memory of one process. The core treats a value as a number and contains no
 * Ruby. A read of the segment decides whether a kept value is current, by the entry's token (file, origin, sequence).
 * So the memo needs no invalidation: no read looks up a value whose entry was overwritten, and the memo evicts the
 * value when it needs room. Strings and decoded objects share one table and one bound.
 */
#ifndef TIERCEL_SEGMENT_MEMO_H
#define TIERCEL_SEGMENT_MEMO_H

#include "read.h"

enum {
    /* Ruby keeps shorter Strings within the object, where a copy costs as much as sharing. */
    TSEG_MEMO_LEAST_BYTES = 640,
    /* The cost of a value beside its own bytes: Ruby's object and malloc's header. The table counts separately. */
    TSEG_MEMO_ENTRY_BYTES = 56,
    /* From this size on malloc maps whole pages. (malloc may raise this size after it has unmapped such a block.) */
    TSEG_MEMO_MAPPED_BYTES = 128 << 10,
    TSEG_MEMO_PAGE_BYTES = 4096,
    TSEG_MEMO_INDEX_BITS = 24,
    /*
     * The machine's budget: an eighth of the segment for all processes, and at most 16 MB for each. A share below 1 MB
     * is not worth its marks, which take 64 KB.
     */
    TSEG_MEMO_BUDGET_PART = 8,
    TSEG_MEMO_LARGEST_SHARE = 16 << 20,
    TSEG_MEMO_LEAST_SHARE = 1 << 20
};

/* The constants of the admission rule. adr/020 has a measurement for each. */
enum {
    /* From this size on, a copy costs more than a kept object. Shorter Strings enter only if `memo:` is a size. */
    TSEG_MEMO_LONG_BYTES = 8192,
    /* A kept value costs the garbage collector about as much as copying this many bytes out of the segment (10 us). */
    TSEG_MEMO_PRICE_BYTES = 36 << 10,
    /* The number of marks. A mark counts the reads of an entry whose value is not kept. */
    TSEG_MEMO_MARKS = 16384,
    /* After reads of this many bytes, a new period begins and all counts are halved. */
    TSEG_MEMO_PERIOD_BYTES = 384 << 20
};

typedef struct {
    uint64_t hash; /* of the key */
    uint64_t file_id, origin;
    double expires_at; /* the end of the frame, which may expire before its entry does */
    uintptr_t value;   /* 0: the slot is free */
    uintptr_t terms;   /* for the binding: the frame's version and tags; 0: none */
    uint32_t sequence;
    uint32_t bytes;
    uint32_t next : TSEG_MEMO_INDEX_BITS; /* index plus 1 of the next slot in the chain or free list; 0: the last */
    uint32_t decoded : 1;
    uint16_t reads, period; /* the reads up to that period: see "Admission" in memo.c */
} tseg_memo_slot;

typedef struct {
    uint64_t limit_bytes; /* 0: the memo keeps nothing */
    uint64_t bytes;       /* the cost of the values (tseg_memo_cost), the table and the marks */
    uint64_t hits, evictions;
    tseg_memo_slot *slots;
    uint32_t *chains;      /* see chain_of in memo.c */
    uint32_t *marks;
    uint32_t least_bytes;  /* a shorter String does not enter unless Ruby has to decode it */
    uint32_t chain_count;  /* a power of two, or 0 */
    uint32_t capacity;     /* slots */
    uint32_t used;         /* slots that were ever in use */
    uint32_t count;        /* values */
    uint32_t free_slot;    /* index plus 1 of the first slot in the free list; 0: none */
    uint32_t hand;         /* the clock hand: the next slot that may be evicted */
    uint16_t period;       /* the number of periods so far */
    uint64_t period_bytes; /* the bytes of reads in this period */
} tseg_memo;

/* A value that might enter. decoded: Ruby has to decode the value, and a hit saves that work. */
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

#endif
