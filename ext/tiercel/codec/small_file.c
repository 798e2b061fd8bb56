/*
 * Reads small files. It opens, reads and closes a file in one piece without the GVL, because a network file system may
 * make it wait. Ruby's File.read creates an IO object and releases the GVL four times.
 */
#include "codec.h"
#include <errno.h>
#include <fcntl.h>
#include <ruby/thread.h>
#include <unistd.h>

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

void init_small_file(VALUE module) { rb_define_singleton_method(module, "read_small", read_small, 1); }
