/* Handles: opening, closing, and moving to another file. */
#include "calls.h"

/*
 * A process keeps its share of the budget for this long, because counting processes takes a system call for each
 * process.
 */
#define SHARE_SECONDS 8

/* Sets the memo's bound to its share of the machine's budget, unless the user has set a bound. */
void tseg_handle_share_budget(tseg_handle *handle)
{
    const tseg *attached = handle->attached;

    handle->shared_at = tseg_coarse_seconds();
    if (!handle->shares_budget || !attached) return;
    tseg_memo_resize(&handle->memo, tseg_memo_share(attached->geometry.file_bytes,
                                                    (unsigned)tseg_registered(handle->attached, NULL, 0),
                                                    attached->references - attached->holds));
}

/* While this thread makes a file, another thread may run and attach the handle first. */
static void attach_once(tseg_handle *handle, tseg_host *host)
{
    tseg_options options = handle->options;
    tseg_error *error = &host->error;
    tseg *attached;

    *error = (tseg_error){0};
    options.host = host;
    attached = handle->path ? tseg_attach(handle->path, &options, error) : tseg_attach_private(&options, error);
    if (attached && handle->attached) {
        tseg_release_by(host, attached);
    } else if (attached) {
        handle->attached = attached;
        handle->attached_ns = tseg_monotonic_ns();
        tseg_handle_share_budget(handle);
    }
    if (attached) handle->given_up = false;
    handle->checked_at = tseg_coarse_seconds();
    if (error->replaced) host->report_replaced(host, error->message);
}

static tseg *attach(tseg_handle *handle, tseg_host *host, uint64_t patience_ns)
{
    uint64_t waited_ns = 0;

    while (!handle->attached) {
        attach_once(handle, host);
        if (!handle->attached &&
            !tseg_wait_for_files(host, &host->error, patience_ns, &waited_ns, &handle->given_up))
            return NULL;
    }
    return handle->attached;
}

/* Attaches a handle that is closed. Waits for other processes that make the file. */
bool tseg_handle_attach(tseg_handle *handle, tseg_host *host)
{
    return attach(handle, host, TSEG_OPENING_WAIT_NS) != NULL;
}

/* If the file is lost, the handle makes it as it was. A process that joined the segment knows no other size. */
static void remember_file(tseg_handle *handle)
{
    const tseg *attached = handle->attached;

    if (!attached || !handle->path || (!handle->options.bytes && !handle->joined)) return;
    handle->options.bytes = attached->geometry.file_bytes;
    handle->options.shards = attached->geometry.shards;
    handle->options.average_entry_bytes = attached->geometry.average_entry_bytes;
    handle->options.mode = attached->mode;
}

/* Detaches. A later call attaches again. Other threads run during the unmapping: they see a closed handle. */
void tseg_handle_close(tseg_handle *handle, tseg_host *host)
{
    tseg *attached = handle->attached;

    remember_file(handle);
    handle->failed_at = 0;
    handle->attached = NULL;
    if (attached) tseg_release_by(host, attached);
}

/*
 * After a failure, the other calls of the same second make no attempt, because each attempt would be reported, and
 * might use up the free space of all programs for a moment. A lock that another process holds is no failure, nor is an
 * interrupt.
 */
static tseg *attach_again(tseg_handle *handle, tseg_host *host)
{
    tseg *attached;
    int code;

    if (handle->failed_at && handle->failed_at == tseg_coarse_seconds()) {
        host->error = (tseg_error){.paused = true};
        return NULL;
    }
    tseg_handle_close(handle, host);
    attached = attach(handle, host, TSEG_LOCK_WAIT_NS);
    code = host->error.code;
    if (!attached && handle->options.bytes && code && code != EAGAIN && code != EINTR)
        handle->failed_at = tseg_coarse_seconds();
    return attached;
}

/* Runs once a second for each handle. Returns false if the file is lost. */
static bool check_file(tseg_handle *handle, int64_t now)
{
    tseg *attached = handle->attached;
    bool found;

    handle->checked_at = now;
    found = tseg_path_is_current(attached) && tseg_keep_registered(attached);
    if (handle->shares_budget && now - handle->shared_at >= SHARE_SECONDS) tseg_handle_share_budget(handle);
    return found;
}

/*
 * The segment to use now: registered again after a fork, and attached to the file that the path leads to. NULL: no
 * segment is available, and host->error gives the reason.
 */
tseg *tseg_handle_current(tseg_handle *handle, tseg_host *host)
{
    int64_t now;

    if (TSEG_UNLIKELY(tseg_forked())) {
        tseg_after_fork();
        if (handle->attached) tseg_handle_share_budget(handle);
    }
    if (TSEG_UNLIKELY(!handle->attached)) return attach_again(handle, host);
    if (handle->path && (now = tseg_coarse_seconds()) != handle->checked_at && !check_file(handle, now))
        return attach_again(handle, host);
    if (TSEG_UNLIKELY(tseg_is_retired(handle->attached))) return attach_again(handle, host);
    return handle->attached;
}

/* Removing and replacing the file at a path. */
/* Keeps a lock file that is not ours: another program's file may have the same name. */
static bool remove_files(const char *path, tseg_sidecar *sidecar, tseg_file *file, tseg_error *error)
{
    char lock_path[PATH_MAX];
    int failure;

    if (file->inode && file->unreadable && !tseg_file_was_ours(path, sidecar))
        return tseg_fail(error, 0, "%s is not a segment: remove it or use another path", path);
    tseg_file_retire(file);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    failure = unlink(path) == 0 ? 0 : errno;
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    if (failure && failure != ENOENT) {
        tseg_file_restore(file);
        return tseg_fail(error, failure, "%s cannot be removed: %s", path, strerror(failure));
    }
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    if (!tseg_sidecar_is_strange(sidecar)) unlink(lock_path);
    return true;
}

static bool replace_file(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *file,
                         tseg_file_state state, tseg_error *error)
{
    tseg_options chosen = *options;

    if (!chosen.mode) chosen.mode = file->map && !file->damaged ? file->mode : 0600;
    return tseg_file_make(path, sidecar, &chosen, state == TSEG_FILE_MISSING ? NULL : file, false, error);
}

/*
 * Removes (without options) or replaces a file under the lock for files. The file is retired before its path changes:
 * see "Moving" in memory-model.md.
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
        state = tseg_file_open_locked(path, sidecar, &file, error);
        /*
         * Every layout version locks one byte per process. So a file of another version can be removed if it is unused.
         */
        if (state == TSEG_FILE_REFUSED && !(only_unused && file.other_version)) done = false;
        else if (only_unused && (sidecar->slot >= 0 || tseg_sidecar_in_use(sidecar)))
            tseg_fail(error, EBUSY, "%s is in use", path);
        else
            done = options ? replace_file(path, sidecar, options, &file, state, error)
                           : remove_files(path, sidecar, &file, error);
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
    bool given_up = false;

    while (!with_files_locked(path, options, only_unused, host, error))
        if (!host || !tseg_wait_for_files(host, error, TSEG_OPENING_WAIT_NS, &waited_ns, &given_up)) return false;
    return true;
}

/*
 * Retires and unlinks the file at the path. With only_unused the call fails (EBUSY) while a process is registered on
 * the file. Waits for other processes that make or remove the file, unless `host` is NULL.
 */
bool tseg_remove(tseg_host *host, const char *path, bool only_unused, tseg_error *error)
{
    return with_patience(path, NULL, only_unused, host, error);
}

/* Retires the file at the path and replaces it by an empty one. Mode 0: the mode of the old one. */
bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error)
{
    return with_patience(path, options, false, options->host, error);
}
