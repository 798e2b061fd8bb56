/*
 * Chooses the system's interfaces; every file includes this header first. The portable build (--enable-portable) uses
 * POSIX and C11 alone, on every system, and has an equivalent for each Linux call. adr/018 lists them.
 */
#ifndef TIERCEL_SEGMENT_SYSTEM_H
#define TIERCEL_SEGMENT_SYSTEM_H

#if defined(__linux__) && !defined(TSEG_PORTABLE)
#define TSEG_LINUX 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE 1 /* for fstatfs, which is not in POSIX */
#endif

#endif
