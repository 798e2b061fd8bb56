/* The offsets in docs/segment-layout.md. The build fails if a compiler or a change of a struct moves a field. */
#include <stddef.h>

#include "layout.h"

#define AT(type, field, offset) \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " is where the document says")

AT(tseg_header, magic, 0);
AT(tseg_header, layout_version, 8);
AT(tseg_header, header_bytes, 12);
AT(tseg_header, file_id, 16);
AT(tseg_header, hash_key, 24);
AT(tseg_header, boot_id, 40);
AT(tseg_header, sidecar_device, 56);
AT(tseg_header, sidecar_inode, 64);
AT(tseg_header, created_at, 72);
AT(tseg_header, geometry, 80);
AT(tseg_header, check, 208);
AT(tseg_header, epoch, 256);
AT(tseg_header, retired, 260);
AT(tseg_header, near_covered, 264);
AT(tseg_header, near_gaps, 272);
AT(tseg_header, near_noted, 280);
AT(tseg_header, near_server, 288);
AT(tseg_header, near_seats, 296);

AT(tseg_geometry, file_bytes, 0);
AT(tseg_geometry, shards, 8);
AT(tseg_geometry, average_entry_bytes, 12);
AT(tseg_geometry, process_slots, 16);
AT(tseg_geometry, stripes, 20);
AT(tseg_geometry, buckets, 24);
AT(tseg_geometry, ghosts, 28);
AT(tseg_geometry, lease_groups, 32);
AT(tseg_geometry, processes_offset, 40);
AT(tseg_geometry, stripes_offset, 48);
AT(tseg_geometry, leases_offset, 56);
AT(tseg_geometry, shards_offset, 64);
AT(tseg_geometry, shard_bytes, 72);
AT(tseg_geometry, index_offset, 80);
AT(tseg_geometry, ghosts_offset, 88);
AT(tseg_geometry, log_offset, 96);
AT(tseg_geometry, log_units, 112);

AT(tseg_process, generation, 0);
AT(tseg_process, pid, 4);
AT(tseg_process, attached_at, 8);
AT(tseg_process, counters, 64);

AT(tseg_lease_group, used, 0);
AT(tseg_lease_group, slots, 64);
AT(tseg_lease_slot, lineage, 0);
AT(tseg_lease_slot, hash, 8);
AT(tseg_lease_slot, holder, 16);
AT(tseg_lease_slot, owner, 24);
AT(tseg_lease_slot, lapses_ns, 32);
AT(tseg_lease_slot, kept_until, 40);
AT(tseg_lease_slot, released, 44);
AT(tseg_lease_slot, check, 48);
AT(tseg_lease_slot, epoch, 52);
AT(tseg_lease_slot, signal, 56);
AT(tseg_lease_slot, version, 60);

AT(tseg_shard, lock, 0);
AT(tseg_shard, changing, 8);
AT(tseg_shard, emptied, 16);
AT(tseg_shard, backed, 24);
AT(tseg_shard, head, 64);
AT(tseg_shard, tail, 80);
AT(tseg_shard, records, 96);
AT(tseg_shard, ghost_clock, 112);
AT(tseg_shard, live, 120);
AT(tseg_shard, counters, 128);
AT(tseg_shard, deletes, 248);

_Static_assert(TSEG_ENTRY_EPOCH + 1 == TSEG_ENTRY_WORDS && TSEG_ENTRY_WORDS * 8 == TSEG_ENTRY_BYTES,
               "an entry's header has five words");
_Static_assert(TSEG_COUNT_HITS == 0 && TSEG_COUNT_LOCK_TIMEOUTS == 6 && TSEG_COUNT_SERVED == 15,
               "counters of a process stay where they are");
_Static_assert(TSEG_COUNT_EVICTED_SMALL == 0 && TSEG_COUNT_PROMOTED == 5 && TSEG_COUNT_RESETS == 9,
               "counters of a shard stay where they are");
_Static_assert(TSEG_LOCK_GENERATION_SHIFT == 16 && TSEG_LOCK_TICKET_SHIFT == 40, "slot, generation, ticket");
_Static_assert(TSEG_FINGERPRINT_SHIFT == 2 && TSEG_LOG_SHIFT == 19 && TSEG_POSITION_SHIFT == 20,
               "hits, fingerprint, log, position");
