/*
 * Slots and entries at every edge of every log, and files that were altered or cut off before they are attached.
 * segment_fuzzer.c alters bytes while a segment is attached.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "guard.h"
#include "hostile.h"

static char path[] = "/dev/shm/tiercel-hostile-XXXXXX";
static void call_everything(tseg *segment, const tseg_key *key)
{
    tseg_value value = value_of(hostile_bytes, 40);
    uint64_t cleared = 0;
    int64_t count;
    double ended_at;
    tseg_stats stats;
    tseg_entry entry;

    read_value(segment, key, hostile_back, sizeof hostile_back, &hostile_token);
    if (tseg_find(segment, key, &entry) == TSEG_OK && entry.value_bytes <= sizeof hostile_back)
        tseg_copy_value(&entry, hostile_back, 0, entry.value_bytes);
    tseg_collect_stats(segment, &stats);
    for (hostile_cursor = (tseg_cursor){0}; hostile_cursor.shard <= key->shard;)
        if (tseg_walk(segment, &hostile_cursor, "key", 3, time_now, &hostile_batch) != TSEG_OK) break;
    tseg_touch(segment, key, 3000.0, time_now);
    tseg_increment(segment, key, 1, INFINITY, time_now, &count);
    tseg_compare_and_set(segment, key, &value, INFINITY, time_now, &hostile_token);
    tseg_set(segment, key, &value, INFINITY, time_now);
    clear_shard(segment, key->shard, "key ", 4, &cleared);
    tseg_delete(segment, key, &ended_at);
}

/* Each of them alone, on a segment that was valid before. */
static void stand_at_edges(void)
{
    tseg *segment = attach_or_die(path, 1 << 20, 2);
    size_t bytes = segment->map_bytes;
    uint8_t *before = malloc(bytes);
    uint64_t random_state = 5;

    for (int i = 0; i < 3000; i++) call_anything(segment, next_random(&random_state));
    memcpy(before, segment->map, bytes);
    for (unsigned i = 0; i < 2 * TSEG_LOGS * EDGES * CLAIMS * 4 * 3; i++) {
        char text[64];
        unsigned edge = i / 2 / TSEG_LOGS % EDGES, claim = i / 2 / TSEG_LOGS / EDGES;
        int log = (int)(i / 2 % TSEG_LOGS);
        tseg_key key;
        do key = hostile_key(segment, next_random(&random_state), text); while (key.shard != i % 2);
        memcpy(segment->map, before, bytes);
        if (claim < CLAIMS * 4 * 2) plant_entry(segment, &key, log, edge_of(segment, log, edge), claim | 1u << 8);
        plant_slot(segment, &key, log, edge_of(segment, log, edge), (unsigned)next_random(&random_state));
        call_everything(segment, &key);
        for (int call = 0; call < 20; call++) call_anything(segment, next_random(&random_state));
        checks_made++;
    }
    free(before);
    tseg_release(segment);
}

static void damage_file(uint64_t random)
{
    int file = open(path, O_RDWR);
    struct stat status;
    uint8_t byte = (uint8_t)random;

    CHECK(file >= 0 && fstat(file, &status) == 0);
    if (random >> 40 & 1) {
        off_t at = (off_t)((random >> 8) % (random >> 41 & 1 ? 512 : (uint64_t)status.st_size + 1));
        CHECK(pwrite(file, &byte, 1, at) == 1);
    } else {
        CHECK(ftruncate(file, (off_t)((random >> 8) % (uint64_t)(status.st_size + 4096))) == 0);
    }
    close(file);
}

/* Either the segment is attached and works, or the error describes the damage. */
static void damage_before_attach(unsigned rounds)
{
    uint64_t random_state = 31;

    for (unsigned round = 0; round < rounds; round++) {
        tseg_options options = {.bytes = 1 << 20, .shards = 2, .average_entry_bytes = 256, .mode = 0600};
        tseg_error error = {0};
        tseg *segment = attach_or_die(path, 1 << 20, 2);
        for (int i = 0; i < 50; i++) call_anything(segment, next_random(&random_state));
        tseg_release(segment);
        damage_file(next_random(&random_state));
        segment = tseg_attach(path, &options, &error);
        CHECK(segment || strlen(error.message) > strlen(path));
        if (segment) {
            for (int i = 0; i < 200; i++) call_anything(segment, next_random(&random_state));
            tseg_release(segment);
        }
        unlink(path);
    }
}

int main(void)
{
    char lock_path[64];

    close(mkstemp(path));
    stand_at_edges();
    unlink(path);
    damage_before_attach(300);
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    unlink(lock_path);
    printf("hostile bytes: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
