/* Opening, closing, replacing and removing the file of a segment. */

#include "binding.h"

static ID id_raise_error, id_raise_paused;

void segment_fail_with(VALUE self, const tseg_error *error)
{
    if (error->paused) rb_funcall(tiercel_segment_class, id_raise_paused, 1, self);
    rb_funcall(tiercel_segment_class, id_raise_error, 2, INT2NUM(error->code), rb_utf8_str_new_cstr(error->message));
}

tseg *segment_make_current(VALUE self)
{
    segment_host host = segment_host_of(self);
    tseg *segment;

    if (RB_UNLIKELY(!segment_handle_of(self)->is_open))
        rb_raise(rb_eArgError, "the segment was never opened: use Tiercel::Segment.open");
    segment = host.base.current(&host.base);
    segment_raise(&host);
    RB_GC_GUARD(self);
    return segment;
}

static void open_handle(VALUE self)
{
    segment_host host = segment_host_of(self);
    VALUE ractor = rb_path2class("Ractor");

    if (rb_funcall(ractor, rb_intern("current"), 0) != rb_funcall(ractor, rb_intern("main"), 0))
        atomic_store(&tseg_parallel, true);
    host.detached = !tseg_handle_attach(segment_handle_of(self), &host.base);
    segment_raise(&host);
    RB_GC_GUARD(self);
}

static void read_hash_key(tseg_handle *handle, VALUE hash_key)
{
    if (NIL_P(hash_key)) return;
    StringValue(hash_key);
    if (RSTRING_LEN(hash_key) != sizeof handle->hash_key)
        rb_raise(rb_eArgError, "hash_key: expected 16 bytes, got %ld", RSTRING_LEN(hash_key));
    memcpy(handle->hash_key, RSTRING_PTR(hash_key), sizeof handle->hash_key);
    handle->options.hash_key = handle->hash_key;
}

static void read_options(tseg_handle *handle, VALUE path, VALUE bytes, VALUE least, VALUE shards, VALUE average,
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
    tseg_handle *handle = segment_handle_of(self);

    read_options(handle, path, bytes, least, shards, average, mode, hash_key);
    handle->is_open = true;
    open_handle(self);
    return self;
}

/* @private Segment.attach_existing(path): attaches to an existing file; see `joined` in handle.h */
static VALUE segment_join(VALUE class, VALUE path)
{
    VALUE zero = INT2FIX(0), mode = INT2FIX(0600);
    VALUE self = segment_attach(class, path, zero, zero, zero, zero, mode, Qnil);

    segment_handle_of(self)->joined = true;
    return self;
}

static VALUE segment_close(VALUE self)
{
    segment_host host = segment_host_of(self);
    tseg_handle *handle = segment_handle_of(self);

    tseg_memo_clear(&handle->memo);
    tseg_handle_close(handle, &host.base);
    segment_raise(&host);
    return Qnil;
}

/* @private Segment.replace_file(path, bytes, mode) */
static VALUE segment_replace(VALUE class, VALUE path, VALUE bytes, VALUE mode)
{
    segment_host host = segment_host_of(Qnil);
    tseg_options options = {.bytes = NUM2ULL(bytes), .mode = (mode_t)NUM2UINT(mode), .host = &host.base};

    path = rb_str_new_frozen(StringValue(path));
    host.detached = !tseg_replace(StringValueCStr(path), &options, &host.base.error);
    RB_GC_GUARD(path);
    segment_raise(&host);
    return Qnil;
}

/* @private Segment.remove_file(path, only_unused) */
static VALUE segment_remove(VALUE class, VALUE path, VALUE only_unused)
{
    segment_host host = segment_host_of(Qnil);
    bool removed;

    path = rb_str_new_frozen(StringValue(path));
    removed = tseg_remove(&host.base, StringValueCStr(path), RTEST(only_unused), &host.base.error);
    host.detached = !removed && !(RTEST(only_unused) && host.base.error.code == EBUSY);
    RB_GC_GUARD(path);
    segment_raise(&host);
    return removed ? Qtrue : Qfalse;
}

/* @private Segment.free_bytes(directory) -> the bytes that an unprivileged process can still take there */
static VALUE segment_free_bytes(VALUE class, VALUE directory)
{
    struct statvfs system;

    if (statvfs(StringValueCStr(directory), &system) != 0) rb_sys_fail_str(directory);
    return ULL2NUM((unsigned long long)system.f_bavail * system.f_frsize);
}

/* @private Segment.in_memory?(directory) -> whether files in this directory take memory, and not room on a disk */
static VALUE segment_is_in_memory(VALUE class, VALUE directory)
{
    return tseg_is_in_memory(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

void segment_init_file(void)
{
    VALUE class = tiercel_segment_class, singleton = rb_singleton_class(class);

    id_raise_error = rb_intern("raise_error");
    id_raise_paused = rb_intern("raise_paused");
    rb_define_private_method(singleton, "attach", segment_attach, 7);
    rb_define_private_method(singleton, "attach_existing", segment_join, 1);
    rb_define_method(class, "close", segment_close, 0);
    rb_define_private_method(singleton, "replace_file", segment_replace, 3);
    rb_define_private_method(singleton, "remove_file", segment_remove, 2);
    rb_define_singleton_method(class, "in_memory?", segment_is_in_memory, 1);
    rb_define_singleton_method(class, "free_bytes", segment_free_bytes, 1);
}
