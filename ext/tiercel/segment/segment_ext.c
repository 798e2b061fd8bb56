/* All of the extension as one translation unit: a read is a dozen small functions, which are then inlined. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "binding.c"
#include "binding_memo.c"
#include "binding_read.c"
#include "binding_read_multi.c"
#include "binding_sweep.c"
#include "binding_time.c"
#include "binding_token.c"
#include "binding_write.c"

#include "append.c"
#include "attach.c"
#include "copy.c"
#include "counter.c"
#include "file.c"
#include "geometry.c"
#include "ghost.c"
#include "lock.c"
#include "log.c"
#include "maintenance.c"
#include "memo.c"
#include "new_file.c"
#include "platform.c"
#include "read.c"
#include "registration.c"
#include "section.c"
#include "sidecar.c"
#include "sweep.c"
#include "write.c"
