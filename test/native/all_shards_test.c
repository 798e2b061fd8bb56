/*
 * Work on all shards: it is completed even if the host stops it often, and starts again if the host moves to another
 * file. The played host moves at each of its calls in turn. In the last test threads write while the work runs without
 * the host's lock.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "played_host.h"

enum { WRITES = 20000 };

static uint64_t entries(tseg *segment)
{
    tseg_stats stats;

    tseg_collect_stats(segment, &stats);
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
    threaded_host host = {{.run = run_unlocked, .block = block_unlocked, .current = only_file}, segment};
    pthread_t writer;

    pthread_create(&writer, NULL, write_on, segment);
    for (int i = 0; !atomic_load(&done); i++) {
        tseg_stats stats;
        pthread_mutex_lock(&lock);
        if (i % 3 == 0) tseg_clear(&host.base);
        if (i % 3 == 1) tseg_clear_keys(&host.base, "odd:", 4);
        if (i % 3 == 2) tseg_collect_stats(segment, &stats);
        CHECK(i % 3 != 2 || stats.entries <= KEYS);
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
    fill(one);
    CHECK(entries(one) == KEYS);
    tseg_release(other);
    other = attach_or_die(NULL, 32 << 20, SHARDS);
    test_threads(other);
    tseg_release(one);
    tseg_release(other);
    printf("all shards: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
