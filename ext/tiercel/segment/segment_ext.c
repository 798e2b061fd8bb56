/*
 * The whole extension as one translation unit, because a read calls a dozen small functions, which the compiler then
 * inlines. The core's files are in the order of their layers: each calls only files above it in this list.
 */
#include "system.h"

#include "system.c"
#include "format.c"
#include "read.c"
#include "presence.c"
#include "registration.c"
#include "log.c"
#include "shard.c"
#include "lease_table.c"
#include "entries.c"
#include "leases.c"
#include "tags.c"
#include "reserve.c"
#include "file.c"
#include "attach.c"
#include "calls.c"
#include "memo.c"
#include "handle.c"
#include "near.c"

#include "binding.c"
#include "binding_file.c"
#include "binding_write.c"
#include "binding_memo.c"
#include "binding_read.c"
#include "binding_report.c"
#include "binding_lease.c"
#include "binding_near.c"
