/*
 * The CRC-32 of RFC 1952: by carry-less multiplication if the processor has it, else by tables.
 *
 * The method is that of V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
 * Intel, 2009. A message is a polynomial over GF(2), and its CRC is the remainder modulo
 *
 *   P = x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
 *
 * Polynomials that are congruent modulo P have the same remainder. So 128 bits H * x^64 + L with D more bits behind
 * them may be replaced by H * (x^(D+64) mod P) + L * (x^D mod P). This sum is shorter than 128 bits, and is added to
 * the last 128 of those D bits. It costs two multiplications for 16 bytes. Four such sums run side by side (D = 512),
 * because the processor can start a multiplication before the last one has ended. At the end the four sums become one
 * (D = 128).
 *
 * In RFC 1952 the lowest bit of a byte is the highest power, so registers hold polynomials with their bits reversed:
 * the low half of a register is H. The product of two reversed 64-bit numbers has 127 bits, and is one bit too low. The
 * constants correct that: each is a remainder, reversed in 32 bits and shifted left by one, so it has 33 bits. The
 * remainders are in the upper half of a 64-bit register, so their powers are lower by 32: D+32 and D-32.
 */
#include "codec.h"

/* tables[n][byte]: the remainder of the byte with n zero bytes behind it. Eight bytes need eight look-ups. */
static uint32_t tables[8][256];

static uint32_t by_tables(uint32_t crc, const uint8_t *bytes, size_t size)
{
    uint64_t eight;

    crc = ~crc;
    for (; size >= sizeof eight; bytes += sizeof eight, size -= sizeof eight) {
        memcpy(&eight, bytes, sizeof eight);
        eight ^= crc;
        crc = 0;
        for (int n = 7; n >= 0; n--, eight >>= 8) crc ^= tables[n][eight & 0xff];
    }
    for (; size; size--) crc = tables[0][(crc ^ *bytes++) & 0xff] ^ crc >> 8;
    return ~crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANE = 16, STRIDE = 4 * LANE };

#define X_544 0x154442bd4ll  /* x^(512+32) */
#define X_480 0x1c6e41596ll /* x^(512-32) */
#define X_160 0x1751997d0ll /* x^(128+32) */
#define X_96 0x0ccaa009ell  /* x^(128-32) */
#define X_64 0x163cd6124ll  /* x^64 */
#define P_REVERSED 0x1db710641ll      /* P, reversed in 33 bits */
#define QUOTIENT_REVERSED 0x1f7011641ll /* the quotient x^64 / P, reversed in 33 bits */

#define FOLDING static inline __attribute__((target("pclmul,sse4.1"), always_inline))

FOLDING __m128i load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

/* Moves `sum` by the distance of the constants, and adds `next`. */
FOLDING __m128i fold(__m128i sum, __m128i constants, __m128i next)
{
    __m128i high = _mm_clmulepi64_si128(sum, constants, 0x00);
    __m128i low = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(high, low), next);
}

/*
 * The remainder of 128 bits with 32 zeros behind them. Two steps reduce the sum to 96 and to 64 bits. Then Barrett's
 * reduction multiplies by the quotient instead of dividing by P.
 */
FOLDING uint32_t remainder_of(__m128i sum)
{
    const __m128i lowest_32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i barrett = _mm_set_epi64x(QUOTIENT_REVERSED, P_REVERSED);
    __m128i quotient;

    sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, _mm_cvtsi64_si128(X_96), 0x00), _mm_srli_si128(sum, 8));
    sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), _mm_cvtsi64_si128(X_64), 0x00),
                        _mm_srli_si128(sum, 4));
    quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, lowest_32), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1);
}

/*
 * Of at least STRIDE bytes. A CRC begins with 32 ones and ends inverted. The tables add the bytes behind the last lane.
 */
__attribute__((target("pclmul,sse4.1")))
static uint32_t by_folding(const uint8_t *bytes, size_t size)
{
    const __m128i by_stride = _mm_set_epi64x(X_480, X_544), by_lane = _mm_set_epi64x(X_96, X_160);
    __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128(-1)), b = load(bytes + LANE);
    __m128i c = load(bytes + 2 * LANE), d = load(bytes + 3 * LANE);

    for (bytes += STRIDE, size -= STRIDE; size >= STRIDE; bytes += STRIDE, size -= STRIDE) {
        a = fold(a, by_stride, load(bytes));
        b = fold(b, by_stride, load(bytes + LANE));
        c = fold(c, by_stride, load(bytes + 2 * LANE));
        d = fold(d, by_stride, load(bytes + 3 * LANE));
    }
    a = fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
    for (; size >= LANE; bytes += LANE, size -= LANE) a = fold(a, by_lane, load(bytes));
    return by_tables(~remainder_of(a), bytes, size);
}

static bool can_fold(size_t size)
{
    return size >= STRIDE && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
#else
static uint32_t by_folding(const uint8_t *bytes, size_t size) { return by_tables(0, bytes, size); }
static bool can_fold(size_t size) { return false; }
#endif

void init_crc32(void)
{
    for (int byte = 0; byte < 256; byte++) {
        uint32_t crc = (uint32_t)byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        tables[0][byte] = crc;
    }
    for (int n = 1; n < 8; n++)
        for (int byte = 0; byte < 256; byte++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xff];
}

uint32_t checksum(const uint8_t *bytes, size_t size)
{
    return can_fold(size) ? by_folding(bytes, size) : by_tables(0, bytes, size);
}
