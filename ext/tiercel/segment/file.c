/* The file of a segment: opening, checking and making it. */
#include "files.h"

#include <sys/resource.h>

#define NOT_A_SEGMENT "is not a segment: remove it or use another path"

uint64_t tseg_header_check(const tseg_header *header)
{
    static const uint64_t key[2] = {UINT64_C(0x74696572), UINT64_C(0x63656c31)};
    return tseg_siphash(key, (const uint8_t *)header, offsetof(tseg_header, check));
}

/* The damage in a header or in the file's size, as a text; NULL if there is none. */
static const char *what_is_damaged(const tseg_header *header, uint64_t bytes)
{
    const tseg_geometry *stored = &header->geometry;
    tseg_geometry expected;

    if (bytes < TSEG_HEADER_BYTES) return "it is too short for a header";
    if (header->magic != TSEG_MAGIC || header->layout_version != TSEG_LAYOUT_VERSION ||
        header->check != tseg_header_check(header))
        return "its header is damaged";
    if (stored->file_bytes != bytes) return "its size is not what its header says";
    if (!tseg_lay_out(&expected, bytes, stored->shards, stored->average_entry_bytes, stored->process_slots) ||
        memcmp(&expected, stored, sizeof expected) != 0)
        return "its header describes another layout";
    return NULL;
}

/* A process that cannot read the boot's id shares the file with processes that can read it. */
static bool is_from_before_boot(const tseg_header *header)
{
    uint64_t boot_id[2];

    tseg_boot_id(boot_id);
    return boot_id[0] && header->boot_id[0] && memcmp(boot_id, header->boot_id, sizeof boot_id) != 0;
}

/* The reason why the file at the path is stale, or NULL. */
static const char *what_is_stale(const tseg_header *header, const tseg_sidecar *sidecar)
{
    if (is_from_before_boot(header)) return "it is from before the last boot";
    if (header->sidecar_device != (uint64_t)sidecar->device || header->sidecar_inode != (uint64_t)sidecar->inode)
        return "its lock file was replaced";
    if (atomic_load(&header->retired)) return "it is retired";
    return NULL;
}

static tseg_file_state refuse_file(int descriptor, tseg_error *error, int code, const char *path, const char *why)
{
    if (descriptor >= 0) close(descriptor);
    tseg_fail(error, code, "%s %s", path, why);
    return TSEG_FILE_REFUSED;
}

static int open_checked(const char *path, struct stat *status, tseg_file_state *state, tseg_error *error)
{
    int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const char *unfit;
    char why[200];

    *state = TSEG_FILE_MISSING;
    if (descriptor < 0 && errno == ENOENT) return -1;
    *state = TSEG_FILE_REFUSED;
    if (descriptor < 0 || fstat(descriptor, status) != 0) {
        const char *reason = errno == ELOOP ? "is a symbolic link, which is refused: give the real path"
                             : errno == EISDIR ? "is a directory: give the path of a file in it"
                                               : NULL;
        snprintf(why, sizeof why, "cannot be opened: %s", strerror(errno));
        refuse_file(descriptor, error, errno, path, reason ? reason : why);
        return -1;
    }
    snprintf(why, sizeof why, "belongs to user %ld, this process runs as %ld: use another name or path",
             (long)status->st_uid, (long)geteuid());
    if (!S_ISREG(status->st_mode))
        refuse_file(descriptor, error, EISDIR, path, "is not a regular file: give the path of one");
    else if (status->st_uid != geteuid())
        refuse_file(descriptor, error, EACCES, path, why);
    else if ((unfit = tseg_unfit_file_system(descriptor))) {
        snprintf(why, sizeof why, "is on %s: %s", unfit, TSEG_FIT_FILE_SYSTEM);
        refuse_file(descriptor, error, ENOTSUP, path, why);
    } else
        return descriptor;
    return -1;
}

/* Returns whether the name is "tiercel-NAME.v3". Only Segment::Place gives files such names. */
static bool has_own_name(const char *path)
{
    const char *name = strrchr(path, '/');
    char suffix[16];
    size_t count, suffix_count = (size_t)snprintf(suffix, sizeof suffix, ".v%u", TSEG_LAYOUT_VERSION);

    name = name ? name + 1 : path;
    count = strlen(name);
    return strncmp(name, "tiercel-", 8) == 0 && count > 8 + suffix_count &&
           strcmp(name + count - suffix_count, suffix) == 0;
}

/* Returns whether the file's name or the mark in its lock file shows that it was a segment. Its bytes do not matter. */
bool tseg_file_was_ours(const char *path, const tseg_sidecar *sidecar)
{
    return has_own_name(path) || (sidecar && tseg_sidecar_is_marked(sidecar));
}

/*
 * Returns false if the file at the path is certainly no segment of ours. Called before a lock file is made beside it.
 */
bool tseg_file_may_be(const char *path, tseg_error *error)
{
    tseg_file_state state;
    struct stat status;
    uint64_t magic = 0;
    tseg_sidecar *sidecar;
    tseg_error unused;
    int descriptor = open_checked(path, &status, &state, error);
    ssize_t count = 0;
    int code = 0;
    bool may_be;

    if (descriptor < 0) return state == TSEG_FILE_MISSING;
    if (status.st_size > 0) {
        count = pread(descriptor, &magic, sizeof magic, 0);
        code = errno;
    }
    close(descriptor);
    if (count < 0) return tseg_fail(error, code, "%s cannot be read: %s", path, strerror(code));
    may_be = status.st_size == 0 || (count == sizeof magic && magic == TSEG_MAGIC);
    if (may_be) return true;
    sidecar = tseg_sidecar_open(path, 0, false, &unused);
    may_be = tseg_file_was_ours(path, sidecar);
    tseg_sidecar_release(sidecar);
    if (!may_be) refuse_file(-1, error, 0, path, NOT_A_SEGMENT);
    return may_be;
}

/* Maps the file and copies its header. A file that is too short for a header stays unmapped. */
static bool map_file(tseg_file *file, int descriptor, const struct stat *status)
{
    file->bytes = (size_t)status->st_size;
    if (file->bytes < TSEG_HEADER_BYTES) return true;
    file->map = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (file->map == MAP_FAILED) {
        file->map = NULL;
        return false;
    }
    tseg_leave_out_of_core_files(file->map, file->bytes);
    memcpy(&file->header, file->map, offsetof(tseg_header, epoch));
    atomic_store(&file->header.retired, atomic_load(&((tseg_header *)file->map)->retired));
    file->unreadable = false;
    return true;
}

/* Returns whether the file is a segment of this layout version, damaged or not. */
static bool is_known(tseg_file *file, const char *path, const tseg_sidecar *sidecar)
{
    bool magic = file->header.magic == TSEG_MAGIC;

    if ((magic && file->header.layout_version == TSEG_LAYOUT_VERSION) || tseg_file_was_ours(path, sidecar))
        return true;
    file->other_version = magic;
    return false;
}

void tseg_file_close(tseg_file *file)
{
    if (file->map) munmap(file->map, file->bytes);
    file->map = NULL;
}

tseg_file_state tseg_file_open(const char *path, const tseg_sidecar *sidecar, tseg_file *file, tseg_error *error)
{
    tseg_file_state state;
    struct stat status;
    int descriptor = open_checked(path, &status, &state, error);
    const char *wrong;

    memset(file, 0, sizeof *file);
    if (descriptor < 0) return state;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->mode = status.st_mode & 0777;
    file->links = status.st_nlink;
    file->unreadable = true;
    if (status.st_size == 0) { /* made by touch, or by a process that died while it made the segment */
        close(descriptor);
        return TSEG_FILE_STALE;
    }
    if (!map_file(file, descriptor, &status))
        return refuse_file(descriptor, error, errno, path, "cannot be mapped into memory");
    close(descriptor);
    file->ours = !file->unreadable &&
                 (file->header.magic == TSEG_MAGIC || (sidecar && tseg_sidecar_is_marked(sidecar)));
    if (!is_known(file, path, sidecar)) {
        tseg_file_close(file);
        return refuse_file(-1, error, 0, path, file->other_version ? "has another layout version: use another path"
                                                                   : NOT_A_SEGMENT);
    }
    wrong = what_is_damaged(&file->header, file->bytes);
    file->damaged = wrong != NULL;
    if (!wrong) wrong = what_is_stale(&file->header, sidecar);
    if (wrong) tseg_fail(error, 0, "%s: %s", path, wrong);
    return wrong ? TSEG_FILE_STALE : TSEG_FILE_GOOD;
}

static bool close_file(void *file, const atomic_bool *stop)
{
    (void)stop;
    tseg_file_close(file);
    return true;
}

/*
 * tseg_file_close through the host: if nothing else refers to the file, the system frees its memory, which takes a long
 * time.
 */
void tseg_file_close_last(tseg_file *file, tseg_host *host)
{
    if (file->map) tseg_finish(host, close_file, file);
}

/* Only the holder of the lock for files makes a file, so the next holder finds what a killed maker left. */
static bool name_unfinished(char name[PATH_MAX], const char *path)
{
    return (size_t)snprintf(name, PATH_MAX, "%s.tiercel-new", path) < PATH_MAX;
}

/*
 * Opens a file like tseg_file_open, under the lock for files. First removes what a killed maker left. Refuses a stale
 * file that has several names (hard links), because other programs may use the other names.
 */
tseg_file_state tseg_file_open_locked(const char *path, const tseg_sidecar *sidecar, tseg_file *file, tseg_error *error)
{
    char unfinished[PATH_MAX];
    tseg_file_state state;

    if (name_unfinished(unfinished, path)) unlink(unfinished);
    state = tseg_file_open(path, sidecar, file, error);
    if (state != TSEG_FILE_STALE || file->links <= 1) return state;
    tseg_file_close(file);
    return refuse_file(-1, error, EMLINK, path,
                       "has other names too (hard links), so it is left alone: remove this name or use another path");
}

static bool may_be_retired(const tseg_file *file) { return file->map && file->ours && file->links <= 1; }

void tseg_file_retire(tseg_file *file)
{
    if (may_be_retired(file)) atomic_store(&((tseg_header *)file->map)->retired, 1);
}

/* Undoes tseg_file_retire, for a file that stays at its path. */
void tseg_file_restore(tseg_file *file)
{
    if (may_be_retired(file) && !atomic_load(&file->header.retired))
        atomic_store(&((tseg_header *)file->map)->retired, 0);
}

/* Room for a file, which is reserved before anything uses the file. */
#define TSEG_RESERVED_PIECE (UINT64_C(4) << 20)
#define TSEG_TMPFS_MAGIC UINT32_C(0x01021994)
/* From this size on, a file in memory gets the memory of its logs as they grow. */
#define TSEG_LAZY_FROM (UINT64_C(1) << 30)

/* A reservation in progress. One call of the system reserves at most `piece` bytes. */
typedef struct {
    int descriptor;
    uint64_t bytes, at, piece;
    int failure; /* an errno */
} reservation;

/* A step: see system.h. */
static bool write_zeros(void *argument, const atomic_bool *stop)
{
    static const char zeros[1 << 16];
    reservation *room = argument;

    while (room->at < room->bytes) {
        uint64_t rest = room->bytes - room->at, part = rest < sizeof zeros ? rest : sizeof zeros;
        ssize_t written;
        if (atomic_load_explicit(stop, memory_order_relaxed)) return false;
        written = pwrite(room->descriptor, zeros, part, (off_t)room->at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) room->failure = written < 0 ? errno : ENOSPC;
        if (written <= 0) break;
        room->at += (uint64_t)written;
    }
    return true;
}

#ifdef TSEG_LINUX
/*
 * Reserves in pieces, because after a signal kernels before 2024 undo the whole call. Under a profiler's timer a large
 * piece would never succeed, so each interrupted piece halves the size.
 */
static bool reserve(void *argument, const atomic_bool *stop)
{
    reservation *room = argument;

    while (room->at < room->bytes && !room->failure) {
        uint64_t rest = room->bytes - room->at, part = rest < room->piece ? rest : room->piece;
        int failure;
        if (atomic_load_explicit(stop, memory_order_relaxed)) return false;
        failure = posix_fallocate(room->descriptor, (off_t)room->at, (off_t)part);
        if (failure == 0) room->at += part;
        else if (failure != EINTR) room->failure = failure;
        else if (room->piece > TSEG_HEADER_BYTES) room->piece /= 2;
    }
    return true;
}

/* On tmpfs the file is written instead: the system then maps several pages at a time (map_pages in entries.c). */
static bool can_reserve(int descriptor)
{
    struct statfs system;
    return fstatfs(descriptor, &system) != 0 || (uint32_t)system.f_type != TSEG_TMPFS_MAGIC;
}
#else
static bool reserve(void *argument, const atomic_bool *stop)
{
    (void)argument, (void)stop;
    return true;
}
static bool can_reserve(int descriptor) { return (void)descriptor, false; }
#endif

static bool can_be_lazy(int descriptor, uint64_t bytes)
{
    return bytes >= TSEG_LAZY_FROM && !can_reserve(descriptor) && tseg_can_back();
}

typedef struct {
    void *map;
    const tseg_geometry *geometry;
    uint32_t shard;
    int failure; /* an errno */
} backing;

/* A step: see system.h. */
static bool back_parts(void *argument, const atomic_bool *stop)
{
    backing *parts = argument;
    const tseg_geometry *geometry = parts->geometry;

    if (!parts->shard && !tseg_back(parts->map, 0, geometry->shards_offset)) parts->failure = ENOSPC;
    for (; parts->shard < geometry->shards && !parts->failure; parts->shard++) {
        uint64_t from = geometry->shards_offset + parts->shard * geometry->shard_bytes;
        if (atomic_load_explicit(stop, memory_order_relaxed)) return false;
        if (!tseg_back(parts->map, from, from + geometry->log_offset[TSEG_SMALL])) parts->failure = ENOSPC;
    }
    return true;
}

/* The parts of a lazily allocated file that are used from the start: everything but the logs. */
static bool back_all_but_logs(void *map, const tseg_geometry *geometry, tseg_host *host)
{
    backing parts = {map, geometry, 0, 0};
    bool done = tseg_run(host, back_parts, &parts);

    errno = done ? parts.failure : EINTR;
    return errno == 0;
}

/*
 * The file must not be sparse where it is used, because a read dies of SIGBUS if the system has no page for it later.
 * The function checks the free room before it reserves any. On tmpfs, a failing reservation first takes all memory of
 * the machine. Beyond RLIMIT_FSIZE, a signal ends the process.
 *
 * Returns false and sets errno if the room cannot be reserved. EINTR: the host was interrupted. *lazily: the file is
 * large and lies in memory, so its logs get their memory as they grow; otherwise creating 100 GB takes most of a
 * minute.
 */
static bool reserve_file(int descriptor, uint64_t bytes, tseg_host *host, bool *lazily)
{
    reservation room = {descriptor, bytes, 0, TSEG_RESERVED_PIECE, can_reserve(descriptor) ? 0 : EOPNOTSUPP};
    struct statvfs system;
    struct rlimit limit;
    bool done = true;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    if (fstatvfs(descriptor, &system) == 0 && bytes > (uint64_t)system.f_bavail * system.f_frsize) {
        errno = ENOSPC;
        return false;
    }
    *lazily = can_be_lazy(descriptor, bytes);
    if (*lazily) return ftruncate(descriptor, (off_t)bytes) == 0;
    if (!room.failure) done = tseg_run(host, reserve, &room);
    if (done && (room.failure == EOPNOTSUPP || room.failure == EINVAL)) {
        room.failure = ftruncate(descriptor, (off_t)bytes) == 0 ? 0 : errno;
        room.at = 0;
        if (!room.failure) done = tseg_run(host, write_zeros, &room);
    }
    errno = done ? room.failure : EINTR;
    return errno == 0;
}

/* Making the file of a segment: a first one, or one that replaces another. */
void tseg_init_header(tseg_header *header, const tseg_geometry *geometry, const tseg_options *options,
                      const tseg_sidecar *sidecar, bool lazily)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    header->magic = TSEG_MAGIC;
    header->layout_version = TSEG_LAYOUT_VERSION;
    header->header_bytes = sizeof *header;
    header->geometry = *geometry;
    header->created_at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    tseg_boot_id(header->boot_id);
    if (!tseg_random(&header->file_id, sizeof header->file_id) ||
        !tseg_random(header->hash_key, sizeof header->hash_key))
        header->file_id = tseg_mix((uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid());
    header->file_id |= 1;
    if (options->hash_key) memcpy(header->hash_key, options->hash_key, sizeof header->hash_key);
    if (sidecar) {
        header->sidecar_device = (uint64_t)sidecar->device;
        header->sidecar_inode = (uint64_t)sidecar->inode;
    }
    header->check = tseg_header_check(header);
    /* Positions begin after one lap of the ring, so that no slot word of an entry is 0. */
    for (uint32_t shard = 0; shard < geometry->shards; shard++) {
        tseg_shard *control =
            (tseg_shard *)((char *)header + geometry->shards_offset + shard * geometry->shard_bytes);
        for (int log = 0; log < TSEG_LOGS; log++) {
            tseg_store(&control->head[log], geometry->log_units[log]);
            tseg_store(&control->tail[log], geometry->log_units[log]);
            tseg_store(&control->backed[log], lazily ? 0 : geometry->log_units[log]);
        }
    }
}

/* Removes a stale file. The system frees its room once no process has the file mapped. */
static void remove_stale(const char *path, tseg_file *stale, tseg_host *host)
{
    tseg_file_retire(stale);
    unlink(path);
    tseg_file_close_last(stale, host);
}

/*
 * Reserves the wanted size, or half of it and so on down to the smallest size. If the volume is full, it removes the
 * stale file first.
 */
static bool allocate(int descriptor, const char *path, const tseg_options *options, tseg_file **stale,
                     tseg_geometry *geometry, bool *lazily, tseg_error *error)
{
    uint64_t bytes = options->bytes, least = options->smallest_bytes ? options->smallest_bytes : bytes;

    for (;;) {
        int code;
        if (!tseg_lay_out(geometry, bytes, options->shards, options->average_entry_bytes, TSEG_PROCESS_SLOTS))
            return tseg_fail(error, EINVAL, "%s: %llu bytes in %u shards for entries of %u bytes (0: the default): "
                             "expected 1 MB or more, shards a power of two up to 1,024 with room for a log each, "
                             "entries of 64 bytes or more; give a larger size or fewer shards", path,
                             (unsigned long long)bytes, options->shards, options->average_entry_bytes);
        if (reserve_file(descriptor, geometry->file_bytes, options->host, lazily)) return true;
        code = errno;
        if (code == ENOSPC) {
            bool given = *stale != NULL;
            if (ftruncate(descriptor, 0) != 0) {} /* else the next attempt reserves over the room that is left */
            if (given) remove_stale(path, *stale, options->host);
            *stale = NULL;
            if (!given) bytes /= 2;
            if (bytes >= least) continue;
        }
        if (code == EINTR) return tseg_fail(error, code, "%s: interrupted", path);
        return tseg_fail(error, code, "%s: %llu bytes cannot be reserved%s: give a smaller size or another path", path,
                         (unsigned long long)options->bytes, code == EFBIG ? " (RLIMIT_FSIZE is less)" : "");
    }
}

static bool fill_file(int descriptor, const char *path, const tseg_sidecar *sidecar, const tseg_options *options,
                      tseg_file **stale, tseg_error *error)
{
    const char *unfit = tseg_unfit_file_system(descriptor);
    tseg_geometry geometry;
    bool lazily = false;
    int code = 0;
    void *map;

    if (unfit) return tseg_fail(error, ENOTSUP, "%s would be on %s: %s", path, unfit, TSEG_FIT_FILE_SYSTEM);
    if (!allocate(descriptor, path, options, stale, &geometry, &lazily, error)) return false;
    map = mmap(NULL, geometry.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (map == MAP_FAILED) return tseg_fail(error, errno, "%s cannot be mapped into memory: %s", path, strerror(errno));
    if (lazily && !back_all_but_logs(map, &geometry, options->host)) code = errno;
    if (code) tseg_fail(error, code, "%s: %s", path, code == EINTR ? "interrupted" : "its index has no room");
    else tseg_init_header(map, &geometry, options, sidecar, lazily);
    munmap(map, geometry.file_bytes);
    return code == 0;
}

/*
 * Makes the file under a temporary name, which a killed maker leaves to the next holder of the lock for files, and then
 * renames it. If another file is at the path, this retires that file first. If the volume has no room for two files, it
 * removes a stale file first.
 */
bool tseg_file_make(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *replaced,
                    bool stale, tseg_error *error)
{
    char temporary[PATH_MAX];
    tseg_file *removable = stale ? replaced : NULL;
    int descriptor, code;
    bool made;

    if (!name_unfinished(temporary, path))
        return tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", path);
    descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options->mode);
    if (descriptor < 0) return tseg_fail(error, errno, "%s cannot be created: %s", path, strerror(errno));
    made = fill_file(descriptor, path, sidecar, options, &removable, error);
    if (stale && !removable) replaced = NULL;
    /* The old file is retired before the new one replaces it, but only after the new one is complete. */
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    if (made && replaced) tseg_file_retire(replaced);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    code = made && rename(temporary, path) != 0 ? errno : 0;
    if (code == ENOENT) code = EAGAIN; /* a process with another lock file has removed the temporary name */
    if (code) made = tseg_fail(error, code, "%s cannot be created: %s", path, strerror(code));
    if (code && replaced) tseg_file_restore(replaced);
    if (!made) unlink(temporary);
    close(descriptor);
    if (made) tseg_sidecar_mark(sidecar);
    return made;
}
