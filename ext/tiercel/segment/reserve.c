/* Reserves the room for a file before anything uses the file. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef TSEG_LINUX
#include <sys/vfs.h>
#endif

#include "attach.h"

#define TSEG_RESERVED_PIECE (UINT64_C(4) << 20)
#define TSEG_TMPFS_MAGIC UINT32_C(0x01021994)
/* From this size on, a file in memory gets the memory of its logs as they grow. */
#define TSEG_LAZY_FROM (UINT64_C(1) << 30)
/* Since Linux 5.14 and 6.1, newer than some C libraries. */
#define TSEG_POPULATE_WRITE 23
#define TSEG_COLLAPSE 25

/* A reservation in progress. One call of the system reserves at most `piece` bytes. */
typedef struct {
    int descriptor;
    uint64_t bytes, at, piece;
    int failure; /* an errno */
} reservation;

/* A step: see host.h. */
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

/* On tmpfs the file is written instead: the system then maps several pages at a time (map_pages in append.c). */
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

#ifdef TSEG_LINUX
bool tseg_back(void *map, uint64_t from, uint64_t to, bool in_large_pages)
{
    uint64_t first = from & ~(uint64_t)(TSEG_HEADER_BYTES - 1), whole = (to + TSEG_LARGE_PAGE - 1) & ~(TSEG_LARGE_PAGE - 1);
    int result;

    do result = madvise((char *)map + first, to - first, TSEG_POPULATE_WRITE);
    while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result != 0) return false;
    first = (from + TSEG_LARGE_PAGE - 1) & ~(TSEG_LARGE_PAGE - 1);
    if (whole > to) whole -= TSEG_LARGE_PAGE;
    /* Best effort: without large pages the same memory is slower to read. */
    if (in_large_pages && first < whole && madvise((char *)map + first, whole - first, TSEG_COLLAPSE) != 0) errno = 0;
    return true;
}

static bool can_be_lazy(int descriptor, uint64_t bytes)
{
    void *page;
    bool works;

    if (bytes < TSEG_LAZY_FROM || can_reserve(descriptor)) return false;
    page = mmap(NULL, TSEG_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (page == MAP_FAILED) return false;
    works = madvise(page, TSEG_HEADER_BYTES, TSEG_POPULATE_WRITE) == 0;
    munmap(page, TSEG_HEADER_BYTES);
    return works;
}

void *tseg_map_file(int descriptor, size_t bytes)
{
    char *room, *aligned;

    if (bytes < TSEG_LARGE_PAGES_FROM) return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    room = mmap(NULL, bytes + TSEG_LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return MAP_FAILED;
    aligned = room + (TSEG_LARGE_PAGE - (uintptr_t)room % TSEG_LARGE_PAGE) % TSEG_LARGE_PAGE;
    if (aligned > room) munmap(room, (size_t)(aligned - room));
    munmap(aligned + bytes, (size_t)(room + TSEG_LARGE_PAGE - aligned));
    return mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
}
#else
bool tseg_back(void *map, uint64_t from, uint64_t to, bool in_large_pages)
{
    return (void)map, (void)from, (void)to, (void)in_large_pages, false;
}
static bool can_be_lazy(int descriptor, uint64_t bytes) { return (void)descriptor, (void)bytes, false; }
void *tseg_map_file(int descriptor, size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}
#endif

typedef struct {
    void *map;
    const tseg_geometry *geometry;
    uint32_t shard;
    int failure; /* an errno */
} backing;

/* A step: see host.h. */
static bool back_parts(void *argument, const atomic_bool *stop)
{
    backing *parts = argument;
    const tseg_geometry *geometry = parts->geometry;
    bool in_large_pages = geometry->file_bytes >= TSEG_LARGE_PAGES_FROM;

    if (!parts->shard && !tseg_back(parts->map, 0, geometry->shards_offset, false)) parts->failure = ENOSPC;
    for (; parts->shard < geometry->shards && !parts->failure; parts->shard++) {
        uint64_t from = geometry->shards_offset + parts->shard * geometry->shard_bytes;
        if (atomic_load_explicit(stop, memory_order_relaxed)) return false;
        if (!tseg_back(parts->map, from, from + geometry->log_offset[TSEG_SMALL], in_large_pages))
            parts->failure = ENOSPC;
    }
    return true;
}

bool tseg_back_parts(void *map, const tseg_geometry *geometry, tseg_host *host)
{
    backing parts = {map, geometry, 0, 0};
    bool done = tseg_run(host, back_parts, &parts);

    errno = done ? parts.failure : EINTR;
    return errno == 0;
}

bool tseg_run(tseg_host *host, tseg_step *step, void *argument)
{
    atomic_bool never = false;

    return host ? host->run(host, step, argument) : step(argument, &never);
}

void tseg_finish(tseg_host *host, tseg_step *step, void *argument)
{
    if (!tseg_run(host, step, argument)) tseg_run(NULL, step, argument);
}

/*
 * The file must not be sparse where it is used: if the system has no page for it later, a read dies of SIGBUS. The
 * function checks the free room before it reserves any: on tmpfs, a failing reservation first takes all memory of the machine, and beyond
 * RLIMIT_FSIZE a signal ends the process.
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
