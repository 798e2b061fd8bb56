/* Leases: each call once, and the other ways in which a lease can end. */
#include <signal.h>
#include <sys/wait.h>

#include "lease_calls.h"

static void clear_prefix(void)
{
    uint64_t cleared = 0;
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        CHECK(PATIENTLY(segment, shard, clear_shard(segment, shard, "the", 3, &cleared)) == TSEG_OK);
}
static void one_holder_at_a_time(void)
{
    tseg_lease mine, other;

    CHECK(take(KEY) == TSEG_OK);
    mine = lease;
    CHECK(take(KEY) == TSEG_HELD && lease.lineage == mine.lineage && lease.holder == mine.holder);
    other = lease;
    CHECK(state_of(KEY, &other) == TSEG_LEASE_STANDS && tseg_lease_count(segment) == 1);
    CHECK(fill(KEY, mine.lineage + 1, "foreign") == TSEG_CHANGED && reads(KEY, NULL));
    CHECK(fill(KEY, mine.lineage, "value") == TSEG_OK && reads(KEY, "value"));
    CHECK(state_of(KEY, &other) == TSEG_LEASE_GONE && used_slots() == 0);
    CHECK(fill(KEY, mine.lineage, "again") == TSEG_CHANGED && reads(KEY, "value"));
    CHECK(take(KEY) == TSEG_PRESENT);
    delete_text(KEY);
}

static void a_lapsed_lease_is_taken_over_and_the_first_fill_wins(void)
{
    tseg_lease first, second;

    CHECK(take_for(KEY, 10, 1, NULL) == TSEG_OK);
    first = lease;
    CHECK(state_of(KEY, &first) == TSEG_LEASE_LAPSED);
    CHECK(take(KEY) == TSEG_OK && lease.lineage == first.lineage && lease.holder != first.holder);
    second = lease;
    CHECK(state_of(KEY, &first) == TSEG_LEASE_STANDS && take(KEY) == TSEG_HELD);
    CHECK(give_back(KEY, first.lineage, first.holder, 0) == TSEG_ABSENT);
    CHECK(fill(KEY, first.lineage, "first") == TSEG_OK);
    CHECK(fill(KEY, second.lineage, "second") == TSEG_CHANGED && reads(KEY, "first"));
    delete_text(KEY);
}

static void given_back(void)
{
    tseg_lease first;

    CHECK(take(KEY) == TSEG_OK);
    first = lease;
    CHECK(give_back(KEY, first.lineage, first.holder + 1, 0) == TSEG_ABSENT);
    CHECK(give_back(KEY, first.lineage, first.holder, 0) == TSEG_OK && state_of(KEY, &first) == TSEG_LEASE_GIVEN_BACK);
    CHECK(take(KEY) == TSEG_OK && lease.lineage == first.lineage);
    /* A caller that waits for the first lease learns this, although another caller has acquired it again. */
    CHECK(state_of(KEY, &first) == TSEG_LEASE_GIVEN_BACK && state_of(KEY, &lease) == TSEG_LEASE_STANDS);
    CHECK(give_back(KEY, lease.lineage, lease.holder, 10 * SECOND) == TSEG_OK);
    CHECK(take(KEY) == TSEG_HELD && lease.holder == TSEG_LEASE_PAUSED && lease.version == 7);
    CHECK(fill(KEY, first.lineage, "late") == TSEG_OK && reads(KEY, "late"));
    delete_text(KEY);
}

static void what_ends_a_lineage(void)
{
    tseg_key key = key_of(segment, KEY);
    int64_t count;
    tseg_value value = value_of("x", 1);

    for (int way = 0; way < 7; way++) {
        CHECK(take(KEY) == TSEG_OK);
        tseg_lease seen = lease;
        switch (way) {
        case 0: delete_text(KEY); break;
        case 1: set_text(KEY, "written"); break;
        case 2: CHECK(tseg_increment(segment, &key, 1, INFINITY, time_now, &count) == TSEG_OK); break;
        case 3: CHECK(tseg_add(segment, &key, &value, INFINITY, time_now) == TSEG_OK); break;
        case 4: clear_all(); break;
        case 5: clear_prefix(); break;
        default: tseg_clear_at_once(segment);
        }
        CHECK(state_of(KEY, &seen) == TSEG_LEASE_GONE);
        CHECK(fill(KEY, seen.lineage, "late") == TSEG_CHANGED && !reads(KEY, "late"));
        delete_text(KEY);
        CHECK(take(KEY) == TSEG_OK && lease.lineage != seen.lineage);
        delete_text(KEY);
    }
    /* A call that loaded the epoch before a clear may meet a lease from after it, which is valid. */
    CHECK(take(KEY) == TSEG_OK);
    uint64_t lineage, now_ns = tseg_monotonic_ns();
    tseg_lease_slot *slot = tseg_find_lease(segment, &key, tseg_epoch(segment), &lineage);
    CHECK(slot && !tseg_lease_is_over(slot, tseg_epoch(segment) - 1, now_ns));
    CHECK(tseg_lease_is_over(slot, tseg_epoch(segment) + 1, now_ns));
    delete_text(KEY);
    /* A lineage outlives its lease by ten times the lease's time, and by a minute at least. */
    for (uint64_t ttl_s = 1; ttl_s <= 10; ttl_s += 9) {
        uint64_t kept_s = ttl_s == 1 ? 61 : 110;
        CHECK(take_for(KEY, next_name += 2, ttl_s * SECOND, NULL) == TSEG_OK);
        slot = tseg_find_lease(segment, &key, tseg_epoch(segment), &lineage);
        CHECK(slot && !tseg_lease_is_over(slot, tseg_epoch(segment), now_ns + kept_s * SECOND));
        CHECK(tseg_lease_is_over(slot, tseg_epoch(segment), now_ns + (kept_s + 600) * SECOND));
        delete_text(KEY);
    }
}

static void a_stale_value_stays_until_the_fill(void)
{
    char buffer[20];
    tseg_token token;
    tseg_key key = key_of(segment, KEY);
    static const char bytes[300000];
    tseg_value stale = value_of("longer", 6), large = value_of(bytes, sizeof bytes);
    tseg_lease_request request = {.lineage = 50, .holder = 51, .ttl_ns = SECOND, .replaces = &token, .stale = &stale,
                                  .stale_expires_at = INFINITY};

    set_text(KEY, "stale");
    CHECK(take(KEY) == TSEG_PRESENT);
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    CHECK(take_for(KEY, 60, SECOND, &token) == TSEG_OK && lease.has_entry && reads(KEY, "stale"));
    CHECK(tseg_touch(segment, &key, INFINITY, time_now) == TSEG_OK);
    CHECK(fill(KEY, 60, "new") == TSEG_OK && reads(KEY, "new"));
    CHECK(take_for(KEY, 60, SECOND, &token) == TSEG_PRESENT); /* the key has another entry by now */
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 3);
    CHECK(tseg_lease_acquire(segment, &key, &request, time_now, &lease) == TSEG_OK && reads(KEY, "longer"));
    CHECK(fill(KEY, 50, "newer") == TSEG_OK && reads(KEY, "newer"));
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    CHECK(tseg_lease_acquire(segment, &key, &request, time_now, &lease) == TSEG_OK && reads(KEY, "longer"));
    CHECK(tseg_lease_fill(segment, &key, 50, &large, INFINITY, time_now) == TSEG_TOO_LARGE && reads(KEY, NULL));
    set_text(KEY, "stale");
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    request.stale = NULL;
    request.drops = true;
    CHECK(tseg_lease_acquire(segment, &key, &request, time_now, &lease) == TSEG_OK && reads(KEY, NULL));
    delete_text(KEY);
}

/* The record lock shows that a holder is dead, long before its lease lapses. */
static void a_killed_holder(void)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        tseg_after_fork();
        CHECK(take_for(KEY, 70, 1000 * SECOND, NULL) == TSEG_OK);
        raise(SIGKILL);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    CHECK(state_of(KEY, &(tseg_lease){.lineage = 70, .holder = 71}) == TSEG_LEASE_LAPSED);
    CHECK(take(KEY) == TSEG_OK && lease.lineage == 70);
    delete_text(KEY);
}

static void a_sleeper_is_woken(void)
{
    for (int way = 0; way < 3; way++) {
        CHECK(take(KEY) == TSEG_OK);
        int status, looked[2];
        char byte;
        tseg_lease mine = lease;
        CHECK(pipe(looked) == 0);
        pid_t pid = fork();
        if (!pid) {
            tseg_key key = key_of(segment, KEY);
            tseg_lease seen;
            uint64_t began = tseg_monotonic_ns();
            tseg_after_fork();
            CHECK(tseg_lease_look(segment, &key, mine.lineage, mine.holder, true, &seen) == TSEG_LEASE_STANDS);
            CHECK(write(looked[1], "x", 1) == 1);
            tseg_sleep(seen.signal, seen.signal_seen, 30 * SECOND);
            CHECK(tseg_monotonic_ns() - began < 20 * SECOND);
            _exit(state_of(KEY, &mine) == TSEG_LEASE_STANDS);
        }
        close(looked[1]);
        CHECK(read(looked[0], &byte, 1) == 1);
        nanosleep(&(struct timespec){0, 5000000}, NULL); /* the child is already asleep, or it will never sleep */
        if (way == 0) delete_text(KEY);
        else if (way == 1) CHECK(fill(KEY, mine.lineage, "filled") == TSEG_OK);
        else CHECK(give_back(KEY, mine.lineage, mine.holder, 0) == TSEG_OK);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        delete_text(KEY);
        close(looked[0]);
    }
}

int main(void)
{
    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    one_holder_at_a_time();
    a_lapsed_lease_is_taken_over_and_the_first_fill_wins();
    given_back();
    what_ends_a_lineage();
    a_stale_value_stays_until_the_fill();
    a_killed_holder();
    a_sleeper_is_woken();
    printf("leases: %lu checks\n", (unsigned long)checks_made);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
