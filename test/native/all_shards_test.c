/*
 * Work on all shards: it completes however often the host stops it, and restarts if the host has moved to another
 * file. First the host moves at each of its calls in turn; then threads write while a host without a lock visits the
 * shards.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { SHARDS = 4, KEYS = 200, WRITES = 20000 };

/* The host that a test simulates. */
typedef struct {
    tseg_turns base;
    tseg *files[2];
    int moves_at;     /* the call of current that first returns the second file; 0: none */
    int calls, runs, waits, turns;
    bool stops;       /* whether every second run is stopped before it begins */
} played_host;

static tseg *play_current(tseg_turns *turns)
{
    played_host *host = (played_host *)turns;
    return host->files[host->moves_at && ++host->calls >= host->moves_at];
}

static void play_run(tseg_turns *turns, tseg *segment, void (*work)(void *argument, const atomic_bool *stop),
                     void *argument)
{
    played_host *host = (played_host *)turns;
    atomic_bool stop = host->stops && host->runs % 2 == 0;

    (void)segment;
    host->runs++;
    work(argument, &stop);
}

static bool play_wait(tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    (void)segment;
    CHECK(shard < SHARDS && wait);
    return ((played_host *)turns)->waits++ < 2;
}

static void play_give_way(tseg_turns *turns) { ((played_host *)turns)->turns++; }

static played_host host_of(tseg *one, tseg *other)
{
    return (played_host){.base = {play_current, play_run, play_wait, play_give_way}, .files = {one, other}};
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

/* Returns the file that the host uses at the end. */
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

/* A wait that times out restarts the count. */
static void test_a_wait_for_a_mover(tseg *one)
{
    played_host host = host_of(one, one);
    tseg_wait wait = {.begun = true, .ns = 5};

    for (int i = 0; i < 2; i++) tseg_wait_for_mover(&host.base, one, 0, &wait);
    CHECK(wait.ns == 5);
    tseg_wait_for_mover(&host.base, one, 0, &wait);
    CHECK(!wait.begun && wait.ns == 0);
}

/* Threads: all calls of the segment hold the host's lock, except those of `run`, which another thread stops. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool done;

typedef struct {
    tseg_turns base;
    tseg *segment;
} threaded_host;

static tseg *only_file(tseg_turns *turns) { return ((threaded_host *)turns)->segment; }

static void run_unlocked(tseg_turns *turns, tseg *segment, void (*work)(void *argument, const atomic_bool *stop),
                         void *argument)
{
    atomic_bool stop = false;

    (void)turns, (void)segment;
    pthread_mutex_unlock(&lock);
    work(argument, &stop);
    pthread_mutex_lock(&lock);
}

static bool watch_unlocked(tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    (void)turns;
    if (!tseg_may_wait(segment, shard, wait)) return false;
    pthread_mutex_unlock(&lock);
    tseg_watch(segment, shard, wait);
    pthread_mutex_lock(&lock);
    return true;
}

static void give_lock_away(tseg_turns *turns)
{
    (void)turns;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
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
    threaded_host host = {{only_file, run_unlocked, watch_unlocked, give_lock_away}, segment};
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
    test_a_wait_for_a_mover(one);
    CHECK(entries(one) == KEYS);
    tseg_release(other);
    other = attach_or_die(NULL, 32 << 20, SHARDS);
    test_threads(other);
    tseg_release(one);
    tseg_release(other);
    printf("all shards: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
