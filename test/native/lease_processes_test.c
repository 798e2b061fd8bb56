/*
 * Leases with processes that compute, delete and are killed: nothing deleted comes back.
 *
 *   lease_processes_test KILLS
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lease_calls.h"

enum { WORKERS = 8, KEYS = 12 };

/* The origin of a key's value, and the lowest value that a read may return: the origin when a delete began. */
typedef struct {
    _Atomic uint64_t origin[KEYS], floor[KEYS], fills, lost, reads;
    _Atomic int finish;
} shared_state;
static shared_state *shared;

static void compute(const char *text, unsigned number, uint64_t random)
{
    char bytes[32];

    if (take_for(text, random | 1, 2 * SECOND, NULL) != TSEG_OK) return;
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)atomic_load(&shared->origin[number]));
    if (random >> 40 & 1) nanosleep(&(struct timespec){0, (long)(random >> 41 & 0xffff)}, NULL);
    tseg_result result = fill(text, lease.lineage, bytes);
    CHECK(result == TSEG_OK || result == TSEG_CHANGED || result == TSEG_BUSY);
    atomic_fetch_add(result == TSEG_OK ? &shared->fills : &shared->lost, 1);
}

static void work(uint64_t random_state)
{
    char text[32], buffer[64];

    while (!atomic_load(&shared->finish)) {
        uint64_t random = next_random(&random_state), floor, changed;
        unsigned number = (unsigned)(random >> 8) % KEYS;
        snprintf(text, sizeof text, "computed %u", number);
        floor = atomic_load(&shared->floor[number]);
        if (read_text(text, buffer, sizeof buffer, NULL) < 0) compute(text, number, random);
        else CHECK(strtoull(buffer, NULL, 10) >= floor);
        atomic_fetch_add(&shared->reads, 1);
        if (random & 7) continue;
        changed = atomic_fetch_add(&shared->origin[number], 1) + 1;
        delete_text(text);
        floor = atomic_load(&shared->floor[number]);
        while (floor < changed && !atomic_compare_exchange_weak(&shared->floor[number], &floor, changed)) {}
    }
}

static pid_t start(uint64_t seed)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) return pid;
    tseg_after_fork();
    work(seed * UINT64_C(0x9e3779b97f4a7c15) | 1);
    _exit(0);
}

static void processes_that_are_killed(unsigned kills)
{
    uint64_t random_state = 5;
    pid_t pids[WORKERS];
    int status;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < WORKERS; i++) pids[i] = start(i + 1);
    for (unsigned killed = 0; killed < kills; killed++) {
        unsigned victim = (unsigned)(next_random(&random_state) % WORKERS);
        nanosleep(&(struct timespec){0, (long)(next_random(&random_state) % 12000000)}, NULL);
        CHECK(waitpid(pids[victim], &status, WNOHANG) == 0); /* otherwise it has failed */
        if (killed % 4 == 0) {
            CHECK(kill(pids[victim], SIGSTOP) == 0);
            nanosleep(&(struct timespec){0, 3000000}, NULL);
            CHECK(kill(pids[victim], SIGCONT) == 0);
            nanosleep(&(struct timespec){0, 300000}, NULL);
        }
        CHECK(kill(pids[victim], SIGKILL) == 0);
        CHECK(waitpid(pids[victim], &status, 0) == pids[victim] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        pids[victim] = start(100 + killed);
    }
    atomic_store(&shared->finish, 1);
    for (unsigned i = 0; i < WORKERS; i++) CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    CHECK(shared->fills > kills && shared->reads > 1000);
}

int main(int count, char **arguments)
{
    unsigned kills = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 60;

    close(mkstemp(path));
    segment = attach_or_die(path, 1 << 20, 1);
    processes_that_are_killed(kills);
    printf("leases: %lu checks, %lu fills, %lu lost, %lu reads\n", (unsigned long)checks_made,
           (unsigned long)shared->fills, (unsigned long)shared->lost, (unsigned long)shared->reads);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
