/* The host that a test simulates. It can move to a second file, stop runs, and interrupt waits. */
#ifndef TIERCEL_TEST_PLAYED_HOST_H
#define TIERCEL_TEST_PLAYED_HOST_H

#include "calls.h"
#include "check.h"
#include "shard.h"

enum { SHARDS = 4, KEYS = 200 };

typedef struct {
    tseg_host base;
    tseg *files[2];
    int moves_at;        /* the call of `current` that answers with the second file first; 0: none */
    int calls, runs, blocks;
    int interrupted_at;  /* the call of `block` that an exception ends; 0: none */
    bool stops;          /* the host stops every other run before it begins */
} played_host;

static inline tseg *play_current(tseg_host *base)
{
    played_host *host = (played_host *)base;
    return host->files[host->moves_at && ++host->calls >= host->moves_at];
}

static inline bool play_run(tseg_host *base, tseg_step *step, void *argument)
{
    played_host *host = (played_host *)base;
    bool finished = false;

    while (!finished) {
        atomic_bool stop = host->stops && host->runs % 2 == 0;
        host->runs++;
        finished = step(argument, &stop);
    }
    return true;
}

static inline bool play_block(tseg_host *base, void (*work)(void *argument), void *argument)
{
    played_host *host = (played_host *)base;

    work(argument);
    return ++host->blocks != host->interrupted_at;
}

static inline played_host host_of(tseg *one, tseg *other)
{
    tseg_host base = {.run = play_run, .block = play_block, .current = play_current};
    return (played_host){.base = base, .files = {one, other}};
}

/* Writes KEYS entries: half of their keys begin with "odd:". */
static inline void fill(tseg *segment)
{
    char text[32];

    for (int i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "%s:%d", i % 2 ? "odd" : "even", i);
        tseg_key key = key_of(segment, text);
        tseg_value value = value_of(text, strlen(text));
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
    }
}

#endif
