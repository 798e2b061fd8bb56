/*
 * Repairs that are killed too: a writer dies in the middle of a write in place; the process that takes its lock over,
 * clears the segment, registers or replaces the file dies at each of its stores; then a third process goes on.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"

enum { PAGE = 4096, COUNT_BYTES = 19 };

static char path[] = "/dev/shm/tiercel-repair-XXXXXX";
static tseg *segment;
static uint8_t buffer[PAGE];
static int hits_left; /* the child is killed at this repair point */

static tseg_result set_bytes(const char *text, const void *bytes, size_t count)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, count);
    return set_value(segment, &key, &value);
}

static long read_bytes(const char *text)
{
    tseg_key key = key_of(segment, text);
    return read_value(segment, &key, buffer, sizeof buffer, NULL);
}

/* Bytes whose second part cannot be read: the copy dies in the middle, as by any signal. */
static const uint8_t *half_readable(uint8_t fill, size_t readable)
{
    uint8_t *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);

    CHECK(map != MAP_FAILED && mprotect(map + PAGE, PAGE, PROT_NONE) == 0);
    memset(map, fill, PAGE);
    return map + PAGE - readable;
}

static void kill_writer_in_copy(const char *text, uint8_t fill, size_t readable, size_t count)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        tseg_after_fork();
        set_bytes(text, half_readable(fill, readable), count);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void die(tseg_stop_point point)
{
    if (point == TSEG_STOP_REPAIR && --hits_left == 0) kill(getpid(), SIGKILL);
}

/* Returns whether the work was killed at its point `at`; false: it has fewer points. */
static bool kill_in(void (*work)(void), int at)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        hits_left = at;
        tseg_stop_hook = die;
        tseg_after_fork();
        work();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && (WIFSIGNALED(status) || status == 0));
    return WIFSIGNALED(status);
}

static void write_other(void) { CHECK(set_bytes("another key", "x", 1) == TSEG_OK); }
static void clear_all(void) { tseg_clear_at_once(segment); }

static void touch_key(const char *text)
{
    tseg_key key = key_of(segment, text);
    tseg_touch(segment, &key, INFINITY, 0);
}

/* Whether the value has bytes of two writes. */
static bool is_torn(const char *text)
{
    long count = read_bytes(text);

    for (long i = 1; i < count; i++)
        if (buffer[i] != buffer[0]) return true;
    return false;
}

static void check_after_takeovers(void (*work)(void), int at)
{
    tseg_key counter = key_of(segment, "counter"), page = key_of(segment, "page");
    tseg_value value = value_of("new", 3);
    int64_t count;

    CHECK(read_bytes("page") < 0);
    write_other();
    touch_key("page");
    CHECK(!is_torn("page"));
    CHECK(tseg_add(segment, &page, &value, INFINITY, 0) == TSEG_OK && read_bytes("page") == 3);

    CHECK(set_bytes("counter", "1111111111111111111", COUNT_BYTES) == TSEG_OK);
    kill_writer_in_copy("counter", '2', 8, COUNT_BYTES);
    kill_in(work, at);
    CHECK(tseg_increment(segment, &counter, 1, INFINITY, 0, &count) == TSEG_OK && count == 1);
}

static int test_takeover(void (*work)(void))
{
    uint8_t before[PAGE / 2];
    int at = 1;
    bool killed;

    memset(before, 'a', sizeof before);
    do {
        clear_all();
        CHECK(set_bytes("page", before, sizeof before) == TSEG_OK);
        kill_writer_in_copy("page", 'b', 1024, sizeof before);
        CHECK(read_bytes("page") < 0);
        killed = kill_in(work, at);
        check_after_takeovers(work, at);
        at++;
    } while (killed);
    return at - 2;
}

/*
 * A clear that dies, and a write that dies while it empties the shard: the entry is a miss, and the counts are right.
 */
static int test_clear(void)
{
    int at = 1;
    bool killed;

    do {
        tseg_stats stats;
        CHECK(set_bytes("page", "whole", 5) == TSEG_OK && read_bytes("page") == 5);
        clear_all();
        CHECK(read_bytes("page") < 0);
        tseg_collect_stats(segment, &stats);
        CHECK(stats.entries == 0 && stats.used_bytes == 0);
        killed = kill_in(write_other, at++);
        CHECK(read_bytes("page") < 0);
        write_other();
        CHECK(read_bytes("page") < 0);
        tseg_collect_stats(segment, &stats);
        CHECK(stats.entries == 1 && stats.used_bytes == stats.live_bytes);
    } while (killed);
    return at - 2;
}

/* A process that dies while it registers leaves a slot that the next process takes. */
static void test_registration(void)
{
    for (int at = 1; kill_in(write_other, at); at++) {
        write_other();
        CHECK(tseg_registered(segment, NULL, 0) == 1);
    }
}

static void replace_file(void)
{
    tseg_options options = {.bytes = 2 << 20, .shards = 1, .mode = 0600};
    tseg_error error = {0};
    CHECK(tseg_replace(path, &options, &error));
}

static void remove_file(void)
{
    tseg_error error = {0};
    CHECK(tseg_remove(NULL, path, false, &error));
}

/* After a kill the other process either keeps its file, or sees that it is retired and attaches a new one. */
static int test_move(void (*work)(void))
{
    int at = 1;
    bool killed;

    do {
        killed = kill_in(work, at++);
        if (tseg_is_retired(segment) || !tseg_path_is_current(segment)) {
            tseg_release(segment);
            segment = attach_or_die(path, 1 << 20, 1);
        }
        CHECK(!tseg_is_retired(segment) && tseg_path_is_current(segment));
        CHECK(set_bytes("page", "whole", 5) == TSEG_OK && read_bytes("page") == 5);
    } while (killed);
    return at - 2;
}

int main(void)
{
    tseg_error error;
    int takeover, clear, reset, replacement, removal;

    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    takeover = test_takeover(write_other);
    clear = test_takeover(clear_all);
    reset = test_clear();
    test_registration();
    replacement = test_move(replace_file);
    removal = test_move(remove_file);
    /* Two points of the registration in the child come before those of the work. */
    CHECK(takeover >= 2 + 3 && clear >= 2 + 1 && reset >= 2 + 4 && replacement >= 2 && removal >= 2);
    printf("repairs: %d + %d + %d + %d + %d kills, %lu checks\n", takeover, clear, reset, replacement, removal,
           (unsigned long)checks_made);
    tseg_release(segment);
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
