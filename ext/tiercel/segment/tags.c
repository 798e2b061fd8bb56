/* Reads the current generations of an entry's tags, and compares them with those in its frame. */
#include "presence.h"
#include "tags.h"

#include "../frame_layout.h"

/* A table in two halves. A generation has a row in each half, and uses a free one, or else a random one of the two. */
/*
 * 256 KB, for 4,000 tags in use. A process gets only the pages of the tags that it reads, and the processor caches one
 * line for each tag.
 */
enum { HALF_ROWS = 2048 };

_Static_assert(sizeof(tseg_known_generation) == TSEG_CACHE_LINE, "a row is a cache line");

static tseg_known_generation *known_row(const tseg *segment, int half, uint64_t generation)
{
    return segment->known + half * HALF_ROWS + (generation >> (32 * half)) % HALF_ROWS;
}

static const tseg_known_generation *tseg_find_generation(const tseg *segment, uint64_t generation)
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

static bool tseg_generation_is_current(tseg *segment, const tseg_known_generation *known, const tseg_key *key,
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

/* Rows that begin where a cache line begins. */
static void allocate_rows(tseg *segment)
{
    char *memory = calloc(2 * HALF_ROWS + 1, sizeof(tseg_known_generation));

    segment->known_memory = memory;
    if (memory) segment->known = (void *)(memory + TSEG_CACHE_LINE - (uintptr_t)memory % TSEG_CACHE_LINE);
}

static void tseg_record_generation(tseg *segment, const tseg_key *key, uint64_t generation, const tseg_entry *entry)
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
    tags->tags[tags->count].known = tseg_find_generation(segment, recorded_generation(key));
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

static void take_made_key(void *context, const tseg *segment, tseg_key *key)
{
    (void)segment;
    *key = *((generation_read *)context)->made;
}

static bool tell_time(void *context, tseg_clock *clock, tseg **segment)
{
    generation_read *read = context;

    (void)segment;
    *clock = *read->clock;
    read->needs_time = !clock->known;
    return clock->known;
}

static bool take_generation(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
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

    if (tseg_read(&segment, take_made_key, tell_time, take_generation, &read, &key, &entry) != TSEG_OK)
        return read.needs_time ? TSEG_TAGS_NEED_TIME : TSEG_TAGS_OUTDATED;
    if (!read.found || read.generation != recorded) return TSEG_TAGS_OUTDATED;
    tseg_record_generation(segment, made, recorded, &entry);
    return TSEG_TAGS_CURRENT;
}

static tseg_tags_answer check(tseg_tags *tags, unsigned at, tseg *segment, const tseg_clock *clock)
{
    const tseg_known_generation *known = tags->tags[at].known;
    tseg_key *key = &tags->tags[at].key;
    uint64_t recorded = recorded_generation(key);

    if (known) {
        if (TSEG_LIKELY(tseg_generation_is_current(segment, known, key, recorded))) return TSEG_TAGS_CURRENT;
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
