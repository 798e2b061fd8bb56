/* Included before everything else in libraries that are compiled here and run elsewhere (rakelib/native.rake).
 *
 * glibc 2.33 made functions of stat and its relatives, which were inline before. A library that calls them cannot be
 * loaded by an older glibc. The kernel fills the same structure on 64-bit x86 and ARM. */
#ifndef TIERCEL_OLD_GLIBC_H
#define TIERCEL_OLD_GLIBC_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

static inline int tiercel_fstatat(int folder, const char *path, struct stat *found, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, found, flags);
}

static inline int tiercel_fstat(int fd, struct stat *found) { return (int)syscall(SYS_fstat, fd, found); }

#define fstatat(folder, path, found, flags) tiercel_fstatat(folder, path, found, flags)
#define fstat(fd, found) tiercel_fstat(fd, found)
#define stat(path, found) tiercel_fstatat(AT_FDCWD, path, found, 0)
#define lstat(path, found) tiercel_fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW)

#endif
#endif
