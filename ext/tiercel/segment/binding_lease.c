#include "binding.h"

/* Leases: taking, filling, releasing and awaiting them. Tiercel::Leases::Segment calls these methods. */

#define LEASE_NAME_BYTES 8
#define LEASE_NEVER_S 1e6

typedef struct {
    segment_call base;         /* with the bytes of the fill, or of the value that reads find until the fill */
    enum { LEASE_TAKE, LEASE_FILL, LEASE_RELEASE } kind;
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
        call->request.shown = bytes ? &value : NULL;
        call->request.shown_expires_at = call->times.expires_at;
        return tseg_lease_take(segment, &key, &call->request, call->times.now, &call->lease);
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
 * @private Segment#lease_take(key, ttl, lineage, holder, version, replaces, shown, shown_ttl)
 *
 * - replaces: the token of the only entry that the key may have, or nil.
 * - shown: until the fill, reads find that entry (true), these bytes (a String), or nothing (nil).
 *
 * Returns one of these:
 * - :begun: the caller holds the lease. It begins the given lineage, and the key has no entry.
 * - [:taken, lineage, whether the entry exists, whether a former holder had lapsed]: the caller holds the lease.
 * - [:held, lineage, holder, end, whether the versions are equal]: another holder has the lease. The end is in seconds
 *   of the monotonic clock; the last element is nil if the holder gave no version.
 * - :present: the key has another entry than `replaces`.
 * - :full: no slot is free.
 */
static VALUE segment_lease_take(VALUE self, VALUE key, VALUE ttl, VALUE lineage, VALUE holder, VALUE version,
                                VALUE replaces, VALUE shown, VALUE shown_ttl)
{
    lease_call call = {.kind = LEASE_TAKE, .base = {.key = key}, .version = version};
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
    call.request.drops = NIL_P(shown);
    if (RB_TYPE_P(shown, T_STRING)) call.base.bytes = shown;
    call.times.expires_at = NIL_P(shown_ttl) ? INFINITY : call.times.now + NUM2DBL(shown_ttl);
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
    return rb_ary_new_from_args(4, ID2SYM(rb_intern("taken")), name_string(call.lease.lineage),
                                call.lease.has_entry ? Qtrue : Qfalse, call.lease.taken_over ? Qtrue : Qfalse);
}

/*
 * @private Segment#lease_fill(key, lineage, bytes, ttl, expires_at) -> whether the bytes are stored, or :too_large.
 * expires_at: false if the bytes are a frame; otherwise the core writes the frame of a String that expires then (nil:
 * never). nil, and no call of the core, if the String has no plain frame.
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

void segment_init_lease(void)
{
    rb_define_method(tiercel_segment_class, "lease_take", segment_lease_take, 8);
    rb_define_method(tiercel_segment_class, "lease_fill", segment_lease_fill, 5);
    rb_define_method(tiercel_segment_class, "lease_release", segment_lease_release, 4);
    rb_define_method(tiercel_segment_class, "end_leases", segment_end_leases, 0);
    rb_define_method(tiercel_segment_class, "lease_wait", segment_lease_wait, 4);
}
