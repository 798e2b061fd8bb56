/*
 * Copies words into the file and out of it. Each word is accessed once, with relaxed ordering. A reader checks
 * afterwards whether the words belong together.
 */
#include "internal.h"

/* The copy goes word by word: an array would go through the stack, and a wide load from there stalls. */
static inline void put_word(uint8_t *to, uint64_t word) { memcpy(to, &word, 8); }
static inline uint64_t get_word(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

/*
 * Copies eight words. A writer announces its writes before this copy, and a reader checks for writers after it. So the
 * compiler only has to make each access exactly here and once. C cannot express such a wide access, hence the assembler
 * code. Sanitizer builds copy single words instead.
 */
#if defined(__x86_64__) && !defined(TSEG_NO_FENCES) && !defined(__SANITIZE_ADDRESS__)
#define TSEG_COPIES_BLOCKS 1
static inline void copy_block(void *to, const void *from)
{
    __asm__ __volatile__("movdqu (%1), %%xmm0\n\t"
                         "movdqu 16(%1), %%xmm1\n\t"
                         "movdqu 32(%1), %%xmm2\n\t"
                         "movdqu 48(%1), %%xmm3\n\t"
                         "movdqu %%xmm0, (%0)\n\t"
                         "movdqu %%xmm1, 16(%0)\n\t"
                         "movdqu %%xmm2, 32(%0)\n\t"
                         "movdqu %%xmm3, 48(%0)"
                         :
                         : "r"(to), "r"(from)
                         : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}
#endif

/*
 * A processor prefetches within a page. So a long copy prefetches one page ahead itself: a cold copy of 24 KB takes 0.8
 * of the time, a warm one as long as without.
 */
#define PAGE_BYTES 4096u

void tseg_copy_out(void *destination, const tseg_word *source, uint64_t bytes)
{
    uint8_t *to = destination;
    uint64_t last;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= PAGE_BYTES + 64; bytes -= 64, to += 64, source += 8) {
        __builtin_prefetch((const char *)source + PAGE_BYTES);
        copy_block(to, source);
    }
    for (; bytes >= 64; bytes -= 64, to += 64, source += 8) copy_block(to, source);
#endif
    for (; bytes >= 32; bytes -= 32, to += 32, source += 4) {
        put_word(to, tseg_load(source));
        put_word(to + 8, tseg_load(source + 1));
        put_word(to + 16, tseg_load(source + 2));
        put_word(to + 24, tseg_load(source + 3));
    }
    for (; bytes >= 8; bytes -= 8, to += 8, source++) put_word(to, tseg_load(source));
    if (bytes) {
        last = tseg_load(source);
        memcpy(to, &last, bytes);
    }
}

void tseg_copy_in(tseg_word *destination, const uint8_t *source, uint64_t bytes)
{
    uint64_t last = 0;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= 64; bytes -= 64, source += 64, destination += 8) copy_block(destination, source);
#endif
    for (; bytes >= 32; bytes -= 32, source += 32, destination += 4) {
        tseg_store(destination, get_word(source));
        tseg_store(destination + 1, get_word(source + 8));
        tseg_store(destination + 2, get_word(source + 16));
        tseg_store(destination + 3, get_word(source + 24));
    }
    for (; bytes >= 8; bytes -= 8, source += 8, destination++) tseg_store(destination, get_word(source));
    if (bytes) {
        memcpy(&last, source, bytes);
        tseg_store(destination, last);
    }
}
