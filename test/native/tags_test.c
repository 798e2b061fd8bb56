/*
 * Entries with tags. Compares arbitrary bytes of a frame's tags with the generations in the segment. Also invalidates
 * before each read, while a writer constantly creates new generations.
 */
#include <pthread.h>

#include "check.h"
#include "../../ext/tiercel/frame_layout.h" /* FRAME_TAG_FIXED_BYTES */

enum { MOST = 8192, TAGS = 40 };

static tseg *segment;

/* Appends a tag; returns the new length. */
static size_t append_tag(uint8_t *part, size_t bytes, const char *key, uint64_t generation)
{
    size_t key_bytes = strlen(key);

    part[bytes] = (uint8_t)key_bytes;
    part[bytes + 1] = (uint8_t)(key_bytes >> 8);
    memcpy(part + bytes + 2, key, key_bytes);
    memcpy(part + bytes + 2 + key_bytes, &generation, TSEG_GENERATION_BYTES);
    return bytes + FRAME_TAG_FIXED_BYTES + key_bytes;
}

static void set_generation(const char *text, uint64_t generation, double expires_at)
{
    tseg_value value = value_of(&generation, sizeof(generation));
    tseg_key key = key_of(segment, text);

    CHECK(PATIENTLY(segment, key.shard, tseg_set(segment, &key, &value, expires_at, -INFINITY)) == TSEG_OK);
}

static tseg_tags_answer ask_once(const uint8_t *part, size_t bytes, bool knows_time)
{
    tseg_clock clock = {knows_time, knows_time ? time_now : 0};
    uint8_t *copy = malloc(bytes ? bytes : 1); /* of the exact length, for AddressSanitizer */
    tseg_tags_answer answer;
    tseg_tags tags;

    memcpy(copy, part, bytes);
    tseg_tags_begin(&tags, segment, copy, bytes);
    answer = tseg_tags_finish(&tags, segment, &clock);
    free(copy);
    return answer;
}

/* The second answer comes from the places of generations that the first one has recorded. */
static tseg_tags_answer ask(const uint8_t *part, size_t bytes, bool knows_time)
{
    tseg_tags_answer answer = ask_once(part, bytes, knows_time);

    CHECK(ask_once(part, bytes, knows_time) == answer);
    return answer;
}

/* More tags than one lookup handles. */
static size_t many_tags(uint8_t *part, size_t ends[TAGS])
{
    size_t bytes = 0;
    char key[32];

    for (unsigned i = 0; i < TAGS; i++) {
        snprintf(key, sizeof(key), "tiercel:tag:%u", i);
        set_generation(key, 1000 + i, INFINITY);
        ends[i] = bytes = append_tag(part, bytes, key, 1000 + i);
    }
    return bytes;
}

static void current_until_one_changes(void)
{
    static uint8_t part[MOST];
    size_t ends[TAGS], bytes = many_tags(part, ends);
    char text[32];

    CHECK(ask(part, 0, false) == TSEG_TAGS_CURRENT);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    for (unsigned i = 0; i < TAGS; i++) {
        snprintf(text, sizeof(text), "tiercel:tag:%u", i);
        tseg_key key = key_of(segment, text);
        tseg_value counter = value_of("12345678 and more", 17);
        delete_key(segment, &key);
        CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
        set_generation(text, 2000, INFINITY);
        CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
        CHECK(set_value(segment, &key, &counter) == TSEG_OK);
        CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
        set_generation(text, 1000 + i, INFINITY);
        CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    }
    for (size_t cut = 1, i = 0; cut < bytes; cut++) {
        while (ends[i] < cut) i++;
        CHECK(ask(part, cut, false) == (ends[i] == cut ? TSEG_TAGS_CURRENT : TSEG_TAGS_OUTDATED));
    }
}

static void a_generation_with_an_end(void)
{
    uint8_t part[64];
    size_t bytes = append_tag(part, 0, "ends", 7);

    set_generation("ends", 7, time_now + 10);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_NEED_TIME);
    CHECK(ask(part, bytes, true) == TSEG_TAGS_CURRENT);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_NEED_TIME);
    set_generation("ends", 7, time_now - 10);
    CHECK(ask(part, bytes, true) == TSEG_TAGS_OUTDATED);
}

/* Other bytes under a tag's key are no generation, even if they begin with the recorded one. */
static void foreign_bytes_under_a_tags_key(void)
{
    static const uint64_t words[2] = {1234567, 7654321};
    tseg_key key = key_of(segment, "foreign");
    uint8_t part[64];
    size_t bytes = append_tag(part, 0, "foreign", words[0]);

    for (size_t count = 0; count <= sizeof words; count++) {
        tseg_value value = value_of(words, count);
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
        CHECK(ask(part, bytes, false) == (count == sizeof *words ? TSEG_TAGS_CURRENT : TSEG_TAGS_OUTDATED));
    }
}

/* After a change of its entry, a recorded generation is looked up again. */
static void changes_of_a_known_generation(void)
{
    uint8_t part[64], other[64];
    size_t bytes = append_tag(part, 0, "known by many", 77), other_bytes = append_tag(other, 0, "known by", 77);
    tseg_key key = key_of(segment, "known by many");
    tseg_value longer = value_of("seventy-seven bytes", 19);
    tseg_entry entry;

    set_generation("known by many", 77, INFINITY);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    CHECK(tseg_find(segment, &key, &entry) == TSEG_OK && tseg_hits(entry.word) == 2); /* so that no writer evicts it */
    CHECK(ask(other, other_bytes, false) == TSEG_TAGS_OUTDATED); /* the generation of another tag */
    tseg_clear_at_once(segment);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
    set_generation("known by many", 77, INFINITY);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    tseg_clear_at_once(segment); /* a clear that was killed before it emptied the shards */
    CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
    set_generation("known by many", 77, INFINITY);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    CHECK(PATIENTLY(segment, key.shard, tseg_touch(segment, &key, time_now - 1, time_now - 2)) == TSEG_OK);
    CHECK(ask(part, bytes, true) == TSEG_TAGS_OUTDATED);
    set_generation("known by many", 77, INFINITY);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    CHECK(set_value(segment, &key, &longer) == TSEG_OK);
    set_generation("known by many", 77, INFINITY); /* in another place */
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
}

/* As if a writer had been killed when it had moved the tail, and had not yet emptied the slot. */
static void a_generation_that_the_tail_has_passed(void)
{
    uint8_t part[64];
    size_t bytes = append_tag(part, 0, "passed", 79);
    tseg_key key = key_of(segment, "passed");
    tseg_entry entry;
    uint64_t tail;
    tseg_word *word;

    set_generation("passed", 79, INFINITY);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
    CHECK(tseg_find(segment, &key, &entry) == TSEG_OK);
    word = tseg_view_of(segment, key.shard).control->tail + tseg_log_of(entry.word);
    tail = tseg_load(word);
    tseg_store(word, entry.position + 1);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
    tseg_store(word, tail);
    CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
}

/* The generation has hits, so writers move it from log to log, while everything around it is evicted. */
static void a_generation_that_moves(void)
{
    static uint8_t bytes[5000];
    uint8_t part[64];
    size_t part_bytes = append_tag(part, 0, "moves", 78);
    uint64_t appended = segment->self->counters[TSEG_COUNT_APPENDED];

    set_generation("moves", 78, INFINITY);
    for (unsigned i = 0; i < 10000; i++) {
        char text[32];
        snprintf(text, sizeof(text), "fill:%u", i);
        tseg_key key = key_of(segment, text);
        tseg_value value = value_of(bytes, sizeof(bytes));
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
        CHECK(ask(part, part_bytes, false) == TSEG_TAGS_CURRENT);
    }
    CHECK(segment->self->counters[TSEG_COUNT_APPENDED] - appended >= 10000); /* ten times the segment */
}

/* More generations than the table has rows for. */
static void more_generations_than_rows(void)
{
    enum { MANY = 9000 };
    uint8_t part[64];
    char text[32];

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            uint64_t generation = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
            size_t bytes;
            snprintf(text, sizeof(text), "many:%u", i);
            bytes = append_tag(part, 0, text, generation);
            if (!round) set_generation(text, generation, INFINITY);
            CHECK(ask(part, bytes, false) == TSEG_TAGS_CURRENT);
            bytes = append_tag(part, 0, text, generation + 1);
            CHECK(ask(part, bytes, false) == TSEG_TAGS_OUTDATED);
        }
    }
}

/* A read that begins after the invalidation of a generation must not find it current. */
static _Atomic uint64_t invalidated;
static _Atomic bool done;

static void *renew(void *argument)
{
    tseg_key key = key_of(segment, "renewed");
    unsigned long rounds = (unsigned long)(uintptr_t)argument;

    for (uint64_t generation = 1; generation <= rounds; generation++) {
        set_generation("renewed", generation, INFINITY);
        delete_key(segment, &key);
        atomic_store(&invalidated, generation);
    }
    atomic_store(&done, true);
    return NULL;
}

static void invalidations(unsigned long rounds)
{
    unsigned long current = 0, asked = 0;
    uint8_t part[64];
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, renew, (void *)(uintptr_t)rounds) == 0);
    while (!atomic_load(&done)) {
        uint64_t floor = atomic_load(&invalidated);
        for (uint64_t generation = floor > 2 ? floor - 2 : 1; generation < floor + 3; generation++, asked++) {
            bool is_current = ask_once(part, append_tag(part, 0, "renewed", generation), false) == TSEG_TAGS_CURRENT;
            CHECK(!is_current || generation > floor);
            current += is_current;
        }
    }
    pthread_join(thread, NULL);
    printf("%lu look-ups beside %lu invalidations, %lu found the generation current\n", asked, rounds, current);
}

int main(int count, char **arguments)
{
    unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 100000;

    segment = attach_or_die(NULL, 4 << 20, 1);
    current_until_one_changes();
    a_generation_with_an_end();
    foreign_bytes_under_a_tags_key();
    changes_of_a_known_generation();
    a_generation_that_the_tail_has_passed();
    a_generation_that_moves();
    more_generations_than_rows();
    invalidations(rounds);
    tseg_release(segment);
    printf("%lu checks\n", checks_made);
    return 0;
}
