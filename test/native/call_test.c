/* Calls that the core repeats: they wait for writers, follow the path to another file, and finally fail. */
#include "played_host.h"

/* A pass waits for a stuck writer for the longest permitted time. The next wait then starts again. */
static void test_a_wait_in_a_pass(tseg *one)
{
    played_host host = host_of(one, one);
    tseg_wait wait = {.begun = true, .ns = 5};

    CHECK(tseg_wait_in_pass(&host.base, one, 0, &wait) && wait.ns == 5 && host.blocks == 1);
    wait.ns = TSEG_LOCK_WAIT_NS;
    CHECK(tseg_wait_in_pass(&host.base, one, 0, &wait) && !wait.begun && wait.ns == 0 && host.blocks == 1);
    host.interrupted_at = 2;
    CHECK(!tseg_wait_in_pass(&host.base, one, 0, &wait));
}

/* A call that answers its attempts with these results, one after the other. */
typedef struct {
    tseg_call base;
    tseg_result results[6];
    int attempts, abandoned;
    tseg *seen[6];
} played_call;

static tseg_result play_attempt(tseg_call *base, tseg *segment)
{
    played_call *call = (played_call *)base;

    CHECK(call->attempts < 6 && segment->holds == 1);
    call->seen[call->attempts] = segment;
    return call->results[call->attempts++];
}

static tseg_result play_abandon(tseg_call *base, tseg *segment)
{
    CHECK(segment->holds == 1);
    ((played_call *)base)->abandoned++;
    return base->result;
}

static played_call call_of(tseg_result first) { return (played_call){.base = {play_attempt, play_abandon, 0, first}}; }

/* The call waits for writers, and continues in the file at the path. */
static void test_a_repeated_call(tseg *one, tseg *other)
{
    played_call call = call_of(TSEG_WOULD_WAIT);
    played_host host = host_of(one, other);

    call.results[0] = TSEG_WOULD_WAIT;
    call.results[1] = TSEG_RETIRED;
    call.results[2] = TSEG_WOULD_WAIT;
    call.results[3] = TSEG_PRESENT;
    host.moves_at = 3;
    CHECK(tseg_repeat_call(&host.base, &call.base) == TSEG_PRESENT && call.attempts == 4 && host.blocks == 2);
    CHECK(call.seen[0] == one && call.seen[1] == one && call.seen[2] == other && call.seen[3] == other);
    CHECK(!call.abandoned && one->holds == 0 && other->holds == 0);
}

/* Three retired files, an interrupt, a host without a segment, and results that no attempt can change. */
static void test_a_call_without_an_answer(tseg *one)
{
    played_host host = host_of(one, one), none = host_of(NULL, NULL);
    played_call retired = call_of(TSEG_RETIRED), interrupted = call_of(TSEG_WOULD_WAIT), busy = call_of(TSEG_BUSY);
    played_call homeless = call_of(TSEG_RETIRED);

    for (int i = 0; i < 6; i++) retired.results[i] = TSEG_RETIRED;
    CHECK(tseg_repeat_call(&host.base, &retired.base) == TSEG_RETIRED && retired.attempts == 3);
    interrupted.results[0] = TSEG_WOULD_WAIT;
    host.interrupted_at = 1;
    CHECK(tseg_repeat_call(&host.base, &interrupted.base) == TSEG_INTERRUPTED && interrupted.attempts == 1);
    CHECK(interrupted.abandoned == 1);
    CHECK(tseg_repeat_call(&host.base, &busy.base) == TSEG_BUSY && busy.attempts == 0 && busy.abandoned == 1);
    CHECK(tseg_repeat_call(&none.base, &homeless.base) == TSEG_INTERRUPTED && homeless.attempts == 0);
    CHECK(one->holds == 0);
}

/* If a segment is retired during a delete, the delete continues in the new file. */
static void test_a_delete_of_a_retired_file(tseg *one, tseg *other)
{
    tseg_key key = key_of(one, "odd:1");
    double latest_end = -INFINITY;

    fill(one);
    CHECK(tseg_delete_once(one, &key, tseg_delete, &latest_end) == TSEG_OK && latest_end == INFINITY);
    fill(other);
    tseg_retire(other);
    key = key_of(other, "odd:1");
    latest_end = -INFINITY;
    CHECK(tseg_delete_once(other, &key, tseg_delete, &latest_end) == TSEG_RETIRED && latest_end == INFINITY);
    CHECK(tseg_delete_once(other, &key, tseg_delete, &latest_end) == TSEG_RETIRED && latest_end == INFINITY);
    atomic_store(&other->header->retired, 0);
    fill(one);
}

int main(void)
{
    tseg *one = attach_or_die(NULL, 32 << 20, SHARDS), *other = attach_or_die(NULL, 32 << 20, SHARDS);

    test_a_wait_in_a_pass(one);
    test_a_repeated_call(one, other);
    test_a_call_without_an_answer(one);
    test_a_delete_of_a_retired_file(one, other);
    tseg_release(one);
    tseg_release(other);
    printf("calls: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
