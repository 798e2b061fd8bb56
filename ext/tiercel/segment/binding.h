/* Shared by the files of the Ruby binding. They contain no algorithm of the segment. */
#ifndef TIERCEL_SEGMENT_BINDING_H
#define TIERCEL_SEGMENT_BINDING_H

#include "system.h"

#include <math.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

#include "coarse_clock.h"
#include "leases.h"
#include "memo.h"
#include "segment.h"
#include "sweep.h"

/* One Tiercel::Segment: a handle on an attachment, which other handles of the process may share. */
typedef struct {
    tseg *attached;       /* NULL: closed, opens again when it is used */
    char *path;           /* NULL: private memory */
    tseg_options options;
    uint64_t hash_key[2];
    bool opened;
    bool joined;          /* makes no file at first, but makes the file again that was lost */
    int64_t checked_at;   /* seconds of the monotonic clock when the path was last looked at */
    tseg_memo memo;       /* of Strings: see binding_memo.h */
    uint32_t handed_out;  /* values that reads have found: see sampled in binding_read.c */
    bool shares_budget;   /* the memo's bound is a share of the machine's budget */
    int64_t shared_at;    /* seconds of the monotonic clock when that was last computed */
    uint64_t attached_ns; /* of the monotonic clock, when it was attached */
    uint64_t near_trust_ns; /* copies are read for so long after they were covered; 0: always */
    bool near_unless_covered; /* and also as long as nobody has covered them: see near_trust_recorded= */
    tseg *dropped;        /* a large attachment that the maker's thread releases; NULL: none */
    pid_t maker;          /* the process whose thread makes the lost file again; 0: none does */
    int64_t maker_began_at; /* seconds of the monotonic clock */
    pid_t given_up_on;    /* whose making or removing of the file was waited for in vain; 0: nobody's */
} segment_handle;

extern VALUE tiercel_segment_class;

/* binding.c, binding_file.c */
segment_handle *segment_handle_of(VALUE self);
VALUE segment_allocate(VALUE class);
/*
 * The attachment to use now: registered after a fork, moved to what the path leads to. Raises Unavailable. It is good
 * until Ruby code runs or the GVL is given away, which may close the handle: then it has to be asked for again.
 */
static inline tseg *segment_current(VALUE self);
extern const rb_data_type_t segment_handle_type;
tseg *segment_make_current(VALUE self); /* where it is not so already */
/* Good enough to look at the path once a second. */
static inline int64_t segment_seconds(void) { return (int64_t)tseg_coarse_time().tv_sec; }
static inline tseg *segment_current(VALUE self)
{
    const segment_handle *handle = rb_check_typeddata(self, &segment_handle_type);
    tseg *attached = handle->attached;

    if (RB_LIKELY(attached && !tseg_forked() && (!handle->path || segment_seconds() == handle->checked_at) &&
                  !tseg_is_retired(attached)))
        return attached;
    return segment_make_current(self);
}
/* How long a call that opens, replaces or removes a file waits for another process that does so. */
#define SEGMENT_OPENING_WAIT_NS UINT64_C(10000000000)
/* Raises what the error stands for. */
void segment_fail_with(const tseg_error *error);
/*
 * Another process makes or removes the file: lets other threads run for a moment. Returns false if this call has
 * waited for so long, or an earlier one has for the same process, which has probably been stopped there.
 */
bool segment_wait_for_files(const tseg_error *error, uint64_t patience_ns, uint64_t *waited_ns, pid_t *given_up_on);
/* binding_coverage.c */
bool segment_is_trusted(VALUE self, const tseg *segment);
tseg *segment_distrusted(tseg *segment);
/* The segment to read from, as segment_current; NULL where its copies are not trusted, which is a miss. */
static inline tseg *segment_to_read(VALUE self)
{
    tseg *segment = segment_current(self);

    if (RB_LIKELY(!((const segment_handle *)RTYPEDDATA_DATA(self))->near_trust_ns)) return segment;
    return RB_LIKELY(segment_is_trusted(self, segment)) ? segment : segment_distrusted(segment);
}
static inline bool segment_may_fill(VALUE self, const tseg *segment)
{
    return !((const segment_handle *)RTYPEDDATA_DATA(self))->near_trust_ns || segment_is_trusted(self, segment);
}
/* Raises what a result stands for, where it is not an answer. */
void segment_fail(VALUE self, tseg_result result, VALUE key);
static inline bool segment_is_answer(tseg_result result)
{
    return result != TSEG_BUSY && result != TSEG_READ_ONLY && result != TSEG_RETIRED && result != TSEG_WOULD_WAIT;
}

/* binding_write.c: the type of the frame of a plain String; 0 where it has none */
int segment_plain_string_type(VALUE string);

/* binding_time.c */
double segment_now(void); /* what Time.now says: runs Ruby code, where that is not Ruby's own */
bool segment_reads_clock(double *now); /* the same, where no Ruby code has to run for it */
/*
 * For what is met at a tail, where an entry may be lost anyhow: the machine's own clock. So where a test has moved
 * Time.now back, an entry may go sooner; never does one that is over stay longer.
 */
double segment_now_for_eviction(void);
/*
 * After TSEG_WOULD_WAIT: waits without the GVL until the call is worth another try. Returns false once the call has
 * waited for the whole bound. Other threads run during the wait, and interrupts raise.
 */
bool segment_wait(tseg *segment, uint32_t shard, tseg_wait *wait);
/* A call that takes a shard's lock: the first member of the struct of each kind of call. */
typedef struct segment_call {
    tseg_result (*attempt)(tseg *segment, struct segment_call *call);
    /* If no attempt gave an answer: does without the lock what can be done so. NULL: nothing can. */
    tseg_result (*abandon)(tseg *segment, struct segment_call *call);
    VALUE key, bytes;   /* bytes: 0 if the call has none */
    uint32_t shard;     /* of the key, in the segment of the last attempt */
    tseg_result result; /* of the last attempt */
} segment_call;
/*
 * binding_retry.c: the one loop for every call whose first attempt gave no answer. Waits for writers, follows the
 * path to a new file, and raises if that gives no answer either.
 */
tseg_result segment_retry(VALUE self, segment_call *call, tseg_result first);
/* Sleeps for 2 ms without the GVL, and adds what counts of that to *counted_ns. */
void segment_nap(uint64_t *counted_ns);
void segment_init_time(void);

/* true if what the read has in its hands is still good; else it begins anew, with the segment to use now. */
bool segment_ask_time(VALUE self, tseg_clock *clock, tseg **segment);

static inline void segment_key(const tseg *segment, tseg_key *key, VALUE string)
{
    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) >= (long)UINT32_MAX) rb_raise(rb_eArgError, "a key of 4 GB");
    tseg_make_key(segment, key, RSTRING_PTR(string), (uint32_t)RSTRING_LEN(string));
}

#define SEGMENT_TOKEN_BYTES 20
VALUE segment_token_string(const tseg_token *token);
bool segment_parse_token(VALUE string, tseg_token *token);

/*
 * binding_host.c: lets other threads run while the core does long work. The core gives up where an interrupt raises;
 * then segment_raise goes on with that, once the core has returned.
 */
typedef struct {
    tseg_host base;
    int state; /* of rb_protect, 0: nothing was raised */
} segment_host;
segment_host segment_new_host(void);
void segment_raise(const segment_host *host);
/*
 * Runs work(argument, &stop) without the GVL, with the segment held. Once `stop` is set, work returns soon. Then
 * interrupts are handled, which may raise.
 */
void segment_run(tseg *segment, void (*work)(void *argument, const atomic_bool *stop), void *argument);

/* binding_sweep.c: Ruby's threads for what works on all shards. A segment_turns is good for one call of the core. */
typedef struct {
    tseg_turns base;
    VALUE self;
} segment_turns;
segment_turns segment_turns_of(VALUE self);
/* Whether there was something to delete. */
bool segment_delete_key(VALUE self, VALUE key, tseg_result (*delete)(tseg *, const tseg_key *, double *));
VALUE segment_clear(VALUE self);
/* binding_near.c: the epoch that a near fill is to meet, XORed with the id of its file. false: there is none. */
bool segment_near_expected(VALUE epoch, uint64_t *expected);

void segment_init_file(void);
void segment_init_maintenance(void);
void segment_init_read(void);
void segment_init_read_multi(void);
void segment_init_tags(void);
void segment_init_token(void);
void segment_init_write(void);
void segment_init_sweep(void);
void segment_init_walk(void);
void segment_init_stats(void);
void segment_init_lease(void);
void segment_init_near(void);
void segment_init_coverage(void);

#endif
