/* Tokens: compare_and_set and the memo identify a version of an entry by its token. */
#include "binding.h"
#include "read.h"

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

typedef struct {
    VALUE self, key;
} token_read;

static void make_token_key(void *context, const tseg *segment, tseg_key *key)
{
    segment_key(segment, key, ((token_read *)context)->key);
}

static bool ask_token_time(void *context, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time(((token_read *)context)->self, clock, segment);
}

/* Segment#unchanged?(key, token) -> whether the key still has the live entry of this token */
static VALUE segment_unchanged(VALUE self, VALUE key, VALUE string)
{
    tseg *segment = segment_to_read(self);
    token_read read = {self, key};
    tseg_token token;
    bool unchanged;

    if (!segment || !segment_parse_token(string, &token)) return Qfalse;
    unchanged = tseg_is_unchanged(&segment, make_token_key, ask_token_time, &read, &token);
    RB_GC_GUARD(key);
    return unchanged ? Qtrue : Qfalse;
}

void segment_init_token(void) { rb_define_method(tiercel_segment_class, "unchanged?", segment_unchanged, 2); }
