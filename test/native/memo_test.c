/* The memo's table and its admission rule, without Ruby: a value is a number. */
#include "check.h"
#include "memo.h"

enum { KB = 1024, MEMO_BYTES = 4 << 20 };

typedef struct {
    tseg_memo memo;
    uint64_t random;
    unsigned long entered;
    bool decodes;
} memo_reader;

static memo_reader new_reader(uint64_t limit_bytes)
{
    memo_reader new = {.random = 42};
    tseg_memo_set_limit(&new.memo, limit_bytes, TSEG_MEMO_LEAST_BYTES);
    return new;
}

static uintptr_t value_of_version(uint32_t number, uint32_t version)
{
    return (uintptr_t)number << 16 | (version & 0x7fff) << 1 | 1;
}

/* Reads like the segment; a kept value must have the requested version. */
static bool read_one(memo_reader *reader, uint32_t number, uint32_t version, uint32_t bytes)
{
    tseg_memo *memo = &reader->memo;
    tseg_token token = {1, (uint64_t)number * 64, version * 2};
    tseg_memo_candidate candidate = {tseg_mix((number + 1) * UINT64_C(0x9e3779b97f4a7c15)), &token, bytes,
                                     reader->decodes};
    tseg_memo_slot *slot = tseg_memo_find(memo, candidate.hash, &token);
    unsigned reads;

    if (slot) {
        CHECK(slot->value == value_of_version(number, version));
        tseg_memo_hit(memo, slot);
        return true;
    }
    reads = tseg_memo_wants(memo, &candidate) ? tseg_memo_admit(memo, &candidate) : 0;
    if (reads)
        reader->entered += tseg_memo_keep(memo, &candidate, INFINITY, value_of_version(number, version), 0, reads);
    CHECK(memo->bytes <= memo->limit_bytes);
    return false;
}

/* Reads keys at random; returns the hit ratio of the second half. */
static double read_many(memo_reader *reader, uint32_t keys, uint32_t bytes, unsigned long reads)
{
    unsigned long hits = 0;

    for (unsigned long i = 0; i < reads; i++) {
        bool hit = read_one(reader, (uint32_t)(next_random(&reader->random) % keys), 0, bytes);
        if (i >= reads / 2) hits += hit;
    }
    return (double)hits / (double)(reads - reads / 2);
}

/* The first read never counts; from the second one on, a value enters once its copies have cost as much as an entry. */
static void test_the_price_of_an_entry(void)
{
    static const struct { uint32_t bytes; bool decodes; unsigned reads; } cases[] = {
        {KB, false, 37}, {8 * KB, false, 6}, {24 * KB, false, 3}, {100 * KB, false, 2}, {KB, true, 2}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        memo_reader reader = new_reader(MEMO_BYTES);
        reader.decodes = cases[i].decodes;
        for (unsigned read = 1; read <= cases[i].reads; read++) {
            CHECK(!read_one(&reader, 7, 0, cases[i].bytes));
            CHECK(reader.memo.count == (read == cases[i].reads));
        }
        CHECK(read_one(&reader, 7, 0, cases[i].bytes));
        tseg_memo_clear(&reader.memo);
        CHECK(reader.memo.bytes == 0 && reader.memo.count == 0);
    }
}

static void test_a_working_set_that_fits_stays(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    CHECK(read_many(&reader, 150, 24 * KB, 20000) == 1.0);
    CHECK(reader.memo.count == 150 && reader.memo.evictions == 0 && reader.entered == 150);
    tseg_memo_clear(&reader.memo);
}

/* Short Strings that all fit, although each must be read often before it enters. */
static void test_short_strings_that_fit_stay(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    CHECK(read_many(&reader, 2000, KB, 400000) == 1.0);
    CHECK(reader.memo.count == 2000 && reader.memo.evictions == 0);
    tseg_memo_clear(&reader.memo);
}

/* Ten times the capacity: as many hits as possible, and few evictions. */
static void test_a_working_set_that_is_too_large_does_not_displace_itself(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);
    unsigned long hits = 0;

    CHECK(read_many(&reader, 1700, 24 * KB, 200000) > 0.08);
    CHECK(reader.memo.evictions < 4000);
    tseg_memo_clear(&reader.memo);
    reader = new_reader(MEMO_BYTES);
    for (uint32_t i = 0; i < 100000; i++) hits += read_one(&reader, i % 1700, 0, 24 * KB);
    CHECK(hits > 8000 && reader.memo.evictions < 200);
    tseg_memo_clear(&reader.memo);
}

static void test_a_scan_fills_nothing(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    read_many(&reader, 100, 24 * KB, 20000);
    for (uint32_t i = 1000; i < 101000; i++) read_one(&reader, i, 0, 24 * KB);
    CHECK(reader.entered == 100);
    CHECK(read_many(&reader, 100, 24 * KB, 1000) == 1.0);
    tseg_memo_clear(&reader.memo);
}

/* Another working set replaces the first one. */
static void test_what_was_popular_gives_way(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    CHECK(read_many(&reader, 150, 24 * KB, 100000) == 1.0);
    for (uint32_t i = 0; i < 150000; i++) read_one(&reader, 10000 + i % 150, 0, 24 * KB);
    for (uint32_t i = 0; i < 150; i++) CHECK(read_one(&reader, 10000 + i, 0, 24 * KB));
    tseg_memo_clear(&reader.memo);
}

/* A smaller limit drops the excess; a larger one drops nothing. */
static void test_a_bound_that_changes(void)
{
    memo_reader reader = new_reader(MEMO_BYTES);

    read_many(&reader, 150, 24 * KB, 20000);
    tseg_memo_resize(&reader.memo, MEMO_BYTES / 2);
    CHECK(reader.memo.bytes <= MEMO_BYTES / 2 && reader.memo.count > 75);
    tseg_memo_resize(&reader.memo, MEMO_BYTES);
    CHECK(reader.memo.count > 75);
    CHECK(read_many(&reader, 150, 24 * KB, 20000) == 1.0);
    tseg_memo_resize(&reader.memo, 0);
    CHECK(reader.memo.count == 0 && reader.memo.bytes == 0);
    CHECK(read_many(&reader, 150, 24 * KB, 1000) == 0.0);
    tseg_memo_clear(&reader.memo);
}

/* An eighth of the segment for all processes together, at most 16 MB for each, and none below 1 MB. */
static void test_shares_of_the_machines_budget(void)
{
    const uint64_t mb = 1 << 20;

    CHECK(tseg_memo_share(256 * mb, 1, 1) == 16 * mb);
    CHECK(tseg_memo_share(256 * mb, 10, 1) == 256 * mb / 80);
    CHECK(tseg_memo_share(256 * mb, 1, 2) == 8 * mb);
    CHECK(tseg_memo_share(256 * mb, 32, 1) == mb);
    CHECK(tseg_memo_share(256 * mb, 33, 1) == 0);
    CHECK(tseg_memo_share(4 * mb, 1, 1) == 0);
    CHECK(tseg_memo_share(64 * mb, 0, 0) == 8 * mb);
}

/* Keys are rewritten during reads, and lengths change. */
static void test_against_what_was_written(void)
{
    enum { KEYS = 500 };
    static uint32_t versions[KEYS];
    memo_reader reader = new_reader(MEMO_BYTES / 4);

    for (unsigned long i = 0; i < 400000; i++) {
        uint64_t random = next_random(&reader.random);
        uint32_t number = (uint32_t)((random & 0xffff) * (random >> 16 & 0xffff) % KEYS);
        if ((random >> 40) % 500 == 0) versions[number]++;
        read_one(&reader, number, versions[number], 640 + (number * 37 + versions[number] * 11) % 9000);
        if ((random >> 46) % 20000 == 0) tseg_memo_resize(&reader.memo, (random & 3) * MEMO_BYTES / 8);
        if ((random >> 46) % 40000 == 0) tseg_memo_clear(&reader.memo);
    }
    CHECK(reader.memo.hits > 20000 && reader.memo.evictions > 100);
    tseg_memo_clear(&reader.memo);
}

int main(void)
{
    test_the_price_of_an_entry();
    test_a_working_set_that_fits_stays();
    test_short_strings_that_fit_stay();
    test_a_working_set_that_is_too_large_does_not_displace_itself();
    test_a_scan_fills_nothing();
    test_what_was_popular_gives_way();
    test_a_bound_that_changes();
    test_shares_of_the_machines_budget();
    test_against_what_was_written();
    printf("memo: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
