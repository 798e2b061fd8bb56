/* The table of leases: full, and out of the reach of evictions. */
#include "lease_calls.h"
#include "near.h"

static void a_full_table(void)
{
    char text[32];
    unsigned full = 0, held = 0;

    for (int i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "full %d", i);
        tseg_result result = take(text);
        CHECK(result == TSEG_OK || result == TSEG_FULL);
        full += result == TSEG_FULL;
        held += result == TSEG_OK;
    }
    CHECK(full > 0 && held == used_slots() && held <= segment->geometry.lease_groups * TSEG_LEASE_SLOTS);
    for (int i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "full %d", i);
        delete_text(text);
    }
    CHECK(tseg_lease_count(segment) == 0);
    /* A lapsed lease is replaced. */
    for (int i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "lapsed %d", i);
        CHECK(take_for(text, next_name += 2, 1, NULL) == TSEG_OK);
    }
    clear_all();
}

/* A caller without a lease stores its value, unless a key of the shard was deleted or its own key was written since. */
static void no_lease_at_all(void)
{
    char buffer[20];
    tseg_token token;
    double expires_at;
    tseg_key other = key_of(segment, "another key");
    tseg_unheld unheld = fill_table(KEY, NULL);

    CHECK(fill_unheld(KEY, &unheld, NULL, "value") == TSEG_OK && reads(KEY, "value"));
    CHECK(fill_unheld(KEY, &unheld, NULL, "second") == TSEG_CHANGED && reads(KEY, "value"));
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    CHECK(take_for(KEY, 60, SECOND, &token) == TSEG_FULL && reads(KEY, "value"));
    unheld = lease.unheld;
    CHECK(fill_unheld(KEY, &unheld, &token, "newer") == TSEG_OK && reads(KEY, "newer"));
    CHECK(fill_unheld(KEY, &unheld, &token, "newest") == TSEG_CHANGED && reads(KEY, "newer"));
    delete_text(KEY);
    CHECK(fill_unheld(KEY, &unheld, NULL, "late") == TSEG_CHANGED && reads(KEY, NULL));
    CHECK(take(KEY) == TSEG_FULL);
    unheld = lease.unheld;
    CHECK(other.shard == key_of(segment, KEY).shard && tseg_delete(segment, &other, &expires_at) == TSEG_ABSENT);
    CHECK(fill_unheld(KEY, &unheld, NULL, "late") == TSEG_CHANGED);
    CHECK(take(KEY) == TSEG_FULL);
    unheld = lease.unheld;
    tseg_near_invalidate(segment, &other, &expires_at);
    CHECK(fill_unheld(KEY, &unheld, NULL, "late") == TSEG_CHANGED);
    CHECK(take(KEY) == TSEG_FULL);
    unheld = lease.unheld;
    uint64_t cleared = 0;
    CHECK(clear_shard(segment, other.shard, "nothing", 7, &cleared) == TSEG_OK && cleared == 0);
    CHECK(fill_unheld(KEY, &unheld, NULL, "late") == TSEG_CHANGED);
    unheld = fill_table(KEY, NULL);
    clear_all();
    CHECK(fill_unheld(KEY, &unheld, NULL, "late") == TSEG_CHANGED && reads(KEY, NULL));
    /* A fill without a lease ends a lease that another caller has taken since. Its waiters find the value. */
    unheld.epoch = tseg_epoch(segment);
    unheld.deletes = tseg_view_of(segment, other.shard).control->deletes;
    CHECK(take(KEY) == TSEG_OK && fill_unheld(KEY, &unheld, NULL, "value") == TSEG_OK);
    CHECK(tseg_lease_count(segment) == 0);
    clear_all();
}

static void eviction_does_not_reach_it(void)
{
    static uint8_t bytes[4000];
    char text[32];
    tseg_value value = value_of(bytes, sizeof bytes);

    CHECK(take(KEY) == TSEG_OK);
    uint64_t lineage = lease.lineage;
    for (int i = 0; i < 2000; i++) { /* eight times the segment's size */
        snprintf(text, sizeof text, "other %d", i);
        tseg_key key = key_of(segment, text);
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
    }
    CHECK(fill(KEY, lineage, "kept") == TSEG_OK && reads(KEY, "kept"));
    clear_all();
}

int main(void)
{
    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    a_full_table();
    no_lease_at_all();
    eviction_does_not_reach_it();
    printf("table of leases: %lu checks\n", (unsigned long)checks_made);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
