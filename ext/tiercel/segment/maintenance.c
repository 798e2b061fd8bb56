/* Removing and replacing the file at a path. */
#include "system.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "attach.h"
#include "handle.h"

/* Keeps a lock file that is not ours: another program's file may have the same name. */
static bool remove_files(const char *path, tseg_sidecar *sidecar, tseg_file *file, tseg_host *host, tseg_error *error)
{
    char lock_path[PATH_MAX];
    int failure;

    if (file->inode && file->unreadable && !tseg_file_was_ours(path, sidecar))
        return tseg_fail(error, 0, "%s is not a segment: remove it or use another path", path);
    tseg_file_retire(file);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    failure = tseg_file_unlink(path, host);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    if (failure && failure != ENOENT) {
        tseg_file_restore(file);
        return tseg_fail(error, failure, "%s cannot be removed: %s", path, strerror(failure));
    }
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    if (!tseg_sidecar_is_strange(sidecar)) unlink(lock_path);
    return true;
}

/*
 * An option that the caller left open stays as it was in the old file; but a default number of shards is recomputed.
 */
static tseg_options options_of(const tseg_options *given, const tseg_file *file, bool readable)
{
    const tseg_geometry *old = &file->header.geometry;
    tseg_options options = *given;
    tseg_geometry fits;

    if (!options.mode) options.mode = readable ? file->mode : 0600;
    if (!readable) return options;
    if (!options.average_entry_bytes) options.average_entry_bytes = old->average_entry_bytes;
    if (options.shards || old->shards == tseg_default_shards(old->file_bytes)) return options;
    options.shards = old->shards;
    while (options.shards > 1 && !tseg_lay_out(&fits, options.bytes, options.shards, options.average_entry_bytes,
                                               TSEG_PROCESS_SLOTS))
        options.shards /= 2;
    return options;
}

static bool replace_file(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *file,
                         tseg_file_state state, tseg_error *error)
{
    bool readable = file->map && !file->damaged;
    tseg_options chosen = options_of(options, file, readable);
    return tseg_file_make(path, sidecar, &chosen, state == TSEG_FILE_MISSING ? NULL : file, false, error);
}

/*
 * Removes (without options) or replaces a file under the lock for files. The file is retired before its path changes:
 * see "Moving" in docs/memory-model.md.
 */
static bool with_files_locked(const char *path, const tseg_options *options, bool only_unused, tseg_host *host,
                              tseg_error *error)
{
    tseg_sidecar *sidecar;
    tseg_file_state state;
    tseg_file file;
    bool done = false;

    *error = (tseg_error){0};
    tseg_prepare_files();
    if (!tseg_file_may_be(path, error)) return false;
    sidecar = tseg_sidecar_open(path, options && options->mode ? options->mode : 0600, true, error);
    if (!sidecar) return false;
    if (tseg_sidecar_lock_files(sidecar, error)) {
        state = tseg_file_open_locked(path, sidecar, host, &file, error);
        /*
         * Every layout version locks one byte per process. So a file of another version can be removed if it is unused.
         */
        if (state == TSEG_FILE_REFUSED && !(only_unused && file.other_version)) done = false;
        else if (only_unused && (sidecar->slot >= 0 || tseg_sidecar_in_use(sidecar)))
            tseg_fail(error, EBUSY, "%s is in use", path);
        else
            done = options ? replace_file(path, sidecar, options, &file, state, error)
                           : remove_files(path, sidecar, &file, host, error);
        tseg_file_close_last(&file, host);
        tseg_sidecar_unlock_files(sidecar);
    } else if (only_unused && error->code == EAGAIN) {
        error->code = EBUSY;
    }
    tseg_sidecar_release(sidecar);
    return done;
}

/* Waits for other processes that make or remove the file, if there is a host to wait in. */
static bool with_patience(const char *path, const tseg_options *options, bool only_unused, tseg_host *host,
                          tseg_error *error)
{
    uint64_t waited_ns = 0;
    pid_t given_up_on = 0;

    while (!with_files_locked(path, options, only_unused, host, error))
        if (!host || !tseg_wait_for_files(host, error, TSEG_OPENING_WAIT_NS, &waited_ns, &given_up_on)) return false;
    return true;
}

bool tseg_remove(tseg_host *host, const char *path, bool only_unused, tseg_error *error)
{
    return with_patience(path, NULL, only_unused, host, error);
}

bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error)
{
    return with_patience(path, options, false, options->host, error);
}
