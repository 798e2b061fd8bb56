/* CRC-32 by carry-less multiplication if the processor has it, and else by zlib.
 *
 * The method is that of V. Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel, 2009. A message is a
 * polynomial over GF(2), and its CRC is the remainder modulo
 *
 *   P = x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
 *
 * Polynomials that are congruent modulo P have the same remainder. So 128 bits
 * H * x^64 + L with D more bits behind them may be replaced by
 *
 *   H * (x^(D+64) mod P) + L * (x^D mod P)
 *
 * This sum is shorter than 128 bits, and is added to the last 128 of those D
 * bits. It costs two multiplications for 16 bytes. Four such sums run side by
 * side (D = 512), because the processor can start a multiplication before the
 * last one has ended. At the end the four sums become one (D = 128).
 *
 * In RFC 1952 the lowest bit of a byte is the highest power, so registers hold
 * polynomials with their bits reversed: the low half of a register is H. The
 * product of two reversed 64-bit numbers has 127 bits, and is one bit too low.
 * The constants correct that: each is a remainder, reversed in 32 bits and
 * shifted left by one, so it has 33 bits. The remainders are in the upper half
 * of a 64-bit register, so their powers are lower by 32: D+32 and D-32. */
#include "codec.h"

#ifdef HAVE_ZLIB_H
#include <zlib.h>
#endif

/* Older compilers lack the names of these targets or some of the intrinsics. Apple numbers its clang differently. */
#if defined(__clang__)
#define COMPILER_FOLDS (__clang_major__ >= 6)
#else
#define COMPILER_FOLDS (__GNUC__ >= 7)
#endif

#if defined(HAVE_ZLIB_H) && defined(__x86_64__) && COMPILER_FOLDS
#define CRC32_FOLDS 1
#include <immintrin.h>
#endif

/* Works in pieces, because zlib's uInt may be smaller than a size_t. */
static uint32_t update_by_table(uint32_t crc, const uint8_t *bytes, size_t size)
{
#ifdef HAVE_ZLIB_H
    while (size) {
        uInt chunk = size > 0x40000000 ? 0x40000000 : (uInt)size;
        crc = (uint32_t)crc32(crc, bytes, chunk);
        bytes += chunk;
        size -= chunk;
    }
#endif
    return crc; /* never called without zlib: see crc32_available */
}

#ifdef CRC32_FOLDS

enum { LANE = 16, STRIDE = 4 * LANE };

#define X_544 0x154442bd4ull  /* x^(512+32) */
#define X_480 0x1c6e41596ull /* x^(512-32) */
#define X_160 0x1751997d0ull /* x^(128+32) */
#define X_96 0x0ccaa009eull  /* x^(128-32) */
#define X_64 0x163cd6124ull  /* x^64 */
#define P_REVERSED 0x1db710641ull      /* P, reversed in 33 bits */
#define QUOTIENT_REVERSED 0x1f7011641ull /* the quotient x^64 / P, reversed in 33 bits */

#define FOLDING static inline __attribute__((target("pclmul,sse4.1"), always_inline))

FOLDING __m128i load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

/* Moves `sum` by the distance of the constants, and adds `next`. */
FOLDING __m128i fold(__m128i sum, __m128i constants, __m128i next)
{
    __m128i high = _mm_clmulepi64_si128(sum, constants, 0x00);
    __m128i low = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(high, low), next);
}

/* The remainder of 128 bits with 32 zeros behind them. Two steps reduce the sum
 * to 96 and to 64 bits. Then Barrett's reduction multiplies by the quotient
 * instead of dividing by P. */
FOLDING uint32_t remainder_of(__m128i sum)
{
    const __m128i lowest_32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i barrett = _mm_set_epi64x((long long)QUOTIENT_REVERSED, (long long)P_REVERSED);
    __m128i quotient;
    sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, _mm_cvtsi64_si128((long long)X_96), 0x00), _mm_srli_si128(sum, 8));
    sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), _mm_cvtsi64_si128((long long)X_64), 0x00),
                        _mm_srli_si128(sum, 4));
    quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, lowest_32), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1);
}

/* Folds the remaining lanes into `sum`; zlib adds the last bytes, which are less than a lane. */
FOLDING uint32_t finish(__m128i sum, const uint8_t *bytes, size_t size)
{
    const __m128i by_lane = _mm_set_epi64x((long long)X_96, (long long)X_160);
    for (; size >= LANE; bytes += LANE, size -= LANE) sum = fold(sum, by_lane, load(bytes));
    return update_by_table(~remainder_of(sum), bytes, size);
}

/* Folds four neighbouring lanes into one. */
FOLDING __m128i join(__m128i a, __m128i b, __m128i c, __m128i d)
{
    const __m128i by_lane = _mm_set_epi64x((long long)X_96, (long long)X_160);
    return fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
}

/* Continues a checksum over at least STRIDE bytes. */
__attribute__((target("pclmul,sse4.1")))
static uint32_t update_by_folding(uint32_t crc, const uint8_t *bytes, size_t size)
{
    const __m128i by_stride = _mm_set_epi64x((long long)X_480, (long long)X_544);
    __m128i a, b, c, d;
    if (size < STRIDE) return update_by_table(crc, bytes, size);
    /* A CRC begins with 32 ones and ends inverted. So the earlier checksum is inverted before it is continued. */
    a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)~crc));
    b = load(bytes + LANE);
    c = load(bytes + 2 * LANE);
    d = load(bytes + 3 * LANE);
    for (bytes += STRIDE, size -= STRIDE; size >= STRIDE; bytes += STRIDE, size -= STRIDE) {
        a = fold(a, by_stride, load(bytes));
        b = fold(b, by_stride, load(bytes + LANE));
        c = fold(c, by_stride, load(bytes + 2 * LANE));
        d = fold(d, by_stride, load(bytes + 3 * LANE));
    }
    return finish(join(a, b, c, d), bytes, size);
}

#endif

#ifdef CRC32_FOLDS
static bool folds; /* otherwise zlib computes the checksum */
#endif

void crc32_init(void)
{
#ifdef CRC32_FOLDS
    __builtin_cpu_init();
    folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif
}

bool crc32_available(void)
{
#ifdef HAVE_ZLIB_H
    return true;
#else
    return false;
#endif
}

uint32_t crc32_update(uint32_t crc, const uint8_t *bytes, size_t size)
{
#ifdef CRC32_FOLDS
    if (folds) return update_by_folding(crc, bytes, size);
#endif
    return update_by_table(crc, bytes, size);
}
