/*
 * Leases: takes and fills, stopped at every point that they reach, against deletes, clears and kill -9. The stopped
 * call runs in a child.
 */
#include <signal.h>
#include <sys/wait.h>

#include "lease_calls.h"

static int to_parent[2], to_child[2];
static tseg_stop_point stop_at;
static unsigned cases;

static void stop(tseg_stop_point point)
{
    char byte = 1;
    if (point != stop_at) return;
    tseg_stop_hook = NULL;
    if (write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(3);
}

/* Runs a call in a child up to its stop point; 0: it never reaches the point. */
static pid_t run_until(int call, tseg_stop_point point)
{
    char byte;
    pid_t pid;

    CHECK(pipe(to_parent) == 0 && pipe(to_child) == 0);
    pid = fork();
    if (!pid) {
        tseg_after_fork();
        close(to_parent[0]);
        stop_at = point;
        tseg_stop_hook = stop;
        if (call < 2) take_for(KEY, 90, 10 * SECOND, NULL);
        else fill(KEY, 100, "computed before");
        _exit(0);
    }
    close(to_parent[1]);
    if (read(to_parent[0], &byte, 1) == 1) return pid;
    CHECK(waitpid(pid, NULL, 0) == pid);
    return 0;
}

static void go_on(pid_t pid)
{
    int status;
    CHECK(write(to_child[1], "x", 1) == 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void kill_it(pid_t pid)
{
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

/* The call finds an absent key, a lapsed lease, its own lease, or its own lease and a stale value. */
static void prepare(int call)
{
    char buffer[20];
    tseg_token token;

    clear_all();
    if (call == 1) CHECK(take_for(KEY, 80, 1, NULL) == TSEG_OK);
    if (call == 2) CHECK(take_for(KEY, 100, 10 * SECOND, NULL) == TSEG_OK);
    if (call != 3) return;
    set_text(KEY, "stale");
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    CHECK(take_for(KEY, 100, 10 * SECOND, &token) == TSEG_OK);
}

/*
 * Cases 0 and 1: an invalidated value does not come back; 2 and 3: the call is killed there, with or without a
 * delete before.
 */
static void meet(int other, pid_t pid)
{
    if (other == 0 || other == 3) delete_text(KEY);
    if (other == 1) clear_all();
    if (other < 2) go_on(pid);
    else kill_it(pid);
    if (other != 2) CHECK(reads(KEY, NULL));
    if (other != 2) CHECK(fill(KEY, 80, "late") != TSEG_OK && fill(KEY, 100, "late") != TSEG_OK && reads(KEY, NULL));
    /* Whatever is left, another caller can now compute the value and store it. */
    char buffer[200];
    tseg_token token;
    bool present = read_text(KEY, buffer, sizeof buffer, &token) >= 0;
    if (present && strcmp(buffer, "computed before") == 0) return;
    if (take_for(KEY, 110, 10 * SECOND, present ? &token : NULL) == TSEG_HELD) {
        /* The continued call has acquired the lease after the delete, or the parent's own lease is still there. */
        CHECK(lease.lineage == 90 || lease.lineage == 80 || lease.lineage == 100);
    }
    CHECK(fill(KEY, lease.lineage, "computed after") == TSEG_OK && reads(KEY, "computed after"));
}

static void take_in_the_midst(tseg_stop_point point)
{
    if (point != TSEG_STOP_REPAIR) return;
    tseg_stop_hook = NULL;
    CHECK(take(KEY) == TSEG_OK);
}

static void stopped_calls(void)
{
    unsigned met[TSEG_STOP_POINTS] = {0};

    for (int call = 0; call < 4; call++)
        for (int point = 0; point < TSEG_STOP_POINTS; point++)
            for (int other = 0; other < 4; other++) {
                prepare(call);
                pid_t pid = run_until(call, (tseg_stop_point)point);
                met[point] += pid != 0;
                cases += pid != 0;
                if (pid) meet(other, pid);
                close(to_parent[0]);
                close(to_child[0]);
                close(to_child[1]);
                if (!pid) break;
            }
    CHECK(met[TSEG_STOP_BEFORE_LINEAGE] == 8 && met[TSEG_STOP_BEFORE_CONSUME] == 8);
    CHECK(met[TSEG_STOP_BEFORE_UNLOCK] == 16 && met[TSEG_STOP_BEFORE_SWAP] > 0 && met[TSEG_STOP_AFTER_COPY] > 0);
    /* A clear leaves a lease that begins during it. */
    tseg_stop_hook = take_in_the_midst;
    clear_all();
    CHECK(fill(KEY, lease.lineage, "computed after") == TSEG_OK && reads(KEY, "computed after"));
}

int main(void)
{
    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    stopped_calls();
    printf("leases: %u stopped cases, %lu checks\n", cases, (unsigned long)checks_made);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
