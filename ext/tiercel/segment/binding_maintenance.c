/* Replacing and removing the file of a segment, and the room where it may lie. */
#include <errno.h>
#include <sys/statvfs.h>

#include "binding.h"

/* @private Segment.replace_file(path, bytes, shards, average entry bytes, mode) */
static VALUE segment_replace(VALUE class, VALUE path, VALUE bytes, VALUE shards, VALUE average, VALUE mode)
{
    segment_host host = segment_new_host();
    tseg_options options = {.bytes = NUM2ULL(bytes), .shards = NUM2UINT(shards),
                            .average_entry_bytes = NUM2UINT(average), .mode = (mode_t)NUM2UINT(mode),
                            .host = &host.base};
    uint64_t waited_ns = 0;
    pid_t given_up_on = 0;
    tseg_error error;

    path = rb_str_new_frozen(StringValue(path));
    while (!tseg_replace(StringValueCStr(path), &options, &error)) {
        segment_raise(&host);
        if (!segment_wait_for_files(&error, SEGMENT_OPENING_WAIT_NS, &waited_ns, &given_up_on))
            segment_fail_with(&error);
    }
    segment_raise(&host);
    RB_GC_GUARD(path);
    return Qnil;
}

/* @private Segment.remove_file(path, only_unused) */
static VALUE segment_remove(VALUE class, VALUE path, VALUE only_unused)
{
    segment_host host = segment_new_host();
    uint64_t waited_ns = 0;
    pid_t given_up_on = 0;
    tseg_error error;

    path = rb_str_new_frozen(StringValue(path));
    while (!tseg_remove_by(&host.base, StringValueCStr(path), RTEST(only_unused), &error)) {
        segment_raise(&host);
        if (RTEST(only_unused) && error.code == EBUSY) return Qfalse;
        if (!segment_wait_for_files(&error, SEGMENT_OPENING_WAIT_NS, &waited_ns, &given_up_on))
            segment_fail_with(&error);
    }
    segment_raise(&host);
    RB_GC_GUARD(path);
    return Qtrue;
}

/* @private Segment.free_bytes(directory) -> what an unprivileged process can still take there */
static VALUE segment_free_bytes(VALUE class, VALUE directory)
{
    struct statvfs system;

    if (statvfs(StringValueCStr(directory), &system) != 0) rb_sys_fail_str(directory);
    return ULL2NUM((unsigned long long)system.f_bavail * system.f_frsize);
}

void segment_init_maintenance(void)
{
    VALUE class = tiercel_segment_class;

    rb_define_private_method(rb_singleton_class(class), "replace_file", segment_replace, 5);
    rb_define_private_method(rb_singleton_class(class), "remove_file", segment_remove, 2);
    rb_define_singleton_method(class, "free_bytes", segment_free_bytes, 1);
}
