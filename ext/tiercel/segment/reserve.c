/* Reserves the room for a file before anything uses the file. */
#include "files.h"

#include <sys/resource.h>

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
bool tseg_back_parts(void *map, const tseg_geometry *geometry, tseg_host *host)
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
bool tseg_allocate_file(int descriptor, uint64_t bytes, tseg_host *host, bool *lazily)
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
