/*
 * Leases: each call once; takes and fills stopped at every point they come by
 * against deletes, clears and kill -9 (in a build with stop points); processes
 * that compute, delete and are killed: nothing deleted comes back.
 *
 *   lease_test KILLS
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "internal.h"

#define KEY "the key"
#define SECOND UINT64_C(1000000000)

enum { WORKERS = 8, KEYS = 12 };
static tseg *segment;
static char path[] = "/dev/shm/tiercel-lease-XXXXXX";
static tseg_lease lease;
static uint64_t next_name = 1000;

static tseg_result take_for(const char *text, uint64_t name, uint64_t ttl_ns, const tseg_token *replaces)
{
    tseg_key key = key_of(segment, text);
    tseg_lease_request request = {.lineage = name, .holder = name + 1, .ttl_ns = ttl_ns, .replaces = replaces};
    return PATIENTLY(segment, key.shard, tseg_lease_take(segment, &key, &request, time_now, &lease));
}
static tseg_result take(const char *text) { return take_for(text, next_name += 2, 10 * SECOND, NULL); }

static tseg_result fill(const char *text, uint64_t lineage, const char *bytes)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, strlen(bytes));
    return PATIENTLY(segment, key.shard, tseg_lease_fill(segment, &key, lineage, &value, INFINITY, time_now));
}

static tseg_result give_back(const char *text, uint64_t lineage, uint64_t holder, uint64_t pause_ns)
{
    tseg_key key = key_of(segment, text);
    return PATIENTLY(segment, key.shard, tseg_lease_release(segment, &key, lineage, holder, pause_ns));
}

static tseg_lease_state state_of(const char *text, const tseg_lease *seen)
{
    tseg_key key = key_of(segment, text);
    tseg_lease now;
    return tseg_lease_look(segment, &key, seen->lineage, seen->holder, true, &now);
}

static long read_text(const char *text, char *buffer, size_t capacity, tseg_token *token)
{
    tseg_key key = key_of(segment, text);
    long count = read_value(segment, &key, buffer, capacity - 1, token);
    buffer[count < 0 ? 0 : count] = 0;
    return count;
}

static bool reads(const char *text, const char *expected)
{
    char buffer[200];
    long count = read_text(text, buffer, sizeof buffer, NULL);
    return expected ? count >= 0 && strcmp(buffer, expected) == 0 : count < 0;
}

static void delete_text(const char *text)
{
    tseg_key key = key_of(segment, text);
    delete_key(segment, &key);
}
static void set_text(const char *text, const char *bytes)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, strlen(bytes));
    CHECK(set_value(segment, &key, &value) == TSEG_OK);
}
static void clear_all(void)
{
    uint32_t epoch = tseg_raise_epoch(segment);
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) tseg_clear_shard(segment, shard, epoch);
}
static void clear_prefix(void)
{
    uint64_t cleared = 0;
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        CHECK(PATIENTLY(segment, shard, tseg_clear_prefix(segment, shard, "the", 3, &cleared)) == TSEG_OK);
}
static uint64_t used_slots(void)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < segment->geometry.lease_groups; i++)
        count += (uint64_t)__builtin_popcountll(tseg_load(&segment->leases[i].used));
    return count;
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
    /* Who waited for the first is told so, though somebody has it again. */
    CHECK(state_of(KEY, &first) == TSEG_LEASE_GIVEN_BACK && state_of(KEY, &lease) == TSEG_LEASE_STANDS);
    CHECK(give_back(KEY, lease.lineage, lease.holder, 10 * SECOND) == TSEG_OK);
    CHECK(take(KEY) == TSEG_HELD && lease.holder == TSEG_LEASE_PAUSED);
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
        default: tseg_raise_epoch(segment);
        }
        CHECK(state_of(KEY, &seen) == TSEG_LEASE_GONE);
        CHECK(fill(KEY, seen.lineage, "late") == TSEG_CHANGED && !reads(KEY, "late"));
        delete_text(KEY);
        CHECK(take(KEY) == TSEG_OK && lease.lineage != seen.lineage);
        delete_text(KEY);
    }
}

static void a_stale_value_stays_until_the_fill(void)
{
    char buffer[20];
    tseg_token token;
    tseg_key key = key_of(segment, KEY);
    tseg_value shown = value_of("longer", 6);
    tseg_lease_request request = {.lineage = 50, .holder = 51, .ttl_ns = SECOND, .replaces = &token, .shown = &shown,
                                  .shown_expires_at = INFINITY};

    set_text(KEY, "stale");
    CHECK(take(KEY) == TSEG_PRESENT);
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    CHECK(take_for(KEY, 60, SECOND, &token) == TSEG_OK && lease.has_entry && reads(KEY, "stale"));
    CHECK(tseg_touch(segment, &key, INFINITY, time_now) == TSEG_OK);
    CHECK(fill(KEY, 60, "new") == TSEG_OK && reads(KEY, "new"));
    CHECK(take_for(KEY, 60, SECOND, &token) == TSEG_PRESENT); /* it is another one by now */
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 3);
    CHECK(tseg_lease_take(segment, &key, &request, time_now, &lease) == TSEG_OK && reads(KEY, "longer"));
    CHECK(fill(KEY, 50, "newer") == TSEG_OK && reads(KEY, "newer"));
    CHECK(read_text(KEY, buffer, sizeof buffer, &token) == 5);
    request.shown = NULL;
    request.drops = true;
    CHECK(tseg_lease_take(segment, &key, &request, time_now, &lease) == TSEG_OK && reads(KEY, NULL));
    delete_text(KEY);
}

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
    /* What has lapsed gives way. */
    for (int i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "lapsed %d", i);
        CHECK(take_for(text, next_name += 2, 1, NULL) == TSEG_OK);
    }
    clear_all();
}

static void eviction_does_not_reach_it(void)
{
    static uint8_t bytes[4000];
    char text[32];
    tseg_value value = value_of(bytes, sizeof bytes);

    CHECK(take(KEY) == TSEG_OK);
    uint64_t lineage = lease.lineage;
    for (int i = 0; i < 2000; i++) { /* eight times the segment */
        snprintf(text, sizeof text, "other %d", i);
        tseg_key key = key_of(segment, text);
        CHECK(set_value(segment, &key, &value) == TSEG_OK);
    }
    CHECK(fill(KEY, lineage, "kept") == TSEG_OK && reads(KEY, "kept"));
    clear_all();
}

/* A dead holder is noticed by its record lock, long before its lease lapses. */
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
        nanosleep(&(struct timespec){0, 5000000}, NULL); /* mostly asleep by now; if not, it does not fall asleep */
        if (way == 0) delete_text(KEY);
        else if (way == 1) CHECK(fill(KEY, mine.lineage, "filled") == TSEG_OK);
        else CHECK(give_back(KEY, mine.lineage, mine.holder, 0) == TSEG_OK);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        delete_text(KEY);
        close(looked[0]);
    }
}

#ifdef TSEG_STOP
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

/* A call in a child, up to its stop point; 0: it never comes by. */
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

/* The call meets a fresh key, a lapsed lease, a lease of its own, or that beside a stale value. */
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

/* Others 0 and 1: what was invalidated does not come back; 2 and 3: killed there, with a delete before or not. */
static void meet(int other, pid_t pid)
{
    if (other == 0 || other == 3) delete_text(KEY);
    if (other == 1) clear_all();
    if (other < 2) go_on(pid);
    else kill_it(pid);
    if (other != 2) CHECK(reads(KEY, NULL));
    if (other != 2) CHECK(fill(KEY, 80, "late") != TSEG_OK && fill(KEY, 100, "late") != TSEG_OK && reads(KEY, NULL));
    /* Whatever is left, somebody can compute the value now, and store it. */
    char buffer[200];
    tseg_token token;
    bool present = read_text(KEY, buffer, sizeof buffer, &token) >= 0;
    if (present && strcmp(buffer, "computed before") == 0) return;
    if (take_for(KEY, 110, 10 * SECOND, present ? &token : NULL) == TSEG_HELD) {
        /* The one that went on has taken it after the delete, or the parent's own stands. */
        CHECK(lease.lineage == 90 || lease.lineage == 80 || lease.lineage == 100);
    }
    CHECK(fill(KEY, lease.lineage, "computed after") == TSEG_OK && reads(KEY, "computed after"));
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
    CHECK(met[TSEG_STOP_BEFORE_UNLOCK] == 16);
    clear_all();
}
#endif

/* What a key's value is computed from, and the least that a read may give: what was there when a delete began. */
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
        CHECK(waitpid(pids[victim], &status, WNOHANG) == 0); /* else it failed */
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
    one_holder_at_a_time();
    a_lapsed_lease_is_taken_over_and_the_first_fill_wins();
    given_back();
    what_ends_a_lineage();
    a_stale_value_stays_until_the_fill();
    a_full_table();
    eviction_does_not_reach_it();
    a_killed_holder();
    a_sleeper_is_woken();
#ifdef TSEG_STOP
    stopped_calls();
    printf("leases: %u stopped cases\n", cases);
#endif
    processes_that_are_killed(kills);
    printf("leases: %lu checks, %lu fills, %lu lost, %lu reads\n", (unsigned long)checks_made,
           (unsigned long)shared->fills, (unsigned long)shared->lost, (unsigned long)shared->reads);
    tseg_release(segment);
    tseg_error error;
    CHECK(tseg_remove(path, true, &error));
    return 0;
}
