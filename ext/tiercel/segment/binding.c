#include "binding.h"

/* Ruby as the core's host: work without the GVL, and exceptions that wait until the core has returned. */
static bool protect(tseg_host *base, VALUE (*function)(VALUE), VALUE argument)
{
    int state;

    rb_protect(function, argument, &state);
    if (state) ((segment_host *)base)->state = state;
    return !state;
}

static VALUE handle_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return unused;
}

typedef struct {
    tseg_step *step;
    void *argument;
    atomic_bool stop;
    bool done;
} long_work;

static void ask_to_stop(void *work) { atomic_store(&((long_work *)work)->stop, true); }

static void *perform_step(void *argument)
{
    long_work *work = argument;
    work->done = work->step(work->argument, &work->stop);
    return NULL;
}

static bool run_without_gvl(tseg_host *base, tseg_step *step, void *argument)
{
    long_work work = {.step = step, .argument = argument};

    for (;;) {
        atomic_store(&work.stop, false);
        /* This function raises nothing by itself. The function returns at once if an interrupt is pending. */
        rb_thread_call_without_gvl2(perform_step, &work, ask_to_stop, &work);
        if (work.done) return true;
        if (!protect(base, handle_interrupts, Qnil)) return false;
    }
}

static bool block_without_gvl(tseg_host *base, void *(*work)(void *argument), void *argument)
{
    rb_thread_call_without_gvl2(work, argument, RUBY_UBF_IO, NULL);
    return protect(base, handle_interrupts, Qnil);
}

static tseg *current_segment(tseg_host *base)
{
    segment_host *host = (segment_host *)base;
    tseg *segment = tseg_handle_current(segment_handle_of(host->self), base);

    host->detached = !segment;
    return segment;
}

static VALUE report_replaced(VALUE message)
{
    return rb_funcall(tiercel_segment_class, rb_intern("report_replaced"), 1,
                      rb_utf8_str_new_cstr((const char *)message));
}

static void protect_report(tseg_host *base, const char *message) { protect(base, report_replaced, (VALUE)message); }

segment_host segment_host_of(VALUE self)
{
    return (segment_host){{.run = run_without_gvl, .block = block_without_gvl,
                           .current = current_segment, .report_replaced = protect_report}, self, 0, false};
}

/* Raises the Ruby exception for the error. */
static void fail_with(VALUE self, const tseg_error *error)
{
    if (error->paused) rb_funcall(tiercel_segment_class, rb_intern("raise_paused"), 1, self);
    rb_funcall(tiercel_segment_class, rb_intern("raise_error"), 2, INT2NUM(error->code),
               rb_utf8_str_new_cstr(error->message));
}

/* Called after a call of the core: raises the exception that the host has stored. */
void segment_raise(const segment_host *host)
{
    if (host->state) rb_jump_tag(host->state);
    if (host->detached) fail_with(host->self, &host->base.error);
}

/* The time as Ruby sees it. An application's tests can move it. */
/*
 * Positive if Time.now will stay Ruby's own method: this file then reads the machine's clock, which gives the same time
 * without a call. Negative until Tiercel::Clock has decided.
 */
static atomic_int reads_clock = -1;

static double seconds_of(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns false if Ruby code has to run. */
static bool read_without_ruby(double *now)
{
    if (atomic_load_explicit(&reads_clock, memory_order_relaxed) <= 0) return false;
    *now = seconds_of(CLOCK_REALTIME);
    return true;
}

double segment_now(void)
{
    double now;

    if (RB_LIKELY(read_without_ruby(&now))) return now;
    if (reads_clock < 0) reads_clock = RTEST(rb_funcall(tiercel_segment_class, rb_intern("reads_clock?"), 0));
    return NUM2DBL(rb_funcall(rb_funcall(rb_cTime, rb_intern("now"), 0), rb_intern("to_f"), 0));
}

double segment_coarse_now(void) { return seconds_of(TSEG_COARSE_REALTIME); }

/*
 * Reads Ruby's clock in the middle of a read, which may run Ruby code. Returns true if the read may continue.
 * Otherwise the read has to start again in *segment, the current segment.
 */
__attribute__((noinline)) bool segment_ask_time(VALUE self, tseg_clock *clock, tseg **segment)
{
    const tseg_handle *handle;
    uint64_t unmapped = tseg_unmapped;

    clock->known = true;
    if (RB_LIKELY(read_without_ruby(&clock->now))) return true;
    handle = segment_handle_of(self);
    clock->now = segment_now();
    /* Ruby code ran. The read may continue if nothing was unmapped, because the handle keeps its segment mapped. */
    if (RB_LIKELY(unmapped == tseg_unmapped && handle->attached == *segment && !tseg_forked())) return true;
    *segment = segment_current(self);
    return false;
}

/* Calls that the core may have to repeat. */
static void fail(VALUE self, tseg_result result, VALUE key)
{
    tseg *attached = segment_handle_of(self)->attached;
    const char *reason = result == TSEG_BUSY ? "busy" : result == TSEG_READ_ONLY ? "read_only" : "retired";
    int code = 0;

    if (result == TSEG_READ_ONLY && attached) {
        code = tseg_why_read_only(attached);
        if (atomic_exchange(&attached->warned, true)) reason = "still_read_only";
    }
    rb_funcall(tiercel_segment_class, rb_intern("raise_result"), 4, ID2SYM(rb_intern(reason)), self,
               key ? key : Qnil, INT2NUM(code));
}

/* Other threads run during a wait. These threads must not change these Strings. */
static VALUE freeze_keys(VALUE keys)
{
    VALUE copies = rb_ary_new_capa(RARRAY_LEN(keys));

    for (long i = 0; i < RARRAY_LEN(keys); i++) rb_ary_push(copies, rb_str_new_frozen(RARRAY_AREF(keys, i)));
    return copies;
}

tseg_result segment_repeat(VALUE self, segment_call *call)
{
    segment_host host = segment_host_of(self);
    VALUE key = call->key;

    if (call->key) call->key = rb_str_new_frozen(call->key);
    if (call->bytes) call->bytes = rb_str_new_frozen(call->bytes);
    if (call->keys) call->keys = freeze_keys(call->keys);
    tseg_repeat_call(&host.base, &call->base);
    segment_raise(&host);
    if (!tseg_is_answer(call->base.result)) fail(self, call->base.result, key);
    return call->base.result;
}

/* Tokens: compare_and_set and the memo identify a version of an entry by its token. */
/* A token in Ruby: the file's id (8 bytes), the origin (8) and the sequence (4). */
enum { TOKEN_ORIGIN_AT = 8, TOKEN_SEQUENCE_AT = 16, TOKEN_BYTES = 20 };

VALUE segment_token_string(const tseg_token *token)
{
    char bytes[TOKEN_BYTES];

    memcpy(bytes, &token->file_id, 8);
    memcpy(bytes + TOKEN_ORIGIN_AT, &token->origin, 8);
    memcpy(bytes + TOKEN_SEQUENCE_AT, &token->sequence, 4);
    return rb_obj_freeze(rb_str_new(bytes, TOKEN_BYTES));
}

bool segment_parse_token(VALUE string, tseg_token *token)
{
    const char *bytes;

    if (!RB_TYPE_P(string, T_STRING) || RSTRING_LEN(string) != TOKEN_BYTES) return false;
    bytes = RSTRING_PTR(string);
    memcpy(&token->file_id, bytes, 8);
    memcpy(&token->origin, bytes + TOKEN_ORIGIN_AT, 8);
    memcpy(&token->sequence, bytes + TOKEN_SEQUENCE_AT, 4);
    return true;
}

/* Tiercel::Segment: the Ruby object, and the figures of its file. */
VALUE tiercel_segment_class;

static void free_handle(void *pointer)
{
    tseg_handle *handle = pointer;
    if (handle->attached) tseg_release(handle->attached);
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

/* Opening, closing, replacing and removing the file of a segment. */
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

/* @private Segment.attach_existing(path): attaches to an existing file; see `joined` in calls.h */
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

static VALUE segment_path(VALUE self)
{
    const tseg_handle *handle = segment_handle_of(self);
    return handle->path ? rb_utf8_str_new_cstr(handle->path) : Qnil;
}

static VALUE segment_size_bytes(VALUE self) { return ULL2NUM(segment_current(self)->geometry.file_bytes); }
static VALUE segment_file_id(VALUE self) { return ULL2NUM(segment_current(self)->file_id); }
static VALUE segment_is_writable(VALUE self) { return segment_current(self)->owner ? Qtrue : Qfalse; }

static VALUE segment_pids(VALUE self)
{
    uint32_t pids[TSEG_PROCESS_SLOTS];
    int count = tseg_registered(segment_current(self), pids, TSEG_PROCESS_SLOTS);
    VALUE result = rb_ary_new_capa(count);

    for (int i = 0; i < count && i < (int)TSEG_PROCESS_SLOTS; i++) rb_ary_push(result, UINT2NUM(pids[i]));
    return result;
}

/* The figures of a segment as Arrays of numbers. Tiercel::Segment names them. */
static VALUE numbers(const uint64_t *figures, long count)
{
    VALUE array = rb_ary_new_capa(count);

    for (long i = 0; i < count; i++) rb_ary_push(array, ULL2NUM(figures[i]));
    return array;
}

/* @private Segment#content_figures: see CONTENT in segment.rb */
static VALUE segment_content_figures(VALUE self)
{
    tseg *segment = segment_current(self);
    const tseg_memo *memo = &segment_handle_of(self)->memo;
    tseg_stats stats;

    tseg_collect_stats(segment, &stats);
    const uint64_t figures[] = {
        stats.entries, stats.live_bytes, stats.used_bytes > stats.live_bytes ? stats.used_bytes - stats.live_bytes : 0,
        stats.log_bytes, segment->geometry.file_bytes, segment->geometry.shards, stats.processes, stats.leases,
        memo->count, memo->bytes, memo->limit_bytes, memo->hits, memo->evictions};
    return numbers(figures, sizeof figures / sizeof *figures);
}

/*
 * @private Segment#counter_figures -> the id of the file, and the counters of all processes, of this process and of the
 * shards. Reads no entry. nil for closed private memory. A child process reads the counters of private memory before
 * its first call, so this method registers no process with private memory.
 */
static VALUE segment_counter_figures(VALUE self)
{
    const tseg_handle *handle = segment_handle_of(self);
    tseg *segment = handle->path ? segment_current(self) : handle->attached;
    uint64_t here[TSEG_PROCESS_COUNTERS];
    tseg_stats stats = {0};

    if (!segment) return Qnil;
    tseg_collect_counters(segment, &stats);
    for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
        here[i] = tseg_load(&segment->self->counters[i]) - segment->counted_before[i];
    return rb_ary_new_from_args(4, ULL2NUM(segment->file_id), numbers(stats.process, TSEG_PROCESS_COUNTERS),
                                numbers(here, TSEG_PROCESS_COUNTERS), numbers(stats.shard, TSEG_SHARD_COUNTERS));
}

/* Walks over the entries of a segment. */
typedef struct {
    VALUE self, found;
    tseg_walker walker;
    bool used;
} walk_call;

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    tseg_walker *walker = &call->walker;
    segment_host host = segment_host_of(call->self);

    tseg_walk_begin(walker);
    while (!walker->at_end && walker->entries_left > 0 && walker->buckets_left > 0) {
        tseg_walk_on(&host.base, walker);
        segment_raise(&host);
        if (walker->result == TSEG_NO_MEMORY) rb_memerror();
        for (const tseg_batch *batch = walker->batches; batch < walker->batches + walker->count; batch++)
            for (unsigned i = 0; i < batch->count; i++)
                if (batch->entries[i].hits || !call->used)
                    rb_ary_push(call->found, rb_enc_str_new((const char *)batch->bytes + batch->entries[i].key_offset,
                                                            batch->entries[i].key_bytes, rb_utf8_encoding()));
    }
    return Qnil;
}

static VALUE free_walker(VALUE argument)
{
    tseg_walk_free(&((walk_call *)argument)->walker);
    return Qnil;
}

/*
 * @private Segment#walk(cursor or nil, prefix, entries, buckets, used) -> [next cursor or nil, keys]. used: only keys
 * that had a hit since they were written or last moved. Stops after about `entries` entries, and after `buckets`
 * buckets of the index. The cursor is nil at the end.
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE entries, VALUE buckets, VALUE used)
{
    walk_call call = {self, rb_ary_new(), {.entries_left = NUM2LONG(entries), .buckets_left = NUM2LONG(buckets)},
                      RTEST(used)};
    tseg_cursor *at = &call.walker.cursor;

    prefix = rb_str_new_frozen(rb_String(prefix));
    call.walker.prefix = RSTRING_PTR(prefix);
    call.walker.prefix_bytes = (uint32_t)RSTRING_LEN(prefix);
    call.walker.now = segment_now();
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof *at)
            rb_raise(rb_eArgError, "cursor: expected a String that this method returned");
        memcpy(at, RSTRING_PTR(cursor), sizeof *at);
    }
    rb_ensure(walk, (VALUE)&call, free_walker, (VALUE)&call);
    RB_GC_GUARD(prefix);
    return rb_assoc_new(call.walker.at_end ? Qnil : rb_str_new((const char *)at, sizeof *at), call.found);
}

static void define_segment(VALUE class)
{
    VALUE singleton = rb_singleton_class(class);

    rb_define_alloc_func(class, segment_allocate);
    rb_define_method(class, "path", segment_path, 0);
    rb_define_method(class, "size_bytes", segment_size_bytes, 0);
    rb_define_method(class, "file_id", segment_file_id, 0);
    rb_define_method(class, "writable?", segment_is_writable, 0);
    rb_define_method(class, "pids", segment_pids, 0);
    rb_undef_method(class, "initialize_copy");
    rb_define_private_method(singleton, "attach", segment_attach, 7);
    rb_define_private_method(singleton, "attach_existing", segment_join, 1);
    rb_define_method(class, "close", segment_close, 0);
    rb_define_private_method(singleton, "replace_file", segment_replace, 3);
    rb_define_private_method(singleton, "remove_file", segment_remove, 2);
    rb_define_singleton_method(class, "in_memory?", segment_is_in_memory, 1);
    rb_define_singleton_method(class, "free_bytes", segment_free_bytes, 1);
    rb_define_private_method(class, "content_figures", segment_content_figures, 0);
    rb_define_private_method(class, "counter_figures", segment_counter_figures, 0);
    rb_define_private_method(class, "walk", segment_walk, 5);
}
