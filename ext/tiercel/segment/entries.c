/* Writes, counters and deletes. Writes acquire the lock of one shard; deletes acquire none. */
#include "entries.h"

void tseg_count_write(tseg *segment) { tseg_bump(&segment->self->counters[TSEG_COUNT_WRITES]); }

/* Counts a refused write. */
tseg_result tseg_refuse(tseg *segment)
{
    tseg_bump(&segment->self->counters[TSEG_COUNT_REFUSED]);
    return TSEG_TOO_LARGE;
}

/* Appends: a new entry at the head of a log, and the slot that leads to it. */
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

/*
 * Maps the pages that a large value will cover, before the lock is acquired. If this process has not touched a page
 * yet, a write maps that page alone, at four times the cost for each page. A read also maps the neighbours, and all of
 * them for writing too. See adr/002.
 */
void tseg_map_ahead(const tseg *segment, const tseg_change *change)
{
    const tseg_view view = tseg_view_of(segment, change->key->shard);
    uint64_t units = tseg_needed_units(change), ring, at;
    tseg_word *first;
    int log;

    if (TSEG_LIKELY(tseg_value_bytes(change->value) < MAPPED_AHEAD_BYTES) || !segment->sidecar) return;
    log = units > segment->geometry.log_units[TSEG_SMALL] / 4 ? TSEG_MAIN : TSEG_SMALL;
    ring = segment->geometry.log_units[log];
    at = tseg_load(&view.control->head[log]) % ring;
    if (ring - at < units) at = 0;
    first = tseg_at(segment, &view, log, at);
    /* A read of a page that a sparse file does not have yet ends the process if the system has no memory for it. */
    if (at + units <= tseg_load(&view.control->backed[log])) map_pages(first, units);
    else tseg_back(segment->map, (uint64_t)((char *)first - (char *)segment->map),
                   (uint64_t)((char *)first - (char *)segment->map) + units * TSEG_UNIT);
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

/*
 * A new key goes to the small log unless it is a ghost; an overwrite stays in the log of its key. Both go to the main
 * log if they need over a quarter of the small log, or if only the main log has room: no entry has to be evicted then,
 * and in the small log an overwrite would evict large entries, which it cannot promote.
 */
static int log_to_append(tseg_section *section, const tseg_change *change, const tseg_entry *old, uint64_t units)
{
    if (units > section->segment->geometry.log_units[TSEG_SMALL] / 4) return TSEG_MAIN;
    if (old ? tseg_log_of(old->word) == TSEG_MAIN : tseg_remove_ghost(section, change->key->hash)) return TSEG_MAIN;
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
        if (!word && !change->may_use_empty_slot) return TSEG_ABSENT;
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
 * the entry. The fence has to come first: see "Near fill" and "Leases" in memory-model.md.
 */
static tseg_result confirm(tseg_section *section, const tseg_change *change, int log, uint64_t position,
                           tseg_word *slot, uint64_t published)
{
    tseg_word *at = tseg_at(section->segment, &section->view, log, position);
    tseg_result result = TSEG_OK;

    tseg_fence(memory_order_seq_cst);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_CONSUME);
    if (change->lease ? tseg_lease_consume(change->lease, change->lineage)
                      : tseg_load_acquire(change->watched) == change->expected) {
        tseg_store_release(at + TSEG_ENTRY_LENGTHS, tseg_lengths_word(2, change->value));
    } else {
        tseg_drop_entry(section->view.control, slot, published, tseg_needed_units(change));
        result = TSEG_CHANGED;
    }
    tseg_end_change(section);
    return result;
}

/*
 * Appends an entry to a log. The slot of `old` then points to the new entry; if `old` is NULL, an empty slot
 * does. TSEG_ABSENT: old was deleted concurrently. TSEG_CHANGED: the watched word has changed, or the lineage has
 * ended. TSEG_RETIRED: the log has no positions left. TSEG_WOULD_WAIT: see tseg_reserve.
 */
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

/*
 * A larger value is not overwritten in place but appended, so that readers find the old value during the write. A
 * writer in place may lose the processor in the middle, and the key misses until the writer continues. With values of
 * 16 KB, that happened to 0.1 % of the reads of a key that was written 340 times a second.
 */
#define TSEG_IN_PLACE_BYTES (UINT64_C(4) << 10)
/* An overwrite in place may leave half of the allocation unused, or this many units if that is more. */
#define TSEG_SPARE_UNITS 16u

bool tseg_too_large(const tseg *segment, const tseg_change *change)
{
    return tseg_value_bytes(change->value) > TSEG_MAX_VALUE_BYTES ||
           tseg_needed_units(change) > segment->geometry.log_units[TSEG_MAIN] / 4;
}

static void write_epoch(tseg_word *at, uint32_t epoch)
{
    tseg_store(at + TSEG_ENTRY_EPOCH, tseg_with_low_half(tseg_load(at + TSEG_ENTRY_EPOCH), epoch));
}

static bool fits_in_place(const tseg_change *change, const tseg_entry *old)
{
    uint64_t needed = tseg_needed_units(change);

    return needed <= old->units && tseg_value_bytes(change->value) <= TSEG_IN_PLACE_BYTES &&
           (needed * 2 >= old->units || old->units - needed <= TSEG_SPARE_UNITS) &&
           old->sequence < TSEG_LAST_SEQUENCE && !change->published_odd;
}

/* Makes the sequence odd. If this process dies before the end, a takeover finds the entry through `changing`. */
static uint64_t begin_in_place(tseg_section *section, const tseg_entry *old)
{
    uint64_t sequence = (old->sequence | 1) + (uint64_t)(old->sequence & 1) * 2;

    tseg_store(&section->view.control->changing, old->word);
    tseg_store(old->entry + TSEG_ENTRY_LENGTHS, tseg_with_low_half(old->lengths, sequence));
    tseg_fence(memory_order_release);
    TSEG_STOP_HERE(TSEG_STOP_SEQUENCE_ODD);
    return sequence + 1;
}

static void end_in_place(tseg_section *section, const tseg_entry *old, uint64_t lengths)
{
    write_epoch(old->entry, section->epoch);
    tseg_store_release(old->entry + TSEG_ENTRY_LENGTHS, lengths);
    tseg_end_change(section);
}

static void count_hit_in_slot(const tseg_entry *entry)
{
    uint64_t word = tseg_load(entry->slot);
    if (tseg_same_entry(word, entry->word) && tseg_hits(word) < TSEG_HITS_MASK) tseg_swap(entry->slot, &word, word + 1);
}

static void write_in_place(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    uint64_t sequence = begin_in_place(section, old);

    tseg_write_value((tseg_word *)old->value, change->value);
    tseg_store(old->entry + TSEG_ENTRY_EXPIRES_AT, tseg_bits(change->expires_at));
    end_in_place(section, old, tseg_lengths_word(sequence, change->value));
    if (change->counts_as_hit) count_hit_in_slot(old);
    tseg_bump(&section->segment->self->counters[TSEG_COUNT_IN_PLACE]);
}

/* Writes in place or appends. `old` is the key's entry, found under the lock; NULL: the key has none. */
tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    tseg_result result = TSEG_OK;

    if (!old || !fits_in_place(change, old)) result = tseg_append(section, change, old);
    else write_in_place(section, change, old);
    if (TSEG_UNLIKELY(tseg_has_leases(section->segment, change->key)) && !change->keeps_lease &&
        result != TSEG_WOULD_WAIT)
        tseg_lease_end_written(section, change->key);
    return result;
}

/* Acquires no lock. *expires_at is the end of the deleted entry; +infinity if the entry could not be read. */
tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at)
{
    const tseg_view view = tseg_view_of(segment, key->shard);
    tseg_entry entry;

    *expires_at = -INFINITY;
    tseg_begin_delete(segment, key);
    tseg_bump(&segment->self->counters[TSEG_COUNT_DELETES]);
    for (int which = 0; which < 2; which++) {
        tseg_word *slots = view.index + key->bucket[which];
        if (which && key->bucket[1] == key->bucket[0]) break;
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load_acquire(slots + i);
            while (((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0) {
                tseg_verdict verdict = tseg_compare(segment, &view, word, key, &entry);
                if (verdict == TSEG_OTHER_KEY) break;
                TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
                /* An entry that cannot be verified is deleted too: a cache may lose an entry, but never a delete. */
                if (!tseg_swap(slots + i, &word, 0)) continue;
                tseg_count_live(view.control, -1, verdict == TSEG_SAME_KEY ? -(int64_t)entry.units : 0);
                if (verdict == TSEG_NOT_VERIFIABLE || (entry.sequence & 1)) *expires_at = INFINITY;
                else if (entry.epoch == tseg_epoch(segment) && entry.expires_at > *expires_at)
                    *expires_at = entry.expires_at;
                break;
            }
        }
    }
    return *expires_at > -INFINITY ? TSEG_OK : TSEG_ABSENT;
}

/*
 * Deletes, and raises *latest_end to the end of the deleted entry. Returns TSEG_RETIRED if the segment was retired
 * before the delete. The caller then has to delete the key in the new file too, because other processes may already
 * have written it there.
 */
tseg_result tseg_delete_once(tseg *segment, const tseg_key *key, tseg_delete_function *delete, double *latest_end)
{
    double expires_at;

    if (delete(segment, key, &expires_at) == TSEG_OK && expires_at > *latest_end) *latest_end = expires_at;
    return tseg_is_retired(segment) ? TSEG_RETIRED : TSEG_OK;
}

/*
 * Each call acquires the lock of one shard. `now` (epoch seconds) decides which entries have expired. In tseg_set
 * it matters only for the entries that the write meets at a tail, and may be -infinity.
 */
tseg_result tseg_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_use_empty_slot = true,
                          .counts_as_hit = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (tseg_too_large(segment, &change)) {
        double expires_at_before;
        tseg_delete(segment, key, &expires_at_before);
        return tseg_refuse(segment);
    }
    tseg_map_ahead(segment, &change);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    tseg_leave(&section);
    tseg_count_write(segment);
    return result == TSEG_ABSENT ? TSEG_OK : result; /* a damaged slot: the entry was stored, and lost */
}

tseg_result tseg_add(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_use_empty_slot = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    result = found && tseg_is_live_in(&section, &old) ? TSEG_PRESENT
                                                       : tseg_change_entry(&section, &change, found ? &old : NULL);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

tseg_result tseg_compare_and_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at,
                                 double now, const tseg_token *token)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at};
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (token->file_id != segment->file_id) return TSEG_CHANGED;
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live_in(&section, &old)) {
        result = TSEG_ABSENT;
    } else if (old.origin != token->origin || old.sequence != token->sequence) {
        result = TSEG_CHANGED;
    } else if (tseg_too_large(segment, &change)) {
        tseg_begin_delete(segment, key);
        tseg_drop_entry(section.view.control, old.slot, old.word, old.units);
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
    tseg_section section;
    tseg_entry old;
    tseg_result result = tseg_enter(&section, segment, key->shard, now);

    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live_in(&section, &old)) {
        result = TSEG_ABSENT;
    } else if (old.sequence >= TSEG_LAST_SEQUENCE) { /* after four thousand million changes the entry is deleted */
        tseg_drop_entry(section.view.control, old.slot, old.word, old.units);
        result = TSEG_ABSENT;
    } else {
        uint64_t sequence = begin_in_place(&section, &old);
        tseg_store(old.entry + TSEG_ENTRY_EXPIRES_AT, tseg_bits(expires_at));
        end_in_place(&section, &old, tseg_with_low_half(old.lengths, sequence));
        count_hit_in_slot(&old);
        if (!tseg_load_acquire(old.slot)) result = TSEG_ABSENT;
    }
    tseg_leave(&section);
    return result;
}

/* Counters: decimal numbers, which change under the shard's lock. */
/* A counter's allocation has room for every 64-bit number, so that an increment always happens in place. */
#define TSEG_COUNTER_BYTES 24u
#define TSEG_COUNTER_DIGITS 20u

/* Parses a canonical decimal number in the signed 64-bit range: no leading zero, no "-0", no other bytes. */
static bool parse_counter(const tseg_entry *entry, int64_t *number)
{
    char digits[TSEG_COUNTER_DIGITS + 4];
    uint32_t count = entry->value_bytes, i = 0;
    bool negative;
    uint64_t magnitude = 0, limit;

    if (count == 0 || count > TSEG_COUNTER_DIGITS) return false;
    tseg_copy_out(digits, entry->value, count);
    negative = digits[0] == '-';
    if ((i = negative) == count || (digits[i] == '0' && count > 1)) return false;
    limit = negative ? UINT64_C(1) << 63 : (UINT64_C(1) << 63) - 1;
    for (; i < count; i++) {
        unsigned digit = (unsigned)(uint8_t)digits[i] - '0';
        if (digit > 9 || magnitude > (limit - digit) / 10) return false;
        magnitude = magnitude * 10 + digit;
    }
    *number = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static uint32_t format_counter(uint8_t *digits, int64_t number)
{
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    uint8_t reversed[TSEG_COUNTER_DIGITS];
    uint32_t count = 0, written = 0;

    do reversed[count++] = (uint8_t)('0' + magnitude % 10); while (magnitude /= 10);
    if (number < 0) digits[written++] = '-';
    while (count) digits[written++] = reversed[--count];
    return written;
}

static tseg_result increment_found(tseg_section *section, tseg_change *change, const tseg_entry *old, int64_t amount,
                                   int64_t *count, uint8_t *digits, tseg_value *value)
{
    int64_t before;

    if (!parse_counter(old, &before) || __builtin_add_overflow(before, amount, count)) return TSEG_NOT_A_COUNTER;
    value->body_bytes = format_counter(digits, *count);
    change->expires_at = old->expires_at;
    change->may_use_empty_slot = false;
    return tseg_change_entry(section, change, old);
}

tseg_result tseg_increment(tseg *segment, const tseg_key *key, int64_t amount, double expires_at, double now,
                           int64_t *count)
{
    uint8_t digits[TSEG_COUNTER_BYTES];
    tseg_value value = {NULL, 0, digits, 0};
    tseg_change change = {.key = key, .value = &value, .expires_at = expires_at,
                          .least_value_bytes = TSEG_COUNTER_BYTES, .may_use_empty_slot = true, .counts_as_hit = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    result = TSEG_ABSENT;
    if (found && tseg_is_live_in(&section, &old))
        result = increment_found(&section, &change, &old, amount, count, digits, &value);
    if (result == TSEG_ABSENT) { /* also after a concurrent delete, which then comes before this call */
        *count = amount;
        value.body_bytes = format_counter(digits, amount);
        change.expires_at = expires_at;
        change.may_use_empty_slot = true;
        result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}
