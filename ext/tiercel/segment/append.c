/* Appends: a new entry at the head of a log, and the slot that leads to it. */
#include "change.h"

/* No system has smaller pages. */
#define PAGE_WORDS (4096 / sizeof(tseg_word))

/* Smaller values are mapped under the lock. */
#define MAPPED_AHEAD_BYTES (UINT64_C(64) << 10)

/* Reads one word of each page that an entry will cover. */
static void map_pages(const tseg_word *at, uint64_t units)
{
    const tseg_word *last = at + units * (TSEG_UNIT / sizeof(tseg_word)) - 1;

    for (; at < last; at += PAGE_WORDS) tseg_load(at);
    tseg_load(last);
}

void tseg_map_ahead(const tseg *segment, const tseg_change *change)
{
    const tseg_view view = tseg_view_of(segment, change->key->shard);
    uint64_t units = tseg_needed_units(change), position, rest;
    int log;

    if (TSEG_LIKELY(tseg_value_bytes(change->value) < MAPPED_AHEAD_BYTES) || !segment->sidecar) return;
    log = units > segment->geometry.log_units[TSEG_SMALL] / 4 ? TSEG_MAIN : TSEG_SMALL;
    position = tseg_load(&view.control->head[log]);
    rest = segment->geometry.log_units[log] - position % segment->geometry.log_units[log];
    map_pages(tseg_at(segment, &view, log, rest < units ? position + rest : position), units);
}

static void write_entry(tseg_section *section, const tseg_change *change, int log, uint64_t position, uint64_t units)
{
    tseg_word *at = tseg_at(section->segment, &section->view, log, position);
    uint64_t sizes = tseg_halves(units, change->key->count);
    uint64_t origin = position << 1 | (uint64_t)log;

    if (section->segment->sidecar) map_pages(at, units);
    tseg_store(at, sizes);
    tseg_store(at + TSEG_ENTRY_LENGTHS, tseg_lengths_word(change->published_odd, change->value));
    tseg_store(at + TSEG_ENTRY_EXPIRES_AT, tseg_bits(change->expires_at));
    tseg_store(at + TSEG_ENTRY_ORIGIN, origin);
    tseg_store(at + TSEG_ENTRY_EPOCH, tseg_halves(section->epoch, tseg_entry_check(sizes, origin)));
    tseg_copy_in(at + TSEG_ENTRY_WORDS, change->key->bytes, change->key->count);
    tseg_write_value(at + TSEG_ENTRY_WORDS + tseg_words(change->key->count), change->value);
    TSEG_STOP_HERE(TSEG_STOP_AFTER_COPY);
}

static int choose_log(tseg_section *section, const tseg_change *change, uint64_t units)
{
    const uint64_t *log_units = section->segment->geometry.log_units;

    if (units > log_units[TSEG_SMALL] / 4) return TSEG_MAIN;
    if (tseg_ghost_take(section, change->key->hash)) return TSEG_MAIN;
    /* While the main log has room, no entry has to be evicted. */
    if (!tseg_has_room(section, TSEG_SMALL, units) && tseg_has_room(section, TSEG_MAIN, units)) return TSEG_MAIN;
    return TSEG_SMALL;
}

/*
 * An overwrite stays in the log of its key, with one exception. If the small log is full and the main log has room, the
 * entry goes into the main log; otherwise the write would evict large entries, which it cannot promote.
 */
static int log_to_append(tseg_section *section, const tseg_change *change, const tseg_entry *old, uint64_t units)
{
    if (!old) return choose_log(section, change, units);
    if (tseg_log_of(old->word) == TSEG_MAIN || units > section->segment->geometry.log_units[TSEG_SMALL] / 4)
        return TSEG_MAIN;
    if (!tseg_has_room(section, TSEG_SMALL, units) && tseg_has_room(section, TSEG_MAIN, units)) return TSEG_MAIN;
    return TSEG_SMALL;
}

/* Lets the slot lead to the new entry. `old`: the entry that it led to; NULL: the slot was empty. */
static tseg_result publish(tseg_section *section, const tseg_change *change, const tseg_entry *old, tseg_word *slot,
                           int log, uint64_t position, uint64_t *published)
{
    uint64_t found = old ? old->word : 0;
    uint64_t word = tseg_load_acquire(slot);

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
    for (;;) {
        unsigned hits = found && word ? tseg_hits(word) : 0;
        if (!word && !change->may_take_empty_slot) return TSEG_ABSENT;
        if (word && !tseg_same_entry(word, found)) return TSEG_ABSENT; /* only damage can cause this */
        if (word && change->counts_as_hit && hits < TSEG_HITS_MASK) hits++;
        *published = tseg_slot_word(position, log, change->key->fingerprint, hits);
        if (!tseg_swap(slot, &word, *published)) continue;
        tseg_count_live(section->view.control, word ? 0 : 1,
                        (int64_t)tseg_needed_units(change) - (int64_t)(word ? old->units : 0));
        return TSEG_OK;
    }
}

/*
 * Ends a fill that was published with an odd sequence: makes the sequence even if the fill is in time, and else deletes
 * the entry. The fence has to come first: see "Near fill" and "Leases" in docs/memory-model.md.
 */
static tseg_result confirm(tseg_section *section, const tseg_change *change, int log, uint64_t position,
                           tseg_word *slot, uint64_t published)
{
    tseg_word *at = tseg_at(section->segment, &section->view, log, position);
    tseg_result result = TSEG_OK;

    tseg_fence(memory_order_seq_cst);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_CONSUME);
    if (change->lease ? tseg_lease_consume(change) : tseg_load_acquire(change->watched) == change->expected) {
        tseg_store_release(at + TSEG_ENTRY_LENGTHS, tseg_lengths_word(2, change->value));
    } else {
        tseg_drop_entry(section->view.control, slot, published, tseg_needed_units(change));
        result = TSEG_CHANGED;
    }
    tseg_end_change(section);
    return result;
}

tseg_result tseg_append(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    uint64_t units = tseg_needed_units(change), position, published;
    int log = log_to_append(section, change, old, units);
    tseg_word *slot;
    tseg_result result;

    section->kept = old ? old->slot : NULL;
    result = tseg_reserve(section, log, units, &position);
    if (result == TSEG_TOO_LARGE) tseg_refuse(section->segment);
    if (old && (result == TSEG_RETIRED || result == TSEG_TOO_LARGE))
        tseg_drop_entry(section->view.control, old->slot, old->word, old->units);
    if (result != TSEG_OK) return result;
    slot = old ? old->slot : tseg_empty_slot(section, change->key);
    write_entry(section, change, log, position, units);
    if (change->published_odd)
        tseg_store(&section->view.control->changing, tseg_slot_word(position, log, change->key->fingerprint, 0));
    tseg_commit(section, log, position, units);
    result = publish(section, change, old, slot, log, position, &published);
    tseg_bump(&section->segment->self->counters[TSEG_COUNT_APPENDED]);
    if (!change->published_odd) return result;
    if (result != TSEG_OK) {
        tseg_end_change(section);
        return result;
    }
    return confirm(section, change, log, position, slot, published);
}
