// Vectors of a fixed number of lanes, based on the vector extensions of GCC and Clang.
//
// Lanes<T, N> stores N numbers in registers of at most the native width. Every operation is the IEEE operation in each
// lane, so results are identical to the bit on every processor level. Comparisons return masks for select. Templates
// that use only these operations also work with plain doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

namespace driftmap {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kDoubles = kVectorBytes / sizeof(double), kFloats = kVectorBytes / sizeof(float);

template <class T, int N>
struct Lanes {
    static constexpr int kWidth = std::min<int>(N, kVectorBytes / sizeof(T)), kParts = N / kWidth;
    typedef T Register __attribute__((vector_size(kWidth * sizeof(T))));
    using Mask = Lanes<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>, N>;

    Register part[kParts];

    Lanes() = default;
    Lanes(T x) {  // broadcast to all lanes
        for (Register& p : part) p = x - Register{};
    }
    static Lanes load(const T* from) {
        Lanes out;
        for (int p = 0; p < kParts; ++p) std::memcpy(&out.part[p], from + p * kWidth, sizeof(Register));
        return out;
    }
    T get(int lane) const { return part[lane / kWidth][lane % kWidth]; }
    void set(int lane, T x) { part[lane / kWidth][lane % kWidth] = x; }

    friend Lanes operator+(Lanes a, Lanes b) { return each<Lanes>(a, b, std::plus<>()); }
    friend Lanes operator-(Lanes a, Lanes b) { return each<Lanes>(a, b, std::minus<>()); }
    friend Lanes operator*(Lanes a, Lanes b) { return each<Lanes>(a, b, std::multiplies<>()); }
    friend Lanes operator/(Lanes a, Lanes b) { return each<Lanes>(a, b, std::divides<>()); }
    friend Lanes operator&(Lanes a, Lanes b) { return each<Lanes>(a, b, std::bit_and<>()); }
    friend Lanes operator|(Lanes a, Lanes b) { return each<Lanes>(a, b, std::bit_or<>()); }
    friend Mask operator>(Lanes a, Lanes b) { return each<Mask>(a, b, std::greater<>()); }
    friend Mask operator<=(Lanes a, Lanes b) { return each<Mask>(a, b, std::less_equal<>()); }
    Lanes& operator+=(Lanes b) { return *this = *this + b; }
    Lanes& operator-=(Lanes b) { return *this = *this - b; }
    Lanes& operator*=(Lanes b) { return *this = *this * b; }

    friend Lanes select(Mask m, Lanes a, Lanes b) {
        for (int p = 0; p < kParts; ++p) a.part[p] = m.part[p] ? a.part[p] : b.part[p];
        return a;
    }
    friend Lanes sqrt(Lanes a) {  // compilers turn the inner loop into one instruction
        for (Register& p : a.part)
            for (int i = 0; i < kWidth; ++i) p[i] = std::sqrt(p[i]);
        return a;
    }
    template <class U>
    explicit operator Lanes<U, N>() const {  // rounded to nearest
        typedef T From __attribute__((vector_size(N * sizeof(T))));
        typedef U To __attribute__((vector_size(N * sizeof(U))));
        From from;
        std::memcpy(&from, part, sizeof(from));
        const To to = __builtin_convertvector(from, To);
        Lanes<U, N> out;
        std::memcpy(out.part, &to, sizeof(to));
        return out;
    }
    // Reduce the lanes to one number: combine lane i with lane i + N / 2, then recursively.
    template <class F>
    T fold(F f) const {
        if constexpr (N == 1) {
            return part[0][0];
        } else {
            Lanes<T, N / 2> half[2];
            std::memcpy(half, part, sizeof(part));
            return f(half[0], half[1]).fold(f);
        }
    }

    template <class To, class F>
    static To each(const Lanes& a, const Lanes& b, F f) {
        To out;
        for (int p = 0; p < kParts; ++p) out.part[p] = (typename To::Register)f(a.part[p], b.part[p]);
        return out;
    }
};

inline double select(bool m, double a, double b) { return m ? a : b; }
using std::sqrt;

// Always inlined: otherwise vector arguments would be passed in memory.
template <class V>
[[gnu::always_inline]] inline V larger(V a, V b) {  // returns b if a is NaN
    return select(a > b, a, b);
}

template <class V>
[[gnu::always_inline]] inline V absolute(V x) {
    return select(x > 0, x, 0 - x);
}

}  // namespace driftmap
