#include "binding.h"

/* Writes. */
typedef enum { WRITE_SET, WRITE_ADD, WRITE_COMPARE_AND_SET, WRITE_NEAR_FILL, WRITE_INCREMENT, WRITE_TOUCH } write_kind;

typedef struct {
    segment_call base;
    write_kind kind;
    int frame_type;            /* see value_of */
    double frame_expires_at;
    segment_times times;
    tseg_token token;
    uint64_t stripe_epoch;
    int64_t amount, count;
    uint64_t hash; /* of the key */
} write_call;

/* The bytes of a write. If frame_type is not 0, the core writes a frame header of this type before them. */
static tseg_value value_of(VALUE bytes, int frame_type, double expires_at, uint64_t header[FRAME_HEADER_BYTES / 8])
{
    uint64_t count = (uint64_t)RSTRING_LEN(bytes);

    if (frame_type)
        frame_seal((frame_header){.type = (uint8_t)frame_type, .expires_at = expires_at,
                                  .payload_bytes = (uint32_t)count}, header);
    return (tseg_value){header, frame_type ? FRAME_HEADER_BYTES / 8 : 0, (const uint8_t *)RSTRING_PTR(bytes), count};
}

static tseg_result write_bytes(tseg *segment, const tseg_key *key, const write_call *call)
{
    uint64_t header[FRAME_HEADER_BYTES / 8];
    tseg_value value = value_of(call->base.bytes, call->frame_type, call->frame_expires_at, header);

    switch (call->kind) {
    case WRITE_SET: return tseg_set(segment, key, &value, call->times.expires_at, call->times.now);
    case WRITE_ADD: return tseg_add(segment, key, &value, call->times.expires_at, call->times.now);
    case WRITE_COMPARE_AND_SET:
        return tseg_compare_and_set(segment, key, &value, call->times.expires_at, call->times.now, &call->token);
    default: return tseg_near_fill(segment, key, &value, call->times.expires_at, call->times.now,
                                    call->stripe_epoch ^ segment->file_id);
    }
}

static tseg_result attempt_write(tseg_call *base, tseg *segment)
{
    write_call *call = (write_call *)base;
    tseg_key key;

    segment_key(segment, &key, call->base.key);
    base->shard = key.shard;
    call->hash = key.hash;
    if (call->kind == WRITE_INCREMENT)
        return tseg_increment(segment, &key, call->amount, call->times.expires_at, call->times.now, &call->count);
    if (call->kind == WRITE_TOUCH) return tseg_touch(segment, &key, call->times.expires_at, call->times.now);
    return write_bytes(segment, &key, call);
}

static tseg_result make_call(VALUE self, write_call *call)
{
    tseg_result result;

    Check_Type(call->base.key, T_STRING);
    if (call->base.bytes) Check_Type(call->base.bytes, T_STRING);
    call->base.base.attempt = attempt_write;
    result = segment_make_call(self, &call->base);
    if (call->kind == WRITE_SET && result == TSEG_OK && SEGMENT_SAMPLES(self, call->hash)) {
        long bytes = RSTRING_LEN(call->base.bytes) + (call->frame_type ? FRAME_HEADER_BYTES : 0);
        segment_notify_observer(self, call->base.key, call->hash, -2 - bytes, call->frame_type ?
                                call->frame_expires_at : segment_expiry_in(call->base.bytes, call->times.expires_at));
    }
    return result;
}

static VALUE optional(int count, const VALUE *arguments, int index) { return count > index ? arguments[index] : Qnil; }

static VALUE set_or_add(int count, VALUE *arguments, VALUE self, write_kind kind)
{
    write_call call = {.kind = kind};

    rb_check_arity(count, 2, 3);
    call.base.key = arguments[0];
    call.base.bytes = arguments[1];
    call.times = segment_times_of(optional(count, arguments, 2), kind == WRITE_ADD);
    return make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

/* Segment#set(key, bytes, ttl = nil) -> true, or false if the entry is too large */
static VALUE segment_set(int count, VALUE *list, VALUE self) { return set_or_add(count, list, self, WRITE_SET); }

/* Segment#add(key, bytes, ttl = nil) -> whether the bytes were written */
static VALUE segment_add(int count, VALUE *list, VALUE self) { return set_or_add(count, list, self, WRITE_ADD); }

/* Segment#compare_and_set(key, bytes, token, ttl = nil) -> whether the bytes were written */
static VALUE segment_compare_and_set(int count, VALUE *arguments, VALUE self)
{
    write_call call = {.kind = WRITE_COMPARE_AND_SET};

    rb_check_arity(count, 3, 4);
    call.base.key = arguments[0];
    call.base.bytes = arguments[1];
    if (!segment_parse_token(arguments[2], &call.token)) return Qfalse;
    call.times = segment_times_of(optional(count, arguments, 3), true);
    return make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

static bool may_be_filled(VALUE self, write_call *call, VALUE epoch)
{
    return segment_near_expected(epoch, &call->stripe_epoch) && segment_may_fill(self, segment_current(self));
}

/*
 * Segment#near_fill(key, bytes, ttl, epoch) -> whether the bytes were written. The fill writes only if the key is
 * absent and this Segment trusts its copies. With an epoch from near_epoch it does not write if, since then, a writer
 * has begun to change the key or the key was invalidated. With an epoch from near_begin it does not write if another
 * writer was active in the same stripe.
 */
static VALUE segment_near_fill(VALUE self, VALUE key, VALUE bytes, VALUE ttl, VALUE epoch)
{
    write_call call = {.kind = WRITE_NEAR_FILL, .base = {.key = key, .bytes = bytes}};

    call.times = segment_times_of(ttl, true);
    return may_be_filled(self, &call, epoch) && make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

/*
 * Segment#near_fill_frame(key, frame, longest, epoch) -> as near_fill, for a frame that needs no changes. The copy
 * expires after `longest` seconds, or earlier with the frame. Returns nil if the frame needs changes; Ruby then makes
 * the copy, or none.
 */
static VALUE segment_near_fill_frame(VALUE self, VALUE key, VALUE frame, VALUE longest, VALUE epoch)
{
    write_call call = {.kind = WRITE_NEAR_FILL, .base = {.key = key, .bytes = frame}};
    frame_header header;

    Check_Type(frame, T_STRING);
    if (RSTRING_LEN(frame) < FRAME_HEADER_BYTES) return Qnil;
    memcpy(&header, RSTRING_PTR(frame), sizeof(header));
    if (header.magic != FRAME_MAGIC || header.version != FRAME_VERSION || header.type == FRAME_TYPE_PLACEHOLDER ||
        header.compressor || header.flags || header.parts_bytes)
        return Qnil;
    call.times = segment_times_of(longest, true);
    if (!(header.expires_at > call.times.now)) return Qfalse; /* false for NaN too, in a damaged frame */
    if (header.expires_at < call.times.expires_at) call.times.expires_at = header.expires_at;
    return may_be_filled(self, &call, epoch) && make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

/* The type of the frame of a plain String, or 0 if the String has none. */
int segment_plain_string_type(VALUE string)
{
    int encoding;

    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) > (long)UINT32_MAX || rb_ivar_count(string) > 0) return 0;
    encoding = ENCODING_GET(string);
    if (encoding == rb_utf8_encindex()) return FRAME_TYPE_STRING_UTF_8;
    if (encoding == rb_ascii8bit_encindex()) return FRAME_TYPE_STRING_BINARY;
    return encoding == rb_usascii_encindex() ? FRAME_TYPE_STRING_US_ASCII : 0;
}

/*
 * Segment#write_string(key, string, expires_at, ttl) -> true, or false if the entry is too large. nil, and no write, if
 * the String's encoding has no frame type or the String has instance variables.
 */
static VALUE segment_write_string(VALUE self, VALUE key, VALUE string, VALUE expires_at, VALUE ttl)
{
    write_call call = {.kind = WRITE_SET, .base = {.key = key, .bytes = string}};

    call.frame_type = segment_plain_string_type(string);
    if (!call.frame_type) return Qnil;
    call.frame_expires_at = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at);
    call.times = segment_times_of(ttl, false);
    return make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

typedef struct {
    VALUE self;
    write_call call;
    bool all;
} write_many;

static int write_pair(VALUE key, VALUE bytes, VALUE argument)
{
    write_many *many = (write_many *)argument;

    many->call.base.key = key;
    many->call.base.bytes = bytes;
    if (make_call(many->self, &many->call) != TSEG_OK) many->all = false;
    return ST_CONTINUE;
}

/* Segment#set_multi(pairs, ttl = nil) -> whether all pairs are stored */
static VALUE segment_set_multi(int count, VALUE *arguments, VALUE self)
{
    write_many many = {self, {.kind = WRITE_SET}, true};

    rb_check_arity(count, 1, 2);
    Check_Type(arguments[0], T_HASH);
    many.call.times = segment_times_of(optional(count, arguments, 1), false);
    rb_hash_foreach(arguments[0], write_pair, (VALUE)&many);
    return many.all ? Qtrue : Qfalse;
}

/*
 * Segment#add_to_counter(key, amount, ttl = nil) -> the new count. nil if the key holds other bytes, or the count would
 * leave the range.
 */
static VALUE segment_increment(int count, VALUE *arguments, VALUE self)
{
    write_call call = {.kind = WRITE_INCREMENT};

    rb_check_arity(count, 2, 3);
    call.base.key = arguments[0];
    call.amount = NUM2LL(arguments[1]);
    call.times = segment_times_of(optional(count, arguments, 2), true);
    return make_call(self, &call) == TSEG_OK ? LL2NUM(call.count) : Qnil;
}

/* Segment#touch(key, ttl) -> whether the key has an entry */
static VALUE segment_touch(VALUE self, VALUE key, VALUE ttl)
{
    write_call call = {.kind = WRITE_TOUCH, .base = {.key = key}};

    call.times = segment_times_of(ttl, true);
    return make_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

/* Deletes and clears. Both wait for no lock of a shard. */
typedef struct {
    segment_call base;
    tseg_delete_function *delete;
    double latest_end;
} delete_call;

static tseg_result attempt_delete(tseg_call *base, tseg *segment)
{
    delete_call *call = (delete_call *)base;
    tseg_key key;

    segment_key(segment, &key, call->base.key);
    return tseg_delete_once(segment, &key, call->delete, &call->latest_end);
}

/* Deletes a key, and returns whether the entry was live. */
bool segment_delete_key(VALUE self, VALUE key, tseg_delete_function *delete)
{
    delete_call call = {{.base.attempt = attempt_delete, .key = key}, delete, -INFINITY};

    segment_make_call(self, &call.base);
    if (isinf(call.latest_end)) return call.latest_end > 0;
    return call.latest_end > segment_now();
}

/* Segment#delete(key) -> whether there was a live entry */
static VALUE segment_delete(VALUE self, VALUE key)
{
    return segment_delete_key(self, key, tseg_delete) ? Qtrue : Qfalse;
}

/* Segment#delete_multi(keys) -> the number of live entries */
static VALUE segment_delete_multi(VALUE self, VALUE keys)
{
    long count = 0;

    Check_Type(keys, T_ARRAY);
    for (long i = 0; i < RARRAY_LEN(keys); i++) count += segment_delete_key(self, RARRAY_AREF(keys, i), tseg_delete);
    return LONG2NUM(count);
}

/* Segment#clear */
static VALUE segment_clear(VALUE self)
{
    segment_host host = segment_host_of(self);

    tseg_clear(&host.base);
    segment_raise(&host);
    return Qnil;
}

/* Leases: acquiring, filling, releasing and awaiting them. Tiercel::Leases::Segment calls these methods. */

#define LEASE_NAME_BYTES 8
#define LEASE_NEVER_S 1e6

typedef struct {
    segment_call base;         /* with the bytes of the fill, or of the value that reads find until the fill */
    enum { LEASE_ACQUIRE, LEASE_FILL, LEASE_RELEASE } kind;
    int frame_type;            /* see value_of */
    double frame_expires_at;
    segment_times times;
    tseg_lease_request request;
    tseg_token token;
    VALUE version;             /* String or nil */
    uint64_t lineage, pause_ns;
    tseg_lease lease;
} lease_call;

/* A lineage or a holder from a String of 8 bytes. */
static uint64_t lease_name(VALUE string)
{
    uint64_t name;

    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) != LEASE_NAME_BYTES)
        rb_raise(rb_eArgError, "expected %d bytes, got %ld", LEASE_NAME_BYTES, RSTRING_LEN(string));
    memcpy(&name, RSTRING_PTR(string), LEASE_NAME_BYTES);
    return name;
}

static VALUE name_string(uint64_t name) { return rb_obj_freeze(rb_str_new((const char *)&name, LEASE_NAME_BYTES)); }

/* Converts seconds to nanoseconds. A negative number and NaN become 0. */
static uint64_t lease_ns(VALUE seconds)
{
    double number = NUM2DBL(seconds);
    if (!(number > 0)) return 0;
    return (uint64_t)((number < LEASE_NEVER_S ? number : LEASE_NEVER_S) * 1e9);
}

static uint32_t version_of(const tseg *segment, VALUE version)
{
    if (NIL_P(version)) return 0;
    return tseg_lease_version(segment, RSTRING_PTR(version), (size_t)RSTRING_LEN(version));
}

static tseg_result attempt_lease(tseg_call *base, tseg *segment)
{
    lease_call *call = (lease_call *)base;
    VALUE bytes = call->base.bytes;
    uint64_t header[FRAME_HEADER_BYTES / 8];
    tseg_value value = {0};
    tseg_key key;

    segment_key(segment, &key, call->base.key);
    base->shard = key.shard;
    if (bytes) value = value_of(bytes, call->frame_type, call->frame_expires_at, header);
    switch (call->kind) {
    case LEASE_FILL:
        return tseg_lease_fill(segment, &key, call->lineage, &value, call->times.expires_at, call->times.now);
    case LEASE_RELEASE:
        return tseg_lease_release(segment, &key, call->lineage, call->request.holder, call->pause_ns);
    default:
        call->request.version = version_of(segment, call->version);
        call->request.stale = bytes ? &value : NULL;
        call->request.stale_expires_at = call->times.expires_at;
        return tseg_lease_acquire(segment, &key, &call->request, call->times.now, &call->lease);
    }
}

/*
 * If a fill or a release cannot get the lock, it ends the lease without the lock. Otherwise the waiters would wait
 * until the lease lapses.
 */
static tseg_result abandon_lease(tseg_call *base, tseg *segment)
{
    const lease_call *call = (const lease_call *)base;
    tseg_result ended;
    tseg_key key;

    tseg_make_key(segment, &key, RSTRING_PTR(call->base.key), (uint32_t)RSTRING_LEN(call->base.key));
    ended = tseg_lease_abandon(segment, &key, call->lineage, call->request.holder);
    return call->kind == LEASE_RELEASE ? ended : base->result;
}

static tseg_result make_lease_call(VALUE self, lease_call *call)
{
    call->base.key = StringValue(call->base.key);
    if (call->base.bytes) call->base.bytes = StringValue(call->base.bytes);
    call->base.base.attempt = attempt_lease;
    if (call->kind == LEASE_FILL || call->kind == LEASE_RELEASE) call->base.base.abandon = abandon_lease;
    return segment_make_call(self, &call->base);
}

static VALUE describe_held(VALUE self, const lease_call *call)
{
    uint32_t version = version_of(segment_current(self), call->version);
    VALUE same = call->lease.version == version ? Qtrue : call->lease.version ? Qfalse : Qnil;
    VALUE held[] = {ID2SYM(rb_intern("held")), name_string(call->lease.lineage), name_string(call->lease.holder),
                    DBL2NUM((double)call->lease.lapses_ns / 1e9), same};

    return rb_ary_new_from_values(5, held);
}

/*
 * @private Segment#lease_acquire(key, ttl, lineage, holder, version, replaces, stale, stale_ttl)
 *
 * - replaces: the token of the only entry that the key may have, or nil.
 * - stale: until the fill, reads find that entry (true), these bytes (a String), or nothing (nil).
 *
 * Returns one of these:
 * - :begun: the caller holds the lease. The lease begins the given lineage, and the key has no entry.
 * - [:acquired, lineage, whether the entry exists, whether a former holder had lapsed]: the caller holds the lease.
 * - [:held, lineage, holder, end, whether the versions are equal]: another holder has the lease. The end is in seconds
 *   of the monotonic clock; the last element is nil if the holder gave no version.
 * - :present: the key has another entry than `replaces`.
 * - :full: no slot is free.
 */
static VALUE segment_lease_acquire(VALUE self, VALUE key, VALUE ttl, VALUE lineage, VALUE holder, VALUE version,
                                   VALUE replaces, VALUE stale, VALUE stale_ttl)
{
    lease_call call = {.kind = LEASE_ACQUIRE, .base = {.key = key}, .version = version};
    tseg_result result;

    if (!NIL_P(version)) version = call.version = rb_str_new_frozen(StringValue(version));
    /*
     * Without `replaces` the first attempt assumes that every entry is live, because reading the clock is expensive.
     */
    call.times.now = NIL_P(replaces) ? -INFINITY : segment_now();
    call.request.lineage = lease_name(lineage);
    call.request.holder = lease_name(holder);
    call.request.ttl_ns = lease_ns(ttl);
    if (segment_parse_token(replaces, &call.token)) call.request.replaces = &call.token;
    call.request.drops = NIL_P(stale);
    if (RB_TYPE_P(stale, T_STRING)) call.base.bytes = stale;
    call.times.expires_at = NIL_P(stale_ttl) ? INFINITY : call.times.now + NUM2DBL(stale_ttl);
    result = make_lease_call(self, &call);
    if (result == TSEG_PRESENT && NIL_P(replaces)) {
        call.times.now = segment_now();
        result = make_lease_call(self, &call);
    }
    RB_GC_GUARD(version);
    if (result == TSEG_PRESENT) return ID2SYM(rb_intern("present"));
    if (result == TSEG_FULL) return ID2SYM(rb_intern("full"));
    if (result == TSEG_HELD) return describe_held(self, &call);
    if (!call.lease.has_entry && !call.lease.taken_over && call.lease.lineage == call.request.lineage)
        return ID2SYM(rb_intern("begun"));
    return rb_ary_new_from_args(4, ID2SYM(rb_intern("acquired")), name_string(call.lease.lineage),
                                call.lease.has_entry ? Qtrue : Qfalse, call.lease.taken_over ? Qtrue : Qfalse);
}

/*
 * @private Segment#lease_fill(key, lineage, bytes, ttl, expires_at) -> whether the bytes are stored, or :too_large.
 * expires_at: false if the bytes are a frame; otherwise the bytes are a String, whose frame the core writes with this
 * time (nil: never). Returns nil, without a call of the core, if the String has no plain frame.
 */
static VALUE segment_lease_fill(VALUE self, VALUE key, VALUE lineage, VALUE bytes, VALUE ttl, VALUE expires_at)
{
    lease_call call = {.kind = LEASE_FILL, .base = {.key = key, .bytes = bytes}, .lineage = lease_name(lineage),
                       .times = segment_times_of(ttl, false)};
    tseg_result result;

    if (expires_at != Qfalse) {
        call.frame_expires_at = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at);
        call.frame_type = segment_plain_string_type(bytes);
        if (!call.frame_type) return Qnil;
    }
    result = make_lease_call(self, &call);
    return result == TSEG_TOO_LARGE ? ID2SYM(rb_intern("too_large")) : result == TSEG_OK ? Qtrue : Qfalse;
}

/* @private Segment#lease_release(key, lineage, holder, pause or nil) -> whether this holder had the lease */
static VALUE segment_lease_release(VALUE self, VALUE key, VALUE lineage, VALUE holder, VALUE pause)
{
    lease_call call = {.kind = LEASE_RELEASE, .base = {.key = key}, .lineage = lease_name(lineage)};

    call.request.holder = lease_name(holder);
    call.pause_ns = NIL_P(pause) ? 0 : lease_ns(pause);
    return make_lease_call(self, &call) == TSEG_OK ? Qtrue : Qfalse;
}

/* @private Segment#end_leases: ends the leases of all keys, for a caller that does not know which keys were deleted */
static VALUE segment_end_leases(VALUE self)
{
    tseg_lease_end_everywhere(segment_current(self));
    return Qnil;
}

/*
 * @private Segment#lease_wait(key, lineage, holder, seconds) -> :held once the seconds are over, :lapsed, :released, or
 * :gone (filled or deleted). Sleeps without the GVL.
 */
static VALUE segment_lease_wait(VALUE self, VALUE key, VALUE lineage, VALUE holder, VALUE seconds)
{
    static const char *const names[] = {"held", "lapsed", "released", "gone"}; /* in the order of tseg_lease_state */
    segment_host host = segment_host_of(self);
    tseg_awaited_lease awaited = {.lineage = lease_name(lineage), .holder = lease_name(holder)};
    uint64_t longest_ns = lease_ns(seconds);
    tseg_lease_state state = TSEG_LEASE_GONE;

    key = rb_str_new_frozen(StringValue(key));
    awaited.key = RSTRING_PTR(key);
    awaited.key_bytes = (uint32_t)RSTRING_LEN(key);
    tseg_lease_wait(&host.base, &awaited, longest_ns, &state);
    RB_GC_GUARD(key);
    segment_raise(&host);
    return ID2SYM(rb_intern(names[state]));
}

void segment_init_write(void)
{
    rb_define_method(tiercel_segment_class, "set", segment_set, -1);
    rb_define_method(tiercel_segment_class, "add", segment_add, -1);
    rb_define_method(tiercel_segment_class, "compare_and_set", segment_compare_and_set, -1);
    rb_define_method(tiercel_segment_class, "near_fill", segment_near_fill, 4);
    rb_define_method(tiercel_segment_class, "near_fill_frame", segment_near_fill_frame, 4);
    rb_define_method(tiercel_segment_class, "write_string", segment_write_string, 4);
    rb_define_method(tiercel_segment_class, "set_multi", segment_set_multi, -1);
    rb_define_private_method(tiercel_segment_class, "add_to_counter", segment_increment, -1);
    rb_define_method(tiercel_segment_class, "touch", segment_touch, 2);
    rb_define_method(tiercel_segment_class, "delete", segment_delete, 1);
    rb_define_method(tiercel_segment_class, "delete_multi", segment_delete_multi, 1);
    rb_define_method(tiercel_segment_class, "clear", segment_clear, 0);
    rb_define_method(tiercel_segment_class, "lease_acquire", segment_lease_acquire, 8);
    rb_define_method(tiercel_segment_class, "lease_fill", segment_lease_fill, 5);
    rb_define_method(tiercel_segment_class, "lease_release", segment_lease_release, 4);
    rb_define_method(tiercel_segment_class, "end_leases", segment_end_leases, 0);
    rb_define_method(tiercel_segment_class, "lease_wait", segment_lease_wait, 4);
}
