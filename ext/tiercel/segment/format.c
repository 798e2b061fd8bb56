/* The division of a file into its parts, and the place of a key in it. */
#include "format.h"

atomic_bool tseg_parallel;

#ifdef TSEG_NO_FENCES
tseg_word tseg_fence_word;
#endif
#ifdef TSEG_STOP
void (*tseg_stop_hook)(tseg_stop_point point);
#endif

void tseg_make_key(const tseg *segment, tseg_key *key, const void *bytes, uint32_t count)
{
    const tseg_geometry *geometry = &segment->geometry;
    uint64_t hash = tseg_siphash(segment->hash_key, bytes, count);
    uint64_t other = hash * UINT64_C(0x9e3779b97f4a7c15);

    key->bytes = bytes;
    key->count = count;
    key->hash = hash;
    /*
     * The shard comes from the hash's highest bits, the fingerprint from the bits below, the first bucket from the low
     * half.
     */
    key->shard = segment->shard_shift == 64 ? 0 : (uint32_t)(hash >> segment->shard_shift);
    key->fingerprint = (hash >> 35) << TSEG_FINGERPRINT_SHIFT & TSEG_FINGERPRINT_MASK;
    if (key->fingerprint == 0) key->fingerprint = UINT64_C(1) << TSEG_FINGERPRINT_SHIFT;
    key->bucket[0] = (uint32_t)(((hash & 0xffffffff) * geometry->buckets) >> 32) * TSEG_BUCKET_SLOTS;
    key->bucket[1] = (uint32_t)(((other >> 32) * geometry->buckets) >> 32) * TSEG_BUCKET_SLOTS;
}

/* Computes the length of an entry's key. Returns false if the entry's lengths do not fit into the log. */
bool tseg_bounds(const tseg *segment, int log, uint64_t position, uint64_t sizes, uint64_t *key_words)
{
    uint64_t units = tseg_low_half(sizes), log_units = segment->geometry.log_units[log];

    *key_words = tseg_words(tseg_high_half(sizes));
    return units <= log_units - position % log_units &&
           TSEG_ENTRY_WORDS + *key_words <= units * (TSEG_UNIT / 8);
}

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

static uint32_t default_shards(uint64_t bytes)
{
    uint32_t shards = 1;
    while (shards < TSEG_FEW_SHARDS && bytes / (shards * 2) >= TSEG_LEAST_SHARD_BYTES) shards *= 2;
    while (shards < TSEG_MAX_SHARDS && bytes / (shards * 2) >= TSEG_LEAST_LARGE_SHARD_BYTES) shards *= 2;
    return shards;
}

/*
 * Divides a shard. If the entries have the average size, the index is 0.7 full and the ghost table 0.8. The logs get
 * the rest: a tenth of it for the small log.
 */
static bool lay_out_shard(tseg_geometry *geometry)
{
    uint64_t entries = geometry->shard_bytes / geometry->average_entry_bytes + 1, logs_at, small, rest;
    uint64_t buckets = (entries * 10 / 7 + TSEG_BUCKET_SLOTS) / TSEG_BUCKET_SLOTS;
    uint64_t ghosts = round_up(entries * 9 / 8, TSEG_GHOST_BUCKET);

    if (buckets > UINT32_MAX / TSEG_BUCKET_SLOTS || ghosts > UINT32_MAX) return false;
    geometry->buckets = (uint32_t)buckets;
    geometry->ghosts = (uint32_t)ghosts;
    geometry->index_offset = sizeof(tseg_shard);
    geometry->ghosts_offset = geometry->index_offset + buckets * TSEG_CACHE_LINE;
    logs_at = geometry->ghosts_offset + round_up(ghosts * sizeof(tseg_half), TSEG_CACHE_LINE);
    if (logs_at + 16 * TSEG_HEADER_BYTES > geometry->shard_bytes) return false;
    rest = geometry->shard_bytes - logs_at;
    small = rest / 10 / TSEG_CACHE_LINE * TSEG_CACHE_LINE;
    geometry->log_offset[TSEG_SMALL] = logs_at;
    geometry->log_offset[TSEG_MAIN] = logs_at + small;
    geometry->log_units[TSEG_SMALL] = small / TSEG_UNIT;
    geometry->log_units[TSEG_MAIN] = (rest - small) / TSEG_UNIT;
    return geometry->log_units[TSEG_MAIN] <= UINT32_MAX;
}

/* The lease groups take at most a sixtieth of the file, unless the file has many shards. */
static uint64_t lease_groups(uint64_t file_bytes, uint32_t shards)
{
    uint64_t groups = shards;
    while (groups < TSEG_MAX_LEASE_GROUPS && groups * 2 * TSEG_BYTES_PER_LEASE_GROUP <= file_bytes) groups *= 2;
    return groups;
}

/* Divides a file of this size. Returns false if an argument is out of range or a log would have no room. */
bool tseg_lay_out(tseg_geometry *geometry, uint64_t bytes, uint32_t shards, uint32_t average_entry_bytes,
                  uint32_t process_slots)
{
    if (!shards) shards = default_shards(bytes);
    if (!average_entry_bytes) average_entry_bytes = TSEG_DEFAULT_AVERAGE_ENTRY_BYTES;
    if (bytes < TSEG_MIN_FILE_BYTES || bytes > TSEG_MAX_FILE_BYTES || shards > TSEG_MAX_SHARDS ||
        (shards & (shards - 1)) || average_entry_bytes < TSEG_MIN_AVERAGE_ENTRY_BYTES || !process_slots ||
        process_slots > TSEG_PROCESS_SLOTS)
        return false;
    memset(geometry, 0, sizeof *geometry);
    geometry->file_bytes = bytes / TSEG_HEADER_BYTES * TSEG_HEADER_BYTES;
    geometry->shards = shards;
    geometry->average_entry_bytes = average_entry_bytes;
    geometry->process_slots = process_slots;
    geometry->stripes = TSEG_STRIPES;
    geometry->processes_offset = TSEG_HEADER_BYTES;
    geometry->stripes_offset = geometry->processes_offset + (uint64_t)process_slots * sizeof(tseg_process);
    geometry->lease_groups = lease_groups(geometry->file_bytes, shards);
    geometry->leases_offset =
        round_up(geometry->stripes_offset + (uint64_t)TSEG_STRIPES * sizeof(tseg_word), TSEG_CACHE_LINE);
    geometry->shards_offset = round_up(
        geometry->leases_offset + geometry->lease_groups * sizeof(tseg_lease_group), TSEG_HEADER_BYTES);
    geometry->shard_bytes =
        (geometry->file_bytes - geometry->shards_offset) / shards / TSEG_CACHE_LINE * TSEG_CACHE_LINE;
    return lay_out_shard(geometry);
}

_Static_assert(TSEG_ENTRY_EPOCH + 1 == TSEG_ENTRY_WORDS && TSEG_ENTRY_WORDS * 8 == TSEG_ENTRY_BYTES,
               "an entry's header has five words");
_Static_assert(TSEG_COUNT_HITS == 0 && TSEG_COUNT_LOCK_TIMEOUTS == 6 && TSEG_COUNT_SERVED == 15,
               "counters of a process stay where they are");
_Static_assert(TSEG_COUNT_EVICTED_SMALL == 0 && TSEG_COUNT_PROMOTED == 5 && TSEG_COUNT_RESETS == 9,
               "counters of a shard stay where they are");
