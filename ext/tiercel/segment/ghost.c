/*
 * Ghosts: fingerprints of keys that left the small log without a hit. A bucket of ghosts is a cache line. The clock of
 * a ghost counts ghosts; a ghost is forgotten once as many ghosts have followed it as the main log has entries.
 */
#include "internal.h"

static tseg_half *bucket_of(const tseg_section *section, uint64_t hash)
{
    uint64_t buckets = section->segment->geometry.ghosts / TSEG_GHOST_BUCKET;
    return section->view.ghosts + (((hash >> 32) * buckets) >> 32) * TSEG_GHOST_BUCKET;
}

static uint32_t fingerprint_of(uint64_t hash) { return (hash & 0xffff) ? (uint32_t)(hash & 0xffff) : 1; }

/* The ghosts in one tick of the clock. The clock has 16 bits and ticks about a thousand times while the table fills. */
static uint64_t tick_ghosts(const tseg_section *section) { return section->segment->geometry.ghosts / 1024 + 1; }

static uint32_t clock_now(const tseg_section *section)
{
    return (uint32_t)(tseg_load(&section->view.control->ghost_clock) / tick_ghosts(section)) & 0xffff;
}

bool tseg_ghost_take(tseg_section *section, uint64_t hash)
{
    tseg_half *bucket = bucket_of(section, hash);
    uint32_t now = clock_now(section);
    uint64_t oldest = tseg_load(&section->view.control->records[TSEG_MAIN]) / tick_ghosts(section);

    for (unsigned i = 0; i < TSEG_GHOST_BUCKET; i++) {
        uint32_t ghost = atomic_load_explicit(bucket + i, memory_order_relaxed);
        if ((ghost & 0xffff) != fingerprint_of(hash) || ((now - (ghost >> 16)) & 0xffff) > oldest) continue;
        atomic_store_explicit(bucket + i, 0, memory_order_relaxed);
        tseg_count(section, TSEG_COUNT_GHOST_HITS);
        return true;
    }
    return false;
}

void tseg_ghost_put(tseg_section *section, uint64_t hash)
{
    tseg_half *bucket = bucket_of(section, hash);
    uint32_t now = clock_now(section), greatest_age = 0;
    unsigned chosen = 0;

    for (unsigned i = 0; i < TSEG_GHOST_BUCKET; i++) {
        uint32_t ghost = atomic_load_explicit(bucket + i, memory_order_relaxed);
        uint32_t age = ghost ? (now - (ghost >> 16)) & 0xffff : 0x10000;
        if (age < greatest_age) continue;
        greatest_age = age;
        chosen = i;
    }
    atomic_store_explicit(bucket + chosen, now << 16 | fingerprint_of(hash), memory_order_relaxed);
    tseg_bump(&section->view.control->ghost_clock);
}
