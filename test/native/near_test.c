/* A segment as a near tier: the callers that may fill during changes, and the time until dead writers are forgotten. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>

#include "check.h"

enum { PERIOD_AT = 16, THREADS = 8, ROUNDS = 20000 };

static tseg *segment;
static tseg_key key;

static uint64_t word_now(void) { return tseg_near_epoch(segment, &key); }

static uint64_t begin(void) { return tseg_near_begin(segment, tseg_near_stripe(segment, &key)); }

static bool end(uint64_t begun) { return tseg_near_end(segment, tseg_near_stripe(segment, &key), begun); }

static tseg_result fill(uint64_t epoch)
{
    tseg_value value = value_of("filled", 6);
    return tseg_near_fill(segment, &key, &value, INFINITY, 1000.0, epoch);
}

/* Pretends that the stripe was written this many periods ago; returns the begun state, moved likewise. */
static uint64_t periods_pass(uint64_t begun, uint64_t periods)
{
    tseg_word *at = segment->stripes + tseg_near_stripe(segment, &key);
    uint64_t word = tseg_load(at), period = ((word >> PERIOD_AT) - periods) & 0xffff;
    uint64_t own = ((begun >> PERIOD_AT) - periods) & 0xffff;

    if (periods & 1) word = (word & ~UINT64_C(0xffff)) | (word & 0xff) << 8 | (word >> 8 & 0xff);
    tseg_store(at, (word & ~(UINT64_C(0xffff) << PERIOD_AT)) | period << PERIOD_AT);
    return (begun & ~(UINT64_C(0xffff) << PERIOD_AT)) | own << PERIOD_AT;
}

static void test_one_writer(void)
{
    uint64_t before = word_now(), begun;

    CHECK(!tseg_near_is_changing(before));
    begun = begin();
    CHECK(tseg_near_is_changing(begun) && tseg_near_is_alone(begun) && word_now() == begun);
    CHECK(fill(before) == TSEG_CHANGED);
    CHECK(fill(begun) == TSEG_OK && fill(begun) == TSEG_PRESENT);
    begun = periods_pass(begun, UINT64_MAX); /* the clock of the writer's processor is one period ahead */
    CHECK(tseg_near_is_changing(word_now()));
    begun = periods_pass(begun, 1);
    CHECK(end(begun));
    CHECK(!tseg_near_is_changing(word_now()) && word_now() != before && word_now() != begun);
    CHECK(fill(word_now()) == TSEG_PRESENT);
    CHECK(delete_key(segment, &key) == TSEG_OK);
    CHECK(fill(before) == TSEG_CHANGED && fill(begun) == TSEG_CHANGED && fill(word_now()) == TSEG_OK);
    CHECK(delete_key(segment, &key) == TSEG_OK);
}

static void test_two_writers(void)
{
    uint64_t one = begin(), two = begin();

    CHECK(tseg_near_is_alone(one) && !tseg_near_is_alone(two));
    CHECK(fill(one) == TSEG_CHANGED);
    CHECK(end(one) && tseg_near_is_changing(word_now()));
    CHECK(end(two) && !tseg_near_is_changing(word_now()));
    CHECK(delete_key(segment, &key) == TSEG_ABSENT);
}

static void test_the_dead_are_forgotten(void)
{
    for (int turns = 0; turns < 4; turns++) {
        uint64_t dead = begin(), alive;

        dead = periods_pass(dead, 1);
        CHECK(tseg_near_is_changing(word_now()));
        alive = begin();
        CHECK(!tseg_near_is_alone(alive) && end(alive));
        CHECK(tseg_near_is_changing(word_now())); /* other writers do not prolong it */
        dead = periods_pass(dead, 1);
        CHECK(!tseg_near_is_changing(word_now()));
        alive = begin();
        CHECK(tseg_near_is_alone(alive));
        CHECK(!end(dead) && tseg_near_is_changing(word_now())); /* it was alive, and replaces no other writer */
        CHECK(fill(alive) == TSEG_CHANGED && end(alive) && !tseg_near_is_changing(word_now()));
        periods_pass(0, (uint64_t)turns * 7);
    }
}

/* Two writers of successive periods, and nobody touches the stripe for longer. */
static void test_two_dead_are_forgotten_together(void)
{
    for (uint64_t periods = 2; periods < 6; periods++) {
        periods_pass(begin(), 1);
        begin();
        CHECK(tseg_near_is_changing(word_now()));
        periods_pass(0, periods);
        CHECK(!tseg_near_is_changing(word_now()));
    }
}

static void test_one_who_was_forgotten_alone(void)
{
    uint64_t slow = periods_pass(begin(), 2), epoch = word_now();

    CHECK(!tseg_near_is_changing(epoch));
    CHECK(!end(slow));
    CHECK(fill(epoch) == TSEG_CHANGED);
}

static void test_too_many(void)
{
    static uint64_t begun[400];

    for (int i = 0; i < 400; i++) begun[i] = begin();
    CHECK((word_now() & 0xff) + (word_now() >> 8 & 0xff) >= 0xff); /* none overflowed */
    for (int i = 0; i < 400; i++) end(begun[i]);
    CHECK(tseg_near_is_changing(word_now())); /* not counted exactly: until the period ends */
    periods_pass(0, 2);
    CHECK(!tseg_near_is_changing(word_now()));
    test_one_writer();
}

static tseg_begun *begin_set(const uint32_t *stripes, uint64_t count, size_t *bytes)
{
    tseg_begun *begun;

    *bytes = tseg_begun_bytes(stripes ? count : segment->geometry.stripes);
    begun = malloc(*bytes);
    tseg_near_begin_set(segment, stripes, count, begun);
    return begun;
}

static void test_a_set_of_stripes(void)
{
    const uint32_t stripe = tseg_near_stripe(segment, &key), twice[] = {stripe, stripe};
    tseg_begun *begun;
    uint64_t epoch;
    size_t bytes;

    begun = begin_set(twice, 1, &bytes);
    CHECK(tseg_is_begun(begun, bytes) && begun->count == 1 && begun->file_id == segment->file_id);
    CHECK(tseg_near_own_epoch(begun, &epoch) && (epoch ^ segment->file_id) == word_now());
    CHECK(tseg_near_end_set(segment, begun) && !tseg_near_is_changing(word_now()));
    free(begun);
    begun = begin_set(twice, 2, &bytes);
    CHECK(tseg_is_begun(begun, bytes) && !tseg_near_own_epoch(begun, &epoch) && tseg_near_is_changing(word_now()));
    CHECK(tseg_near_end_set(segment, begun) && !tseg_near_is_changing(word_now()));
    free(begun);
    begun = begin_set(NULL, 0, &bytes);
    CHECK(begun->count == segment->geometry.stripes && tseg_near_is_changing(word_now()));
    CHECK(!tseg_near_own_epoch(begun, &epoch));
    CHECK(tseg_near_end_set(segment, begun) && !tseg_near_is_changing(word_now()));
    begun->file_id++;
    epoch = word_now();
    CHECK(!tseg_near_end_set(segment, begun) && word_now() == epoch);
    free(begun);
}

/* The last tier has a growing number; a copy is never older than the number when the read began. */
static _Atomic uint64_t behind;

static void write_behind(uint64_t number)
{
    double expires_at;
    uint64_t begun = begin();
    tseg_value value = value_of(&number, sizeof number);

    tseg_delete(segment, &key, &expires_at);
    atomic_store(&behind, number);
    if (!tseg_near_is_alone(begun) || tseg_near_fill(segment, &key, &value, INFINITY, 1000.0, begun) != TSEG_OK)
        tseg_near_invalidate(segment, &key, &expires_at);
    CHECK(end(begun));
}

static void read_through(void)
{
    uint64_t least = atomic_load(&behind), found, epoch;
    tseg_value value = value_of(&found, sizeof found);
    char bytes[16];

    if (read_value(segment, &key, bytes, sizeof bytes, NULL) == sizeof found) {
        memcpy(&found, bytes, sizeof found);
        CHECK(found >= least);
        return;
    }
    epoch = word_now();
    found = atomic_load(&behind);
    if (!tseg_near_is_changing(epoch)) tseg_near_fill(segment, &key, &value, INFINITY, 1000.0, epoch);
}

static void *reader(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) read_through();
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, reader, NULL);
    for (uint64_t number = 1; number <= ROUNDS; number++) write_behind(number);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void)
{
    segment = attach_or_die(NULL, 4 << 20, 1);
    key = key_of(segment, "near");
    test_one_writer();
    test_two_writers();
    test_the_dead_are_forgotten();
    test_two_dead_are_forgotten_together();
    test_one_who_was_forgotten_alone();
    test_too_many();
    test_a_set_of_stripes();
    test_threads();
    tseg_release(segment);
    printf("near: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
