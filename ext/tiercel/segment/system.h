/*
 * Before any other header: which interfaces of the system the core uses. The portable build (--enable-portable) uses
 * POSIX and C11 alone, on every system; each Linux call has an equivalent there. adr/018 lists them.
 */
#ifndef TIERCEL_SEGMENT_SYSTEM_H
#define TIERCEL_SEGMENT_SYSTEM_H

#if defined(__linux__) && !defined(TSEG_PORTABLE)
#define TSEG_LINUX 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE 1 /* fstatfs, beside POSIX */
#endif

#endif
