/*
 * Tiercel::CodecExt: the parts of the codec in C. lib/tiercel/codec.rb defines the Ruby constants that this file looks
 * up, and then loads this extension.
 */
#include "codec.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <sys/socket.h>
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
 * Reads small files. The function opens, reads and closes a file in one piece without the GVL, because a network file
 * system may make it wait. Ruby's File.read creates an IO object and releases the GVL four times.
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

/*
 * Receives from a socket. A system call that waits by itself saves the poll before it. It runs once, whatever ends it:
 * Ruby's own BasicSocket#recv would begin its wait anew after each signal.
 */
typedef struct {
    int socket;
    char *to;
    size_t room;
    ssize_t got;
} arrival;

static void *receive_once(void *context)
{
    arrival *arrived = context;
    arrived->got = recv(arrived->socket, arrived->to, arrived->room, 0);
    return NULL;
}

/*
 * receive(socket, bytes, string): the string with the bytes that have arrived in place of its own, at most `bytes`. The
 * string is empty at the end of the stream, and the result is nil if Ruby has to wait: nothing arrived within the
 * socket's SO_RCVTIMEO, or an error occurred (a signal, a lost connection).
 */
static VALUE receive(VALUE self, VALUE socket, VALUE bytes, VALUE string)
{
    arrival arrived = {.socket = rb_io_descriptor(socket), .room = NUM2SIZET(bytes)};
    long missing = (long)arrived.room - RSTRING_LEN(StringValue(string));
    rb_str_modify_expand(string, missing > 0 ? missing : 0);
    arrived.to = RSTRING_PTR(string);
    rb_str_locktmp(string); /* an interrupt leaves it locked; the caller's connection then gets another one */
    rb_thread_call_without_gvl(receive_once, &arrived, RUBY_UBF_IO, NULL);
    rb_str_unlocktmp(string);
    rb_str_set_len(string, arrived.got > 0 ? arrived.got : 0);
    return arrived.got < 0 ? Qnil : string;
}

/*
 * The private fields of a Ruby Hash: bits of its flags, its default, and the comparison functions of its table. A call
 * of its methods would let other threads run in the middle of a walk. So this file finds the places of these fields
 * when the extension is loaded, by comparing Hashes that differ in one property.
 */
/* The words that every object of Ruby's heap has. */
enum { FIRST_WORD = sizeof(struct RBasic) / sizeof(VALUE), END_OF_WORDS = 40 / sizeof(VALUE) };

static VALUE flag_default_proc, flag_keywords, flag_table; /* flag_table: the pairs are outside the object */
static int default_at, functions_at;                       /* indexes of words in the object */
static VALUE functions_of_equal_keys;

static inline VALUE word(VALUE object, int at) { return ((const VALUE *)object)[at]; }

static inline VALUE flags(VALUE object) { return RBASIC(object)->flags; }

bool only_pairs(VALUE hash)
{
    if (flags(hash) & (flag_default_proc | flag_keywords)) return false;
    if (!NIL_P(word(hash, default_at))) return false;
    return !(flags(hash) & flag_table) || word(hash, functions_at) == functions_of_equal_keys;
}

/* The user flag in which two objects differ; 0 if they do not differ in exactly one. */
static VALUE one_bit(VALUE object, VALUE other)
{
    VALUE bits = (flags(object) ^ flags(other)) & (((VALUE)FL_USER19 << 1) - (VALUE)FL_USER0);
    return bits & (bits - 1) ? 0 : bits;
}

static VALUE hash_of(int size)
{
    VALUE hash = rb_hash_new();
    for (int at = 0; at < size; at++) rb_hash_aset(hash, INT2FIX(at), Qtrue);
    return hash;
}

static VALUE by_identity(int size) { return rb_funcall(hash_of(size), rb_intern("compare_by_identity"), 0); }

static bool find_flags(VALUE empty)
{
    VALUE keywords = rb_funcall(rb_cHash, rb_intern("ruby2_keywords_hash"), 1, empty);
    flag_keywords = one_bit(keywords, empty);
    flag_default_proc = one_bit(rb_eval_string("Hash.new { nil }"), empty);
    flag_table = one_bit(by_identity(0), empty);
    return flag_keywords && flag_default_proc && flag_table;
}

/* Finds the word of the default, which is nil in a Hash without one. */
static bool find_default(VALUE empty)
{
    VALUE marker = rb_obj_alloc(rb_cObject);
    VALUE with_default = rb_hash_set_ifnone(rb_hash_new(), marker);
    for (int at = FIRST_WORD; at < END_OF_WORDS; at++) {
        if (word(with_default, at) != marker) continue;
        default_at = at;
        return NIL_P(word(empty, at)) && NIL_P(word(hash_of(100), at)) && NIL_P(word(by_identity(1), at));
    }
    return false;
}

/*
 * Finds the word of the comparison functions. The word is equal in all Hashes of one kind, and differs between the two
 * kinds.
 */
static bool find_functions(void)
{
    VALUE equal[] = {hash_of(9), hash_of(100), hash_of(1000)};
    VALUE identical[] = {by_identity(0), by_identity(1), by_identity(100)};
    int found = 0;
    for (int at = FIRST_WORD; at < END_OF_WORDS; at++) {
        bool alike = true;
        for (int i = 1; i < 3; i++) {
            alike = alike && word(equal[i], at) == word(equal[0], at) &&
                    word(identical[i], at) == word(identical[0], at);
        }
        if (!alike || word(equal[0], at) == word(identical[0], at)) continue;
        functions_at = at;
        functions_of_equal_keys = word(equal[0], at);
        found++;
    }
    for (int i = 0; i < 3; i++) {
        if (!(flags(equal[i]) & flags(identical[i]) & flag_table)) return false;
    }
    return found == 1;
}

/*
 * The word of the first key of a Hash without a table; the other pairs follow it. 0: this Ruby does not store the pairs
 * in the object, so with_keys_of copies only Hashes with a table.
 */
static int pairs_at;

static int find_pairs(void)
{
    enum { PAIRS = 8 };
    VALUE hash = hash_of(PAIRS);
    for (int at = FIRST_WORD; at < END_OF_WORDS; at++) {
        int pair = 0;
        while (pair < PAIRS && word(hash, at + 2 * pair) == INT2FIX(pair) && word(hash, at + 2 * pair + 1) == Qtrue)
            pair++;
        if (pair == PAIRS) return flags(hash) & flag_table ? 0 : at;
    }
    return 0;
}

/* A copy of a Hash with a table, while its values are replaced. `done`: the number of pairs so far. */
typedef struct {
    VALUE copy;
    const VALUE *pairs;
    size_t done;
} exchange;

static int compare_key(st_data_t key, st_data_t value, st_data_t arg, int error)
{
    const exchange *e = (const exchange *)arg;
    return key == e->pairs[2 * e->done] ? ST_REPLACE : ST_STOP;
}

static int replace_value(st_data_t *key, st_data_t *value, st_data_t arg, int existing)
{
    exchange *e = (exchange *)arg;
    RB_OBJ_WRITE(e->copy, value, e->pairs[2 * e->done++ + 1]);
    return ST_CONTINUE;
}

VALUE with_keys_of(VALUE model, const VALUE *pairs, size_t size)
{
    exchange e = {.pairs = pairs};
    if (!model || RHASH_SIZE(model) != size) return 0;
    if (flags(model) & flag_table) {
        e.copy = rb_hash_dup(model);
        st_foreach_with_replace(RHASH_TBL(e.copy), compare_key, replace_value, (st_data_t)&e);
        return e.done == size ? e.copy : 0;
    }
    for (size_t at = 0; at < size; at++)
        if (!pairs_at || word(model, pairs_at + 2 * (int)at) != pairs[2 * at]) return 0;
    e.copy = rb_hash_dup(model);
    for (size_t at = 0; at < size; at++)
        RB_OBJ_WRITE(e.copy, (VALUE *)e.copy + pairs_at + 2 * at + 1, pairs[2 * at + 1]);
    return e.copy;
}

/*
 * If this returns false, loading the extension raises a LoadError, because the extension does not know how this Ruby
 * stores Hashes. A test build with TIERCEL_UNKNOWN_HASH_LAYOUT returns false for every Ruby.
 */
static bool init_hash_layout(void)
{
#ifdef TIERCEL_UNKNOWN_HASH_LAYOUT
    return false;
#endif
    VALUE empty = rb_hash_new();
    bool found = find_flags(empty) && find_default(empty) && find_functions();
    pairs_at = find_pairs();
    RB_GC_GUARD(empty);
    return found;
}

/*
 * LZ4 blocks from and to Strings, by the system's liblz4. Without that library these methods do not exist. The
 * functions write straight into the resulting String.
 */
enum { SIZE_DIGITS_BYTES = 5, MOST_BYTES = 0x7E000000, MAX_EXPANSION = 255 }; /* MOST_BYTES: liblz4's maximum */

typedef int block_function(const char *from, char *to, int size, int room);
static block_function *deflate_block, *inflate_block;

/*
 * lz4_inflate(bytes, position, size): the inflated block as a String of exactly `size` bytes, or nil if the block has
 * another size or is damaged. Allocates nothing if the block is too short for `size`.
 */
static VALUE lz4_inflate(VALUE self, VALUE bytes, VALUE position, VALUE inflated_bytes)
{
    size_t at = NUM2SIZET(position), size = NUM2SIZET(inflated_bytes), left;
    VALUE held, inflated;
    int got;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    if (at > (size_t)RSTRING_LEN(held) || size > MOST_BYTES) return Qnil;
    left = (size_t)RSTRING_LEN(held) - at;
    if (size / MAX_EXPANSION > left || left > INT_MAX) return Qnil;
    inflated = rb_str_new(NULL, (long)size);
    memset(RSTRING_PTR(inflated), 0, size); /* a damaged block could copy from bytes that it has not written */
    got = inflate_block(RSTRING_PTR(held) + at, RSTRING_PTR(inflated), (int)left, (int)size);
    RB_GC_GUARD(held);
    return got == (int)size ? inflated : Qnil;
}

/* Writes the size in base 128, lowest digit first. */
static char *put_size(char *to, size_t size)
{
    for (; size >= 0x80; size >>= 7) *to++ = (char)(size | 0x80);
    *to++ = (char)size;
    return to;
}

/* lz4_deflate(bytes): the size of the bytes in base 128, followed by their block */
static VALUE lz4_deflate(VALUE self, VALUE bytes)
{
    size_t size, room;
    char *start, *to;
    VALUE held, deflated;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    size = (size_t)RSTRING_LEN(held);
    if (size > MOST_BYTES) rb_raise(rb_eArgError, "%" PRIuSIZE " bytes: an LZ4 block has at most 2 GB", size);
    room = size + size / MAX_EXPANSION + 16;
    deflated = rb_str_new(NULL, (long)(SIZE_DIGITS_BYTES + room));
    start = RSTRING_PTR(deflated);
    to = put_size(start, size);
    to += deflate_block(RSTRING_PTR(held), to, (int)size, (int)room);
    rb_str_set_len(deflated, (long)(to - start));
    RB_GC_GUARD(held);
    return deflated;
}

static void init_lz4(VALUE module)
{
    void *library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&deflate_block = dlsym(library, "LZ4_compress_default");
    *(void **)&inflate_block = dlsym(library, "LZ4_decompress_safe");
    if (!deflate_block || !inflate_block) return;
    rb_define_singleton_method(module, "lz4_inflate", lz4_inflate, 3);
    rb_define_singleton_method(module, "lz4_deflate", lz4_deflate, 1);
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
    init_frame(tiercel, module);
    init_keys(module);
    rb_define_singleton_method(module, "dump", dump_plain, 1);
    rb_define_singleton_method(module, "load", load_plain, 1);
    init_lz4(module);
    rb_define_singleton_method(module, "read_small", read_small, 1);
    rb_define_singleton_method(module, "receive", receive, 3);
}
