// float16 as CUDA's header has it, as far as kernels use it.
#pragma once
#include <string.h>

struct __half { unsigned short bits; };
static inline __half __ushort_as_half(unsigned short x) { return {x}; }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }

static inline float __half2float(__half x) {
    unsigned sign = (unsigned)(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
    float found;
    if (exponent == 0) {
        found = fraction * 0x1p-24f;
        unsigned raw;
        memcpy(&raw, &found, 4);
        raw |= sign;
        memcpy(&found, &raw, 4);
        return found;
    }
    unsigned raw = sign | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23) | fraction << 13;
    memcpy(&found, &raw, 4);
    return found;
}

static inline __half __float2half_rn(float x) {
    unsigned raw;
    memcpy(&raw, &x, 4);
    unsigned sign = raw >> 16 & 0x8000, rest = raw & 0x7fffffff;
    if (rest > 0x7f800000) return {(unsigned short)(sign | 0x7e00)};
    if (rest >= 0x477ff000) return {(unsigned short)(sign | 0x7c00)};
    if (rest < 0x38800000) {  // subnormal: adding a half makes the FPU round
        float magic, sum;
        memcpy(&magic, &rest, 4);
        sum = magic + 0.5f;
        memcpy(&raw, &sum, 4);
        return {(unsigned short)(sign | (raw - 0x3f000000))};
    }
    rest += 0xfff + (rest >> 13 & 1);
    return {(unsigned short)(sign | (rest - 0x38000000) >> 13)};
}
