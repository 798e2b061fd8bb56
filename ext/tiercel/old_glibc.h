/* Precompiled libraries include this file before every other header (rakelib/native.rake).
 *
 * Since glibc 2.33, stat and its relatives are functions; they were inline before. An older glibc cannot load a library
 * that calls them. So this file calls the kernel, which fills the same structure on 64-bit x86 and ARM.
 *
 * glibc 2.34 moved the functions of threads from libpthread into libc, under a new version. It still has the old
 * versions. An older glibc has them in libpthread, which Ruby has loaded.
 *
 * A test reads the symbols of the libraries (test/packaging/precompiled_test.rb). If it names a function, add it here.
 */
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

#ifdef __x86_64__
#define TIERCEL_OLDEST_GLIBC "GLIBC_2.2.5"
#else
#define TIERCEL_OLDEST_GLIBC "GLIBC_2.17"
#endif
#define TIERCEL_BIND(name) __asm__(".symver " #name ", " #name "@" TIERCEL_OLDEST_GLIBC)
TIERCEL_BIND(pthread_mutexattr_init);
TIERCEL_BIND(pthread_mutexattr_settype);
TIERCEL_BIND(pthread_mutexattr_destroy);
TIERCEL_BIND(pthread_mutex_trylock);
TIERCEL_BIND(pthread_once);

#define fstatat(folder, path, found, flags) tiercel_fstatat(folder, path, found, flags)
#define fstat(fd, found) tiercel_fstat(fd, found)
#define stat(path, found) tiercel_fstatat(AT_FDCWD, path, found, 0)
#define lstat(path, found) tiercel_fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW)

#endif
#endif
