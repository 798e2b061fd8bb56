/* Removing and replacing the file that a path leads to. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "attach.h"

/* Both under the lock for files, `retired` before the path changes: see "Moving" in docs/memory-model.md. */
static bool with_files_locked(const char *path, const tseg_options *options, bool only_unused, tseg_error *error)
{
    char lock_path[PATH_MAX];
    tseg_sidecar *sidecar;
    tseg_file_state state;
    tseg_file file;
    bool done = false;

    if (!tseg_file_may_be(path, error)) return false;
    sidecar = tseg_sidecar_open(path, options ? options->mode : 0600, error);
    if (!sidecar) return false;
    if (tseg_sidecar_lock_files(sidecar, error)) {
        state = tseg_file_open(path, sidecar, &file, error);
        /* Every layout locks one byte per process, so an unused one can be told and removed. */
        if (state == TSEG_FILE_REFUSED && !(only_unused && file.other_version)) {
            done = false;
        } else if (only_unused && (sidecar->slot >= 0 || tseg_sidecar_in_use(sidecar))) {
            tseg_fail(error, EBUSY, "%s is in use", path);
        } else {
            if (!options) tseg_file_retire(&file);
            done = options ? tseg_file_make(path, sidecar, options, &file, error)
                           : unlink(path) == 0 || errno == ENOENT ||
                                 tseg_fail(error, errno, "%s cannot be removed: %s", path, strerror(errno));
            snprintf(lock_path, sizeof lock_path, "%s.lock", path);
            if (done && !options) unlink(lock_path);
        }
        tseg_file_close(&file);
        tseg_sidecar_unlock_files(sidecar);
    }
    tseg_sidecar_release(sidecar);
    return done;
}

bool tseg_remove(const char *path, bool only_unused, tseg_error *error)
{
    return with_files_locked(path, NULL, only_unused, error);
}

bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error)
{
    return with_files_locked(path, options, false, error);
}
