/* The time until which a segment is covered: several listeners, gaps, and a listener that dies between its steps. */
#include <math.h>
#include <pthread.h>

#include "check.h"
#include "coverage.h"
#include "near.h"

enum { THREADS = 8, ROUNDS = 5000 };
#define TRUST_NS UINT64_C(3000000000)

static tseg *segment;
static tseg_key key;

static tseg_result fill(uint64_t epoch)
{
    tseg_value value = value_of("filled", 6);
    return tseg_near_fill(segment, &key, &value, INFINITY, 1000.0, epoch);
}

static void test_gaps(void)
{
    uint64_t now = tseg_monotonic_ns(), epoch = tseg_near_epoch(segment, &key);

    CHECK(tseg_covered_ns(segment) == 0 && !tseg_is_trusted(segment, TRUST_NS));
    CHECK(!tseg_cover(segment, 0, now, 0) && tseg_covered_ns(segment) == 0); /* no listener knows the past */
    tseg_begin_gap(segment);
    CHECK(fill(epoch) == TSEG_CHANGED && tseg_covered_ns(segment) == 0);
    tseg_end_gap(segment, now);
    CHECK(tseg_covered_ns(segment) == now && tseg_is_trusted(segment, TRUST_NS));
    CHECK(tseg_cover(segment, now, now + 5, 0) && tseg_covered_ns(segment) == now + 5);
    CHECK(tseg_cover(segment, now, now + 2, 0) && tseg_covered_ns(segment) == now + 5);
    CHECK(!tseg_cover(segment, now + 6, now + 7, 0) && tseg_covered_ns(segment) == now + 5);
    tseg_end_gap(segment, now + 1);
    CHECK(tseg_covered_ns(segment) == now + 5);
}

static void test_trust(void)
{
    uint64_t now = tseg_monotonic_ns();

    tseg_store(&segment->header->near_covered, now - TRUST_NS / 2);
    CHECK(tseg_is_trusted(segment, TRUST_NS) && !tseg_is_trusted(segment, TRUST_NS / 2 - TSEG_COARSE_NS));
    tseg_store(&segment->header->near_covered, now - TRUST_NS);
    CHECK(!tseg_is_trusted(segment, TRUST_NS));
}

/* Another program alters the word. */
static void test_times_to_come(void)
{
    uint64_t now = tseg_monotonic_ns(), wrong[] = {now + TRUST_NS, UINT64_MAX, UINT64_MAX / 2};

    for (int i = 0; i < 3; i++) {
        tseg_store(&segment->header->near_covered, wrong[i]);
        CHECK(!tseg_is_trusted(segment, TRUST_NS) && tseg_covered_ns(segment) == 0);
        CHECK(!tseg_cover(segment, 0, now, 0));
        tseg_end_gap(segment, now);
        CHECK(tseg_covered_ns(segment) == now);
    }
}

/* A listener of another server says nothing about this server's changes, so all copies are discarded first. */
static void test_servers(void)
{
    uint64_t now = tseg_monotonic_ns();

    tseg_find_gap(segment, 7);
    tseg_end_gap(segment, now);
    CHECK(!tseg_cover(segment, now - 5, now, 8) && !tseg_cover(segment, now - 5, now, 0));
    CHECK(tseg_cover(segment, now - 5, now + 1, 7) && tseg_covered_ns(segment) == now + 1);
    tseg_find_gap(segment, 0);
}

static bool take_seat(uint64_t process, bool is_busy)
{
    tseg_store(&segment->owner, process);
    return tseg_take_seat(segment, is_busy);
}

/* Two processes of the machine; a busy one keeps its seat only while there is no other candidate. */
static void test_seats(void)
{
    uint64_t owner = tseg_load(&segment->owner);

    CHECK(take_seat(1, false) && take_seat(512, false) && !take_seat(3, false));
    CHECK(take_seat(1, true) && !take_seat(3, true) && take_seat(3, false) && !take_seat(1, false));
    CHECK(take_seat(512, false) && take_seat(3, false));
    tseg_store(&segment->header->near_seats, tseg_load(&segment->header->near_seats) - 11 - (UINT64_C(11) << 32));
    CHECK(take_seat(1, true) && take_seat(4, false) && !take_seat(512, true));
    CHECK(!take_seat(0, false)); /* a process without a slot */
    tseg_store(&segment->header->near_seats, UINT64_MAX); /* altered by another program */
    CHECK(take_seat(1, false));
    tseg_store(&segment->header->near_seats, 0);
    tseg_store(&segment->owner, owner);
}

/* Each listener reports the messages it received; the covered time never decreases. */
static void *listen(void *argument)
{
    uint64_t since = tseg_monotonic_ns(), last = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t sent = tseg_monotonic_ns(), covered;
        if (i % 100 == 99) since = sent;
        if (!tseg_cover(segment, since, sent, 0)) {
            tseg_begin_gap(segment);
            tseg_end_gap(segment, sent);
        }
        covered = tseg_covered_ns(segment);
        CHECK(covered >= sent && covered >= last);
        last = covered;
    }
    return argument;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(threads + i, NULL, listen, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
    segment = attach_or_die(NULL, 4 << 20, 1);
    key = key_of(segment, "key");
    test_gaps();
    test_trust();
    test_times_to_come();
    test_servers();
    test_seats();
    test_threads();
    tseg_release(segment);
    printf("coverage: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
