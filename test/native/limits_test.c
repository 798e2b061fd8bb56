/* The limits of a segment: the last position of a log, the last slot for processes, large values. */
#include <fcntl.h>
#include <sys/wait.h>

#include "entries.h"
#include "check.h"

static bool is_there(tseg *segment, const tseg_key *key)
{
    char byte;
    return read_value(segment, key, &byte, 1, NULL) == 1;
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

/* If other processes occupy all slots, reading and deleting still work. */
static void test_without_process_slot(const char *path)
{
    char lock_path[64], byte;
    int ready[2], done[2], status;
    tseg *segment = attach_or_die(path, 1 << 20, 1);
    tseg_key key = key_of(segment, "slot");
    tseg_value value = value_of("x", 1);
    pid_t pid;

    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK);
    tseg_release(segment);
    CHECK(pipe(ready) == 0 && pipe(done) == 0 && (pid = fork()) >= 0);
    if (pid == 0) {
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = TSEG_PROCESS_SLOTS};
        snprintf(lock_path, sizeof lock_path, "%s.lock", path);
        close(done[1]);
        CHECK(fcntl(open(lock_path, O_RDWR), F_SETLK, &all) == 0 && write(ready[1], "x", 1) == 1);
        _exit(read(done[0], &byte, 1) > 0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    segment = attach_or_die(path, 1 << 20, 1);
    CHECK(segment->owner == 0);
    CHECK(is_there(segment, &key));
    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_READ_ONLY);
    CHECK(delete_key(segment, &key) == TSEG_OK && !is_there(segment, &key));
    tseg_release(segment);
    close(done[1]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static uint64_t evictions(const tseg *segment)
{
    uint64_t sum = 0;
    for (int i = TSEG_COUNT_EVICTED_SMALL; i <= TSEG_COUNT_EVICTED_INDEX; i++)
        sum += tseg_load(&tseg_view_of(segment, 0).control->counters[i]);
    return sum;
}

/*
 * A large value over small entries: the write evicts a bounded number of them at a time, and the lock is free in
 * between. Readers find the old value until the new one is complete.
 */
static void test_a_large_value_over_small_entries(void)
{
    enum { BYTES = 12 << 20, SMALL = 600000 };
    uint8_t *large = calloc(BYTES, 1), small[100] = {0};
    tseg *segment = attach_or_die(NULL, 64 << 20, 1);
    tseg_key key = key_of(segment, "large"), other = key_of(segment, "other");
    tseg_value value = value_of(large, BYTES), one = value_of(small, 1);
    tseg_result result;
    unsigned attempts = 0;
    char text[32];

    for (int i = 0; i < SMALL; i++) {
        tseg_key small_key;
        snprintf(text, sizeof text, "small %d", i);
        small_key = key_of(segment, text);
        tseg_value small_value = value_of(small, sizeof small);
        CHECK(tseg_set(segment, &small_key, &small_value, INFINITY, 0) == TSEG_OK);
    }
    CHECK(tseg_set(segment, &key, &one, INFINITY, 0) == TSEG_OK);
    do {
        uint64_t before = evictions(segment);
        CHECK(is_there(segment, &key));
        CHECK(tseg_set(segment, &other, &one, INFINITY, 0) == TSEG_OK); /* the lock is free */
        result = tseg_set(segment, &key, &value, INFINITY, 0);
        CHECK(evictions(segment) - before <= TSEG_MAX_TAILS + 64);
        attempts++;
    } while (result == TSEG_WOULD_WAIT);
    CHECK(result == TSEG_OK && attempts > 5);
    tseg_release(segment);
    free(large);
}

static void test_the_largest_value(void)
{
    uint8_t *large = calloc(TSEG_MAX_VALUE_BYTES + 1, 1);
    tseg *segment = attach_or_die(NULL, 128 << 20, 1);
    tseg_key key = key_of(segment, "largest");
    tseg_value value = value_of(large, TSEG_MAX_VALUE_BYTES);

    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK);
    value.body_bytes++;
    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_TOO_LARGE);
    CHECK(read_value(segment, &key, large, 1, NULL) == -1);
    tseg_release(segment);
    free(large);
}

int main(void)
{
    char path[] = "/tmp/tiercel-native-XXXXXX";
    tseg_error error;

    close(mkstemp(path));
    test_last_position(path);
    test_without_process_slot(path);
    test_a_large_value_over_small_entries();
    test_the_largest_value();
    CHECK(tseg_remove(NULL, path, true, &error));
    printf("limits: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
