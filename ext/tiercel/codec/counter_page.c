/*
 * Tiercel::CodecExt::CounterPage: counters in the first page of a file that several processes map. Each addition is
 * atomic and goes straight to the file's memory, so a killed process loses no count. The object also keeps the counts
 * that its own process has added.
 */
#include "codec.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8, SAMPLE = 256 };

typedef struct {
    _Atomic int64_t *words; /* NULL until it is mapped */
    int64_t own[PAGE_WORDS];
} counter_page;

static void free_page(void *pointer)
{
    counter_page *page = pointer;
    if (page->words) munmap((void *)page->words, PAGE_BYTES);
    xfree(page);
}

static size_t page_size(const void *page) { return sizeof(counter_page); }

static const rb_data_type_t page_type = {
    .wrap_struct_name = "tiercel_counter_page",
    .function = {.dfree = free_page, .dsize = page_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE allocate_page(VALUE class)
{
    counter_page *page;
    return TypedData_Make_Struct(class, counter_page, &page_type, page);
}

static counter_page *page_of(VALUE self)
{
    counter_page *page = rb_check_typeddata(self, &page_type);
    if (!page->words) rb_raise(rb_eRuntimeError, "the page is not mapped");
    return page;
}

static long index_of(VALUE index)
{
    long number = NUM2LONG(index);
    if (number < 0 || number >= PAGE_WORDS) {
        rb_raise(rb_eIndexError, "counter %ld: expected 0 to %d", number, PAGE_WORDS - 1);
    }
    return number;
}

/* new(descriptor): maps the first page of an open file. The file has at least one page. */
static VALUE initialize_page(VALUE self, VALUE descriptor)
{
    counter_page *page = rb_check_typeddata(self, &page_type);
    int fd = NUM2INT(descriptor);
    struct stat file;
    void *words;
    if (page->words) rb_raise(rb_eRuntimeError, "the page is mapped already");
    if (fstat(fd, &file) != 0) rb_sys_fail("fstat");
    if (file.st_size < PAGE_BYTES) rb_raise(rb_eArgError, "the file has less than %d bytes", PAGE_BYTES);
    words = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) rb_sys_fail("mmap");
    page->words = words;
    return self;
}

/* add(index, amount) -> nil */
static VALUE add_to_word(VALUE self, VALUE index, VALUE amount)
{
    counter_page *page = page_of(self);
    long at = index_of(index);
    int64_t more = NUM2LL(amount);
    atomic_fetch_add_explicit(&page->words[at], more, memory_order_relaxed);
    page->own[at] += more;
    return Qnil;
}

/* hit(index): adds 1, and returns true for every SAMPLE-th call */
static VALUE hit_word(VALUE self, VALUE index)
{
    counter_page *page = page_of(self);
    long at = index_of(index);
    atomic_fetch_add_explicit(&page->words[at], 1, memory_order_relaxed);
    return ++page->own[at] % SAMPLE ? Qfalse : Qtrue;
}

/* add_silently(index, amount): adds, but does not count for this process */
static VALUE add_for_others(VALUE self, VALUE index, VALUE amount)
{
    atomic_fetch_add_explicit(&page_of(self)->words[index_of(index)], NUM2LL(amount), memory_order_relaxed);
    return Qnil;
}

/* load(index): the counter in the file */
static VALUE load_word(VALUE self, VALUE index)
{
    return LL2NUM(atomic_load_explicit(&page_of(self)->words[index_of(index)], memory_order_relaxed));
}

/* store(index, number): sets the counter, and does not count for this process */
static VALUE store_word(VALUE self, VALUE index, VALUE number)
{
    counter_page *page = page_of(self);
    atomic_store_explicit(&page->words[index_of(index)], NUM2LL(number), memory_order_relaxed);
    return number;
}

/* own(index): the count that this process has added */
static VALUE own_word(VALUE self, VALUE index) { return LL2NUM(page_of(self)->own[index_of(index)]); }

/* forget_own: sets the counts of this process to 0; called in a child */
static VALUE forget_own(VALUE self)
{
    counter_page *page = page_of(self);
    memset(page->own, 0, sizeof page->own);
    return Qnil;
}

void init_counter_page(VALUE module)
{
    VALUE class = rb_define_class_under(module, "CounterPage", rb_cObject);
    rb_define_alloc_func(class, allocate_page);
    rb_define_method(class, "initialize", initialize_page, 1);
    rb_define_method(class, "add", add_to_word, 2);
    rb_define_const(class, "SAMPLE", INT2FIX(SAMPLE));
    rb_define_method(class, "hit", hit_word, 1);
    rb_define_method(class, "add_silently", add_for_others, 2);
    rb_define_method(class, "load", load_word, 1);
    rb_define_method(class, "store", store_word, 2);
    rb_define_method(class, "own", own_word, 1);
    rb_define_method(class, "forget_own", forget_own, 0);
}
