/* Making the file of a segment: a first one, or one that replaces another. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

#define TSEG_LINK_PATH 40

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
static void give_way(const char *path, tseg_file *stale, tseg_host *host)
{
    tseg_file_retire(stale);
    tseg_file_close(stale);
    tseg_file_unlink(path, host);
}

static bool empty_file(void *descriptor, const atomic_bool *stop)
{
    (void)stop;
    if (ftruncate(*(int *)descriptor, 0) != 0) {} /* the next attempt reserves less, over the room that is left */
    return true;
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
                             "expected 1 MB or more, shards a power of two up to 1,024 with room for a log each, entries "
                             "of 64 bytes or more; give a larger size or fewer shards", path,
                             (unsigned long long)bytes, options->shards, options->average_entry_bytes);
        if (tseg_allocate_file(descriptor, geometry->file_bytes, options->host, lazily)) return true;
        code = errno;
        if (code == ENOSPC) {
            bool given = *stale != NULL;
            tseg_finish(options->host, empty_file, &descriptor);
            if (given) give_way(path, *stale, options->host);
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
    map = tseg_map_file(descriptor, geometry.file_bytes);
    if (map == MAP_FAILED) return tseg_fail(error, errno, "%s cannot be mapped into memory: %s", path, strerror(errno));
    if (lazily && !tseg_back_parts(map, &geometry, options->host)) code = errno;
    if (code) tseg_fail(error, code, "%s: %s", path, code == EINTR ? "interrupted" : "its index has no room");
    else tseg_init_header(map, &geometry, options, sidecar, lazily);
    munmap(map, geometry.file_bytes);
    return code == 0;
}

/* false after the system has refused to give a nameless file a name, as some sandboxes do. */
static bool names_later = true;

/*
 * Opens a file without a name: if this process is killed, the system frees the file. Returns -1 if the system has no
 * such files or cannot name them later. The file then gets a temporary name, which tseg_sweep_leftovers finds.
 */
static int open_nameless(const char *path, mode_t mode, char link_path[TSEG_LINK_PATH])
{
#ifdef TSEG_LINUX
    const char *name = strrchr(path, '/');
    char directory[PATH_MAX] = ".";
    struct stat status;
    int descriptor;

    if (name) snprintf(directory, sizeof directory, "%.*s", name == path ? 1 : (int)(name - path), path);
    descriptor = names_later ? open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, mode) : -1;
    if (descriptor < 0) return -1;
    snprintf(link_path, TSEG_LINK_PATH, "/proc/self/fd/%d", descriptor);
    if (stat(link_path, &status) == 0) return descriptor;
    close(descriptor);
#else
    (void)path, (void)mode, (void)link_path;
#endif
    return -1;
}

/*
 * Gives the file its path. It replaces the file there, or does nothing if another process has just made that file.
 * Returns 0 or an errno. EAGAIN: try again; a process with another lock file may have removed the temporary name.
 */
static int link_file(const char *path, const char *temporary, const char *link_path, bool replaces)
{
    bool nameless = link_path != temporary;
    const char *name = replaces ? temporary : path;

    if ((nameless || !replaces) && linkat(AT_FDCWD, link_path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0 &&
        (replaces || errno != EEXIST)) {
        if (nameless) names_later = false;
        return nameless || errno == ENOENT ? EAGAIN : errno;
    }
    if (!replaces || rename(temporary, path) == 0) return 0;
    return errno == ENOENT ? EAGAIN : errno;
}

/* A step for the host, because the system takes a long time to free reserved pages. */
static bool close_unused(void *descriptor, const atomic_bool *stop)
{
    (void)stop;
    close(*(int *)descriptor);
    return true;
}

bool tseg_file_make(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *replaced,
                    bool stale, tseg_error *error)
{
    char temporary[PATH_MAX], proc_path[TSEG_LINK_PATH];
    const char *link_path = proc_path;
    tseg_file *may_give_way = stale ? replaced : NULL;
    uint64_t random = 0;
    int descriptor, code;
    bool made;

    tseg_random(&random, sizeof random);
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%lx.%llx" TSEG_NEW_ENDING, path, (long)getpid(),
                         (unsigned long long)random) >= sizeof temporary)
        return tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", path);
    descriptor = open_nameless(path, options->mode, proc_path);
    if (descriptor < 0) {
        link_path = temporary;
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options->mode);
    }
    if (descriptor < 0) return tseg_fail(error, errno, "%s cannot be created: %s", path, strerror(errno));
    tseg_sidecar_set_making(sidecar, descriptor);
    made = fill_file(descriptor, path, sidecar, options, &may_give_way, error);
    if (stale && !may_give_way) replaced = NULL;
    /* The old file is retired before the new one replaces it, but only after the new one is complete. */
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    if (made && replaced) tseg_file_retire(replaced);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    code = made ? link_file(path, temporary, link_path, replaced != NULL) : 0;
    if (code) made = tseg_fail(error, code, "%s cannot be created: %s", path, strerror(code));
    if (code && replaced) tseg_file_restore(replaced);
    if (link_path == temporary || replaced) unlink(temporary);
    tseg_sidecar_set_making(sidecar, -1);
    if (made) close(descriptor);
    else tseg_finish(options->host, close_unused, &descriptor);
    if (made) tseg_sidecar_mark(sidecar);
    return made;
}
