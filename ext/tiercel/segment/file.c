/* Making, opening and checking the file of a segment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "hash.h"

bool tseg_fail(tseg_error *error, int code, const char *format, ...)
{
    va_list arguments;

    error->code = code;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

uint64_t tseg_header_check(const tseg_header *header)
{
    static const uint64_t key[2] = {UINT64_C(0x74696572), UINT64_C(0x63656c31)};
    return tseg_siphash(key, (const uint8_t *)header, offsetof(tseg_header, check));
}

void tseg_init_header(tseg_header *header, const tseg_geometry *geometry, const tseg_options *options,
                      const tseg_sidecar *sidecar)
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
    /* Positions begin at one lap, so that no slot word of an entry is 0. */
    for (uint32_t shard = 0; shard < geometry->shards; shard++) {
        tseg_shard *control =
            (tseg_shard *)((char *)header + geometry->shards_offset + shard * geometry->shard_bytes);
        for (int log = 0; log < TSEG_LOGS; log++) {
            tseg_store(&control->head[log], geometry->log_units[log]);
            tseg_store(&control->tail[log], geometry->log_units[log]);
        }
    }
}

/* Why the file at the path is not the one to use, or NULL. */
static const char *what_is_wrong(const tseg_header *header, uint64_t bytes, const tseg_sidecar *sidecar)
{
    const tseg_geometry *stored = &header->geometry;
    tseg_geometry expected;
    uint64_t boot_id[2];

    if (header->check != tseg_header_check(header)) return "its header is damaged";
    if (stored->file_bytes != bytes) return "its size is not what its header says";
    if (!tseg_lay_out(&expected, bytes, stored->shards, stored->average_entry_bytes, stored->process_slots) ||
        memcmp(&expected, stored, sizeof expected) != 0)
        return "its header describes another layout";
    tseg_boot_id(boot_id);
    if (memcmp(boot_id, header->boot_id, sizeof boot_id) != 0) return "it is from before the last boot";
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
    char why[160];

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
    else if (tseg_is_network_file(descriptor))
        refuse_file(descriptor, error, ENOTSUP, path,
                    "is on a network file system, whose pages are not shared: use a local one, such as /dev/shm");
    else
        return descriptor;
    return -1;
}

bool tseg_file_may_be(const char *path, tseg_error *error)
{
    tseg_file_state state;
    struct stat status;
    uint64_t magic = 0;
    int descriptor = open_checked(path, &status, &state, error);

    if (descriptor < 0) return state == TSEG_FILE_MISSING;
    if (status.st_size == 0 || (pread(descriptor, &magic, sizeof magic, 0) == sizeof magic && magic == TSEG_MAGIC)) {
        close(descriptor);
        return true;
    }
    refuse_file(descriptor, error, 0, path, "is not a segment: remove it or use another path");
    return false;
}

tseg_file_state tseg_file_open(const char *path, const tseg_sidecar *sidecar, tseg_file *file, tseg_error *error)
{
    tseg_file_state state;
    struct stat status;
    int descriptor = open_checked(path, &status, &state, error);
    const tseg_header *header;
    const char *wrong;

    memset(file, 0, sizeof *file);
    if (descriptor < 0) return state;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->unreadable = true;
    if (status.st_size == 0) { /* nobody's: made by somebody who died before linking could be relied on, or by touch */
        close(descriptor);
        return TSEG_FILE_STALE;
    }
    file->bytes = (size_t)status.st_size;
    if (file->bytes < TSEG_HEADER_BYTES)
        return refuse_file(descriptor, error, 0, path, "is not a segment (too short): remove it or use another path");
    file->map = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (file->map == MAP_FAILED) {
        file->map = NULL;
        return refuse_file(descriptor, error, errno, path, "cannot be mapped into memory");
    }
    close(descriptor);
    header = memcpy(&file->header, file->map, offsetof(tseg_header, epoch));
    atomic_store(&file->header.retired, atomic_load(&((tseg_header *)file->map)->retired));
    file->unreadable = false;
    if (header->magic != TSEG_MAGIC || header->layout_version != TSEG_LAYOUT_VERSION) {
        file->other_version = header->magic == TSEG_MAGIC;
        tseg_file_close(file);
        return refuse_file(-1, error, 0, path, file->other_version ? "has another layout version: use another path"
                                                                   : "is not a segment: remove it or use another path");
    }
    wrong = what_is_wrong(header, file->bytes, sidecar);
    if (wrong) tseg_fail(error, 0, "%s: %s", path, wrong);
    return wrong ? TSEG_FILE_STALE : TSEG_FILE_GOOD;
}

void tseg_file_close(tseg_file *file)
{
    if (file->map) munmap(file->map, file->bytes);
    file->map = NULL;
}

static bool allocate(int descriptor, const char *path, tseg_options *options, tseg_error *error)
{
    uint64_t least = options->smallest_bytes ? options->smallest_bytes : options->bytes;

    for (;; options->bytes /= 2) {
        int code;
        if (tseg_allocate_file(descriptor, options->bytes)) return true;
        code = errno;
        if (ftruncate(descriptor, 0) != 0 || code != ENOSPC || options->bytes / 2 < least)
            return tseg_fail(error, code, "%s: %llu bytes cannot be reserved: give a smaller size or another path",
                             path, (unsigned long long)options->bytes);
    }
}

static bool fill_file(int descriptor, const char *path, const tseg_sidecar *sidecar, const tseg_options *wanted,
                      tseg_error *error)
{
    tseg_options options = *wanted;
    tseg_geometry geometry;
    void *map;

    options.bytes = options.bytes / TSEG_HEADER_BYTES * TSEG_HEADER_BYTES;
    if (tseg_is_network_file(descriptor))
        return tseg_fail(error, ENOTSUP, "%s would be on a network file system, whose pages are not shared: "
                         "use a local one, such as /dev/shm", path);
    if (!allocate(descriptor, path, &options, error)) return false;
    if (!tseg_lay_out(&geometry, options.bytes, options.shards, options.average_entry_bytes, TSEG_PROCESS_SLOTS))
        return tseg_fail(error, EINVAL, "%s: %llu bytes in %u shards for entries of %u bytes: expected 1 MB or more, "
                         "shards a power of two up to 64 with at least 128 KB each, entries of 64 bytes or more",
                         path, (unsigned long long)options.bytes, options.shards, options.average_entry_bytes);
    map = mmap(NULL, options.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (map == MAP_FAILED) return tseg_fail(error, errno, "%s cannot be mapped into memory: %s", path, strerror(errno));
    tseg_init_header(map, &geometry, &options, sidecar);
    munmap(map, options.bytes);
    return true;
}

bool tseg_file_make(const char *path, const tseg_sidecar *sidecar, const tseg_options *options, tseg_file *replaced,
                    tseg_error *error)
{
    char temporary[PATH_MAX];
    uint64_t random = 0;
    int descriptor;
    bool made;

    tseg_random(&random, sizeof random);
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%lx.%llx.new", path, (long)getpid(),
                         (unsigned long long)random) >= sizeof temporary)
        return tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", path);
    descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options->mode);
    if (descriptor < 0) return tseg_fail(error, errno, "%s cannot be created: %s", path, strerror(errno));
    made = fill_file(descriptor, path, sidecar, options, error);
    close(descriptor);
    /* Retired before it is replaced, but not before the new one is complete: where that fails, all stays as it is. */
    if (made && replaced) tseg_file_retire(replaced);
    if (made && (replaced ? rename(temporary, path) : link(temporary, path)) != 0 && errno != EEXIST)
        made = tseg_fail(error, errno, "%s cannot be created: %s", path, strerror(errno));
    if (!made || !replaced) unlink(temporary);
    return made;
}

void tseg_file_retire(tseg_file *file)
{
    if (file->map && !file->unreadable) atomic_store(&((tseg_header *)file->map)->retired, 1);
}
