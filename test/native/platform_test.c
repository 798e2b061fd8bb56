/*
 * The system's effects on a segment's file: allocations that signals undo, less space than requested, network file
 * systems, an unreadable boot id. Linked with --wrap for the system calls that simulate them.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "check.h"

static const char path[] = "/tmp/tiercel-platform-test";
static const char lock_path[] = "/tmp/tiercel-platform-test.lock";

/* The simulated system. */
static uint32_t file_system;       /* 0: the real one */
static bool boot_id_is_hidden;
static uint64_t largest_undisturbed; /* a longer allocation is interrupted and undone */
static uint64_t room;              /* of the volume; 0: the real one */
static unsigned reservations;

int __real_fstatfs(int descriptor, struct statfs *system);
int __wrap_fstatfs(int descriptor, struct statfs *system);
int __wrap_fstatfs(int descriptor, struct statfs *system)
{
    int result = __real_fstatfs(descriptor, system);
    if (file_system) system->f_type = (__typeof__(system->f_type))file_system;
    else if (room || largest_undisturbed) system->f_type = 0xEF53; /* ext4: a file on tmpfs is written, not allocated */
    return result;
}

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (boot_id_is_hidden && strstr(name, "boot_id")) {
        errno = EACCES;
        return -1;
    }
    return __real_open(name, flags, mode);
}

int __real_posix_fallocate(int descriptor, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int descriptor, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int descriptor, off_t offset, off_t bytes)
{
    CHECK(++reservations < 100000); /* otherwise it would never end */
    if (room && (uint64_t)(offset + bytes) > room) return ENOSPC;
    if (largest_undisturbed && (uint64_t)bytes > largest_undisturbed) return EINTR;
    return __real_posix_fallocate(descriptor, offset, bytes);
}

static bool memory_is_short;
static unsigned backings; /* calls that give a sparse file memory */
static size_t largest_backing;
static tseg *backed; /* the locks of this segment are looked at */
static bool first_backing_has_lock;

static bool has_lock(const tseg *segment)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        if (tseg_load(&tseg_view_of(segment, shard).control->lock) & TSEG_LOCK_SLOT_MASK) return true;
    return false;
}

int __real_madvise(void *memory, size_t bytes, int advice);
int __wrap_madvise(void *memory, size_t bytes, int advice);
int __wrap_madvise(void *memory, size_t bytes, int advice)
{
    if (advice != 23) return __real_madvise(memory, bytes, advice); /* MADV_POPULATE_WRITE */
    if (!backings++ && backed) first_backing_has_lock = has_lock(backed);
    if (bytes > largest_backing) largest_backing = bytes;
    errno = EFAULT;
    return memory_is_short ? -1 : __real_madvise(memory, bytes, advice);
}

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes) { return memory_is_short ? NULL : __real_realloc(memory, bytes); }

static tseg *attach(uint64_t bytes, uint64_t least, tseg_error *error)
{
    tseg_options options = {.bytes = bytes, .smallest_bytes = least, .mode = 0600};
    memset(error, 0, sizeof *error);
    return tseg_attach(path, &options, error);
}

static bool works(tseg *segment)
{
    tseg_key key = key_of(segment, "key");
    tseg_value value = value_of("value", 5);
    char buffer[8];

    return tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK &&
           read_value(segment, &key, buffer, sizeof buffer, NULL) == 5;
}

static void remove_all(void)
{
    unlink(path);
    unlink(lock_path);
}

static void attach_and_remove(uint64_t bytes, uint64_t least, uint64_t expected)
{
    tseg_error error;
    tseg *segment = attach(bytes, least, &error);

    if (!segment) fprintf(stderr, "%s\n", error.message);
    CHECK(segment && segment->map_bytes == expected && works(segment));
    tseg_release(segment);
    remove_all();
}

/* A profiler's timer at 1 kHz: an allocation that takes longer is undone, whatever the size of its pieces. */
static void test_signals_while_room_is_reserved(void)
{
    for (largest_undisturbed = 4096; largest_undisturbed <= 64 << 20; largest_undisturbed *= 8) {
        reservations = 0;
        attach_and_remove(9 << 20, 0, 9 << 20);
    }
    largest_undisturbed = 0;
}

/* Half of a size is accepted too, even if it is not a whole number of pages. */
static void test_less_room_than_wanted(void)
{
    for (uint64_t pages = 2048; pages < 2056; pages++) {
        for (int halvings = 0; halvings < 3; halvings++) {
            uint64_t bytes = pages * 4096, fits = (bytes >> halvings) / 4096 * 4096;
            room = fits;
            attach_and_remove(bytes, 1 << 20, fits);
        }
    }
    room = 0;
    attach_and_remove((8 << 20) + 1000, 0, 8 << 20);
}

static void test_unfit_file_systems(void)
{
    enum { NETWORKS = 8 };
    static const uint32_t refused[] = {0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x01021997, 0x00C36400, 0x0BD00BD0,
                                       0x5346414F, 0x9123683E, 0x2FC12FC1, 0xCA451A4E};
    tseg_error error;
    tseg *segment;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *kind = i < NETWORKS ? "on a network file system" : "on a copy-on-write file system";
        file_system = refused[i];
        CHECK(!attach(2 << 20, 0, &error) && error.code == ENOTSUP);
        CHECK(strstr(error.message, path) && strstr(error.message, "would be on") && strstr(error.message, kind));
        CHECK(access(path, F_OK) != 0);
        file_system = 0;
        segment = attach(2 << 20, 0, &error);
        CHECK(segment);
        tseg_release(segment);
        file_system = refused[i];
        CHECK(!attach(2 << 20, 0, &error) && error.code == ENOTSUP);
        CHECK(strstr(error.message, kind) && strstr(error.message, "/dev/shm"));
        CHECK(access(path, F_OK) == 0); /* not ours to remove */
        file_system = 0;
        remove_all();
    }
}

static uint64_t file_id_of(bool hidden)
{
    tseg_error error;
    tseg *segment;
    uint64_t file_id;

    boot_id_is_hidden = hidden;
    segment = attach(2 << 20, 0, &error);
    CHECK(segment && works(segment));
    file_id = segment->file_id;
    tseg_release(segment);
    boot_id_is_hidden = false;
    return file_id;
}

uint64_t tseg_header_check(const tseg_header *header);

static void move_to_another_boot(void)
{
    tseg_header header;
    int file = open(path, O_RDWR);

    CHECK(pread(file, &header, sizeof header, 0) == sizeof header);
    header.boot_id[0]++;
    header.check = tseg_header_check(&header);
    CHECK(pwrite(file, &header, offsetof(tseg_header, epoch), 0) == offsetof(tseg_header, epoch));
    close(file);
}

/* Processes that can read it and processes that cannot agree on one file. */
static void test_a_boot_id_that_some_cannot_read(void)
{
    for (int first = 0; first < 2; first++) {
        uint64_t file_id = file_id_of(first);
        for (int i = 0; i < 4; i++) CHECK(file_id_of(i & 1) == file_id);
        if (!first) {
            move_to_another_boot();
            CHECK(file_id_of(true) == file_id && file_id_of(false) != file_id);
        }
        remove_all();
    }
}

/* A walk that has no memory says so, and goes on at the same place later. */
static void test_a_walk_while_memory_is_short(void)
{
    tseg_error error;
    tseg *segment = attach(1 << 20, 0, &error);
    tseg_cursor cursor = {0};
    tseg_batch batch = {0};
    tseg_result result;
    uint32_t seen = 0;

    CHECK(works(segment));
    memory_is_short = true;
    while ((result = tseg_walk(segment, &cursor, NULL, 0, time_now, &batch)) == TSEG_OK) seen += batch.count;
    CHECK(result == TSEG_NO_MEMORY && !seen);
    memory_is_short = false;
    while ((result = tseg_walk(segment, &cursor, NULL, 0, time_now, &batch)) == TSEG_OK) seen += batch.count;
    CHECK(result == TSEG_ABSENT && seen == 1);
    free(batch.bytes);
    tseg_release(segment);
    remove_all();
}

/*
 * A large file in memory gets the memory of its logs as they grow. If the system has none, a write is refused, and the
 * key's old value is gone; nothing dies of SIGBUS.
 */
static void test_a_large_file_grows_with_its_logs(void)
{
    static uint8_t bytes[1 << 20];
    tseg_value value = value_of(bytes, sizeof bytes);
    struct stat status;
    tseg_error error;
    tseg_key key;
    tseg *segment;
    unsigned before;

    file_system = 0x01021994; /* tmpfs */
    segment = attach(1 << 30, 0, &error);
    CHECK(segment && stat(path, &status) == 0 && status.st_size == 1 << 30 && status.st_blocks < (128 << 20) / 512);
    backings = 0;
    largest_backing = 0;
    CHECK(works(segment));
    CHECK(backings == 1 && largest_backing <= 64 << 10); /* under the lock, so it holds other writers up */
    before = backings;
    for (int i = 0; i < 100; i++) CHECK(works(segment));
    CHECK(backings == before);
    key = key_of(segment, "key");
    memory_is_short = true;
    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_TOO_LARGE);
    CHECK(read_value(segment, &key, bytes, sizeof bytes, NULL) == -1);
    memory_is_short = false;
    backings = 0;
    backed = segment;
    first_backing_has_lock = true;
    CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK && backings == 2 && !first_backing_has_lock);
    backed = NULL;
    for (int i = 0; i < 8; i++) CHECK(tseg_set(segment, &key, &value, INFINITY, 0) == TSEG_OK);
    CHECK(read_value(segment, &key, bytes, sizeof bytes, NULL) == sizeof bytes);
    check_counts(segment);
    tseg_release(segment);
    file_system = 0;
    remove_all();
}

/* The kernel's flag "dd" of a mapping: do not dump. */
static void test_core_files_have_no_segment(void)
{
    char line[400], start[32];
    tseg_error error;
    tseg *segments[] = {attach(1 << 20, 0, &error), attach_or_die(NULL, 1 << 20, 1)};

    for (int i = 0; i < 2; i++) {
        FILE *maps = fopen("/proc/self/smaps", "r");
        bool there = false, left_out = false;
        CHECK(maps != NULL);
        snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)segments[i]->map);
        while (fgets(line, sizeof line, maps)) {
            if (strncmp(line, start, strlen(start)) == 0) there = true;
            else if (there && strncmp(line, "VmFlags:", 8) == 0) {
                left_out = strstr(line, " dd") != NULL;
                break;
            }
        }
        fclose(maps);
        CHECK(there && left_out);
        tseg_release(segments[i]);
    }
    remove_all();
}

int main(void)
{
    remove_all();
    test_a_walk_while_memory_is_short();
    test_a_large_file_grows_with_its_logs();
    test_core_files_have_no_segment();
    test_signals_while_room_is_reserved();
    test_less_room_than_wanted();
    test_unfit_file_systems();
    test_a_boot_id_that_some_cannot_read();
    printf("platform: %lu checks\n", (unsigned long)checks_made);
    return 0;
}
