/*
 * The memo of a process: which values it keeps, in how many bytes, and which of them go. No Ruby here: a value is a
 * number to it. The segment alone says whether what is kept is still what is there (an entry's token: file, origin,
 * sequence); so nothing has to be told to the memo, and a kept value that was overwritten is merely never asked for
 * again, and goes when room is wanted.
 */
#ifndef TIERCEL_SEGMENT_MEMO_H
#define TIERCEL_SEGMENT_MEMO_H

#include "segment.h"

enum {
    /* Ruby keeps shorter Strings within their slot, where a copy costs what sharing does. */
    TSEG_MEMO_LEAST_BYTES = 640,
    /* Counted for each value beside its own bytes: Ruby's slot and what malloc adds. The table is counted by itself. */
    TSEG_MEMO_ENTRY_BYTES = 56,
    /* What was read once is remembered as one of so many marks. */
    TSEG_MEMO_MARKS = 16384
};

typedef struct {
    uint64_t hash; /* of the key */
    tseg_token token;
    double expires_at; /* of the frame, which may end before its entry does */
    uintptr_t value;   /* 0: free */
    uint32_t bytes;
    uint32_t next;     /* in its chain, or of the free ones; plus 1, 0 ends it */
    uint32_t wanted;   /* hits since the hand passed, up to TSEG_MEMO_MOST_WANTED */
} tseg_memo_slot;

typedef struct {
    uint64_t limit_bytes; /* 0: keeps nothing */
    uint64_t bytes;       /* of all that is kept, TSEG_MEMO_ENTRY_BYTES each included, of the table and the marks */
    uint64_t hits, evictions;
    tseg_memo_slot *slots;
    uint32_t *chains;     /* as many as slots: the first slot of each, plus 1 */
    uint32_t *marks;
    uint32_t capacity;    /* a power of two, or 0 */
    uint32_t used;        /* slots that were ever in use */
    uint32_t count;
    uint32_t free_slot;   /* plus 1 */
    uint32_t hand;
    uint32_t credit;      /* for throwing something out: see memo.c */
} tseg_memo;

/* What is kept of this entry, or NULL. Good until the memo is changed. */
tseg_memo_slot *tseg_memo_find(tseg_memo *memo, uint64_t hash, const tseg_token *token);
void tseg_memo_hit(tseg_memo *memo, tseg_memo_slot *slot);
/*
 * Whether a value of so many bytes, which was just read, is to be kept: not at its first read, and where room has to
 * be made, not faster than what is kept pays. Makes the room.
 */
bool tseg_memo_wants(tseg_memo *memo, uint64_t hash, const tseg_token *token, uint32_t bytes);
/* Keeps it, in the place of what was kept of the key. false: no memory, or no room. */
bool tseg_memo_keep(tseg_memo *memo, uint64_t hash, const tseg_token *token, double expires_at, uintptr_t value,
                    uint32_t bytes);
void tseg_memo_set_limit(tseg_memo *memo, uint64_t limit_bytes);
/* Forgets all, and gives its memory back. */
void tseg_memo_clear(tseg_memo *memo);
size_t tseg_memo_memory(const tseg_memo *memo);

#endif
