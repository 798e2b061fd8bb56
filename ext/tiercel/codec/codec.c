/*
 * Tiercel::CodecExt: the parts of the codec in C. lib/tiercel/codec.rb defines the Ruby constants that this file looks
 * up, and then loads this extension.
 */
#include "codec.h"
#include <errno.h>
#include <fcntl.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <unistd.h>

VALUE malformed_frame;

static VALUE make_payload(buffer *encoded, void *context)
{
    return rb_str_new((const char *)encoded->data, (long)encoded->size);
}

/* dump(value): the value in msgpack, or nil if the value is not plain data */
static VALUE dump_plain(VALUE self, VALUE value) { return with_plain(value, 0, make_payload, NULL); }

/* load(bytes): the value of msgpack bytes */
static VALUE load_plain(VALUE self, VALUE bytes)
{
    VALUE held, value;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    value = decode_plain((const uint8_t *)RSTRING_PTR(held), (size_t)RSTRING_LEN(held));
    RB_GC_GUARD(held);
    return value;
}

/*
 * Reads small files. It opens, reads and closes a file in one piece without the GVL, because a network file system may
 * make it wait. Ruby's File.read creates an IO object and releases the GVL four times.
 */
enum { SMALL_FILE_BYTES = 32 * 1024 };

typedef struct {
    const char *path;
    int error; /* an errno, 0 for none */
    size_t size;
    uint8_t bytes[SMALL_FILE_BYTES];
} small_file;

static void *read_whole(void *context)
{
    small_file *file = context;
    ssize_t got;
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        file->error = errno;
        return NULL;
    }
    got = read(descriptor, file->bytes, SMALL_FILE_BYTES);
    if (got < 0) file->error = errno;
    else file->size = (size_t)got;
    close(descriptor);
    return NULL;
}

/*
 * read_small(path): the content of the file. Returns false if the file does not exist. Returns nil if Ruby has to read
 * the file: it has 32 KB or more, or an error occurred (a signal, no free descriptors, a folder). Raises no error of
 * its own.
 */
static VALUE read_small(VALUE self, VALUE path)
{
    small_file file;
    VALUE held;
    Check_Type(path, T_STRING);
    held = rb_str_new_frozen(path);
    file.path = StringValueCStr(held);
    file.error = 0;
    file.size = 0;
    rb_thread_call_without_gvl(read_whole, &file, RUBY_UBF_IO, NULL);
    RB_GC_GUARD(held);
    if (file.error) return file.error == ENOENT ? Qfalse : Qnil;
    return file.size < SMALL_FILE_BYTES ? rb_str_new((const char *)file.bytes, (long)file.size) : Qnil;
}

RUBY_FUNC_EXPORTED void Init_codec_ext(void)
{
    VALUE tiercel, module;

#ifdef HAVE_RB_EXT_RACTOR_SAFE
    rb_ext_ractor_safe(true);
#endif
    tiercel = rb_define_module("Tiercel");
    module = rb_define_module_under(tiercel, "CodecExt");
    malformed_frame = rb_const_get(tiercel, rb_intern("MalformedFrame"));
    rb_gc_register_mark_object(malformed_frame);
    if (!init_hash_layout()) rb_raise(rb_eLoadError, "Ruby %s keeps Hashes in a way not known here", ruby_version);
    init_crc32();
    init_frame(tiercel, module);
    init_keys(module);
    rb_define_singleton_method(module, "dump", dump_plain, 1);
    rb_define_singleton_method(module, "load", load_plain, 1);
    init_lz4(module);
    rb_define_singleton_method(module, "read_small", read_small, 1);
}
