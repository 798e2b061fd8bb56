/* The memo's table and its admission, without Ruby: a value is a number. */
#include "check.h"
#include "memo.h"

enum { KB = 1024, MEMO_BYTES = 1 << 20, TRIED = 3 };

typedef struct {
    tseg_memo memo;
    uint64_t random;
    unsigned long reads, paused;
    bool decodes;
} memo_reader;

static memo_reader new_reader(uint64_t limit_bytes)
{
    memo_reader new = {.random = 42};
    tseg_memo_set_limit(&new.memo, limit_bytes);
    return new;
}

static uintptr_t value_of_version(uint32_t number, uint32_t version)
{
    return (uintptr_t)number << 16 | (version & 0x7fff) << 1 | 1;
}

/* As a read of the segment does it; what is kept is of the version that was asked for. */
static bool read_one(memo_reader *reader, uint32_t number, uint32_t version, uint32_t bytes)
{
    tseg_memo *memo = &reader->memo;
    uint64_t hash = tseg_mix((number + 1) * UINT64_C(0x9e3779b97f4a7c15));
    tseg_token token = {1, (uint64_t)number * 64, version * 2};
    tseg_memo_slot *slot;

    reader->reads++;
    if (memo->pause) {
        memo->pause--;
        reader->paused++;
        return false;
    }
    slot = tseg_memo_find(memo, hash, &token);
    if (slot) {
        bool tried = memo->failed != 0;
        CHECK(slot->value == (tried ? TRIED : value_of_version(number, version)));
        tseg_memo_hit(memo, slot, reader->decodes);
        return !tried;
    }
    if (tseg_memo_is_read_again(memo, hash, &token, reader->decodes ? 0 : bytes)) {
        if (memo->failed) tseg_memo_try(memo, hash, &token, bytes, TRIED);
        else if (tseg_memo_make_room(memo, bytes))
            tseg_memo_keep(memo, hash, &token, INFINITY, value_of_version(number, version), 0, bytes);
    }
    CHECK(memo->bytes <= memo->limit_bytes);
    return false;
}

/* Reads keys at random; the share of hits among the last half of the reads. */
static double read_many(memo_reader *reader, uint32_t keys, uint32_t bytes, unsigned long reads)
{
    unsigned long hits = 0;

    for (unsigned long i = 0; i < reads; i++) {
        bool hit = read_one(reader, (uint32_t)(next_random(&reader->random) % keys), 0, bytes);
        if (i >= reads / 2) hits += hit;
    }
    return (double)hits / (double)(reads - reads / 2);
}

static void test_what_fits_stays(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    /* In turn: marks of keys that meet in a bucket do not drive each other out. */
    for (uint32_t i = 0; i < 200; i++) CHECK(!read_one(&reader, i % 100, 0, KB));
    for (uint32_t i = 0; i < 100; i++) CHECK(read_one(&reader, i, 0, KB));
    CHECK(!reader.memo.proven);
    CHECK(read_many(&reader, 600, KB, 100000) == 1.0);
    CHECK(reader.memo.count == 600 && reader.memo.pauses == 0 && reader.memo.evictions == 0);
    tseg_memo_clear(&reader.memo);
    CHECK(reader.memo.bytes == 0 && reader.memo.count == 0);
}

/* Short Strings have an eighth until hits of that have shown that they pay. What is long has all from the start. */
static void test_short_strings_have_a_part_first(void)
{
    for (int all = 0; all < 2; all++) {
        memo_reader reader = new_reader(8 * MEMO_BYTES);
        uint32_t keys = all ? 80000 : 6000, most = 0;

        for (uint32_t i = 0; i < 200; i++) read_one(&reader, 100000 + i % 100, 0, 20 * KB);
        CHECK(reader.memo.count == 100);
        for (unsigned long i = 0; i < 400000 && !reader.memo.pauses; i++) {
            read_one(&reader, (uint32_t)(next_random(&reader.random) % keys), 0, KB);
            if (reader.memo.count > most) most = reader.memo.count;
        }
        CHECK(all ? reader.memo.pauses && most < 1200 : reader.memo.proven && reader.memo.count > 5000);
        tseg_memo_clear(&reader.memo);
    }
}

/* Short Strings, of which far more are read than fit: nearly all reads do without the memo, and it is empty then. */
static void test_what_does_not_pay_is_left_alone(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    read_many(&reader, 8000, KB, 2000000);
    CHECK(reader.memo.pauses > 2 && reader.memo.pauses < 30);
    CHECK(reader.paused > reader.reads * 9 / 10);
    CHECK(!reader.memo.pause || (reader.memo.bytes == 0 && reader.memo.count == 0));
    CHECK(reader.memo.evictions > 0 && reader.memo.evictions < 1500); /* the trials since have kept nothing */
    /* A working set that fits gets in when the pause is over, and stays. */
    while (reader.memo.pause) read_one(&reader, 1, 0, KB);
    reader.paused = 0;
    CHECK(read_many(&reader, 600, KB, 200000) == 1.0 && reader.paused == 0);
    tseg_memo_clear(&reader.memo);
}

/* Long ones pay with few hits, and so do short ones that had to be decoded. */
static void test_what_pays_with_few_hits_is_kept(void)
{
    for (int decodes = 0; decodes < 2; decodes++) {
        memo_reader reader = new_reader(4 * MEMO_BYTES);
        uint32_t bytes = decodes ? KB : 24 * KB;
        reader.decodes = decodes;
        CHECK(read_many(&reader, 40 * MEMO_BYTES / bytes, bytes, 400000) > 0.07);
        CHECK(reader.memo.pauses == 0 && reader.memo.evictions > 0);
        tseg_memo_clear(&reader.memo);
    }
}

/* Something else is read, much more than the memo holds; what paid before is soon there again. */
static void test_a_scan_costs_a_short_pause_at_most(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    read_many(&reader, 40, 20 * KB, 20000);
    for (uint32_t i = 1000; i < 101000; i++) read_one(&reader, i, 0, 20 * KB);
    CHECK(reader.memo.pauses == 0); /* a scan fills nothing, so nothing had to go for it */
    for (unsigned long round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 50000; i++) read_one(&reader, 200 + i % 2000, 0, 20 * KB);
    CHECK(reader.memo.pauses > 0);
    reader.paused = 0;
    CHECK(read_many(&reader, 40, 20 * KB, 400000) == 1.0 && reader.paused < 200000);
    tseg_memo_clear(&reader.memo);
}

/* A trial is made with some of the keys; where there are few keys, that may be none. */
static void test_few_keys_are_kept_after_a_pause(void)
{
    for (uint32_t first = 10000; first < 10020; first++) {
        memo_reader reader = new_reader(MEMO_BYTES);
        unsigned long hits = 0;

        while (!reader.memo.pauses) read_many(&reader, 8000, KB, 1000);
        while (reader.memo.pause) read_one(&reader, 1, 0, KB);
        for (uint32_t i = 0; i < 60000; i++) hits += read_one(&reader, first + i % 2, 0, 100 * KB);
        CHECK(hits > 40000 && reader.memo.failed == 0);
        tseg_memo_clear(&reader.memo);
    }
}

/* Keys are written anew while they are read, and lengths change. */
static void test_against_what_was_written(void)
{
    enum { KEYS = 500 };
    static uint32_t versions[KEYS];
    memo_reader reader = new_reader(MEMO_BYTES / 2);

    for (unsigned long i = 0; i < 400000; i++) {
        uint64_t random = next_random(&reader.random);
        uint32_t number = (uint32_t)((random & 0xffff) * (random >> 16 & 0xffff) % KEYS);
        if ((random >> 40) % 50 == 0) versions[number]++;
        read_one(&reader, number, versions[number], 640 + (number * 37 + versions[number] * 11) % 9000);
        if ((random >> 46) % 20000 == 0) tseg_memo_clear(&reader.memo);
    }
    CHECK(reader.memo.hits > 20000 && reader.memo.evictions > 100);
    tseg_memo_clear(&reader.memo);
}

int main(void)
{
    test_what_fits_stays();
    test_short_strings_have_a_part_first();
    test_what_does_not_pay_is_left_alone();
    test_what_pays_with_few_hits_is_kept();
    test_a_scan_costs_a_short_pause_at_most();
    test_few_keys_are_kept_after_a_pause();
    test_against_what_was_written();
    printf("memo: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
