/* The lock file beside a segment. A process opens it once, opens it again after a fork, and marks it as ours. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

/* The content of our lock files. It shows that a damaged file beside the lock file was a segment of ours. */
#define TSEG_MARK "Tiercel: locks of the segment beside this file, layout "
#define TSEG_MARK_BYTES 80

static tseg_sidecar *all_sidecars;

static bool is_sidecar(const tseg_sidecar *sidecar, const struct stat *file)
{
    return sidecar->device == file->st_dev && sidecar->inode == file->st_ino;
}

/*
 * Other code of the process may have closed the descriptor (a daemon closes all inherited ones), and its number may
 * belong to another file by now. So every use of the descriptor begins with this check.
 */
static bool is_descriptor_of(const tseg_sidecar *sidecar, int descriptor)
{
    struct stat file;
    return descriptor >= 0 && fstat(descriptor, &file) == 0 && is_sidecar(sidecar, &file);
}

bool tseg_sidecar_is_whole(const tseg_sidecar *sidecar) { return is_descriptor_of(sidecar, sidecar->descriptor); }

void tseg_sidecar_close_files(tseg_sidecar *sidecar)
{
    if (is_descriptor_of(sidecar, sidecar->files_descriptor)) close(sidecar->files_descriptor);
    sidecar->files_descriptor = -1;
}

static tseg_sidecar *find_sidecar(const struct stat *file)
{
    tseg_sidecar *sidecar = all_sidecars;
    while (sidecar && !is_sidecar(sidecar, file)) sidecar = sidecar->next;
    return sidecar;
}

static bool acceptable(const char *path, const struct stat *file, tseg_error *error)
{
    if (!S_ISREG(file->st_mode)) return tseg_fail(error, 0, "%s is not a regular file: remove it", path);
    if (file->st_uid != geteuid())
        return tseg_fail(error, EACCES, "%s belongs to user %ld, this process runs as %ld: use another name or path",
                         path, (long)file->st_uid, (long)geteuid());
    if (file->st_nlink > 1)
        return tseg_fail(error, EMLINK, "%s has other names too (hard links): remove it or use another path", path);
    return true;
}

/*
 * Moves the descriptor above stdin, stdout and stderr, which programs reopen. No lock depends on this descriptor yet.
 */
static int above_standard_streams(int descriptor)
{
    int higher;

    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    higher = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(descriptor);
    return higher;
}

static int open_lock_file(const char *path, int create, mode_t mode, struct stat *file)
{
    int descriptor = above_standard_streams(open(path, O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, mode));

    if (descriptor < 0 || fstat(descriptor, file) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static tseg_sidecar *remember(int descriptor, const struct stat *file, const char *path, tseg_error *error)
{
    tseg_sidecar *sidecar = calloc(1, sizeof *sidecar);
    char *copy = strdup(path);

    if (!sidecar || !copy) {
        free(sidecar);
        free(copy);
        close(descriptor);
        tseg_fail(error, ENOMEM, "out of memory");
        return NULL;
    }
    *sidecar = (tseg_sidecar){.descriptor = descriptor, .opened_by = getpid(), .device = file->st_dev,
                              .inode = file->st_ino, .slot = -1, .making = -1, .files_descriptor = -1,
                              .references = 1, .path = copy,
                              .next = all_sidecars};
    all_sidecars = sidecar;
    return sidecar;
}

static tseg_sidecar *find_or_open(const char *path, mode_t mode, bool create, tseg_error *error)
{
    struct stat file;
    tseg_sidecar *sidecar = NULL;
    int descriptor;

    if (lstat(path, &file) == 0) sidecar = find_sidecar(&file);
    if (!sidecar) {
        descriptor = open_lock_file(path, create ? O_CREAT : 0, mode, &file);
        if (descriptor < 0) {
            tseg_fail(error, errno, "%s cannot be opened: %s", path,
                      errno == ELOOP ? "it is a symbolic link, which is refused" : strerror(errno));
            return NULL;
        }
        /* If the path leads to a lock file that is already open, closing the new descriptor would drop record locks. */
        sidecar = find_sidecar(&file);
        if (!sidecar && acceptable(path, &file, error)) return remember(descriptor, &file, path, error);
        if (!sidecar || !sidecar->record_locks) close(descriptor);
    }
    if (sidecar) sidecar->references++;
    return sidecar;
}

tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, bool create, tseg_error *error)
{
    char path[PATH_MAX];
    tseg_sidecar *sidecar;

    if ((size_t)snprintf(path, sizeof path, "%s.lock", segment_path) >= sizeof path) {
        tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", segment_path);
        return NULL;
    }
    tseg_hold_forks();
    sidecar = find_or_open(path, mode, create, error);
    tseg_allow_forks();
    return sidecar;
}

void tseg_sidecar_release(tseg_sidecar *sidecar)
{
    tseg_sidecar **link = &all_sidecars;

    if (!sidecar || --sidecar->references) return;
    tseg_hold_forks();
    while (*link != sidecar) link = &(*link)->next;
    *link = sidecar->next;
    if (tseg_sidecar_is_whole(sidecar)) close(sidecar->descriptor);
    if (sidecar->proof) munmap(sidecar->proof, TSEG_HEADER_BYTES);
    tseg_allow_forks();
    free(sidecar->path);
    free(sidecar);
}

int tseg_sidecar_open_again(tseg_sidecar *sidecar)
{
    struct stat file;
    int descriptor;

    if (lstat(sidecar->path, &file) != 0 || !is_sidecar(sidecar, &file)) return -1;
    descriptor = open_lock_file(sidecar->path, 0, 0, &file);
    if (descriptor >= 0 && is_sidecar(sidecar, &file)) return descriptor;
    if (descriptor < 0) sidecar->refused = errno;
    else if (!find_sidecar(&file)) close(descriptor);
    return -1;
}

static void open_anew(tseg_sidecar *sidecar)
{
    if (!sidecar->proof) sidecar->slot = -1; /* the lock was lost with the descriptor */
    sidecar->descriptor = tseg_sidecar_open_again(sidecar);
}

void tseg_sidecar_mend(tseg_sidecar *sidecar)
{
    if (tseg_sidecar_is_whole(sidecar)) return;
    tseg_hold_forks();
    open_anew(sidecar);
    tseg_allow_forks();
}

void tseg_sidecar_prove(tseg_sidecar *sidecar)
{
#ifdef MADV_DONTFORK
    if (sidecar->proof || sidecar->record_locks) return;
    tseg_hold_forks(); /* a child must not inherit the mapping, or it would keep this process's locks alive */
    sidecar->proof = mmap(NULL, TSEG_HEADER_BYTES, PROT_NONE, MAP_SHARED, sidecar->descriptor, 0);
    if (sidecar->proof == MAP_FAILED) {
        sidecar->proof = NULL;
    } else if (madvise(sidecar->proof, TSEG_HEADER_BYTES, MADV_DONTFORK) != 0) {
        munmap(sidecar->proof, TSEG_HEADER_BYTES);
        sidecar->proof = NULL;
    }
    tseg_allow_forks();
#else
    (void)sidecar;
#endif
}

void tseg_sidecar_set_making(tseg_sidecar *sidecar, int descriptor)
{
    struct stat file;

    sidecar->making = fstat(descriptor, &file) == 0 ? descriptor : -1;
    if (sidecar->making >= 0) sidecar->making_inode = file.st_ino;
}

/* Closes the file that a thread of the parent was making, if the descriptor still belongs to it. */
static void close_making(tseg_sidecar *sidecar)
{
    struct stat file;
    bool own = sidecar->making >= 0 && fstat(sidecar->making, &file) == 0 && file.st_dev == sidecar->device &&
               file.st_ino == sidecar->making_inode;

    if (own) close(sidecar->making);
    sidecar->making = -1;
}

/* Opens the lock file again in a child. A child inherits no record locks, so their descriptor can stay open. */
static void renew(tseg_sidecar *sidecar)
{
    bool whole = tseg_sidecar_is_whole(sidecar), stays = whole && sidecar->record_locks;

    close_making(sidecar);
    if (is_descriptor_of(sidecar, sidecar->files_descriptor) && sidecar->files_descriptor != sidecar->descriptor)
        close(sidecar->files_descriptor);
    sidecar->files_descriptor = -1;
    if (whole && !stays) close(sidecar->descriptor);
    sidecar->slot = -1;
    sidecar->proof = NULL; /* not inherited */
    sidecar->opened_by = getpid();
    if (!stays) open_anew(sidecar);
}

void tseg_sidecars_renew(void)
{
    for (tseg_sidecar *sidecar = all_sidecars; sidecar; sidecar = sidecar->next)
        if (sidecar->opened_by != getpid() || !tseg_sidecar_is_whole(sidecar)) renew(sidecar);
}

bool tseg_sidecar_is_gone(const tseg_sidecar *sidecar)
{
    struct stat file;

    if (tseg_sidecar_is_whole(sidecar)) return false;
    return lstat(sidecar->path, &file) == 0 ? !is_sidecar(sidecar, &file) : errno == ENOENT || errno == ENOTDIR;
}

/* Reads the mark in the file, and returns its length. */
static ssize_t read_mark(const tseg_sidecar *sidecar, char mark[TSEG_MARK_BYTES])
{
    ssize_t count = tseg_sidecar_is_whole(sidecar) ? pread(sidecar->descriptor, mark, TSEG_MARK_BYTES - 1, 0) : -1;
    if (count >= 0) mark[count] = 0;
    return count;
}

bool tseg_sidecar_is_marked(const tseg_sidecar *sidecar)
{
    char mark[TSEG_MARK_BYTES], ours[TSEG_MARK_BYTES];

    snprintf(ours, sizeof ours, "%s%u\n", TSEG_MARK, TSEG_LAYOUT_VERSION);
    return read_mark(sidecar, mark) > 0 && strcmp(mark, ours) == 0;
}

bool tseg_sidecar_is_strange(const tseg_sidecar *sidecar)
{
    char mark[TSEG_MARK_BYTES];
    return read_mark(sidecar, mark) != 0 && strncmp(mark, TSEG_MARK, strlen(TSEG_MARK)) != 0;
}

void tseg_sidecar_mark(const tseg_sidecar *sidecar)
{
    char ours[TSEG_MARK_BYTES];
    int count = snprintf(ours, sizeof ours, "%s%u\n", TSEG_MARK, TSEG_LAYOUT_VERSION);

    if (tseg_sidecar_is_marked(sidecar) || tseg_sidecar_is_strange(sidecar)) return;
    /*
     * On a full volume the file stays without a mark. A damaged segment is then refused, unless it has a default name.
     */
    if (pwrite(sidecar->descriptor, ours, (size_t)count, 0) == count && ftruncate(sidecar->descriptor, count) != 0) {}
}
