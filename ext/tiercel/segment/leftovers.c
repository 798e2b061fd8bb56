/* Leftovers: unfinished files of processes that were killed. */
#include "system.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

/* Whether the rest of a name is "PID.RANDOM.new". */
static bool is_unfinished(const char *rest)
{
    static const char digits[] = "0123456789abcdef";
    size_t pid = strspn(rest, digits), random;

    if (!pid || rest[pid] != '.') return false;
    random = strspn(rest + pid + 1, digits);
    return random && strcmp(rest + pid + 1 + random, TSEG_NEW_ENDING) == 0;
}

static void remove_own(int directory, const char *name)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid())
        unlinkat(directory, name, 0);
}

/* A step: see tseg_host. */
static bool sweep(void *argument, const atomic_bool *stop)
{
    const char *path = argument, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t count = strlen(name);
    char directory[PATH_MAX] = ".";
    struct dirent *entry;
    DIR *entries;

    (void)stop;
    if (slash) snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    entries = opendir(directory);
    while (entries && (entry = readdir(entries)))
        if (strncmp(entry->d_name, name, count) == 0 && entry->d_name[count] == '.' &&
            is_unfinished(entry->d_name + count + 1))
            remove_own(dirfd(entries), entry->d_name);
    if (entries) closedir(entries);
    return true;
}

void tseg_sweep_leftovers(const char *path, tseg_host *host) { tseg_finish(host, sweep, (void *)(uintptr_t)path); }
