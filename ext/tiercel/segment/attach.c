/* The attachments of this process. All its handles on a file share one attachment. */
#include "files.h"

#define TSEG_ATTACH_TRIES 10

_Atomic uint64_t tseg_unmapped; /* the number of segments that this process has unmapped */

static void locate(tseg *segment)
{
    const tseg_geometry *geometry = &segment->geometry;
    char *base = segment->map;
    uint32_t bits = 0;

    segment->header = segment->map;
    segment->processes = (tseg_process *)(base + geometry->processes_offset);
    segment->stripes = (tseg_word *)(base + geometry->stripes_offset);
    segment->leases = (tseg_lease_group *)(base + geometry->leases_offset);
    segment->index_slots = geometry->buckets * TSEG_BUCKET_SLOTS;
    while (1u << bits < geometry->shards) bits++;
    segment->shard_shift = 64 - bits;
    segment->shard_lease_groups = (uint32_t)geometry->lease_groups >> bits;
}

static void free_segment(tseg *segment)
{
    if (!segment) return;
    free(segment->discarded_counts);
    free(segment->known_memory);
    free(segment->path);
    free(segment);
}

static tseg *new_segment(const char *path, tseg_error *error)
{
    tseg *segment = calloc(1, sizeof *segment);
    void *counts = NULL;

    if (segment && posix_memalign(&counts, TSEG_CACHE_LINE, sizeof(tseg_process)) == 0) {
        memset(counts, 0, sizeof(tseg_process));
        segment->discarded_counts = counts;
        segment->path = strdup(path);
    }
    if (!segment || !segment->path) {
        free_segment(segment);
        tseg_fail(error, ENOMEM, "out of memory");
        return NULL;
    }
    return segment;
}

/* `header` is a checked copy, since other processes may change the header in the file. */
static void adopt(tseg *segment, const tseg_header *header, void *map, size_t bytes, tseg_sidecar *sidecar)
{
    tseg_after_fork();
    segment->map = map;
    segment->map_bytes = bytes;
    segment->sidecar = sidecar;
    segment->geometry = header->geometry;
    segment->file_id = header->file_id;
    memcpy(segment->hash_key, header->hash_key, sizeof segment->hash_key);
    segment->references = 1;
    locate(segment);
    tseg_register(segment);
    segment->next = tseg_attachments;
    tseg_attachments = segment;
}

static tseg *find_segment(dev_t device, ino_t inode)
{
    tseg *segment = tseg_attachments;
    while (segment && (!segment->sidecar || segment->device != device || segment->inode != inode))
        segment = segment->next;
    return segment;
}

/*
 * Returns false if the path leads to another file or none. The caller attaches again, but does not retire the segment:
 * after a chroot the path leads elsewhere for one process only.
 */
bool tseg_path_is_current(const tseg *segment)
{
    struct stat status;

    if (!segment->sidecar) return true;
    if (lstat(segment->path, &status) == 0)
        return status.st_dev == segment->device && status.st_ino == segment->inode;
    return errno != ENOENT && errno != ENOTDIR; /* after another error the process keeps its attachment */
}

static bool unmap(void *argument, const atomic_bool *stop)
{
    tseg *segment = argument;

    (void)stop;
    munmap(segment->map, segment->map_bytes);
    return true;
}

/* Unmaps the segment through the host, because unmapping is long work if it frees memory. */
void tseg_release_by(tseg_host *host, tseg *segment)
{
    tseg **link = &tseg_attachments;
    bool last;

    tseg_hold_forks(); /* another thread may find the segment until it has left the list */
    last = --segment->references == 0;
    while (last && *link != segment) link = &(*link)->next;
    if (last) *link = segment->next;
    tseg_allow_forks();
    if (!last) return;
    tseg_unmapped++;
    tseg_finish(host, unmap, segment);
    tseg_sidecar_release(segment->sidecar);
    free_segment(segment);
}

void tseg_release(tseg *segment) { tseg_release_by(NULL, segment); }

/* A call holds the segment while it waits. Each hold needs one tseg_let_go. */
void tseg_hold(tseg *segment)
{
    segment->references++;
    segment->holds++;
}

void tseg_let_go(tseg_host *host, tseg *segment)
{
    segment->holds--;
    tseg_release_by(host, segment);
}

static tseg *attach_file(const char *path, tseg_file *file, tseg_sidecar *sidecar, tseg_error *error)
{
    bool adopted = false;
    tseg *segment;

    tseg_hold_forks();
    segment = find_segment(file->device, file->inode);
    if (segment) {
        segment->references++;
    } else if ((segment = new_segment(path, error))) {
        segment->device = file->device;
        segment->inode = file->inode;
        segment->mode = file->mode;
        adopt(segment, &file->header, file->map, file->bytes, sidecar);
        adopted = true;
    }
    tseg_allow_forks();
    if (adopted) return segment;
    tseg_file_close(file);
    tseg_sidecar_release(sidecar);
    return segment;
}

/* Acquires the lock for files, then makes the file if the file is still missing, or replaces a stale file. */
static bool make_file(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_error *error)
{
    tseg_file file;
    tseg_file_state state;
    bool made = true;

    if (!tseg_sidecar_lock_files(sidecar, error)) return false;
    state = tseg_file_open_locked(path, sidecar, &file, error);
    if (state == TSEG_FILE_MISSING) {
        made = tseg_file_make(path, sidecar, options, NULL, false, error);
    } else if (state == TSEG_FILE_STALE) {
        tseg_error failure = {0};
        made = tseg_file_make(path, sidecar, options, &file, true, &failure);
        if (!made) *error = failure; /* else *error keeps the reason why the file was replaced */
        else if (file.damaged) error->replaced = true;
    } else {
        made = state == TSEG_FILE_GOOD;
    }
    tseg_file_close_last(&file, options->host);
    tseg_sidecar_unlock_files(sidecar);
    return made;
}

/*
 * Returns whether the open lock file is the one at the path. If not, two processes could hold two different locks for
 * files.
 */
static bool sidecar_is_current(const char *segment_path, const tseg_sidecar *sidecar)
{
    char path[PATH_MAX];
    struct stat status;

    snprintf(path, sizeof path, "%s.lock", segment_path);
    return lstat(path, &status) == 0 && status.st_dev == sidecar->device && status.st_ino == sidecar->inode;
}

static tseg *try_attach(const char *path, const tseg_options *options, tseg_error *error, bool *again)
{
    tseg_sidecar *sidecar;
    tseg_file file;
    tseg_file_state state;
    tseg *segment;

    *again = false;
    if (!tseg_file_may_be(path, error)) return NULL;
    sidecar = tseg_sidecar_open(path, options->mode, true, error);
    if (!sidecar) return NULL;
    state = tseg_file_open(path, sidecar, &file, error);
    if (state == TSEG_FILE_GOOD) {
        tseg_sidecar_mark(sidecar);
        segment = attach_file(path, &file, sidecar, error);
        if (!segment || tseg_path_is_current(segment)) return segment;
        tseg_release(segment); /* another process replaced the file before this one had registered */
        *again = true;
        return NULL;
    }
    tseg_file_close(&file);
    if (state == TSEG_FILE_MISSING && !options->bytes) tseg_fail(error, ENOENT, "%s does not exist", path);
    if (state != TSEG_FILE_REFUSED && options->bytes)
        *again = !sidecar_is_current(path, sidecar) || make_file(path, sidecar, options, error);
    tseg_sidecar_release(sidecar);
    return NULL;
}

/* Does not wait for other processes: see EAGAIN in tseg_error. */
tseg *tseg_attach(const char *path, const tseg_options *options, tseg_error *error)
{
    tseg_error found = {0};
    bool again = true;

    tseg_prepare_files();
    for (int attempt = 0; again && attempt < TSEG_ATTACH_TRIES; attempt++) {
        tseg *segment;
        *error = (tseg_error){0};
        segment = try_attach(path, options, error, &again);
        if (error->replaced) found = *error;
        if (segment) *error = found;
        if (segment) return segment;
    }
    if (again) tseg_fail(error, EBUSY, "%s is replaced again and again by other processes", path);
    return NULL;
}

tseg *tseg_attach_private(const tseg_options *options, tseg_error *error)
{
    tseg_geometry geometry;
    tseg *segment;
    void *map;

    if (!tseg_lay_out(&geometry, options->bytes, options->shards ? options->shards : 1, options->average_entry_bytes,
                      1)) {
        tseg_fail(error, EINVAL,
                  "%llu bytes for entries of %u bytes: expected 1 MB or more, entries of 64 bytes or more",
                  (unsigned long long)options->bytes, options->average_entry_bytes);
        return NULL;
    }
    map = tseg_map_private(geometry.file_bytes);
    if (map == MAP_FAILED) {
        tseg_fail(error, errno, "%llu bytes of memory cannot be had", (unsigned long long)geometry.file_bytes);
        return NULL;
    }
    tseg_leave_out_of_core_files(map, geometry.file_bytes);
    segment = new_segment("", error);
    if (!segment) {
        munmap(map, geometry.file_bytes);
        return NULL;
    }
    tseg_init_header(map, &geometry, options, NULL, false);
    tseg_hold_forks();
    adopt(segment, map, map, geometry.file_bytes, NULL);
    tseg_allow_forks();
    return segment;
}
