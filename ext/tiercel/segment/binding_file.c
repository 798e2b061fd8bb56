/* Opening, closing, and moving to another file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding_memo.h"
#include "internal.h"

#define MADE_WITHIN_CALL_BYTES (UINT64_C(64) << 20)
#define MAKER_SECONDS 60 /* then a thread that makes the file counts as killed */

static ID id_raise_error, id_report_replaced, id_make_again;

void segment_fail_with(const tseg_error *error)
{
    rb_funcall(tiercel_segment_class, id_raise_error, 2, INT2NUM(error->code), rb_utf8_str_new_cstr(error->message));
}

bool segment_wait_for_files(const tseg_error *error, uint64_t patience_ns, uint64_t *waited_ns, pid_t *given_up_on)
{
    pid_t holder = error->holder ? error->holder : -1;

    if (error->code != EAGAIN || holder == *given_up_on) return false;
    if (*waited_ns >= patience_ns) *given_up_on = holder;
    if (*waited_ns >= patience_ns) return false;
    segment_nap(waited_ns);
    return true;
}

/* Other threads run while a file is made, and may attach the handle first. */
static void attach_once(segment_handle *handle, tseg_error *error)
{
    segment_host host = segment_new_host();
    tseg_options options = handle->options;
    tseg *attached;

    *error = (tseg_error){0};
    options.host = &host.base;
    attached = handle->path ? tseg_attach(handle->path, &options, error) : tseg_attach_private(&options, error);
    if (attached && handle->attached) {
        tseg_release(attached);
    } else if (attached) {
        handle->attached = attached;
        handle->attached_ns = tseg_monotonic_ns();
        handle->given_up_on = 0;
    }
    handle->checked_at = segment_seconds();
    segment_raise(&host);
}

static tseg *attach_handle(VALUE self, segment_handle *handle, uint64_t patience_ns)
{
    uint64_t waited_ns = 0;
    tseg_error error;

    while (!handle->attached) { /* another thread may have done it while this one waited */
        attach_once(handle, &error);
        if (handle->attached) {
            handle->given_up_on = 0;
            segment_share_budget(handle);
        } else if (!segment_wait_for_files(&error, patience_ns, &waited_ns, &handle->given_up_on)) {
            segment_fail_with(&error);
        }
        if (!error.replaced) continue;
        rb_funcall(tiercel_segment_class, id_report_replaced, 1, rb_utf8_str_new_cstr(error.message));
    }
    RB_GC_GUARD(self);
    return handle->attached;
}

/* Should the file be gone, it is made again as it was: a process that joined it knows no other size. */
static void remember_file(segment_handle *handle)
{
    const tseg *attached = handle->attached;

    if (!handle->path || (!handle->options.bytes && !handle->joined)) return;
    handle->options.bytes = attached->geometry.file_bytes;
    handle->options.shards = attached->geometry.shards;
    handle->options.average_entry_bytes = attached->geometry.average_entry_bytes;
    handle->options.mode = attached->mode;
}

static void release(tseg **attached)
{
    segment_host host = segment_new_host();
    tseg *given = *attached;

    *attached = NULL;
    if (given) tseg_release_by(&host.base, given);
    segment_raise(&host);
}

static bool has_maker(const segment_handle *handle)
{
    return handle->maker == getpid() && segment_seconds() - handle->maker_began_at < MAKER_SECONDS;
}

static void detach(segment_handle *handle)
{
    if (handle->attached) remember_file(handle);
    release(&handle->attached);
    if (!has_maker(handle)) release(&handle->dropped);
}

/* Too large to be made within a call: a request would wait for seconds, or start anew with each timeout. */
static bool is_large_and_lost(const segment_handle *handle)
{
    struct stat status;

    return handle->path && handle->options.bytes > MADE_WITHIN_CALL_BYTES && lstat(handle->path, &status) != 0 &&
           errno == ENOENT;
}

/* The calls of this process miss until the file is there. At most once a second a thread is started. */
static void make_in_background(VALUE self, segment_handle *handle)
{
    int64_t now = segment_seconds();
    bool begin = !has_maker(handle) && handle->maker_began_at != now;

    if (begin) {
        handle->maker = getpid();
        handle->maker_began_at = now;
    }
    rb_funcall(tiercel_segment_class, id_make_again, 2, self, begin ? Qtrue : Qfalse);
}

static VALUE attach_now(VALUE self)
{
    release(&segment_handle_of(self)->dropped);
    attach_handle(self, segment_handle_of(self), SEGMENT_OPENING_WAIT_NS);
    return Qtrue;
}

static VALUE end_maker(VALUE self)
{
    segment_handle_of(self)->maker = 0;
    return Qnil;
}

/* @private Segment#attach_now: by the thread that makes the lost file again */
static VALUE segment_attach_now(VALUE self) { return rb_ensure(attach_now, self, end_maker, self); }

static tseg *attach_again(VALUE self, segment_handle *handle)
{
    if (handle->attached) remember_file(handle); /* tells how large */
    if (is_large_and_lost(handle)) {
        if (handle->dropped) {
            release(&handle->attached);
        } else {
            handle->dropped = handle->attached;
            handle->attached = NULL;
        }
        make_in_background(self, handle); /* raises */
    }
    detach(handle);
    return attach_handle(self, handle, TSEG_LOCK_WAIT_NS);
}

tseg *segment_make_current(VALUE self)
{
    segment_handle *handle = segment_handle_of(self);
    tseg *attached = handle->attached;
    bool lost = false;

    if (RB_UNLIKELY(tseg_forked())) {
        tseg_after_fork();
        if (attached) segment_share_budget(handle);
    }
    if (RB_UNLIKELY(!attached)) {
        if (!handle->opened) rb_raise(rb_eArgError, "a segment that was never opened: use Tiercel::Segment.open");
        return attach_again(self, handle);
    }
    if (!handle->path && RB_LIKELY(!tseg_is_retired(attached))) return attached;
    int64_t now = segment_seconds();
    if (RB_UNLIKELY(now != handle->checked_at)) {
        handle->checked_at = now;
        lost = !tseg_path_is_current(attached) || !tseg_keep_registered(attached);
        segment_share_budget_again(handle, now);
    }
    if (RB_LIKELY(!lost && !tseg_is_retired(attached))) return attached;
    return attach_again(self, handle);
}

static void read_hash_key(segment_handle *handle, VALUE hash_key)
{
    if (NIL_P(hash_key)) return;
    StringValue(hash_key);
    if (RSTRING_LEN(hash_key) != 16)
        rb_raise(rb_eArgError, "hash_key: expected 16 bytes, got %ld", RSTRING_LEN(hash_key));
    memcpy(handle->hash_key, RSTRING_PTR(hash_key), 16);
    handle->options.hash_key = handle->hash_key;
}

static void read_options(segment_handle *handle, VALUE path, VALUE bytes, VALUE least, VALUE shards, VALUE average,
                         VALUE mode, VALUE hash_key)
{
    handle->options.bytes = NUM2ULL(bytes);
    handle->options.smallest_bytes = NUM2ULL(least);
    handle->options.shards = NUM2UINT(shards);
    handle->options.average_entry_bytes = NUM2UINT(average);
    handle->options.mode = (mode_t)NUM2UINT(mode);
    read_hash_key(handle, hash_key);
    if (NIL_P(path)) return;
    handle->path = strdup(StringValueCStr(path));
    if (!handle->path) rb_memerror();
}

/* @private Segment.attach(path or nil, bytes, least bytes, shards, average entry bytes, mode, hash key or nil) */
static VALUE segment_attach(VALUE class, VALUE path, VALUE bytes, VALUE least, VALUE shards, VALUE average, VALUE mode,
                            VALUE hash_key)
{
    VALUE self = segment_allocate(class);
    segment_handle *handle = segment_handle_of(self);

    read_options(handle, path, bytes, least, shards, average, mode, hash_key);
    handle->opened = true;
    attach_handle(self, handle, SEGMENT_OPENING_WAIT_NS);
    return self;
}

/* @private Segment.join(path): as attach to a file that exists; should it be lost, the segment makes it again */
static VALUE segment_join(VALUE class, VALUE path)
{
    VALUE zero = INT2FIX(0), mode = INT2FIX(0600);
    VALUE self = segment_attach(class, path, zero, zero, zero, zero, mode, Qnil);

    segment_handle_of(self)->joined = true;
    return self;
}

static VALUE segment_close(VALUE self)
{
    tseg_memo_clear(&segment_handle_of(self)->memo);
    detach(segment_handle_of(self));
    return Qnil;
}

void segment_init_file(void)
{
    VALUE class = tiercel_segment_class;

    id_raise_error = rb_intern("raise_error");
    id_report_replaced = rb_intern("report_replaced");
    id_make_again = rb_intern("make_again");
    rb_define_private_method(class, "attach_now", segment_attach_now, 0);
    rb_define_private_method(rb_singleton_class(class), "attach", segment_attach, 7);
    rb_define_private_method(rb_singleton_class(class), "attach_existing", segment_join, 1);
    rb_define_method(class, "close", segment_close, 0);
}
