/*
 * The shared-memory segment. The core contains no Ruby.
 *
 * The core is one translation unit, because a read calls a dozen small functions, which the compiler then inlines. The
 * files are in the order of their layers: each file calls only files above it in this list. A header has the types of
 * its layer; a function is declared by its definition alone. test/native makes a header of all functions.
 *
 * A tseg is an attachment of this process to a file or to private memory. Reads and deletes acquire no lock; a write
 * acquires the lock of one shard. memory-model.md explains the protocol and proves it. layout.h explains the terms.
 *
 * Processes synchronize through the segment alone. Threads of a process also need a host's lock (in Ruby the GVL of a
 * Ractor), so that only one of the threads that use the same handle runs at a time:
 * - A thread holds the host's lock in every call of the core, unless the call's comment says otherwise. A call never
 *   releases the lock, never waits, and keeps no pointer for the next call.
 * - tseg_watch, tseg_sleep and tseg_wake need a tseg_hold instead of the host's lock. The hold keeps the segment
 *   mapped. These calls touch only atomic words, so another thread may register, reopen the lock file or fork at the
 *   same time.
 * - Threads that use different handles may run calls on one attachment at the same time, once tseg_parallel is set. The
 *   call counters may then lose counts.
 * - A process may fork from any thread at any time. The child's next call of tseg_after_fork notices the fork.
 */
#include "system.h"

#include "system.c"
#include "format.c"
#include "read.c"
#include "presence.c"
#include "log.c"
#include "shard.c"
#include "lease_table.c"
#include "entries.c"
#include "leases.c"
#include "file.c"
#include "attach.c"
#include "memo.c"
#include "calls.c"
#include "handle.c"
#include "near.c"
