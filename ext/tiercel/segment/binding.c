/* Tiercel::Segment: the Ruby object, and the figures of its file. */
#include <stdlib.h>

#include "binding.h"
#include "binding_memo.h"
#include "change.h"

VALUE tiercel_segment_class;

static void free_handle(void *pointer)
{
    tseg_handle *handle = pointer;
    if (handle->attached) tseg_release(handle->attached);
    if (handle->dropped) tseg_release(handle->dropped);
    tseg_memo_clear(&handle->memo);
    free(handle->path);
    xfree(handle);
}

static void mark_handle(void *pointer) { segment_mark_memo(&((tseg_handle *)pointer)->memo); }
static void compact_handle(void *pointer) { segment_update_memo(&((tseg_handle *)pointer)->memo); }
static size_t handle_memory(const void *pointer)
{
    return sizeof(tseg_handle) + tseg_memo_memory(&((const tseg_handle *)pointer)->memo);
}

/*
 * The handle refers to no Ruby objects except the memo's values; keep_value reports each one to the garbage collector.
 */
const rb_data_type_t segment_handle_type = {
    "Tiercel::Segment",
    {mark_handle, free_handle, handle_memory, compact_handle, {NULL}},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED};

VALUE segment_allocate(VALUE class)
{
    tseg_handle *handle;
    return TypedData_Make_Struct(class, tseg_handle, &segment_handle_type, handle);
}

static VALUE segment_path(VALUE self)
{
    const tseg_handle *handle = segment_handle_of(self);
    return handle->path ? rb_utf8_str_new_cstr(handle->path) : Qnil;
}

static VALUE segment_size_bytes(VALUE self) { return ULL2NUM(segment_current(self)->geometry.file_bytes); }
static VALUE segment_shards(VALUE self) { return UINT2NUM(segment_current(self)->geometry.shards); }
static VALUE segment_average(VALUE self) { return UINT2NUM(segment_current(self)->geometry.average_entry_bytes); }
static VALUE segment_file_id(VALUE self) { return ULL2NUM(segment_current(self)->file_id); }
static VALUE segment_is_writable(VALUE self) { return segment_current(self)->owner ? Qtrue : Qfalse; }

static VALUE segment_largest_value(VALUE self)
{
    uint64_t bytes = segment_current(self)->geometry.log_units[TSEG_MAIN] / 4 * TSEG_UNIT - TSEG_ENTRY_BYTES;
    return ULL2NUM(bytes < TSEG_MAX_VALUE_BYTES ? bytes : TSEG_MAX_VALUE_BYTES);
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

/* The extension does not declare itself safe for Ractors, so Ruby refuses its methods outside the main Ractor. */
RUBY_FUNC_EXPORTED void Init_segment_ext(void)
{
    tiercel_segment_class = rb_define_class_under(rb_define_module("Tiercel"), "Segment", rb_cObject);
    rb_undef_method(rb_singleton_class(tiercel_segment_class), "new");
#ifdef TSEG_LINUX
    rb_define_const(tiercel_segment_class, "PORTABLE", Qfalse);
#else
    rb_define_const(tiercel_segment_class, "PORTABLE", Qtrue);
#endif
    define_queries(tiercel_segment_class);
    segment_init_file();
    segment_init_time();
    segment_init_memo();
    segment_init_read();
    segment_init_read_multi();
    segment_init_tags();
    segment_init_token();
    segment_init_write();
    segment_init_delete();
    segment_init_walk();
    segment_init_stats();
    segment_init_lease();
    segment_init_near();
    segment_init_coverage();
}
