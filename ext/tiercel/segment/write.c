/* What changes entries: all under one shard's lock. */
#include <math.h>

#include "change.h"

/* Above this an overwrite is appended, so that the old value can be read while the new one is written. */
#define TSEG_IN_PLACE_BYTES (UINT64_C(64) << 10)
/* An overwrite in place may leave half of the allocation unused, or this much. */
#define TSEG_SPARE_UNITS 16u

static uint64_t value_bytes(const tseg_value *value) { return 8u * (uint64_t)value->head_words + value->body_bytes; }

static uint64_t needed_units(const tseg_change *change)
{
    uint64_t bytes = value_bytes(change->value);
    return tseg_units(change->key->count, bytes > change->least_value_bytes ? bytes : change->least_value_bytes);
}

bool tseg_too_large(const tseg *segment, const tseg_change *change)
{
    return value_bytes(change->value) > UINT32_MAX ||
           needed_units(change) > segment->geometry.log_units[TSEG_MAIN] / 4;
}

static void write_value(tseg_word *to, const tseg_value *value)
{
    for (uint32_t i = 0; i < value->head_words; i++) tseg_store(to++, value->head[i]);
    tseg_copy_in(to, value->body, value->body_bytes);
}

static uint64_t lengths_word(uint64_t sequence, const tseg_value *value)
{
    return (sequence & 0xffffffff) | value_bytes(value) << 32;
}

static void write_epoch(tseg_word *at, uint32_t epoch)
{
    tseg_store(at + 4, (tseg_load(at + 4) & ~UINT64_C(0xffffffff)) | epoch);
}

static bool fits_in_place(const tseg_change *change, const tseg_entry *old)
{
    uint64_t needed = needed_units(change);

    return needed <= old->units && needed * TSEG_UNIT <= TSEG_IN_PLACE_BYTES &&
           (needed * 2 >= old->units || old->units - needed <= TSEG_SPARE_UNITS) &&
           old->sequence < TSEG_LAST_SEQUENCE && !change->published_odd;
}

/* The sequence is odd meanwhile; `changing` lets a takeover find the entry if we die here. */
static uint64_t begin_in_place(tseg_section *section, const tseg_entry *old)
{
    uint64_t sequence = (old->sequence | 1) + (uint64_t)(old->sequence & 1) * 2;

    tseg_store(&section->view->control->changing, old->word);
    tseg_store(old->entry + 1, (old->lengths & ~UINT64_C(0xffffffff)) | sequence);
    tseg_fence(memory_order_release);
    TSEG_STOP_HERE(TSEG_STOP_SEQUENCE_ODD);
    return sequence + 1;
}

static void end_in_place(tseg_section *section, const tseg_entry *old, uint64_t lengths)
{
    write_epoch(old->entry, section->epoch);
    tseg_store_release(old->entry + 1, lengths);
    tseg_store(&section->view->control->changing, 0);
}

static void count_hit_in_slot(const tseg_entry *entry)
{
    uint64_t word = tseg_load(entry->slot);
    if (tseg_same_entry(word, entry->word) && tseg_hits(word) < TSEG_HITS_MASK) tseg_swap(entry->slot, &word, word + 1);
}

static void write_in_place(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    uint64_t sequence = begin_in_place(section, old);

    write_value((tseg_word *)old->value, change->value);
    tseg_store(old->entry + 2, tseg_bits(change->expires_at));
    end_in_place(section, old, lengths_word(sequence, change->value));
    if (change->counts_as_hit) count_hit_in_slot(old);
    tseg_bump(&section->segment->self->counters[TSEG_COUNT_IN_PLACE]);
}

static void write_entry(tseg_section *section, const tseg_change *change, int log, uint64_t position, uint64_t units)
{
    tseg_word *at = tseg_at(section->segment, section->view, log, position);
    uint64_t word0 = units | (uint64_t)change->key->count << 32;
    uint64_t origin = position << 1 | (uint64_t)log;

    tseg_store(at, word0);
    tseg_store(at + 1, lengths_word(change->published_odd, change->value));
    tseg_store(at + 2, tseg_bits(change->expires_at));
    tseg_store(at + 3, origin);
    tseg_store(at + 4, (uint64_t)tseg_entry_check(word0, origin) << 32 | section->epoch);
    tseg_copy_in(at + TSEG_ENTRY_WORDS, change->key->bytes, change->key->count);
    write_value(at + TSEG_ENTRY_WORDS + tseg_words(change->key->count), change->value);
    TSEG_STOP_HERE(TSEG_STOP_AFTER_COPY);
}

static int choose_log(tseg_section *section, const tseg_change *change, uint64_t units)
{
    const uint64_t *log_units = section->segment->geometry.log_units;

    if (units > log_units[TSEG_SMALL] / 4) return TSEG_MAIN;
    if (tseg_ghost_take(section, change->key->hash)) return TSEG_MAIN;
    /* While the main log still fills, nothing need be dropped. */
    if (!tseg_has_room(section, TSEG_SMALL, units) && tseg_has_room(section, TSEG_MAIN, units)) return TSEG_MAIN;
    return TSEG_SMALL;
}

/* From the entry that was found, or from an empty slot; TSEG_ABSENT if the entry is gone by now. */
static tseg_result publish(const tseg_change *change, tseg_word *slot, uint64_t found, int log, uint64_t position,
                           uint64_t *published)
{
    uint64_t word = tseg_load_acquire(slot);

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
    for (;;) {
        unsigned hits = found && word ? tseg_hits(word) : 0;
        if (!word && !change->may_take_empty_slot) return TSEG_ABSENT;
        if (word && !tseg_same_entry(word, found)) return TSEG_ABSENT; /* altered from outside */
        if (word && change->counts_as_hit && hits < TSEG_HITS_MASK) hits++;
        *published = tseg_slot_word(position, log, change->key->fingerprint, hits);
        if (tseg_swap(slot, &word, *published)) return TSEG_OK;
    }
}

/* Fence and stripe, then even: see "Near fill" in docs/memory-model.md. */
static tseg_result confirm_near_fill(tseg_section *section, const tseg_change *change, int log, uint64_t position,
                                     tseg_word *slot, uint64_t published, uint64_t stripe_epoch)
{
    tseg_word *at = tseg_at(section->segment, section->view, log, position);
    tseg_result result = TSEG_OK;

    tseg_fence(memory_order_seq_cst);
    if (tseg_near_epoch(section->segment, change->key) == stripe_epoch) {
        tseg_store_release(at + 1, lengths_word(2, change->value));
    } else {
        while (tseg_same_entry(published, tseg_slot_word(position, log, change->key->fingerprint, 0)) &&
               !tseg_swap(slot, &published, 0)) {}
        result = TSEG_CHANGED;
    }
    tseg_store(&section->view->control->changing, 0);
    return result;
}

static tseg_result append(tseg_section *section, const tseg_change *change, const tseg_entry *old,
                          uint64_t stripe_epoch)
{
    uint64_t units = needed_units(change), position, published, found = old ? old->word : 0;
    int log = old && (tseg_log_of(found) == TSEG_MAIN || units <= section->segment->geometry.log_units[TSEG_SMALL] / 4)
                  ? tseg_log_of(found) : choose_log(section, change, units);
    tseg_word *slot;
    tseg_result result;

    section->kept = old ? old->slot : NULL;
    if (!tseg_reserve(section, log, units, &position)) {
        if (old) tseg_swap(old->slot, &found, 0);
        return TSEG_RETIRED;
    }
    slot = old ? old->slot : tseg_empty_slot(section, change->key);
    write_entry(section, change, log, position, units);
    if (change->published_odd)
        tseg_store(&section->view->control->changing, tseg_slot_word(position, log, change->key->fingerprint, 0));
    tseg_commit(section, log, position, units);
    result = publish(change, slot, found, log, position, &published);
    tseg_bump(&section->segment->self->counters[TSEG_COUNT_APPENDED]);
    if (!change->published_odd) return result;
    if (result != TSEG_OK) {
        tseg_store(&section->view->control->changing, 0);
        return result;
    }
    return confirm_near_fill(section, change, log, position, slot, published, stripe_epoch);
}

tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    if (!old || !fits_in_place(change, old)) return append(section, change, old, 0);
    write_in_place(section, change, old);
    return TSEG_OK;
}

void tseg_count_write(tseg *segment) { tseg_bump(&segment->self->counters[TSEG_COUNT_WRITES]); }

tseg_result tseg_refuse(tseg *segment)
{
    tseg_bump(&segment->self->counters[TSEG_COUNT_REFUSED]);
    return TSEG_TOO_LARGE;
}

tseg_result tseg_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {key, value, expires_at, 0, true, true, false};
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (tseg_too_large(segment, &change)) {
        double expires_at_before;
        tseg_delete(segment, key, &expires_at_before);
        return tseg_refuse(segment);
    }
    result = tseg_enter(&section, segment, key->shard, epoch, now);
    if (result != TSEG_OK) return result;
    result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    tseg_leave(&section);
    tseg_count_write(segment);
    return result == TSEG_ABSENT ? TSEG_OK : result; /* its slot was altered from outside: stored, and lost */
}

tseg_result tseg_add(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {key, value, expires_at, 0, true, false, false};
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, epoch, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    result = found && tseg_is_live(segment, &old, now) ? TSEG_PRESENT
                                                       : tseg_change_entry(&section, &change, found ? &old : NULL);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

tseg_result tseg_compare_and_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at,
                                 double now, const tseg_token *token)
{
    tseg_change change = {key, value, expires_at, 0, false, false, false};
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (token->file_id != segment->file_id) return TSEG_CHANGED;
    result = tseg_enter(&section, segment, key->shard, epoch, now);
    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live(segment, &old, now)) {
        result = TSEG_ABSENT;
    } else if (old.origin != token->origin || old.sequence != token->sequence) {
        result = TSEG_CHANGED;
    } else if (tseg_too_large(segment, &change)) {
        uint64_t word = old.word;
        while (tseg_same_entry(word, old.word) && !tseg_swap(old.slot, &word, 0)) {}
        result = tseg_refuse(segment);
    } else {
        result = tseg_change_entry(&section, &change, &old);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

tseg_result tseg_touch(tseg *segment, const tseg_key *key, double expires_at, double now)
{
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_entry old;
    tseg_result result = tseg_enter(&section, segment, key->shard, epoch, now);

    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live(segment, &old, now)) {
        result = TSEG_ABSENT;
    } else if (old.sequence >= TSEG_LAST_SEQUENCE) { /* after four thousand million changes: given up */
        uint64_t word = old.word;
        while (tseg_same_entry(word, old.word) && !tseg_swap(old.slot, &word, 0)) {}
        result = TSEG_ABSENT;
    } else {
        uint64_t sequence = begin_in_place(&section, &old);
        tseg_store(old.entry + 2, tseg_bits(expires_at));
        end_in_place(&section, &old, (old.lengths & ~UINT64_C(0xffffffff)) | sequence);
        count_hit_in_slot(&old);
        if (!tseg_load_acquire(old.slot)) result = TSEG_ABSENT;
    }
    tseg_leave(&section);
    return result;
}

tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch)
{
    tseg_change change = {key, value, expires_at, 0, true, false, true};
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, epoch, now);
    if (result != TSEG_OK) return result;
    result = append(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL, stripe_epoch);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}
