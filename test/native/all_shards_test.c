/*
 * Work on all shards: complete, however often the host stops it, and begun anew if the host moves to another file. The
 * played host moves at each of its calls in turn. In the last test threads write while the work runs without the host's
 * lock. Calls that are repeated use the same host.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "call.h"
#include "check.h"
#include "internal.h"

enum { SHARDS = 4, KEYS = 200, WRITES = 20000 };

/* The host of a test. */
typedef struct {
    tseg_host base;
    tseg *files[2];
    int moves_at;        /* the call of `current` that answers with the second file first; 0: none */
    int calls, runs, blocks, yields;
    int interrupted_at;  /* the call of `block` that an exception ends; 0: none */
    bool stops;          /* the host stops every other run before it begins */
} played_host;

static tseg *play_current(tseg_host *base)
{
    played_host *host = (played_host *)base;
    return host->files[host->moves_at && ++host->calls >= host->moves_at];
}

static bool play_run(tseg_host *base, tseg_step *step, void *argument)
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

static bool play_block(tseg_host *base, void (*work)(void *argument), void *argument)
{
    played_host *host = (played_host *)base;

    work(argument);
    return ++host->blocks != host->interrupted_at;
}

static bool play_yield(tseg_host *base)
{
    ((played_host *)base)->yields++;
    return true;
}

static played_host host_of(tseg *one, tseg *other)
{
    tseg_host base = {.run = play_run, .block = play_block, .yield = play_yield, .current = play_current};
    return (played_host){.base = base, .files = {one, other}};
}

static void fill(tseg *segment)
{
    char text[32];

    for (int i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "%s:%d", i % 2 ? "odd" : "even", i);
        tseg_key key = key_of(segment, text);
        tseg_value value = value_of(text, strlen(text));
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
    }
}

static uint64_t entries(tseg *segment)
{
    tseg_stats stats;

    tseg_collect_stats(segment, time_now, &stats);
    return stats.entries;
}

/* The file in which the host ends. */
static tseg *last_file(const played_host *host) { return host->files[host->moves_at && host->calls >= host->moves_at]; }

static void test_clear(tseg *one, tseg *other)
{
    for (int moves_at = 0; moves_at < 40; moves_at++) {
        played_host host = host_of(one, other);
        host.moves_at = moves_at;
        host.stops = moves_at % 3 == 0;
        fill(one);
        fill(other);
        tseg_clear(&host.base);
        CHECK(entries(last_file(&host)) == 0);
        if (last_file(&host) == one) CHECK(entries(other) == KEYS);
        CHECK(host.runs >= 1);
    }
}

static void test_clear_keys(tseg *one, tseg *other)
{
    for (int moves_at = 0; moves_at < 20; moves_at++) {
        played_host host = host_of(one, other);
        uint64_t cleared;
        host.moves_at = moves_at;
        host.stops = moves_at % 3 == 0;
        fill(one);
        fill(other);
        cleared = tseg_clear_keys(&host.base, "odd:", 4);
        CHECK(entries(last_file(&host)) == KEYS / 2);
        CHECK(cleared == KEYS / 2 || (moves_at && cleared == KEYS));
    }
}

static void test_count_all(tseg *one, tseg *other)
{
    fill(one);
    fill(other);
    for (int moves_at = 0; moves_at < 20; moves_at++) {
        played_host host = host_of(one, other);
        tseg_stats stats;
        host.moves_at = moves_at;
        host.stops = moves_at % 3 == 0;
        CHECK(tseg_count_all(&host.base, time_now, &stats) == last_file(&host));
        CHECK(stats.entries == KEYS);
    }
}

/* A pass waits for a stuck writer for the whole bound. The next wait then begins anew. */
static void test_a_wait_in_a_pass(tseg *one)
{
    played_host host = host_of(one, one);
    tseg_wait wait = {.begun = true, .ns = 5};

    CHECK(tseg_wait_in_pass(&host.base, one, 0, &wait) && wait.ns == 5 && host.blocks == 1);
    wait.ns = TSEG_LOCK_WAIT_NS;
    CHECK(tseg_wait_in_pass(&host.base, one, 0, &wait) && !wait.begun && wait.ns == 0 && host.blocks == 1);
    host.interrupted_at = 2;
    CHECK(!tseg_wait_in_pass(&host.base, one, 0, &wait));
}

/* A call that answers its attempts with these results, one after the other. */
typedef struct {
    tseg_call base;
    tseg_result results[6];
    int attempts, abandoned;
    tseg *seen[6];
} played_call;

static tseg_result play_attempt(tseg_call *base, tseg *segment)
{
    played_call *call = (played_call *)base;

    CHECK(call->attempts < 6 && segment->holds == 1);
    call->seen[call->attempts] = segment;
    return call->results[call->attempts++];
}

static tseg_result play_abandon(tseg_call *base, tseg *segment)
{
    CHECK(segment->holds == 1);
    ((played_call *)base)->abandoned++;
    return base->result;
}

static played_call call_of(tseg_result first) { return (played_call){.base = {play_attempt, play_abandon, 0, first}}; }

/* The call waits for writers, and goes on where the path leads. */
static void test_a_repeated_call(tseg *one, tseg *other)
{
    played_call call = call_of(TSEG_WOULD_WAIT);
    played_host host = host_of(one, other);

    call.results[0] = TSEG_WOULD_WAIT;
    call.results[1] = TSEG_RETIRED;
    call.results[2] = TSEG_WOULD_WAIT;
    call.results[3] = TSEG_PRESENT;
    host.moves_at = 3;
    CHECK(tseg_repeat_call(&host.base, &call.base) == TSEG_PRESENT && call.attempts == 4 && host.blocks == 2);
    CHECK(call.seen[0] == one && call.seen[1] == one && call.seen[2] == other && call.seen[3] == other);
    CHECK(!call.abandoned && one->holds == 0 && other->holds == 0);
}

/* Three retired files, an interrupt, a host without a segment, and results that no attempt can change. */
static void test_a_call_without_an_answer(tseg *one)
{
    played_host host = host_of(one, one), none = host_of(NULL, NULL);
    played_call retired = call_of(TSEG_RETIRED), interrupted = call_of(TSEG_WOULD_WAIT), busy = call_of(TSEG_BUSY);
    played_call homeless = call_of(TSEG_RETIRED);

    for (int i = 0; i < 6; i++) retired.results[i] = TSEG_RETIRED;
    CHECK(tseg_repeat_call(&host.base, &retired.base) == TSEG_RETIRED && retired.attempts == 3);
    interrupted.results[0] = TSEG_WOULD_WAIT;
    host.interrupted_at = 1;
    CHECK(tseg_repeat_call(&host.base, &interrupted.base) == TSEG_INTERRUPTED && interrupted.attempts == 1);
    CHECK(interrupted.abandoned == 1);
    CHECK(tseg_repeat_call(&host.base, &busy.base) == TSEG_BUSY && busy.attempts == 0 && busy.abandoned == 1);
    CHECK(tseg_repeat_call(&none.base, &homeless.base) == TSEG_INTERRUPTED && homeless.attempts == 0);
    CHECK(one->holds == 0);
}

/* A delete of a segment that is retired in the middle goes on in the new file. */
static void test_a_delete_of_a_retired_file(tseg *one, tseg *other)
{
    tseg_key key = key_of(one, "odd:1");
    double latest_end = -INFINITY;

    fill(one);
    CHECK(tseg_delete_once(one, &key, tseg_delete, &latest_end) == TSEG_OK && latest_end == INFINITY);
    fill(other);
    tseg_retire(other);
    key = key_of(other, "odd:1");
    latest_end = -INFINITY;
    CHECK(tseg_delete_once(other, &key, tseg_delete, &latest_end) == TSEG_RETIRED && latest_end == INFINITY);
    CHECK(tseg_delete_once(other, &key, tseg_delete, &latest_end) == TSEG_RETIRED && latest_end == INFINITY);
    atomic_store(&other->header->retired, 0);
    fill(one);
}

/* Threads make each call of the segment under the host's lock, except for the steps of `run`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool done;

typedef struct {
    tseg_host base;
    tseg *segment;
} threaded_host;

static tseg *only_file(tseg_host *base) { return ((threaded_host *)base)->segment; }

static bool run_unlocked(tseg_host *base, tseg_step *step, void *argument)
{
    atomic_bool stop = false;
    bool finished = false;

    (void)base;
    pthread_mutex_unlock(&lock);
    while (!finished) finished = step(argument, &stop);
    pthread_mutex_lock(&lock);
    return true;
}

static bool block_unlocked(tseg_host *base, void (*work)(void *argument), void *argument)
{
    (void)base;
    pthread_mutex_unlock(&lock);
    work(argument);
    pthread_mutex_lock(&lock);
    return true;
}

static bool give_lock_away(tseg_host *base)
{
    (void)base;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    return true;
}

static void *write_on(void *argument)
{
    tseg *segment = argument;
    uint64_t random = 7;

    for (int i = 0; i < WRITES; i++) {
        char text[32];
        snprintf(text, sizeof text, "odd:%d", (int)(next_random(&random) % KEYS));
        pthread_mutex_lock(&lock);
        tseg_key key = key_of(segment, text);
        tseg_value value = value_of(text, strlen(text));
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
        pthread_mutex_unlock(&lock);
    }
    atomic_store(&done, true);
    return NULL;
}

static void test_threads(tseg *segment)
{
    threaded_host host = {{.run = run_unlocked, .block = block_unlocked, .yield = give_lock_away,
                           .current = only_file}, segment};
    pthread_t writer;

    pthread_create(&writer, NULL, write_on, segment);
    for (int i = 0; !atomic_load(&done); i++) {
        tseg_stats stats;
        pthread_mutex_lock(&lock);
        if (i % 3 == 0) tseg_clear(&host.base);
        if (i % 3 == 1) tseg_clear_keys(&host.base, "odd:", 4);
        if (i % 3 == 2) CHECK(tseg_count_all(&host.base, time_now, &stats) == segment && stats.entries <= KEYS);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(writer, NULL);
    pthread_mutex_lock(&lock);
    tseg_clear_keys(&host.base, "odd:", 4);
    CHECK(entries(segment) == 0);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    tseg *one = attach_or_die(NULL, 32 << 20, SHARDS), *other = attach_or_die(NULL, 32 << 20, SHARDS);

    CHECK(one->geometry.shards == SHARDS && one->file_id != other->file_id);
    test_clear(one, other);
    test_clear_keys(one, other);
    test_count_all(one, other);
    test_a_wait_in_a_pass(one);
    test_a_repeated_call(one, other);
    test_a_call_without_an_answer(one);
    test_a_delete_of_a_retired_file(one, other);
    CHECK(entries(one) == KEYS);
    tseg_release(other);
    other = attach_or_die(NULL, 32 << 20, SHARDS);
    test_threads(other);
    tseg_release(one);
    tseg_release(other);
    printf("all shards: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
