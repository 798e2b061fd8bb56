/*
 * Processes on one segment, some of which are killed at random: survivors never crash, wait longer than the lock's
 * limit, or read torn, foreign or deleted values.
 *
 *   processes_test CALLS KILLS
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "stamp.h"

enum { WORKERS = 8, KEYS = 200, LARGEST = 6000, SEGMENT_BYTES = 3 << 20 };

/* The versions of a life are above those of the lives before it. A life of three million calls has 1.3 million. */
enum { LIFE_SHIFT = 21 };
typedef struct {
    _Atomic uint32_t floors[WORKERS * KEYS];
    _Atomic uint64_t reads, slowest_ns;
    _Atomic int finish;
} shared_state;

static shared_state *shared;
static tseg *segment;
static char path[] = "/dev/shm/tiercel-native-XXXXXX";

static uint64_t nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static tseg_key key_number(uint32_t number, char text[48])
{
    snprintf(text, 48, "process key %.*u", (int)(number % 24), number);
    return key_of(segment, text);
}

static void write_key(uint32_t number, uint32_t version, uint64_t random)
{
    static uint8_t buffer[LARGEST + sizeof(stamp)];
    char text[48];
    tseg_key key = key_number(number, text);
    uint32_t filler = (uint32_t)(random % 64 ? random % 500 : random % LARGEST);
    stamp head = {number, version, (uint32_t)sizeof head + filler, 0};
    memset(buffer + sizeof head, (int)(random >> 40 & 0xff), filler);
    head.sum = sum_of(buffer + sizeof head, filler) ^ number;
    memcpy(buffer, &head, sizeof head);
    tseg_value value = value_of(buffer, head.bytes);
    uint64_t began = nanoseconds();
    tseg_result result = set_value(segment, &key, &value);
    uint64_t took = nanoseconds() - began;
    CHECK(result == TSEG_OK || result == TSEG_BUSY);
    if (took > atomic_load(&shared->slowest_ns)) atomic_store(&shared->slowest_ns, took);
    if (result == TSEG_OK) atomic_store(&shared->floors[number], version);
}

static void read_key(uint32_t number)
{
    static uint8_t buffer[LARGEST + sizeof(stamp)];
    char text[48];
    tseg_key key = key_number(number, text);
    uint32_t floor = atomic_load(&shared->floors[number]);
    long count = read_value(segment, &key, buffer, sizeof buffer, NULL);
    stamp head;

    atomic_fetch_add(&shared->reads, 1);
    if (count < 0) return;
    CHECK(count >= (long)sizeof head);
    memcpy(&head, buffer, sizeof head);
    CHECK(head.key == number);
    CHECK(head.bytes == (uint32_t)count);
    CHECK(head.sum == (sum_of(buffer + sizeof head, (size_t)count - sizeof head) ^ number));
    CHECK((int32_t)(head.version - floor) >= 0);
}

/* A successor begins with deletes, because the last write of its killed predecessor is unknown. */
static void work(uint32_t self, uint32_t life, unsigned long calls)
{
    uint64_t random_state = 1000 + self * 131 + life * 7919;
    uint32_t version = life << LIFE_SHIFT;
    char text[48];

    for (uint32_t own = 0; own < KEYS; own++) {
        tseg_key key = key_number(self * KEYS + own, text);
        delete_key(segment, &key);
        atomic_store(&shared->floors[self * KEYS + own], version);
    }
    for (unsigned long i = 0; calls ? i < calls : !atomic_load(&shared->finish); i++) {
        uint64_t random = next_random(&random_state);
        uint32_t own = self * KEYS + (uint32_t)(random >> 8) % KEYS, kind = random & 15;
        if (kind < 9) {
            read_key((uint32_t)(random >> 20) % (WORKERS * KEYS));
        } else if (kind == 9) {
            tseg_key key = key_number(own, text);
            uint8_t byte;
            delete_key(segment, &key);
            atomic_store(&shared->floors[own], ++version);
            CHECK(read_value(segment, &key, &byte, 0, NULL) < 0);
        } else {
            write_key(own, ++version, random >> 16);
        }
    }
    CHECK(version >> LIFE_SHIFT == life);
}

static pid_t start(uint32_t self, uint32_t life, unsigned long calls)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) return pid;
    tseg_after_fork();
    CHECK(segment->owner != 0);
    work(self, life, calls);
    _exit(0);
}

int main(int count, char **arguments)
{
    unsigned long calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 60000;
    unsigned long kills = count > 2 ? strtoul(arguments[2], NULL, 10) : 60;
    uint64_t random_state = 99;
    pid_t pids[WORKERS];
    int status;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    close(mkstemp(path));
    segment = attach_or_die(path, SEGMENT_BYTES, 2);
    for (uint32_t i = 0; i < WORKERS; i++) pids[i] = start(i, 1, calls);
    for (uint32_t i = 0; i < WORKERS; i++) CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    unsigned long quiet_reads = (unsigned long)atomic_load(&shared->reads);

    for (uint32_t i = 0; i < WORKERS; i++) pids[i] = start(i, 2, 0);
    for (unsigned long killed = 0; killed < kills; killed++) {
        uint32_t victim = (uint32_t)(next_random(&random_state) % WORKERS);
        struct timespec pause = {0, (long)(next_random(&random_state) % 8000000)};
        nanosleep(&pause, NULL);
        CHECK(kill(pids[victim], SIGKILL) == 0);
        CHECK(waitpid(pids[victim], &status, 0) == pids[victim] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        pids[victim] = start(victim, 3 + (uint32_t)killed, 0);
    }
    atomic_store(&shared->finish, 1);
    for (uint32_t i = 0; i < WORKERS; i++) CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);

    tseg_stats stats;
    tseg_collect_stats(segment, &stats);
    CHECK(stats.shard[TSEG_COUNT_RESETS] == 0);
    /* Five times the limit, for a busy machine. */
    /* Only the long run: beside other programs a short one may wait that long for a processor. */
    if (kills >= 1000) CHECK(atomic_load(&shared->slowest_ns) < UINT64_C(1250000000));
    printf("processes: %lu reads, %lu while %lu writers were killed, %lu takeovers, slowest write %.1f ms\n",
           (unsigned long)atomic_load(&shared->reads), (unsigned long)atomic_load(&shared->reads) - quiet_reads, kills,
           (unsigned long)stats.shard[TSEG_COUNT_TAKEOVERS], (double)atomic_load(&shared->slowest_ns) / 1e6);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
