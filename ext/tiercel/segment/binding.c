/* Tiercel::Segment: its handle, and what a segment says about itself. */
#include <stdlib.h>

#include "binding.h"
#include "binding_memo.h"
#include "internal.h"

VALUE tiercel_segment_class;
static VALUE segment_module;
static ID id_raise_result;

static void free_handle(void *pointer)
{
    segment_handle *handle = pointer;
    if (handle->attached) tseg_release(handle->attached);
    if (handle->dropped) tseg_release(handle->dropped);
    tseg_memo_clear(&handle->memo);
    free(handle->path);
    xfree(handle);
}

static void mark_handle(void *pointer) { segment_mark_memo(&((segment_handle *)pointer)->memo); }
static void compact_handle(void *pointer) { segment_update_memo(&((segment_handle *)pointer)->memo); }
static size_t handle_memory(const void *pointer)
{
    return sizeof(segment_handle) + tseg_memo_memory(&((const segment_handle *)pointer)->memo);
}

/* The only Ruby objects that are referred to are the memo's Strings; storing one there tells the collector. */
const rb_data_type_t segment_handle_type = {
    "Tiercel::Segment",
    {mark_handle, free_handle, handle_memory, compact_handle, {NULL}},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED};

VALUE segment_allocate(VALUE class)
{
    segment_handle *handle;
    return TypedData_Make_Struct(class, segment_handle, &segment_handle_type, handle);
}

static inline segment_handle *handle_of(VALUE self) { return rb_check_typeddata(self, &segment_handle_type); }
segment_handle *segment_handle_of(VALUE self) { return handle_of(self); }

void segment_fail(VALUE self, tseg_result result, VALUE key)
{
    tseg *attached = handle_of(self)->attached;
    const char *reason = result == TSEG_BUSY ? "busy" : result == TSEG_READ_ONLY ? "read_only" : "retired";

    int code = 0;

    if (result == TSEG_READ_ONLY && attached) {
        code = tseg_why_read_only(attached);
        if (attached->warned) reason = "still_read_only";
        attached->warned = true;
    }
    rb_funcall(tiercel_segment_class, id_raise_result, 4, ID2SYM(rb_intern(reason)), self, key, INT2NUM(code));
}

__attribute__((noinline)) bool segment_ask_time(VALUE self, tseg_clock *clock, tseg **segment)
{
    segment_handle *handle;
    uint64_t unmapped = tseg_unmapped;

    clock->known = true;
    if (RB_LIKELY(segment_reads_clock(&clock->now))) return true;
    handle = handle_of(self);
    clock->now = segment_now();
    /* Nothing was unmapped, and the handle's own reference keeps it so: whatever ran meanwhile, the read can go on. */
    if (RB_LIKELY(unmapped == tseg_unmapped && handle->attached == *segment && !tseg_forked())) return true;
    *segment = segment_current(self);
    return false;
}

static VALUE segment_path(VALUE self)
{
    segment_handle *handle = handle_of(self);
    return handle->path ? rb_utf8_str_new_cstr(handle->path) : Qnil;
}

static VALUE segment_size_bytes(VALUE self) { return ULL2NUM(segment_current(self)->geometry.file_bytes); }
static VALUE segment_shards(VALUE self) { return UINT2NUM(segment_current(self)->geometry.shards); }
static VALUE segment_average(VALUE self) { return UINT2NUM(segment_current(self)->geometry.average_entry_bytes); }
static VALUE segment_file_id(VALUE self) { return ULL2NUM(segment_current(self)->file_id); }
static VALUE segment_is_writable(VALUE self) { return segment_current(self)->owner ? Qtrue : Qfalse; }

static VALUE segment_largest_value(VALUE self)
{
    return ULL2NUM(segment_current(self)->geometry.log_units[TSEG_MAIN] / 4 * TSEG_UNIT - TSEG_ENTRY_BYTES);
}

static VALUE segment_pids(VALUE self)
{
    uint32_t pids[TSEG_PROCESS_SLOTS];
    int count = tseg_registered(segment_current(self), pids, TSEG_PROCESS_SLOTS);
    VALUE result = rb_ary_new_capa(count);

    for (int i = 0; i < count && i < (int)TSEG_PROCESS_SLOTS; i++) rb_ary_push(result, UINT2NUM(pids[i]));
    return result;
}

static void define_queries(VALUE class)
{
    rb_define_alloc_func(class, segment_allocate);
    rb_define_method(class, "path", segment_path, 0);
    rb_define_method(class, "size_bytes", segment_size_bytes, 0);
    rb_define_method(class, "shards", segment_shards, 0);
    rb_define_method(class, "average_entry_bytes", segment_average, 0);
    rb_define_method(class, "file_id", segment_file_id, 0);
    rb_define_method(class, "writable?", segment_is_writable, 0);
    rb_define_method(class, "largest_value_bytes", segment_largest_value, 0);
    rb_define_method(class, "pids", segment_pids, 0);
    rb_undef_method(class, "initialize_copy");
}

/* Not declared safe for Ractors: Ruby refuses every method of it outside the main one. */
RUBY_FUNC_EXPORTED void Init_segment_ext(void)
{
    segment_module = rb_define_module("Tiercel");
    tiercel_segment_class = rb_define_class_under(segment_module, "Segment", rb_cObject);
    id_raise_result = rb_intern("raise_result");
    rb_undef_method(rb_singleton_class(tiercel_segment_class), "new");
#ifdef TSEG_LINUX
    rb_define_const(tiercel_segment_class, "PORTABLE", Qfalse);
#else
    rb_define_const(tiercel_segment_class, "PORTABLE", Qtrue);
#endif
    define_queries(tiercel_segment_class);
    segment_init_file();
    segment_init_maintenance();
    segment_init_time();
    segment_init_memo();
    segment_init_read();
    segment_init_read_multi();
    segment_init_tags();
    segment_init_token();
    segment_init_write();
    segment_init_sweep();
    segment_init_walk();
    segment_init_stats();
    segment_init_lease();
    segment_init_near();
    segment_init_coverage();
}
