/*
 * The two logs of a shard, and S3-FIFO on them (Yang et al., SOSP 2023): a write makes room at the tails. All functions
 * run under the shard's lock.
 */
#include "shard.h"

/*
 * Ghosts: fingerprints of keys that left the small log without a hit. A bucket of ghosts fills one cache line. The
 * clock counts ghosts. A ghost is forgotten once as many newer ghosts exist as the main log has entries.
 */
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

bool tseg_remove_ghost(tseg_section *section, uint64_t hash)
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

static void add_ghost(tseg_section *section, uint64_t hash)
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

static uint64_t log_units(const tseg_section *section, int log) { return section->segment->geometry.log_units[log]; }

static uint64_t free_units(const tseg_section *section, int log)
{
    return log_units(section, log) - (section->head[log] - section->tail[log]);
}

/* Units up to the ring's end that an entry of this size has to skip, because entries are contiguous. */
static uint64_t skipped_units(const tseg_section *section, int log, uint64_t units)
{
    uint64_t rest = log_units(section, log) - section->head[log] % log_units(section, log);
    return rest < units ? rest : 0;
}

/*
 * Appends leave this much room free, so that a re-append can copy an entry from the tail to the head before the tail
 * passes the entry.
 */
static uint64_t reserve_units(const tseg_section *section, int log) { return log_units(section, log) / 256; }

bool tseg_has_room(const tseg_section *section, int log, uint64_t units)
{
    return free_units(section, log) >= units + skipped_units(section, log, units) + reserve_units(section, log);
}

static void store_tail(tseg_section *section, int log, uint64_t position)
{
    section->tail[log] = position;
    tseg_store(&section->view.control->tail[log], position);
}

static void pass_entry(tseg_section *section, int log, uint64_t units)
{
    tseg_word *records = &section->view.control->records[log];
    uint64_t count = tseg_load(records);

    if (count) tseg_store(records, count - 1);
    store_tail(section, log, section->tail[log] + units);
}

void tseg_reset_log(tseg_section *section, int log)
{
    uint64_t last = section->head[log] > section->tail[log] ? section->head[log] : section->tail[log];

    tseg_store(&section->view.control->records[log], 0);
    section->head[log] = last;
    tseg_store(&section->view.control->head[log], last);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    store_tail(section, log, last);
}

static void write_filler(tseg_section *section, int log, uint64_t units)
{
    tseg_word *at = tseg_at(section->segment, &section->view, log, section->head[log]);
    uint64_t sizes = tseg_halves(units, TSEG_FILLER_KEY_BYTES);

    tseg_fence(memory_order_release);
    tseg_store(at, sizes);
    tseg_store(at + TSEG_FILLER_CHECK, tseg_mix(sizes));
    section->head[log] += units;
    tseg_store(&section->view.control->head[log], section->head[log]);
}

/* Skips to the ring's start if need be. The caller has made room. */
static uint64_t begin_append(tseg_section *section, int log, uint64_t units)
{
    uint64_t skipped = skipped_units(section, log, units);

    if (skipped) write_filler(section, log, skipped);
    /* The tail was stored before this fence. A reader that sees any of the following bytes sees that tail too. */
    tseg_fence(memory_order_release);
    return section->head[log];
}

void tseg_commit(tseg_section *section, int log, uint64_t position, uint64_t units)
{
    tseg_bump(&section->view.control->records[log]);
    section->head[log] = position + units;
    tseg_store_release(&section->view.control->head[log], section->head[log]);
}

typedef enum { RECORD_ENTRY, RECORD_FILLER, RECORD_BROKEN } record_kind;

static record_kind record_at_tail(const tseg_section *section, int log, uint64_t *units, uint64_t *key_bytes)
{
    uint64_t position = section->tail[log], key_words;
    const tseg_word *at = tseg_at(section->segment, &section->view, log, position);
    uint64_t sizes = tseg_load(at);
    uint32_t check;

    *units = tseg_low_half(sizes);
    *key_bytes = tseg_high_half(sizes);
    if (*units == 0 || *units > section->head[log] - position) return RECORD_BROKEN;
    if (*key_bytes == TSEG_FILLER_KEY_BYTES) {
        bool whole = tseg_load(at + TSEG_FILLER_CHECK) == tseg_mix(sizes) &&
                     *units <= log_units(section, log) - position % log_units(section, log);
        return whole ? RECORD_FILLER : RECORD_BROKEN;
    }
    if (!tseg_bounds(section->segment, log, position, sizes, &key_words)) return RECORD_BROKEN;
    check = tseg_entry_check(sizes, tseg_load(at + TSEG_ENTRY_ORIGIN));
    return tseg_high_half(tseg_load(at + TSEG_ENTRY_EPOCH)) == check ? RECORD_ENTRY : RECORD_BROKEN;
}

/* The slot of either bucket that leads to this position, or NULL. */
tseg_word *tseg_slot_at(const tseg_section *section, const tseg_key *key, int log, uint64_t position)
{
    uint64_t wanted = tseg_slot_word(position, log, key->fingerprint, 0);

    for (int which = 0; which < 2; which++) {
        tseg_word *slots = section->view.index + key->bucket[which];
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++)
            if (tseg_same_entry(tseg_load_acquire(slots + i), wanted)) return slots + i;
    }
    return NULL;
}

/* An entry at a tail, and the slot that leads to it. */
typedef struct {
    int log;
    uint64_t units;
    uint64_t position;
    tseg_word *at;
    const tseg_key *key;
    tseg_word *slot;
    uint64_t word;
} tail_entry;

/* Copies in ascending order, because the copy may overlap its source from below. */
static void copy_entry(const tseg_section *section, const tail_entry *entry, int log, uint64_t position)
{
    tseg_word *to = tseg_at(section->segment, &section->view, log, position), *from = entry->at;

    for (uint64_t words = entry->units * (TSEG_UNIT / 8); words; words--) tseg_store(to++, tseg_load(from++));
    TSEG_STOP_HERE(TSEG_STOP_MOVE_AFTER_COPY);
}

/* Lets the slot lead to the copy. If a delete has emptied the slot, nothing leads to the copy. */
static void lead_to_copy(tail_entry *entry, int log, uint64_t position, bool forget_hits)
{
    uint64_t moved;

    TSEG_STOP_HERE(TSEG_STOP_MOVE_BEFORE_SWAP);
    do {
        unsigned hits = tseg_hits(entry->word);
        moved = tseg_slot_word(position, log, entry->key->fingerprint, forget_hits || !hits ? 0 : hits - 1);
    } while (!tseg_swap(entry->slot, &entry->word, moved) &&
             tseg_same_entry(entry->word, tseg_slot_word(entry->position, entry->log, entry->key->fingerprint, 0)));
}

static void evict_at_tail(tseg_section *section, int log);

/*
 * A sparse file gets memory up to the next multiple of this size, while a writer holds the lock. On a virtual machine
 * whose host has to find the memory, a page takes 20 us. Steps of 2 MB held every writer up for 10 ms.
 */
#define BACKED_AHEAD_BYTES (UINT64_C(64) << 10)

/*
 * Returns whether the place of the next append has memory. The file of a large segment is sparse at first, and grows
 * here.
 */
static bool is_backed(tseg_section *section, int log, uint64_t units)
{
    tseg_word *backed = &section->view.control->backed[log];
    uint64_t ring = log_units(section, log), at = section->head[log] % ring, from = tseg_load(backed);
    uint64_t end = skipped_units(section, log, units) ? ring : at + units, start;
    const tseg *segment = section->segment;

    if (TSEG_LIKELY(end <= from)) return true;
    start = (uint64_t)((char *)section->view.log[log] - (char *)segment->map);
    end = start + end * TSEG_UNIT + BACKED_AHEAD_BYTES;
    end -= end % BACKED_AHEAD_BYTES;
    if (end < start + (at + units) * TSEG_UNIT || end > start + ring * TSEG_UNIT) end = start + ring * TSEG_UNIT;
    if (!tseg_back(segment->map, start + from * TSEG_UNIT, end)) return false;
    tseg_store(backed, (end - start) / TSEG_UNIT);
    return true;
}

static tseg_result make_room(tseg_section *section, int log, uint64_t units)
{
    if (units > log_units(section, log) / 4) return TSEG_RETIRED;
    if (section->head[log] > TSEG_MAX_POSITION - 4 * log_units(section, log)) {
        tseg_retire(section->segment); /* no position is reused, so every process moves to a new file */
        return TSEG_RETIRED;
    }
    while (!tseg_has_room(section, log, units) && section->tail[log] != section->head[log]) {
        if (!section->tails_left) return TSEG_WOULD_WAIT;
        section->tails_left--;
        evict_at_tail(section, log);
    }
    return is_backed(section, log, units) ? TSEG_OK : TSEG_TOO_LARGE;
}

static bool may_move(const tseg_section *section, const tail_entry *entry)
{
    return section->moves_left > 0 && entry->units * TSEG_UNIT <= section->move_bytes_left;
}

static void charge_move(tseg_section *section, const tail_entry *entry, int counter)
{
    section->moves_left--;
    section->move_bytes_left -= entry->units * TSEG_UNIT;
    tseg_count(section, counter);
}

static bool promote(tseg_section *section, tail_entry *entry)
{
    uint64_t position;

    if (!may_move(section, entry)) return false;
    charge_move(section, entry, TSEG_COUNT_PROMOTED);
    if (make_room(section, TSEG_MAIN, entry->units) != TSEG_OK) return false;
    position = begin_append(section, TSEG_MAIN, entry->units);
    copy_entry(section, entry, TSEG_MAIN, position);
    tseg_commit(section, TSEG_MAIN, position, entry->units);
    lead_to_copy(entry, TSEG_MAIN, position, true);
    pass_entry(section, TSEG_SMALL, entry->units);
    return true;
}

static bool reappend(tseg_section *section, tail_entry *entry)
{
    uint64_t skipped = skipped_units(section, TSEG_MAIN, entry->units), position;
    bool copy_first = free_units(section, TSEG_MAIN) >= entry->units + skipped;

    /*
     * If there is no room for a copy, the tail passes the entry first, and the copy may overlap the entry from below. A
     * filler never overlaps the entry: if the ring's end came before the entry, the copy would fit before that end.
     */
    if (!may_move(section, entry) || free_units(section, TSEG_MAIN) < skipped) return false;
    if (!is_backed(section, TSEG_MAIN, entry->units)) return false;
    charge_move(section, entry, TSEG_COUNT_REAPPENDED);
    if (!copy_first) {
        pass_entry(section, TSEG_MAIN, entry->units);
        TSEG_STOP_HERE(TSEG_STOP_MOVE_AFTER_TAIL);
    }
    position = begin_append(section, TSEG_MAIN, entry->units);
    copy_entry(section, entry, TSEG_MAIN, position);
    tseg_commit(section, TSEG_MAIN, position, entry->units);
    lead_to_copy(entry, TSEG_MAIN, position, false);
    if (copy_first) pass_entry(section, TSEG_MAIN, entry->units);
    return true;
}

/* Returns the counter for the eviction of the entry, or -1 if the entry has to be moved. */
static int reason_to_drop(const tseg_section *section, const tail_entry *entry)
{
    double expires_at = tseg_double(tseg_load(entry->at + TSEG_ENTRY_EXPIRES_AT));

    if ((uint32_t)tseg_load(entry->at + TSEG_ENTRY_EPOCH) != tseg_epoch(section->segment) ||
        !(expires_at > section->now))
        return TSEG_COUNT_EVICTED_EXPIRED;
    if (tseg_hits(entry->word)) return -1;
    return entry->log == TSEG_SMALL ? TSEG_COUNT_EVICTED_SMALL : TSEG_COUNT_EVICTED_MAIN;
}

static void drop_or_move(tseg_section *section, tail_entry *entry)
{
    uint64_t mine = entry->word;

    while (tseg_same_entry(entry->word, mine)) {
        int reason = reason_to_drop(section, entry);
        if (reason < 0) {
            if (entry->log == TSEG_SMALL ? promote(section, entry) : reappend(section, entry)) return;
            reason = TSEG_COUNT_EVICTED_BOUND;
        }
        if (!tseg_swap(entry->slot, &entry->word, 0)) continue; /* a concurrent hit: decide again */
        tseg_count_live(section->view.control, -1, -(int64_t)entry->units);
        tseg_count(section, reason);
        if (reason == TSEG_COUNT_EVICTED_SMALL) add_ghost(section, entry->key->hash);
        break;
    }
    pass_entry(section, entry->log, entry->units);
}

static void evict_at_tail(tseg_section *section, int log)
{
    uint64_t units, key_bytes;
    record_kind kind = record_at_tail(section, log, &units, &key_bytes);

    if (kind == RECORD_BROKEN) {
        tseg_reset_log(section, log);
        tseg_count(section, TSEG_COUNT_RESETS);
    } else if (kind == RECORD_FILLER) {
        store_tail(section, log, section->tail[log] + units);
    } else {
        tseg_key key;
        tail_entry entry = {.log = log, .units = units, .position = section->tail[log], .key = &key};
        entry.at = tseg_at(section->segment, &section->view, log, entry.position);
        tseg_make_key(section->segment, &key, (const void *)(entry.at + TSEG_ENTRY_WORDS), (uint32_t)key_bytes);
        entry.slot = tseg_slot_at(section, &key, log, entry.position);
        if (entry.slot && entry.slot != section->kept) {
            entry.word = tseg_slot_word(entry.position, log, key.fingerprint, 0);
            entry.word |= tseg_hits(tseg_load_acquire(entry.slot));
            drop_or_move(section, &entry);
        } else {
            pass_entry(section, log, units); /* the key was deleted or overwritten */
        }
    }
}

/*
 * Makes room and sets *position. TSEG_RETIRED: the log is too small for the entry or has no positions left.
 * TSEG_TOO_LARGE: the system has no memory for the log of a sparse file.
 * TSEG_WOULD_WAIT: the tail has passed as many records as it may at a time; the room that was made stays.
 */
tseg_result tseg_reserve(tseg_section *section, int log, uint64_t units, uint64_t *position)
{
    tseg_result result = make_room(section, log, units);

    if (result != TSEG_OK) return result;
    TSEG_STOP_HERE(TSEG_STOP_AFTER_TAIL);
    *position = begin_append(section, log, units);
    return TSEG_OK;
}
