/*
 * Operations of the core, alone and against a model under random calls. test/contracts/backend_contract/ has what every
 * backend must do.
 */
#include <math.h>

#include "check.h"

static bool set_text(tseg *segment, const char *key_text, const char *text, double expires_at)
{
    tseg_key key = key_of(segment, key_text);
    tseg_value value = value_of(text, strlen(text));
    return tseg_set(segment, &key, &value, expires_at, time_now) == TSEG_OK;
}

static bool reads_as(tseg *segment, const char *key_text, const char *expected)
{
    char buffer[256];
    tseg_key key = key_of(segment, key_text);
    long count = read_value(segment, &key, buffer, sizeof buffer, NULL);
    if (!expected) return count < 0;
    return count == (long)strlen(expected) && memcmp(buffer, expected, (size_t)count) == 0;
}

static void test_basics(tseg *segment)
{
    tseg_key key = key_of(segment, "a");
    tseg_value other = value_of("other", 5);

    CHECK(reads_as(segment, "a", NULL));
    CHECK(set_text(segment, "a", "one", INFINITY));
    CHECK(reads_as(segment, "a", "one"));
    CHECK(set_text(segment, "a", "seventeen and more", INFINITY));
    CHECK(reads_as(segment, "a", "seventeen and more"));
    CHECK(set_text(segment, "a", "", INFINITY));
    CHECK(reads_as(segment, "a", ""));
    CHECK(tseg_add(segment, &key, &other, INFINITY, time_now) == TSEG_PRESENT);
    CHECK(delete_key(segment, &key) == TSEG_OK);
    CHECK(delete_key(segment, &key) == TSEG_ABSENT);
    CHECK(reads_as(segment, "a", NULL));
    CHECK(tseg_add(segment, &key, &other, INFINITY, time_now) == TSEG_OK);
    CHECK(reads_as(segment, "a", "other"));
}

/* The entries that a walk returns. */
static unsigned walked(tseg *segment, const void *prefix, uint32_t count, double now)
{
    tseg_cursor cursor = {0};
    tseg_batch batch = {0};
    unsigned seen = 0;

    while (tseg_walk(segment, &cursor, prefix, count, now, &batch) == TSEG_OK) seen += batch.count;
    free(batch.bytes);
    return seen;
}

static void test_expiry(tseg *segment)
{
    tseg_key key = key_of(segment, "over");

    time_now = 3000.0;
    CHECK(set_text(segment, "over", "x", 3010.0));
    CHECK(reads_as(segment, "over", "x"));
    CHECK(tseg_touch(segment, &key, 3020.0, time_now) == TSEG_OK);
    time_now = 3015.0;
    CHECK(reads_as(segment, "over", "x"));
    CHECK(walked(segment, "over", 4, 3019.0) == 1);
    time_now = 3020.0;
    CHECK(reads_as(segment, "over", NULL));
    CHECK(walked(segment, "over", 4, time_now) == 0);
    CHECK(tseg_touch(segment, &key, INFINITY, time_now) == TSEG_ABSENT);
    CHECK(delete_key(segment, &key) == TSEG_ABSENT);
    CHECK(set_text(segment, "over", "y", NAN));
    CHECK(reads_as(segment, "over", NULL));
}

static void test_sizes(tseg *segment)
{
    static uint8_t large[8 << 20], back[8 << 20];
    uint64_t most = segment->geometry.log_units[TSEG_MAIN] / 4 * TSEG_UNIT - TSEG_ENTRY_BYTES - 8;
    tseg_key key = key_of(segment, "large");
    tseg_value value = value_of(large, most);
    tseg_token token;

    for (size_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 31 + i / 255);
    CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
    CHECK(read_value(segment, &key, back, sizeof back, NULL) == (long)most);
    CHECK(memcmp(large, back, most) == 0);
    value.body_bytes = most + TSEG_UNIT;
    CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_TOO_LARGE);
    CHECK(read_value(segment, &key, back, sizeof back, NULL) < 0);
    CHECK(set_text(segment, "large", "old", INFINITY) && read_value(segment, &key, back, sizeof back, &token) == 3);
    CHECK(tseg_compare_and_set(segment, &key, &value, INFINITY, time_now, &token) == TSEG_TOO_LARGE);
    CHECK(read_value(segment, &key, back, sizeof back, NULL) < 0);
    for (size_t bytes = 0; bytes < 200; bytes++) {
        value.body_bytes = bytes;
        CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
        CHECK(read_value(segment, &key, back, sizeof back, NULL) == (long)bytes);
        CHECK(memcmp(large, back, bytes) == 0);
    }
    /* A reader misses while its value is written in place, so no more than 4 KB are. */
    for (uint64_t bytes = 4096; bytes <= 4097; bytes++) {
        tseg_stats before, after;
        value.body_bytes = bytes;
        CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
        tseg_collect_stats(segment, &before);
        CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
        tseg_collect_stats(segment, &after);
        CHECK(after.process[TSEG_COUNT_IN_PLACE] - before.process[TSEG_COUNT_IN_PLACE] == (bytes == 4096));
    }
}

static const char *number_text(unsigned number)
{
    static char text[16];
    snprintf(text, sizeof text, "small %u", number);
    return text;
}

static void set_number(tseg *segment, unsigned number, const tseg_value *value)
{
    tseg_key key = key_of(segment, number_text(number));
    CHECK(tseg_set(segment, &key, value, INFINITY, time_now) == TSEG_OK);
}

/* A large value over many small entries: each attempt passes and moves a bounded number, and then leaves the lock. */
static void test_a_large_value_over_small_ones(void)
{
    static uint8_t large[(16 << 20) + 1];
    tseg *segment = attach_or_die(NULL, 128 << 20, 1);
    tseg_value small = value_of(large, 300), value = value_of(large, sizeof large);
    tseg_key key = key_of(segment, "large");
    tseg_result result;
    tseg_stats before, after;
    unsigned attempts = 0;

    CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_TOO_LARGE);
    for (unsigned i = 0; i < 500000; i++) set_number(segment, i, &small);
    for (unsigned i = 0; i < 500000; i++) reads_as(segment, number_text(i), "");
    value.body_bytes = 16 << 20;
    do {
        tseg_collect_stats(segment, &before);
        result = tseg_set(segment, &key, &value, INFINITY, time_now);
        tseg_collect_stats(segment, &after);
        CHECK(before.entries - after.entries <= 4096);
        CHECK(after.shard[TSEG_COUNT_REAPPENDED] - before.shard[TSEG_COUNT_REAPPENDED] <= 64);
        attempts++;
    } while (result == TSEG_WOULD_WAIT);
    CHECK(result == TSEG_OK && attempts > 8 && after.shard[TSEG_COUNT_REAPPENDED] > 64);
    tseg_release(segment);
}

/* Hits keep an entry: a promotion takes them, and each pass of the main log takes one. Expiry ignores hits. */
static void test_what_leaves(void)
{
    static uint8_t bytes[30000];
    tseg *segment = attach_or_die(NULL, 1 << 20, 1);
    tseg_value large = value_of(bytes, sizeof bytes), small = value_of(bytes, 300);
    tseg_key key = key_of(segment, "hot");
    tseg_stats stats;

    for (int round = 0; round < 3; round++) {
        CHECK(tseg_set(segment, &key, round < 2 ? &large : &small, round == 1 ? time_now + 1 : INFINITY, time_now) ==
              TSEG_OK);
        for (int i = 0; i < 5; i++) CHECK(read_value(segment, &key, bytes, sizeof bytes, NULL) > 0);
        time_now += 2;
        for (unsigned i = 0; i < 1000; i++) set_number(segment, i, round == 2 && i < 900 ? &small : &large);
        CHECK(read_value(segment, &key, bytes, sizeof bytes, NULL) < 0);
        tseg_collect_stats(segment, &stats);
        CHECK(stats.shard[TSEG_COUNT_REAPPENDED] == 3 && stats.shard[TSEG_COUNT_PROMOTED] == (round == 2));
        CHECK(stats.shard[TSEG_COUNT_EVICTED_EXPIRED] == (round > 0));
    }
    /* These keys left more entries ago than the main log has, so they are no ghosts any more. */
    for (unsigned i = 200; i < 300; i++) set_number(segment, i, &small);
    tseg_collect_stats(segment, &stats);
    CHECK(stats.shard[TSEG_COUNT_EVICTED_SMALL] && !stats.shard[TSEG_COUNT_GHOST_HITS]);
    tseg_release(segment);
}

/* A full index drops entries without hits. */
static void test_a_full_index(void)
{
    tseg *segment = attach_or_die(NULL, 1 << 20, 1);
    tseg_value value = value_of("", 0);
    unsigned found = 0, of_small = 0;
    tseg_stats stats = {0};

    for (unsigned i = 0; i < 6000; i++) {
        set_number(segment, i, &value);
        if (i == 5000) tseg_collect_stats(segment, &stats);
        for (int hit = 0; hit < 3 && i >= 1000 && i < 1100; hit++) found += reads_as(segment, number_text(i), "");
    }
    CHECK(stats.shard[TSEG_COUNT_EVICTED_INDEX] < 60); /* of 5672 slots: both buckets of a key fill evenly */
    tseg_collect_stats(segment, &stats);
    for (unsigned i = 0; i < 500; i++) of_small += reads_as(segment, number_text(i), "");
    found = 0;
    for (unsigned i = 1000; i < 1100; i++) found += reads_as(segment, number_text(i), "");
    CHECK(stats.shard[TSEG_COUNT_EVICTED_INDEX] > 100 && found == 100 && of_small < 400);
    tseg_release(segment);
}

/* A writer that died during a move leaves slots that lead behind the tail. They take no room from entries. */
static void test_slots_of_a_dead_move(void)
{
    tseg *segment = attach_or_die(NULL, 1 << 20, 1);
    tseg_key key = key_of(segment, "key");
    tseg_stats stats;

    for (unsigned i = 0; i < 2 * TSEG_BUCKET_SLOTS; i++)
        atomic_store(tseg_view_of(segment, 0).index + key.bucket[i % 2] + i / 2,
                     tseg_slot_word(1, TSEG_MAIN, key.fingerprint, TSEG_HITS_MASK));
    CHECK(set_text(segment, "key", "value", INFINITY) && reads_as(segment, "key", "value"));
    tseg_collect_stats(segment, &stats);
    CHECK(stats.entries <= 1 && !stats.shard[TSEG_COUNT_EVICTED_INDEX]);
    tseg_release(segment);
}

/* The hash of this key has the fingerprint of an empty slot. */
static void test_an_empty_fingerprint(tseg *segment)
{
    tseg_key key;
    unsigned i = 0;

    do key = key_of(segment, number_text(i++));
    while (key.hash >> 35 & (TSEG_FINGERPRINT_MASK >> TSEG_FINGERPRINT_SHIFT));
    CHECK(delete_key(segment, &key) == TSEG_ABSENT);
    check_counts(segment);
}

static void test_clear_and_walk(tseg *segment)
{
    char text[32];
    tseg_key large = key_of(segment, "large");
    tseg_cursor cursor = {0};
    uint64_t cleared = 0;
    unsigned seen = 0;
    tseg_batch batch = {0};
    tseg_stats stats;

    tseg_clear_at_once(segment);
    tseg_collect_stats(segment, &stats);
    CHECK(stats.entries == 0 && stats.used_bytes == 0);
    CHECK(reads_as(segment, "large", NULL) && delete_key(segment, &large) == TSEG_ABSENT);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%s:%d", i % 2 ? "odd" : "even", i);
        CHECK(set_text(segment, text, text, INFINITY));
    }
    while (tseg_walk(segment, &cursor, "odd:", 4, time_now, &batch) == TSEG_OK) seen += batch.count;
    CHECK(seen == 50);
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        CHECK(clear_shard(segment, shard, "odd:", 4, &cleared) == TSEG_OK);
    CHECK(cleared == 50);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%s:%d", i % 2 ? "odd" : "even", i);
        CHECK(reads_as(segment, text, i % 2 ? NULL : text));
    }
    free(batch.bytes);
}

/* A key that is shorter than the prefix, although the zeros after it would match. */
static void test_prefix_beyond_a_key(tseg *segment)
{
    static const char prefix[12] = "abc";
    uint64_t cleared = 0;

    CHECK(set_text(segment, "abc", "abc", INFINITY));
    for (uint32_t count = 4; count <= sizeof prefix; count++) {
        for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
            CHECK(clear_shard(segment, shard, prefix, count, &cleared) == TSEG_OK && cleared == 0);
        CHECK(walked(segment, prefix, count, time_now) == 0);
    }
    CHECK(reads_as(segment, "abc", "abc") && walked(segment, prefix, 3, time_now) == 1);
}

/* Tokens have 32 bits of the sequence. At its end an entry is appended anew, so that no token comes back. */
static void test_the_end_of_a_sequence(tseg *segment)
{
    char buffer[16];
    tseg_key key = key_of(segment, "sequence");
    tseg_value value = value_of("new", 3);
    tseg_token before, after;
    tseg_entry entry;

    for (int touched = 0; touched < 2; touched++) {
        CHECK(set_text(segment, "sequence", "old", INFINITY) && tseg_find(segment, &key, &entry) == TSEG_OK);
        atomic_store(entry.entry + TSEG_ENTRY_LENGTHS, (entry.lengths >> 32 << 32) | TSEG_LAST_SEQUENCE);
        CHECK(read_value(segment, &key, buffer, sizeof buffer, &before) == 3);
        if (touched) CHECK(tseg_touch(segment, &key, INFINITY, time_now) == TSEG_ABSENT);
        CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
        CHECK(read_value(segment, &key, buffer, sizeof buffer, &after) == 3);
        CHECK(after.origin != before.origin && after.sequence < TSEG_LAST_SEQUENCE);
    }
}

/* Random calls on a small segment that evicts constantly: an existing entry always has the last written value. */
static void test_against_model(tseg *segment, unsigned long calls, uint64_t seed)
{
    enum { KEYS = 3000, LARGEST = 3000 };
    static struct { uint32_t version; uint32_t bytes; bool deleted; } model[KEYS];
    static uint8_t buffer[LARGEST + 8], back[LARGEST + 8];
    unsigned long hits = 0;

    for (unsigned long i = 0; i < calls; i++) {
        uint64_t random = next_random(&seed);
        uint32_t number = (uint32_t)((random & 0xffff) * (random >> 16 & 0xffff) % KEYS), call = random >> 40 & 7;
        char text[40];
        snprintf(text, sizeof text, "key:%0*u", (int)(number % 20), number);
        tseg_key key = key_of(segment, text);
        if (call == 0) {
            delete_key(segment, &key);
            model[number].deleted = true;
            CHECK(read_value(segment, &key, back, sizeof back, NULL) < 0);
        } else if (call <= 2) {
            uint32_t bytes = (uint32_t)(random >> 44 & 1 ? model[number].bytes : random >> 45 & 0x7ff) + 8;
            if (bytes > LARGEST) bytes = LARGEST;
            model[number].version++;
            model[number].bytes = bytes;
            model[number].deleted = false;
            memset(buffer, (int)(number + model[number].version), bytes);
            memcpy(buffer, &number, 4);
            memcpy(buffer + 4, &model[number].version, 4);
            tseg_value value = value_of(buffer, bytes);
            CHECK(tseg_set(segment, &key, &value, INFINITY, time_now) == TSEG_OK);
        } else {
            long count = read_value(segment, &key, back, sizeof back, NULL);
            if (count < 0) continue;
            hits++;
            CHECK(!model[number].deleted && count == (long)model[number].bytes);
            CHECK(memcmp(back, &number, 4) == 0 && memcmp(back + 4, &model[number].version, 4) == 0);
            memset(buffer, (int)(number + model[number].version), LARGEST);
            CHECK(memcmp(back + 8, buffer, (size_t)count - 8) == 0);
        }
    }
    CHECK(hits > calls / 20);
}

/* No position is issued twice: after the last one the segment retires, and the file is recreated. */
static void test_last_position(const char *path)
{
    tseg *segment = attach_or_die(path, 1 << 20, 1), *next;
    tseg_shard *control = tseg_view_of(segment, 0).control;
    tseg_key key = key_of(segment, "last");
    tseg_value value = value_of("x", 1);

    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK && !tseg_is_retired(segment));
    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t near_end = TSEG_MAX_POSITION - 3 * segment->geometry.log_units[log];
        atomic_store(&control->head[log], near_end);
        atomic_store(&control->tail[log], near_end);
    }
    key = key_of(segment, "one too many");
    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_RETIRED && tseg_is_retired(segment));
    next = attach_or_die(path, 1 << 20, 1);
    CHECK(next->file_id != segment->file_id && !tseg_is_retired(next));
    key = key_of(next, "last");
    CHECK(tseg_set(next, &key, &value, INFINITY, 0) == TSEG_OK);
    tseg_release(next);
    tseg_release(segment);
}

/* Another thread of the process that runs while the segment is unmapped finds a closed handle. */
static tseg_handle closed_handle;
static bool run_beside(tseg_host *host, tseg_step *step, void *argument)
{
    static const atomic_bool stop;

    (void)host;
    CHECK(!closed_handle.attached);
    return step(argument, &stop);
}

static void test_a_call_during_the_unmapping(void)
{
    tseg_host host = {.run = run_beside};

    closed_handle.attached = attach_or_die(NULL, 1 << 20, 1);
    tseg_handle_close(&closed_handle, &host);
}

int main(int count, char **arguments)
{
    unsigned long calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 200000;
    tseg *segments[2];
    char path[] = "/tmp/tiercel-native-XXXXXX";

    close(mkstemp(path));
    segments[0] = attach_or_die(NULL, 4 << 20, 1);
    segments[1] = attach_or_die(path, 3 << 20, 4);
    for (int i = 0; i < 2; i++) {
        time_now = 1000.0;
        test_basics(segments[i]);
        test_expiry(segments[i]);
        test_sizes(segments[i]);
        test_clear_and_walk(segments[i]);
        test_prefix_beyond_a_key(segments[i]);
        test_the_end_of_a_sequence(segments[i]);
        test_an_empty_fingerprint(segments[i]);
        test_against_model(segments[i], calls, 42 + (uint64_t)i);
        tseg_stats stats;
        check_counts(segments[i]);
        tseg_collect_stats(segments[i], &stats);
        CHECK(stats.entries > 100 && stats.used_bytes <= stats.log_bytes && stats.live_bytes <= stats.used_bytes);
        CHECK(stats.shard[TSEG_COUNT_RESETS] == 0 && stats.shard[TSEG_COUNT_TAKEOVERS] == 0);
        CHECK(stats.shard[TSEG_COUNT_PROMOTED] && stats.shard[TSEG_COUNT_REAPPENDED] &&
              stats.process[TSEG_COUNT_IN_PLACE]);
        tseg_release(segments[i]);
    }
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    test_last_position(path);
    test_a_large_value_over_small_ones();
    test_what_leaves();
    test_a_full_index();
    test_slots_of_a_dead_move();
    test_a_call_during_the_unmapping();
    CHECK(tseg_remove(NULL, path, true, &error));
    printf("operations: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
