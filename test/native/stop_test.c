/*
 * Calls stopped at named points while another call runs: every writer, at every point that it reaches, against every
 * other call and against being killed there. The stopped call runs in a child, which reports through a pipe that it
 * has stopped.
 */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "stopped_calls.h"

static char path[] = "/dev/shm/tiercel-stop-XXXXXX";
static int to_parent[2], to_child[2];
static tseg_stop_point stop_at;
static unsigned stopped_cases;
static const char *current = "";
static int current_point;
static size_t current_other;

static void say_where(int signal_number)
{
    fprintf(stderr, "in %s, stop point %d, other call %zu\n", current, current_point, current_other);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void stop(tseg_stop_point point)
{
    char byte = 1;
    if (point != stop_at) return;
    tseg_stop_hook = NULL;
    if (write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(3);
}

static bool is(const stopped_call *call, const char *expected)
{
    long count = read_text(KEY);
    if (!expected) return count < 0;
    if (call->anything && count == 150000) return memcmp(buffer, expected, strlen(expected)) == 0;
    return count == (long)strlen(expected) && memcmp(buffer, expected, (size_t)count) == 0;
}

static void clear_all(void) { tseg_clear_at_once(segment); }

static pid_t run_until(const stopped_call *call, tseg_stop_point point, bool *stopped)
{
    char byte;
    pid_t pid;

    CHECK(pipe(to_parent) == 0 && pipe(to_child) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(to_parent[0]);
        close(to_child[1]);
        tseg_after_fork();
        stop_at = point;
        tseg_stop_hook = stop;
        call->run();
        _exit(0);
    }
    close(to_parent[1]);
    close(to_child[0]);
    *stopped = read(to_parent[0], &byte, 1) == 1; /* at the end of the pipe: it never reached the point */
    return pid;
}

static void resume(pid_t pid)
{
    char byte = 1;
    int status;
    CHECK(write(to_child[1], &byte, 1) == 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void finish(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void close_pipes(void)
{
    close(to_parent[0]);
    close(to_child[1]);
}

/* Runs while the call is stopped; checks the state now and after the call's end. */
static void other_read(const stopped_call *call, pid_t pid)
{
    CHECK(is(call, call->before) || is(call, call->after) || read_text(KEY) < 0);
    CHECK(set_key("another key", "x", 1) == TSEG_OK || true);
    resume(pid);
    CHECK(is(call, call->after));
}

static void other_delete(const stopped_call *call, pid_t pid)
{
    delete();
    CHECK(read_text(KEY) < 0);
    resume(pid);
    CHECK(read_text(KEY) < 0 || (call->brings_back && is(call, call->after)) ||
          (strcmp(call->name, "increment in place") == 0 && reads("1")));
}

static void other_clear(const stopped_call *call, pid_t pid)
{
    clear_all();
    CHECK(read_text(KEY) < 0);
    resume(pid);
    CHECK(read_text(KEY) < 0);
    (void)call;
}

static void other_clear_prefix(const stopped_call *call, pid_t pid)
{
    uint64_t cleared = 0;
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        PATIENTLY(segment, shard, clear_shard(segment, shard, "the", 3, &cleared));
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) /* earlier timeouts are remembered */
        CHECK(clear_shard(segment, shard, "the", 3, &cleared) == TSEG_OK);
    CHECK(read_text(KEY) < 0);
    resume(pid);
    CHECK(read_text(KEY) < 0 || (call->brings_back && is(call, call->after)) ||
          (strcmp(call->name, "increment in place") == 0 && reads("1")));
}

/* Writers find the lock occupied, unless the stopped call acquires none. */
static void other_set(const stopped_call *call, pid_t pid)
{
    tseg_result result = set_key(KEY, "other", 5);
    CHECK(result == TSEG_OK || result == TSEG_BUSY);
    if (result == TSEG_OK) CHECK(reads("other"));
    resume(pid);
    if (result == TSEG_BUSY) CHECK(is(call, call->after));
    else CHECK(reads("other") || (call->run == delete && read_text(KEY) < 0));
}

static void other_compare_and_set(const stopped_call *call, pid_t pid)
{
    tseg_key key = key_of(segment, KEY);
    tseg_value value = value_of("other", 5);
    tseg_result result;
    if (read_text(KEY) >= 0) {
        result = PATIENTLY(segment, key.shard, tseg_compare_and_set(segment, &key, &value, INFINITY, 0, &token));
        CHECK(result == TSEG_BUSY || (result == TSEG_OK && reads("other")));
        resume(pid);
        if (result == TSEG_OK) CHECK(reads("other") || (call->run == delete && read_text(KEY) < 0));
    } else {
        resume(pid);
    }
    if (read_text(KEY) >= 0) { /* an old token never matches */
        token.sequence -= 2;
        CHECK(tseg_compare_and_set(segment, &key, &value, INFINITY, 0, &token) == TSEG_CHANGED);
    }
}

static void other_increment(const stopped_call *call, pid_t pid)
{
    tseg_key key = key_of(segment, KEY);
    int64_t count = 0;
    tseg_result result = PATIENTLY(segment, key.shard, tseg_increment(segment, &key, 1, INFINITY, 0, &count));
    CHECK(result == TSEG_BUSY || result == TSEG_OK || result == TSEG_NOT_A_COUNTER);
    resume(pid);
    if (result == TSEG_BUSY) CHECK(is(call, call->after));
}

static void other_near_invalidate(const stopped_call *call, pid_t pid)
{
    tseg_key key = key_of(segment, KEY);
    double expires_at;
    tseg_near_invalidate(segment, &key, &expires_at);
    CHECK(read_text(KEY) < 0);
    resume(pid);
    if (call->run == near_fill) CHECK(read_text(KEY) < 0);
}

/* A complete change in the last tier: afterwards no fill that was in progress is visible. */
static void other_change_behind(const stopped_call *call, pid_t pid)
{
    tseg_key key = key_of(segment, KEY);
    uint64_t begun = tseg_near_begin(segment, tseg_near_stripe(segment, &key));
    double expires_at;

    tseg_delete(segment, &key, &expires_at);
    CHECK(read_text(KEY) < 0);
    CHECK(tseg_near_end(segment, tseg_near_stripe(segment, &key), begun));
    resume(pid);
    if (call->run == near_fill) CHECK(read_text(KEY) < 0);
}

/* Killed at the point: the next writer takes the shard over, no read returns garbage, and every operation works. */
static void killed(const stopped_call *call, pid_t pid)
{
    int status;
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    CHECK(is(call, call->before) || is(call, call->after) || read_text(KEY) < 0);
    CHECK(set_key("another key", "x", 1) == TSEG_OK);
    CHECK(is(call, call->before) || is(call, call->after) || read_text(KEY) < 0);
    if (call->run == near_fill) { /* an abandoned fill does not block its key */
        near_fill();
        CHECK(reads("filled"));
    }
    CHECK(set_key(KEY, "afterwards", 10) == TSEG_OK && reads("afterwards"));
    delete();
    CHECK(read_text(KEY) < 0);
    fill_small();
    fill_main();
}

static void delete_then_killed(const stopped_call *call, pid_t pid)
{
    int status;
    delete();
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    CHECK(set_key("another key", "x", 1) == TSEG_OK);
    CHECK(read_text(KEY) < 0);
    fill_small();
    fill_main();
    CHECK(read_text(KEY) < 0);
    (void)call;
}

/*
 * A clear and a later write, while another write waits for the lock or holds it: what was written after the clear stays
 * readable, and counters stay exact.
 */
static void other_clear_and_write(const stopped_call *call, pid_t pid)
{
    tseg_key key = key_of(segment, KEY);
    tseg_result result;
    int64_t count;
    bool counts = strncmp(call->name, "increment", 9) == 0;

    clear_all();
    CHECK(read_text(KEY) < 0);
    result = set_key(KEY, "100", 3);
    resume(pid);
    if (result == TSEG_OK && counts) CHECK(reads("101"));
    else if (result == TSEG_OK) CHECK(read_text(KEY) >= 0 || call->run == delete);
    if (!counts) return;
    CHECK(tseg_increment(segment, &key, 1, INFINITY, 0, &count) == TSEG_OK);
    CHECK(count == (result == TSEG_OK ? 102 : 1)); /* a call that held the lock came before the clear */
}

static void (*const others[])(const stopped_call *, pid_t) = {
    other_read, other_delete, other_set, other_compare_and_set, other_increment, other_clear, other_clear_prefix,
    other_near_invalidate, other_change_behind, other_clear_and_write, killed, delete_then_killed,
};

int main(void)
{
    unsigned met[TSEG_STOP_POINTS] = {0};

    signal(SIGABRT, say_where);
    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int point = 0; point < TSEG_STOP_POINTS; point++) {
            for (size_t other = 0; other < sizeof others / sizeof *others; other++) {
                bool stopped;
                /* A call that has not begun yet simply runs after the other one. */
                if (point == TSEG_STOP_BEFORE_LOCK && others[other] != other_clear_and_write) continue;
                clear_all();
                calls[i].prepare();
                pid_t pid = run_until(&calls[i], (tseg_stop_point)point, &stopped);
                if (stopped) {
                    stopped_cases++;
                    met[point]++;
                    current = calls[i].name;
                    current_point = point;
                    current_other = other;
                    others[other](&calls[i], pid);
                } else {
                    finish(pid);
                }
                close_pipes();
                if (!stopped) break;
            }
        }
    }
    for (int point = 0; point < TSEG_STOP_POINTS; point++) /* lease_ and repair_stop_test.c cover the others */
        CHECK(met[point] > 0 || point == TSEG_STOP_BEFORE_LINEAGE ||
              point == TSEG_STOP_REPAIR);
    tseg_stats stats;
    tseg_collect_stats(segment, &stats);
    CHECK(stats.shard[TSEG_COUNT_RESETS] == 0 && stats.shard[TSEG_COUNT_TAKEOVERS] > 20);
    printf("stop points: %u cases, %lu checks, %lu takeovers\n", stopped_cases, (unsigned long)checks_made,
           (unsigned long)stats.shard[TSEG_COUNT_TAKEOVERS]);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
