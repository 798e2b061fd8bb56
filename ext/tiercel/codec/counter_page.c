/*
 * Tiercel::CodecExt::CounterPage: counters in the first page of a file that several processes map, or in the memory of
 * this process. Each addition is atomic and goes straight to the file's memory, so a killed process loses no count. The
 * object also keeps the counts that its own process has added.
 */
#include "codec.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8 };

/*
 * Ruby classifies a sample of the keys, because classifying a key takes 1 to 5 us, as long as a miss. Of the misses of
 * a second, the first ALL_OF are classified, one in SOME up to SOME_OF, then one in SAMPLE, as of the hits. Blocks of
 * NOTED_NS and more are classified. Of shorter blocks, one is classified each time that they have taken so long
 * together, and the whole duration counts for its class.
 */
enum { SAMPLE = 256, ALL_OF = 100, SOME = 16, SOME_OF = 1000, NOTED_NS = 100000 };

/* 2^32 divided by the golden ratio: its multiples modulo 2^32 are spread evenly (Knuth's multiplicative hashing). */
static const uint32_t GOLDEN_RATIO = 2654435769u;

typedef struct {
    _Atomic int64_t *words; /* NULL until it is mapped */
    int64_t rest[2];        /* the first and the last second without a round */
    int64_t second;         /* of the last call of due? */
    int64_t misses;         /* in this second */
    int64_t short_ns;       /* the duration of the short blocks since the last one that was classified */
    int64_t own[PAGE_WORDS];
} counter_page;

static VALUE clock_module;
static ID id_seconds;
static bool reads_clock; /* whether Time.now is Ruby's own method */

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

static void *map_page(VALUE descriptor)
{
    struct stat file;
    int fd;
    if (NIL_P(descriptor)) return mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fd = NUM2INT(descriptor);
    if (fstat(fd, &file) != 0) rb_sys_fail("fstat");
    if (file.st_size < PAGE_BYTES) rb_raise(rb_eArgError, "the file has less than %d bytes", PAGE_BYTES);
    return mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* new(descriptor): maps the first page of an open file of at least one page; new(nil): uses memory of this process */
static VALUE initialize_page(VALUE self, VALUE descriptor)
{
    counter_page *page = rb_check_typeddata(self, &page_type);
    void *words;
    if (page->words) rb_raise(rb_eRuntimeError, "the page is mapped already");
    words = map_page(descriptor);
    if (words == MAP_FAILED) rb_sys_fail("mmap");
    page->words = words;
    return self;
}

static void add_at(counter_page *page, long at, int64_t more)
{
    atomic_fetch_add_explicit(&page->words[at], more, memory_order_relaxed);
    page->own[at] += more;
}

/* add(index, amount) -> nil */
static VALUE add_to_word(VALUE self, VALUE index, VALUE amount)
{
    counter_page *page = page_of(self);
    long at = index_of(index);
    add_at(page, at, NUM2LL(amount));
    return Qnil;
}

/*
 * Chooses one event of each `weight` in a row, at a place that differs from group to group. If a request reads its keys
 * in a fixed order, the same place in each group could choose the same key every time.
 */
static bool chosen(int64_t number, int weight, int64_t offset)
{
    uint32_t place = (uint32_t)(number / weight + offset) * GOLDEN_RATIO >> 24;
    return number % weight == (int64_t)(place & (uint32_t)(weight - 1));
}

/* miss(index, other): adds 1 to a counter, and to another unless it is nil; the number of misses to note, or nil */
static VALUE add_miss(VALUE self, VALUE index, VALUE other)
{
    counter_page *page = page_of(self);
    long at = index_of(index), other_at = NIL_P(other) ? -1 : index_of(other);
    int64_t number = ++page->misses;
    int weight = number <= ALL_OF ? 1 : number <= SOME_OF ? SOME : SAMPLE;
    add_at(page, at, 1);
    if (other_at >= 0) add_at(page, other_at, 1);
    return chosen(number, weight, page->second) ? INT2FIX(weight) : Qnil;
}

/* block(index, ns): adds 1 to a counter, and the duration to the next one; the duration to note, or nil */
static VALUE add_block(VALUE self, VALUE index, VALUE duration)
{
    counter_page *page = page_of(self);
    long at = index_of(index), next = index_of(LONG2FIX(at + 1));
    int64_t ns = NUM2LL(duration), noted;
    if (ns < 0) rb_raise(rb_eArgError, "a duration of %lld ns: expected 0 or more", (long long)ns);
    add_at(page, at, 1);
    add_at(page, next, ns);
    if (ns >= NOTED_NS) return LL2NUM(ns);
    noted = page->short_ns += ns;
    if (noted < NOTED_NS) return Qnil;
    page->short_ns = 0;
    return LL2NUM(noted);
}

/* CounterPage.reads_clock = original: set by Tiercel::Clock::Patches, for all pages */
static VALUE set_reads_clock(VALUE class, VALUE original)
{
    reads_clock = RTEST(original);
    return original;
}

/* The seconds of Tiercel::Clock, at a fifth of the cost while the machine's clock may be read. */
static int64_t epoch_seconds(void)
{
    struct timespec time;
    if (!reads_clock) return NUM2LL(rb_funcall(clock_module, id_seconds, 0));
#ifdef CLOCK_REALTIME_COARSE
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
#else
    clock_gettime(CLOCK_REALTIME, &time);
#endif
    return time.tv_sec;
}

/* due?: whether a round is due; called before each miss, because it also notices that a second begins */
static VALUE round_due(VALUE self)
{
    counter_page *page = page_of(self);
    int64_t second = epoch_seconds();
    if (second != page->second) {
        page->second = second;
        page->misses = 0;
    }
    return second >= page->rest[0] && second <= page->rest[1] ? Qfalse : Qtrue;
}

/* rest(first, last): no round is due in these seconds */
static VALUE rest_until(VALUE self, VALUE first, VALUE last)
{
    counter_page *page = page_of(self);
    int64_t from = NUM2LL(first), until = NUM2LL(last);
    page->rest[0] = from;
    page->rest[1] = until;
    return Qnil;
}

/* hit(index): adds 1, and returns true for one of each SAMPLE calls in a row */
static VALUE hit_word(VALUE self, VALUE index)
{
    counter_page *page = page_of(self);
    long at = index_of(index);
    atomic_fetch_add_explicit(&page->words[at], 1, memory_order_relaxed);
    return chosen(++page->own[at], SAMPLE, 0) ? Qtrue : Qfalse;
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
    page->misses = page->short_ns = 0;
    return Qnil;
}

void init_counter_page(VALUE tiercel, VALUE module)
{
    VALUE class = rb_define_class_under(module, "CounterPage", rb_cObject);
    clock_module = rb_const_get(tiercel, rb_intern("Clock"));
    rb_gc_register_mark_object(clock_module);
    id_seconds = rb_intern("seconds");
    rb_define_alloc_func(class, allocate_page);
    rb_define_singleton_method(class, "reads_clock=", set_reads_clock, 1);
    rb_define_method(class, "initialize", initialize_page, 1);
    rb_define_method(class, "add", add_to_word, 2);
    rb_define_method(class, "miss", add_miss, 2);
    rb_define_method(class, "block", add_block, 2);
    rb_define_method(class, "due?", round_due, 0);
    rb_define_method(class, "rest", rest_until, 2);
    rb_define_const(class, "SAMPLE", INT2FIX(SAMPLE));
    rb_define_method(class, "hit", hit_word, 1);
    rb_define_method(class, "add_silently", add_for_others, 2);
    rb_define_method(class, "load", load_word, 1);
    rb_define_method(class, "store", store_word, 2);
    rb_define_method(class, "own", own_word, 1);
    rb_define_method(class, "forget_own", forget_own, 0);
}
