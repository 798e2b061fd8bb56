/*
 * The memo of a process: which values it keeps, in how many bytes, and which of them go. No Ruby here: a value is a
 * number to it. The segment alone says whether what is kept is still what is there (an entry's token: file, origin,
 * sequence); so nothing has to be told to the memo, and a kept value that was overwritten is merely never asked for
 * again, and goes when room is wanted. Strings and decoded objects are kept in one table, within one bound.
 */
#ifndef TIERCEL_SEGMENT_MEMO_H
#define TIERCEL_SEGMENT_MEMO_H

#include "segment.h"

enum {
    /* Ruby keeps shorter Strings within their slot, where a copy costs what sharing does. */
    TSEG_MEMO_LEAST_BYTES = 640,
    /* Counted for each value beside its own bytes: Ruby's slot and what malloc adds. The table is counted by itself. */
    TSEG_MEMO_ENTRY_BYTES = 56,
    /* From so many on malloc takes whole pages (until what it had mapped is freed: then it may take less). */
    TSEG_MEMO_MAPPED_BYTES = 128 << 10,
    TSEG_MEMO_PAGE_BYTES = 4096,
    /* What was read once is remembered as one of so many marks. */
    TSEG_MEMO_MARKS = 16384,
    /* Once it has not paid, it tries with this part of its bytes and of the keys; what is kept then is no value. Short
     * Strings have so much of it from the start, and the rest when that has shown that it pays. */
    TSEG_MEMO_TRIAL = 8,
    TSEG_MEMO_SHORT_BYTES = 8192
};

typedef struct {
    uint64_t hash;     /* of the key */
    uint64_t file_id, origin;
    double expires_at; /* of the frame, which may end before its entry does */
    uintptr_t value;   /* 0: free */
    uintptr_t version; /* of the record, as the frame has it; 0: none */
    uint32_t sequence;
    uint32_t bytes;
    uint32_t next;     /* in its chain, or of the free ones; plus 1, 0 ends it */
    uint32_t wanted;   /* hits since the hand passed, up to TSEG_MEMO_MOST_WANTED */
} tseg_memo_slot;

typedef struct {
    uint64_t limit_bytes; /* 0: keeps nothing */
    uint64_t bytes;       /* of all that is kept, TSEG_MEMO_ENTRY_BYTES each included, of the table and the marks */
    uint64_t pause;       /* so many reads have to do without it */
    uint64_t hits, evictions, pauses;
    tseg_memo_slot *slots;
    uint32_t *chains;     /* of each the first slot, plus 1, below a few bits that say what is not in it */
    uint32_t *marks;
    uint32_t chain_count; /* a power of two, or 0 */
    uint32_t capacity;    /* slots */
    uint32_t used;        /* slots that were ever in use */
    uint32_t count;
    uint32_t free_slot;   /* plus 1 */
    uint32_t hand;
    uint32_t credit;      /* for throwing something out: see memo.c */
    int32_t worth;        /* of its hits, less what it costs while it is full: see memo_admission.c */
    uint32_t failed;      /* pauses since it last paid; while there is one, what it does is a trial */
    uint32_t asked;       /* how often something would have liked to get in, since it last paused */
    bool full;            /* something had to go for the last that would have liked to get in */
    bool proven;          /* short Strings may take all of it */
    uint64_t short_bytes; /* of those that got in before */
} tseg_memo;

/* What it may take: all, or in a trial a part, with the marks. */
static inline uint64_t tseg_memo_may_take(const tseg_memo *memo)
{
    uint64_t part = memo->limit_bytes / TSEG_MEMO_TRIAL + TSEG_MEMO_MARKS * sizeof(*memo->marks);
    return memo->failed && part < memo->limit_bytes ? part : memo->limit_bytes;
}
static inline uint64_t tseg_memo_cost(uint64_t bytes)
{
    uint64_t cost = bytes + TSEG_MEMO_ENTRY_BYTES;

    if (bytes < TSEG_MEMO_MAPPED_BYTES) return cost;
    return (cost + TSEG_MEMO_PAGE_BYTES - 1) / TSEG_MEMO_PAGE_BYTES * TSEG_MEMO_PAGE_BYTES;
}

/* memo_admission.c */
/*
 * What it is worth is counted: of what had to be decoded most, else by its bytes. May forget all, where a trial ends
 * with it.
 */
void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot, bool decoded);
/*
 * Whether this entry, which was just read and is not kept, was read before: a scan fills nothing. `bytes` of a String
 * as it is stored, or 0 for what has to be decoded. May forget all.
 */
bool tseg_memo_is_read_again(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes);
/* Keeps in a trial what stands for a value of so many bytes: a number that is no object. */
void tseg_memo_try(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes, uintptr_t value);
/* Makes room for a value of so many bytes; where something has to go for it, not faster than what is kept pays. */
bool tseg_memo_make_room(tseg_memo *memo, uint64_t bytes);

/* memo.c */
/* What is kept of this entry, or NULL. Good until the memo is changed. */
tseg_memo_slot *tseg_memo_find(tseg_memo *memo, uint64_t hash, const tseg_token *token);
/* Leaves a mark of the entry. true: one was there already. */
bool tseg_memo_mark(tseg_memo *memo, uint64_t hash, const tseg_token *token);
/* Whether there is room for so many bytes, with what the table has to grow by for one more. */
bool tseg_memo_has_room(const tseg_memo *memo, uint64_t cost);
/* Keeps it, in the place of what was kept of the key. false: no memory, or no room. */
bool tseg_memo_keep(tseg_memo *memo, uint64_t hash, const tseg_token *token, double expires_at, uintptr_t value,
                    uintptr_t version, uint32_t bytes);
/* Frees a slot that is in use. */
void tseg_memo_drop(tseg_memo *memo, uint32_t index);
/* Where what is kept of the key will be looked for. */
void tseg_memo_prefetch(const tseg_memo *memo, uint64_t hash);
/* Forgets all. */
void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes);
/* Forgets all, and gives its memory back. */
void tseg_memo_clear(tseg_memo *memo);
size_t tseg_memo_memory(const tseg_memo *memo);

#endif
