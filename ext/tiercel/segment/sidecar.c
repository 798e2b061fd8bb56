/* The lock file beside a segment: byte 0 for making and removing files, then one byte per process slot. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

#define TSEG_FILES_LOCK_NS UINT64_C(10000000000)

static tseg_sidecar *all_sidecars;

static int record_lock(int descriptor, int command, short type, off_t start, off_t count)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    int result;

    do result = fcntl(descriptor, command, &lock); while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    return command == F_GETLK ? lock.l_type != F_UNLCK : 0;
}

static tseg_sidecar *find_sidecar(const struct stat *file)
{
    tseg_sidecar *sidecar = all_sidecars;
    while (sidecar && (sidecar->device != file->st_dev || sidecar->inode != file->st_ino)) sidecar = sidecar->next;
    if (sidecar) sidecar->references++;
    return sidecar;
}

static bool acceptable(const char *path, const struct stat *file, tseg_error *error)
{
    if (!S_ISREG(file->st_mode)) return tseg_fail(error, 0, "%s is not a regular file: remove it", path);
    if (file->st_uid != geteuid())
        return tseg_fail(error, EACCES, "%s belongs to user %ld, this process runs as %ld: use another name or path",
                         path, (long)file->st_uid, (long)geteuid());
    return true;
}

static tseg_sidecar *remember(int descriptor, const struct stat *file, tseg_error *error)
{
    tseg_sidecar *sidecar = calloc(1, sizeof *sidecar);

    if (!sidecar) {
        close(descriptor);
        tseg_fail(error, ENOMEM, "out of memory");
        return NULL;
    }
    *sidecar = (tseg_sidecar){descriptor, file->st_dev, file->st_ino, -1, 1, all_sidecars};
    all_sidecars = sidecar;
    return sidecar;
}

tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, tseg_error *error)
{
    char path[PATH_MAX];
    struct stat file;
    tseg_sidecar *sidecar;
    int descriptor;

    if ((size_t)snprintf(path, sizeof path, "%s.lock", segment_path) >= sizeof path) {
        tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", segment_path);
        return NULL;
    }
    if (lstat(path, &file) == 0 && (sidecar = find_sidecar(&file)) != NULL) return sidecar;
    descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor < 0 || fstat(descriptor, &file) != 0) {
        tseg_fail(error, errno, "%s cannot be opened: %s", path,
                  errno == ELOOP ? "it is a symbolic link, which is refused" : strerror(errno));
        if (descriptor >= 0) close(descriptor);
        return NULL;
    }
    /* Should the path have come to lead to a file that is open here already, closing would drop its locks. */
    if ((sidecar = find_sidecar(&file)) != NULL) return sidecar;
    if (!acceptable(path, &file, error)) {
        close(descriptor);
        return NULL;
    }
    return remember(descriptor, &file, error);
}

void tseg_sidecar_release(tseg_sidecar *sidecar)
{
    tseg_sidecar **link = &all_sidecars;

    if (!sidecar || --sidecar->references) return;
    while (*link != sidecar) link = &(*link)->next;
    *link = sidecar->next;
    close(sidecar->descriptor);
    free(sidecar);
}

bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error)
{
    uint64_t deadline = tseg_monotonic_ns() + TSEG_FILES_LOCK_NS;
    struct timespec pause = {0, 1000000};

    while (record_lock(sidecar->descriptor, F_SETLK, F_WRLCK, 0, 1) != 0) {
        if (errno != EACCES && errno != EAGAIN) return tseg_fail(error, errno, "record locks do not work here");
        if (tseg_monotonic_ns() > deadline)
            return tseg_fail(error, EAGAIN, "another process has been making or removing this segment for 10 s");
        nanosleep(&pause, NULL);
    }
    return true;
}

void tseg_sidecar_unlock_files(tseg_sidecar *sidecar)
{
    record_lock(sidecar->descriptor, F_SETLK, F_UNLCK, 0, 1);
}

bool tseg_sidecar_take_slot(tseg_sidecar *sidecar, uint32_t process_slots)
{
    for (int slot = 0; sidecar->slot < 0 && slot < (int)process_slots; slot++)
        if (record_lock(sidecar->descriptor, F_SETLK, F_WRLCK, 1 + slot, 1) == 0) sidecar->slot = slot;
    return sidecar->slot >= 0;
}

bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot)
{
    return record_lock(sidecar->descriptor, F_GETLK, F_WRLCK, 1 + (off_t)slot, 1) != 0;
}

bool tseg_sidecar_in_use(const tseg_sidecar *sidecar)
{
    return record_lock(sidecar->descriptor, F_GETLK, F_WRLCK, 1, 0) != 0; /* to the end: other layouts may have more */
}

/* A child has its parent's descriptor but none of its locks. */
void tseg_sidecars_after_fork(void)
{
    for (tseg_sidecar *sidecar = all_sidecars; sidecar; sidecar = sidecar->next) sidecar->slot = -1;
}
