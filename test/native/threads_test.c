/*
 * Threads of one process on one segment, without a host's lock: in private memory, and then in a file, where each
 * thread also attaches, looks at its registration and detaches all the time, as Ractors do.
 *
 * Each thread owns some keys and knows their last written values. All threads
 * read all keys and check that each value is complete, belongs to the key, and is not older than a completed delete.
 * One more thread sweeps over all entries without the host's lock.
 */
#include <math.h>
#include <pthread.h>

#include "check.h"
#include "stamp.h"

enum { THREADS = 4, KEYS = 64, LARGEST = 900 };


static tseg *segment;
static char path[] = "/tmp/tiercel-native-XXXXXX";
static bool in_file;
static unsigned long calls;
static _Atomic uint32_t floors[THREADS * KEYS]; /* the lowest versions that may still be read */

static tseg_key key_number(uint32_t number, char text[32])
{
    snprintf(text, 32, "thread key %u", number);
    return key_of(segment, text);
}

static uint32_t make_value(uint8_t *buffer, uint32_t number, uint32_t version, uint64_t random)
{
    stamp head = {number, version, (uint32_t)(sizeof head + random % LARGEST), 0};
    memset(buffer + sizeof head, (int)(random >> 32 & 0xff), head.bytes - sizeof head);
    head.sum = sum_of(buffer + sizeof head, head.bytes - sizeof head);
    memcpy(buffer, &head, sizeof head);
    return head.bytes;
}

static void check_value(const uint8_t *buffer, long count, uint32_t number, uint32_t floor)
{
    stamp head;
    CHECK(count >= (long)sizeof head);
    memcpy(&head, buffer, sizeof head);
    CHECK(head.key == number && head.bytes == (uint32_t)count && head.version >= floor);
    CHECK(head.sum == sum_of(buffer + sizeof head, (size_t)count - sizeof head));
}

/* The calls of another Ractor, which may run beside any call. */
static void visit(void)
{
    tseg_options options = {.mode = 0600};
    tseg_error error = {0};
    tseg *own = tseg_attach(path, &options, &error);

    CHECK(own == segment && tseg_keep_registered(own) && tseg_load(&own->owner));
    tseg_hold(own);
    CHECK(tseg_registered(own, NULL, 0) == 1);
    tseg_let_go(NULL, own);
    if (tseg_sidecar_lock_files(own->sidecar, &error)) tseg_sidecar_unlock_files(own->sidecar);
    else CHECK(error.code == EAGAIN);
    tseg_release(own);
}

static void *work(void *argument)
{
    uint32_t self = (uint32_t)(uintptr_t)argument, versions[KEYS] = {0};
    uint64_t random_state = 77 + self;
    uint8_t buffer[LARGEST + sizeof(stamp)];
    char text[32];

    for (unsigned long i = 0; i < calls; i++) {
        uint64_t random = next_random(&random_state);
        if (in_file && i % 256 == 0) visit();
        uint32_t own = (uint32_t)(random >> 8 & (KEYS - 1)), number = self * KEYS + own;
        if ((random & 7) < 5) number = (uint32_t)(random >> 20) % (THREADS * KEYS);
        tseg_key key = key_number(number, text);
        if ((random & 7) < 5) {
            uint32_t floor = atomic_load(&floors[number]);
            long count = read_value(segment, &key, buffer, sizeof buffer, NULL);
            if (count >= 0) check_value(buffer, count, number, floor);
        } else if ((random & 7) == 5) {
            delete_key(segment, &key);
            atomic_store(&floors[number], versions[own] + 1);
            CHECK(read_value(segment, &key, buffer, sizeof buffer, NULL) < 0);
        } else {
            uint32_t bytes = make_value(buffer, number, ++versions[own], random >> 16);
            tseg_value value = value_of(buffer, bytes);
            tseg_result result = set_value(segment, &key, &value);
            CHECK(result == TSEG_OK || result == TSEG_BUSY);
            if (result == TSEG_OK) atomic_store(&floors[number], versions[own]);
        }
    }
    return NULL;
}

static atomic_bool over;

/* Every operation that visits a shard without a lock. None of them removes an entry here. */
static void *sweep(void *unused)
{
    tseg_cursor cursor = {0};
    tseg_batch batch = {0};
    tseg_stats stats = {0};
    uint64_t cleared = 0, met = 0;

    while (!atomic_load(&over)) {
        tseg_collect_stats(segment, &stats);
        CHECK(clear_shard(segment, 0, "no such", 7, &cleared) != TSEG_ABSENT && cleared == 0);
        while (tseg_walk(segment, &cursor, "thread", 6, time_now, &batch) == TSEG_OK)
            for (unsigned i = 0; i < batch.count; i++, met++)
                CHECK(memcmp(batch.bytes + batch.entries[i].key_offset, "thread key ", 11) == 0);
        cursor = (tseg_cursor){0};
    }
    CHECK(met > 0 && stats.entries > 0);
    free(batch.bytes);
    return unused;
}

static void run(void)
{
    pthread_t threads[THREADS], sweeper;

    memset(floors, 0, sizeof floors);
    atomic_store(&over, false);
    segment = attach_or_die(in_file ? path : NULL, 1 << 20, 1);
    CHECK(pthread_create(&sweeper, NULL, sweep, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    atomic_store(&over, true);
    CHECK(pthread_join(sweeper, NULL) == 0);
    tseg_stats stats;
    check_counts(segment);
    tseg_collect_stats(segment, &stats);
    CHECK(stats.shard[TSEG_COUNT_RESETS] == 0 && stats.process[TSEG_COUNT_IN_PLACE] > 0);
    printf("threads: %d x %lu calls, %lu hits, %lu retries\n", THREADS, calls,
           (unsigned long)stats.process[TSEG_COUNT_HITS], (unsigned long)stats.process[TSEG_COUNT_READ_RETRIES]);
    tseg_release(segment);
}

int main(int count, char **arguments)
{
    char lock_path[64];

    calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 100000;
    run();
    atomic_store(&tseg_parallel, true);
    in_file = true;
    close(mkstemp(path));
    unlink(path);
    run();
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    unlink(path);
    unlink(lock_path);
    return 0;
}
