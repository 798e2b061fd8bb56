/* Finds, compares and copies entries, and compares their tags with the current generations. */
#include "read.h"

#include "../frame_layout.h"

/*
 * Copies words into the file and out of it. Each word is accessed once, with relaxed ordering. A reader checks
 * afterwards whether the words belong together.
 */
/* Words are copied one by one: an array of words would go through the stack, and a wide load from there stalls. */
static inline void put_word(uint8_t *to, uint64_t word) { memcpy(to, &word, 8); }

/*
 * Copies eight words. A writer announces its writes before this copy, and a reader checks for writers after it. So the
 * compiler only has to make each access exactly here and once. C cannot express such a wide access, hence the assembler
 * code. Sanitizer builds copy single words instead.
 */
#if defined(__x86_64__) && !defined(TSEG_NO_FENCES) && !defined(__SANITIZE_ADDRESS__)
#define TSEG_COPIES_BLOCKS 1
static inline void copy_block(void *to, const void *from)
{
    __asm__ __volatile__("movdqu (%1), %%xmm0\n\t"
                         "movdqu 16(%1), %%xmm1\n\t"
                         "movdqu 32(%1), %%xmm2\n\t"
                         "movdqu 48(%1), %%xmm3\n\t"
                         "movdqu %%xmm0, (%0)\n\t"
                         "movdqu %%xmm1, 16(%0)\n\t"
                         "movdqu %%xmm2, 32(%0)\n\t"
                         "movdqu %%xmm3, 48(%0)"
                         :
                         : "r"(to), "r"(from)
                         : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}
#endif

/*
 * The processor prefetches only within a page, so a long copy prefetches one page ahead by itself. A cold copy of 24 KB
 * then takes 0.8 of the time; a warm copy takes as long as without the prefetch.
 */
#define PAGE_BYTES 4096u

/* Copy words of the file to any address, and bytes into words of the file. */
void tseg_copy_out(void *destination, const tseg_word *source, uint64_t bytes)
{
    uint8_t *to = destination;
    uint64_t last;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= PAGE_BYTES + 64; bytes -= 64, to += 64, source += 8) {
        __builtin_prefetch((const char *)source + PAGE_BYTES);
        copy_block(to, source);
    }
    for (; bytes >= 64; bytes -= 64, to += 64, source += 8) copy_block(to, source);
#endif
    for (; bytes >= 32; bytes -= 32, to += 32, source += 4) {
        put_word(to, tseg_load(source));
        put_word(to + 8, tseg_load(source + 1));
        put_word(to + 16, tseg_load(source + 2));
        put_word(to + 24, tseg_load(source + 3));
    }
    for (; bytes >= 8; bytes -= 8, to += 8, source++) put_word(to, tseg_load(source));
    if (bytes) {
        last = tseg_load(source);
        memcpy(to, &last, bytes);
    }
}

void tseg_copy_in(tseg_word *destination, const uint8_t *source, uint64_t bytes)
{
    uint64_t last = 0;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= 64; bytes -= 64, source += 64, destination += 8) copy_block(destination, source);
#endif
    for (; bytes >= 32; bytes -= 32, source += 32, destination += 4) {
        tseg_store(destination, tseg_load_bytes(source));
        tseg_store(destination + 1, tseg_load_bytes(source + 8));
        tseg_store(destination + 2, tseg_load_bytes(source + 16));
        tseg_store(destination + 3, tseg_load_bytes(source + 24));
    }
    for (; bytes >= 8; bytes -= 8, source += 8, destination++) tseg_store(destination, tseg_load_bytes(source));
    if (bytes) {
        memcpy(&last, source, bytes);
        tseg_store(destination, last);
    }
}

/* Returns whether a stored key has the bytes of this key, which has the same length. */
bool tseg_same_bytes(const tseg_word *stored, const tseg_key *key)
{
    const uint8_t *bytes = key->bytes;
    uint64_t left = key->count;

    for (; left >= 8; left -= 8, bytes += 8, stored++)
        if (tseg_load(stored) != tseg_load_bytes(bytes)) return false;
    return !left || tseg_load(stored) == tseg_load_rest(bytes, left, key->count);
}

/* Prefetches the header, the key and the beginning of the value. The processor prefetches the rest of a long copy. */
static void prefetch_entry(const tseg_word *entry)
{
    __builtin_prefetch((const char *)entry);
    __builtin_prefetch((const char *)entry + 64);
    __builtin_prefetch((const char *)entry + 128);
}

tseg_verdict tseg_compare(const tseg *segment, const tseg_view *view, uint64_t word, const tseg_key *key,
                          tseg_entry *entry)
{
    int log = tseg_log_of(word);
    uint64_t position = tseg_position(word), key_words;
    tseg_word *at = tseg_at(segment, view, log, position);
    uint64_t sizes, lengths;
    bool in_bounds, same;

    prefetch_entry(at);
    sizes = tseg_load(at);
    lengths = tseg_load_acquire(at + TSEG_ENTRY_LENGTHS);
    in_bounds = tseg_bounds(segment, log, position, sizes, &key_words);
    same = in_bounds && tseg_high_half(sizes) == key->count && tseg_same_bytes(at + TSEG_ENTRY_WORDS, key);

    if (same) {
        entry->word = word;
        entry->entry = at;
        entry->value = at + TSEG_ENTRY_WORDS + key_words;
        entry->tail = &view->control->tail[log];
        entry->position = position;
        entry->lengths = lengths;
        entry->sequence = (uint32_t)tseg_low_half(lengths);
        entry->value_bytes = (uint32_t)tseg_high_half(lengths);
        entry->expires_at = tseg_double(tseg_load(at + TSEG_ENTRY_EXPIRES_AT));
        entry->origin = tseg_load(at + TSEG_ENTRY_ORIGIN);
        entry->epoch = (uint32_t)tseg_load(at + TSEG_ENTRY_EPOCH);
        entry->units = (uint32_t)tseg_low_half(sizes);
        in_bounds = TSEG_ENTRY_WORDS + key_words + tseg_words(tseg_high_half(lengths)) <=
                    tseg_low_half(sizes) * (TSEG_UNIT / 8);
    }
    /*
     * A writer stores the tail before it overwrites these bytes. A reader that has read a new byte now sees that tail.
     */
    tseg_fence(memory_order_acquire);
    if (position < tseg_load(&view->control->tail[log]) || !in_bounds) return TSEG_NOT_VERIFIABLE;
    return same ? TSEG_SAME_KEY : TSEG_OTHER_KEY;
}

static void back_off(int attempt)
{
    for (int i = 0; i < 1 << (2 * attempt); i++) tseg_relax();
}

/*
 * Prefetches the memory that every read of this key needs: both buckets, and the tails that the read compares at its
 * end. With cold caches the lines then come from memory together, not one after the other.
 */
static void prefetch_of_key(const tseg_view *view, const tseg_key *key)
{
    __builtin_prefetch(view->index + key->bucket[0]);
    __builtin_prefetch(view->index + key->bucket[1]);
    __builtin_prefetch((const void *)view->control->tail);
}

tseg_result tseg_find(tseg *segment, const tseg_key *key, tseg_entry *entry)
{
    const tseg_view view = tseg_view_of(segment, key->shard);

    prefetch_of_key(&view, key);
    for (int which = 0; which < 2; which++) {
        tseg_word *slots = view.index + key->bucket[which];
        if (which && key->bucket[1] == key->bucket[0]) break;
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load_acquire(slots + i);
            for (int attempt = 0; ((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0; attempt++) {
                tseg_verdict verdict = tseg_compare(segment, &view, word, key, entry);
                if (verdict == TSEG_SAME_KEY) {
                    entry->slot = slots + i;
                    TSEG_STOP_HERE(TSEG_STOP_AFTER_FIND);
                    return TSEG_OK;
                }
                /* The tail has passed the entry: a writer is moving it, or evicted it and died. */
                if (verdict == TSEG_OTHER_KEY || attempt == TSEG_READ_TRIES) break;
                back_off(attempt);
                word = tseg_load_acquire(slots + i);
            }
        }
    }
    return TSEG_ABSENT;
}

/* The entry of the first slot with the key's fingerprint, which is almost always the key's entry. */
static const tseg_word *probable_entry(const tseg *segment, const tseg_key *key)
{
    const tseg_view view = tseg_view_of(segment, key->shard);

    for (int which = 0; which < 2; which++) {
        const tseg_word *slots = view.index + key->bucket[which];
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load(slots + i);
            if (((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0)
                return tseg_at(segment, &view, tseg_log_of(word), tseg_position(word));
        }
    }
    return NULL;
}

/*
 * Prefetch the memory that reads of these keys will need: first the buckets of all keys, then the entries that the
 * buckets lead to.
 */
void tseg_prefetch_buckets(const tseg *segment, const tseg_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const tseg_word *index = tseg_view_of(segment, keys[i].shard).index;
        __builtin_prefetch(index + keys[i].bucket[0]);
        __builtin_prefetch(index + keys[i].bucket[1]);
    }
}

void tseg_prefetch_entries(const tseg *segment, const tseg_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const tseg_word *entry = probable_entry(segment, keys + i);
        if (entry) prefetch_entry(entry);
    }
}

bool tseg_is_live(const tseg *segment, const tseg_entry *entry, double now)
{
    return entry->epoch == tseg_epoch(segment) && entry->expires_at > now;
}

/* Copies a part of the value as it is now. */
void tseg_copy_value(const tseg_entry *entry, void *destination, uint32_t from, uint32_t bytes)
{
    const tseg_word *source = entry->value + from / 8;
    uint32_t skipped = from % 8, first = 8 - skipped < bytes ? 8 - skipped : bytes;
    uint8_t *to = destination;
    uint64_t word;

    if (skipped) {
        word = tseg_load(source++) >> (8 * skipped);
        memcpy(to, &word, first);
        to += first;
        bytes -= first;
    }
    tseg_copy_out(to, source, bytes);
}

bool tseg_intact(const tseg_entry *entry)
{
    TSEG_STOP_HERE(TSEG_STOP_AFTER_COPY);
    tseg_fence(memory_order_acquire);
    return !(entry->sequence & 1) && entry->position >= tseg_load(entry->tail) &&
           tseg_load(entry->entry + TSEG_ENTRY_LENGTHS) == entry->lengths;
}

void tseg_hit(tseg *segment, const tseg_entry *entry)
{
    uint64_t word = entry->word;

    tseg_bump(&segment->self->counters[TSEG_COUNT_HITS]);
    /* The swap may fail: another process has counted a hit, or a writer has moved the entry. */
    if (tseg_hits(word) < TSEG_HITS_MASK)
        atomic_compare_exchange_strong_explicit(entry->slot, &word, word + 1, memory_order_relaxed,
                                                memory_order_relaxed);
}

tseg_token tseg_token_of(const tseg *segment, const tseg_entry *entry)
{
    return (tseg_token){segment->file_id, entry->origin, entry->sequence};
}

bool tseg_is_same(const tseg_token *one, const tseg_token *other)
{
    return one->file_id == other->file_id && one->origin == other->origin && one->sequence == other->sequence;
}

/* Tags: reads the current generations of an entry's tags, and compares them with those in its frame. */
/* The known generations, in two halves. A generation has a row in each half, and uses a free one or a random one. */
/*
 * The halves have 256 KB, for 4,000 tags in use. A process gets only the pages of the tags that it reads, and the
 * processor caches one line for each tag.
 */
enum { HALF_ROWS = 2048 };

_Static_assert(sizeof(tseg_known_generation) == TSEG_CACHE_LINE, "a row is a cache line");

static tseg_known_generation *known_row(const tseg *segment, int half, uint64_t generation)
{
    return segment->known + half * HALF_ROWS + (generation >> (32 * half)) % HALF_ROWS;
}

static const tseg_known_generation *find_generation(const tseg *segment, uint64_t generation)
{
    if (!segment->known || atomic_load_explicit(&tseg_parallel, memory_order_relaxed)) return NULL;
    for (int half = 0; half < 2; half++) {
        const tseg_known_generation *known = known_row(segment, half, generation);
        if (known->generation != generation || !known->slot) continue;
        __builtin_prefetch((const void *)known->slot);
        __builtin_prefetch((const void *)known->entry);
        return known;
    }
    return NULL;
}

static bool generation_is_current(tseg *segment, const tseg_known_generation *known, const tseg_key *key,
                                uint64_t generation)
{
    uint64_t word;

    if (known->generation != generation || known->key_bytes != key->count || known->epoch != tseg_epoch(segment))
        return false;
    word = tseg_load_acquire(known->slot);
    if (!tseg_same_entry(word, known->word) || tseg_load(known->entry + TSEG_ENTRY_LENGTHS) != known->lengths)
        return false;
    if (!tseg_same_bytes(known->entry + TSEG_ENTRY_WORDS, key)) return false;
    tseg_fence(memory_order_acquire);
    if (tseg_position(word) < tseg_load(known->tail)) return false;
    tseg_hit(segment, &(tseg_entry){.slot = known->slot, .word = word});
    return true;
}

/* Allocates the rows, so that each begins where a cache line begins. */
static void allocate_rows(tseg *segment)
{
    char *memory = calloc(2 * HALF_ROWS + 1, sizeof(tseg_known_generation));

    segment->known_memory = memory;
    if (memory) segment->known = (void *)(memory + TSEG_CACHE_LINE - (uintptr_t)memory % TSEG_CACHE_LINE);
}

static void record_generation(tseg *segment, const tseg_key *key, uint64_t generation, const tseg_entry *entry)
{
    tseg_known_generation *known;

    /* Two threads could mix their words in a row. */
    if (entry->expires_at != INFINITY || atomic_load_explicit(&tseg_parallel, memory_order_relaxed)) return;
    if (!segment->known) allocate_rows(segment);
    if (!segment->known) return;
    known = known_row(segment, 0, generation);
    if (known->slot && known->generation != generation &&
        (generation >> 63 || !known_row(segment, 1, generation)->slot))
        known = known_row(segment, 1, generation);
    *known = (tseg_known_generation){generation, entry->slot, entry->entry, entry->tail,
                                     entry->word, entry->lengths, key->count, entry->epoch};
}

typedef struct {
    const tseg_key *made;
    const tseg_clock *clock;
    uint64_t generation;
    bool found;       /* false: the tag's key holds other bytes than a generation */
    bool needs_time;
} generation_read;

static uint32_t two_bytes(const uint8_t *at) { return (uint32_t)(at[0] | at[1] << 8); }

/* The optional part with this id among the parts of a frame, and its length in *bytes. NULL if there is none. */
const uint8_t *tseg_part_among(const uint8_t *parts, size_t parts_bytes, int id, size_t *bytes)
{
    for (size_t part_bytes; parts_bytes >= FRAME_PART_HEADER_BYTES; parts += part_bytes, parts_bytes -= part_bytes) {
        *bytes = two_bytes(parts + 1);
        part_bytes = FRAME_PART_HEADER_BYTES + *bytes;
        if (part_bytes > parts_bytes) return NULL;
        if (*parts == id) return parts + FRAME_PART_HEADER_BYTES;
    }
    return NULL;
}

/* The part of a frame with this id, and its length in *bytes. NULL if the frame has none or its parts are cut off. */
const uint8_t *tseg_part_of(const uint8_t *frame, size_t frame_bytes, int id, size_t *bytes)
{
    frame_header header;

    if (frame_bytes < FRAME_HEADER_BYTES) return NULL;
    memcpy(&header, frame, sizeof(header));
    if (header.magic != FRAME_MAGIC || header.parts_bytes > frame_bytes - FRAME_HEADER_BYTES) return NULL;
    return tseg_part_among(frame + FRAME_HEADER_BYTES, header.parts_bytes, id, bytes);
}

/* The generation that follows a tag's key in the frame. */
static uint64_t recorded_generation(const tseg_key *key)
{
    uint64_t generation;

    memcpy(&generation, (const uint8_t *)key->bytes + key->count, TSEG_GENERATION_BYTES);
    return generation;
}

static void begin_tag(tseg_tags *tags, const tseg *segment, const uint8_t *bytes, uint32_t count)
{
    tseg_key *key = &tags->tags[tags->count].key;

    key->bytes = bytes;
    key->count = count;
    tags->tags[tags->count].known = find_generation(segment, recorded_generation(key));
    if (!tags->tags[tags->count++].known) {
        tseg_make_key(segment, key, bytes, count);
        tseg_prefetch_buckets(segment, key, 1);
    }
}

/* Begins the next tags. If the part is cut off, it begins none, although bytes are left. */
static void begin_tags(tseg_tags *tags, const tseg *segment)
{
    tags->count = 0;
    while (tags->left && tags->count < TSEG_TAGS_BATCH) {
        size_t bytes = FRAME_TAG_FIXED_BYTES;
        if (tags->left >= bytes) bytes += two_bytes(tags->next);
        if (tags->left < bytes) {
            tags->count = 0;
            return;
        }
        begin_tag(tags, segment, tags->next + 2, two_bytes(tags->next));
        tags->next += bytes;
        tags->left -= bytes;
    }
}

/*
 * Prefetches what is known of the first tags: the place of the generation, or the buckets of the key. The caller does
 * other work before tseg_tags_finish.
 */
void tseg_tags_begin(tseg_tags *tags, const tseg *segment, const uint8_t *part, size_t bytes)
{
    tags->next = part;
    tags->left = bytes;
    begin_tags(tags, segment);
}

static void use_made_key(void *context, const tseg *segment, tseg_key *key)
{
    (void)segment;
    *key = *((generation_read *)context)->made;
}

static bool use_known_time(void *context, tseg_clock *clock, tseg **segment)
{
    generation_read *read = context;

    (void)segment;
    *clock = *read->clock;
    read->needs_time = !clock->known;
    return clock->known;
}

static bool read_generation(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                            const tseg_clock *clock)
{
    generation_read *read = context;

    (void)segment, (void)key, (void)clock;
    read->found = entry->value_bytes == TSEG_GENERATION_BYTES;
    if (read->found) read->generation = tseg_load(entry->value);
    return true;
}

/* Looks the tag's current generation up, and compares it with the recorded one. */
static tseg_tags_answer look_up(tseg *segment, const tseg_key *made, const tseg_clock *clock, uint64_t recorded)
{
    generation_read read = {.made = made, .clock = clock};
    tseg_entry entry;
    tseg_key key;

    if (tseg_read(&segment, use_made_key, use_known_time, read_generation, &read, &key, &entry) != TSEG_OK)
        return read.needs_time ? TSEG_TAGS_NEED_TIME : TSEG_TAGS_OUTDATED;
    if (!read.found || read.generation != recorded) return TSEG_TAGS_OUTDATED;
    record_generation(segment, made, recorded, &entry);
    return TSEG_TAGS_CURRENT;
}

static tseg_tags_answer check(tseg_tags *tags, unsigned at, tseg *segment, const tseg_clock *clock)
{
    const tseg_known_generation *known = tags->tags[at].known;
    tseg_key *key = &tags->tags[at].key;
    uint64_t recorded = recorded_generation(key);

    if (known) {
        if (TSEG_LIKELY(generation_is_current(segment, known, key, recorded))) return TSEG_TAGS_CURRENT;
        tseg_make_key(segment, key, key->bytes, key->count);
    }
    return look_up(segment, key, clock, recorded);
}

static void prefetch_unknown(const tseg_tags *tags, const tseg *segment)
{
    for (unsigned at = 0; at < tags->count; at++)
        if (!tags->tags[at].known) tseg_prefetch_entries(segment, &tags->tags[at].key, 1);
}

/* Reads the generations. The result includes every invalidation that ended before tseg_tags_begin. */
tseg_tags_answer tseg_tags_finish(tseg_tags *tags, tseg *segment, const tseg_clock *clock)
{
    for (; tags->count; begin_tags(tags, segment)) {
        prefetch_unknown(tags, segment);
        for (unsigned at = 0; at < tags->count; at++) {
            tseg_tags_answer answer = check(tags, at, segment, clock);
            if (answer != TSEG_TAGS_CURRENT) return answer;
        }
    }
    return tags->left ? TSEG_TAGS_OUTDATED : TSEG_TAGS_CURRENT;
}

/* Performs both steps, tseg_tags_begin and tseg_tags_finish. Reads the clock only if a generation can expire. */
bool tseg_tags_are_current(tseg *segment, const uint8_t *part, size_t bytes, tseg_time_function *ask_time,
                           void *context)
{
    tseg_clock clock = {false, 0};
    tseg_tags_answer answer;
    tseg_tags tags;

    for (;;) {
        tseg_tags_begin(&tags, segment, part, bytes);
        answer = tseg_tags_finish(&tags, segment, &clock);
        if (answer != TSEG_TAGS_NEED_TIME) return answer == TSEG_TAGS_CURRENT;
        ask_time(context, &clock, &segment);
    }
}
