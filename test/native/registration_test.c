/*
 * How a process proves that it is alive: threads that wait for a shard while another one registers again, children
 * that never call, and other code in the process that opens, closes or loses the lock file.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

enum { THREADS = 3, WRITES = 20 };

static char path[] = "/tmp/tiercel-native-XXXXXX";
static char lock_path[64];
static tseg *segment;
static pthread_mutex_t host = PTHREAD_MUTEX_INITIALIZER; /* plays the role of Ruby's GVL */
static _Atomic bool finished;

/* The registration as another process sees it. */
static bool is_locked(off_t byte)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
        _exit(fcntl(open(lock_path, O_RDWR), F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status) != 0;
}

static uint32_t generation_of(uint64_t owner)
{
    return (uint32_t)(owner >> TSEG_LOCK_GENERATION_SHIFT) & TSEG_LOCK_GENERATION_MASK;
}

static off_t own_byte(void) { return 1 + segment->sidecar->slot; }

/* Closing any descriptor of the file releases record locks; the process reacquires its own within a second. */
static void test_other_code_opens_and_closes_the_lock_file(void)
{
    int status, ready[2];
    char byte;
    pid_t pid;

    CHECK(is_locked(own_byte()));
    close(open(lock_path, O_RDWR));
    CHECK(is_locked(own_byte()) == !segment->sidecar->record_locks);
    tseg_keep_registered(segment);
    CHECK(is_locked(own_byte()));
    if (!segment->sidecar->record_locks) return;

    /* Another process has acquired the slot since, so this one acquires another. */
    off_t lost = own_byte();
    close(open(lock_path, O_RDWR));
    CHECK(pipe(ready) == 0 && (pid = fork()) >= 0);
    if (pid == 0) {
        tseg_after_fork();
        CHECK(own_byte() == lost && write(ready[1], "x", 1) == 1);
        pause();
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    tseg_keep_registered(segment);
    CHECK(own_byte() != lost && is_locked(own_byte()));
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);

    /* Another process had the slot and ended: the byte is free, but the slot has another generation. */
    lost = own_byte();
    close(open(lock_path, O_RDWR));
    atomic_fetch_add(&segment->processes[lost - 1].generation, 1);
    tseg_keep_registered(segment);
    CHECK(is_locked(own_byte()) && atomic_load(&segment->self->generation) == generation_of(segment->owner));
}

/*
 * Daemons and close_fds loops close descriptors that are not theirs. Where the lock belongs to the open file
 * description, the process keeps its slot and its locks; no other process takes its shard over.
 */
static void test_other_code_closes_the_descriptor(void)
{
    off_t byte = own_byte();
    uint64_t owner = segment->owner, word;
    bool taken_over;
    int status;
    pid_t pid;

    if (segment->sidecar->record_locks) return;
    CHECK(tseg_lock(segment, 0, &word, &taken_over) == TSEG_OK);
    CHECK(close(segment->sidecar->descriptor) == 0);
    CHECK(is_locked(byte));
    CHECK((pid = fork()) >= 0);
    if (pid == 0) {
        tseg_after_fork();
        CHECK(tseg_lock(segment, 0, &word, &taken_over) == TSEG_WOULD_WAIT && !taken_over);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    tseg_unlock(segment, 0, word);
    CHECK(tseg_keep_registered(segment) && segment->owner == owner && own_byte() == byte && is_locked(byte));
    CHECK(segment->sidecar->descriptor >= 0);
}

/* The lock for files ends with its descriptor, although the proof of life stays. */
static void test_the_lock_for_files_is_not_left_behind(void)
{
    tseg_sidecar *sidecar = segment->sidecar;
    tseg_error error = {0};
    int status;
    pid_t pid;

    CHECK(tseg_sidecar_lock_files(sidecar, &error) && is_locked(0));
    CHECK((pid = fork()) >= 0);
    if (pid == 0) {
        tseg_after_fork();
        CHECK(!tseg_sidecar_lock_files(sidecar, &error) && error.code == EAGAIN);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(close(sidecar->files_descriptor) == 0);
    if (sidecar->record_locks) tseg_keep_registered(segment);
    tseg_sidecar_unlock_files(sidecar);
    CHECK(!is_locked(0) && is_locked(own_byte()));
    CHECK(tseg_sidecar_lock_files(sidecar, &error) && is_locked(0));
    tseg_sidecar_unlock_files(sidecar);
    CHECK(!is_locked(0) && is_locked(own_byte()));
}

static void test_a_child_that_never_calls_keeps_no_lock(void)
{
    int ready[2], status;
    char line[32] = "";
    off_t byte;
    pid_t parent, child;

    CHECK(pipe(ready) == 0 && (parent = fork()) >= 0);
    if (parent == 0) {
        tseg_after_fork();
        child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        CHECK(dprintf(ready[1], "%d %d", (int)child, (int)own_byte()) > 0);
        pause();
    }
    CHECK(read(ready[0], line, sizeof line - 1) > 0);
    child = (pid_t)strtol(line, NULL, 10);
    byte = strtol(strchr(line, ' '), NULL, 10);
    CHECK(is_locked(byte));
    CHECK(kill(parent, SIGKILL) == 0 && waitpid(parent, &status, 0) == parent);
    for (int i = 0; i < 3000 && is_locked(byte); i++) nanosleep(&(struct timespec){0, 10000000}, NULL);
    CHECK(!is_locked(byte));
    CHECK(kill(child, SIGKILL) == 0);
}

static void *write_often(void *name)
{
    tseg_key key = key_of(segment, name);
    tseg_value value = value_of("x", 1);

    pthread_mutex_lock(&host);
    for (int i = 0; i < WRITES; i++) {
        tseg_wait wait = {0};
        while (tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_WOULD_WAIT &&
               tseg_may_wait(segment, key.shard, &wait)) {
            tseg_hold(segment);
            pthread_mutex_unlock(&host);
            tseg_watch(segment, key.shard, &wait);
            pthread_mutex_lock(&host);
            tseg_release(segment);
        }
    }
    pthread_mutex_unlock(&host);
    return NULL;
}

/*
 * Other code that occasionally closes all descriptors of the process, and the check that a process makes once a
 * second, here more often. Uses the system call directly: the sanitizer would report any reuse of that number as a
 * race.
 */
static void *lose_the_lock_file(void *unused)
{
    const struct timespec pause = {0, 300000};

    (void)unused;
    while (!atomic_load(&finished)) {
        pthread_mutex_lock(&host);
        if (segment->sidecar->descriptor >= 0) syscall(SYS_close, segment->sidecar->descriptor);
        tseg_keep_registered(segment);
        pthread_mutex_unlock(&host);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Holds the lock most of the time. */
static pid_t start_holder(void)
{
    const struct timespec pause = {0, 200000};
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid) return pid;
    tseg_after_fork();
    for (;;) {
        uint64_t word;
        bool taken_over;
        if (tseg_lock(segment, 0, &word, &taken_over) != TSEG_OK) continue;
        nanosleep(&pause, NULL);
        tseg_unlock(segment, 0, word);
        nanosleep(&pause, NULL);
    }
}

static void test_threads_that_wait_while_another_registers(void)
{
    static char names[THREADS][8] = {"one", "two", "three"};
    pthread_t threads[THREADS], other;
    pid_t holder = start_holder();
    int status;

    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, write_often, names[i]) == 0);
    CHECK(pthread_create(&other, NULL, lose_the_lock_file, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    atomic_store(&finished, true);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(kill(holder, SIGKILL) == 0 && waitpid(holder, &status, 0) == holder);
    for (int i = 0; i < THREADS; i++) {
        tseg_key key = key_of(segment, names[i]);
        uint8_t byte;
        CHECK(read_value(segment, &key, &byte, 1, NULL) == 1);
    }
}

int main(void)
{
    tseg_error error;

    close(mkstemp(path));
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    segment = attach_or_die(path, 1 << 20, 1);
    test_a_child_that_never_calls_keeps_no_lock();
    test_other_code_closes_the_descriptor();
    test_the_lock_for_files_is_not_left_behind();
    test_other_code_opens_and_closes_the_lock_file();
    test_threads_that_wait_while_another_registers();
    printf("registration: %lu checks, by %s locks\n", (unsigned long)checks_made,
           segment->sidecar->record_locks ? "record" : "open-file-description");
    tseg_release(segment);
    CHECK(tseg_remove(NULL, path, true, &error));
    return 0;
}
