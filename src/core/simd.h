// Vectors of a fixed number of lanes, over the vector extensions of GCC and Clang.
//
// Lanes<T, N> holds N numbers in registers that are never wider than the machine's own. Every operation is the IEEE
// operation in each lane, so a lane has the same bits on every processor level. Comparisons give masks, by which select
// takes one number or the other. Templates that use nothing else run with plain doubles, too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace driftmap {

#if defined(__AVX512F__)
inline constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX2__)
inline constexpr int REGISTER_BYTES = 32;
#else
inline constexpr int REGISTER_BYTES = 16;
#endif

template <class T, int N>
struct Lanes {
    static constexpr int WIDTH = std::min<int>(N, REGISTER_BYTES / sizeof(T)), PARTS = N / WIDTH;
    typedef T Register __attribute__((vector_size(WIDTH * sizeof(T))));

    struct Mask {
        decltype(Register{} < Register{}) part[PARTS];
        friend Mask operator&(Mask a, Mask b) { return each<Mask>(a, b, std::bit_and<>()); }
        friend Mask operator|(Mask a, Mask b) { return each<Mask>(a, b, std::bit_or<>()); }
    };

    Register part[PARTS];

    Lanes() = default;
    Lanes(T x) {  // in all lanes
        for (Register& p : part) p = x - Register{};
    }
    T get(int lane) const { return part[lane / WIDTH][lane % WIDTH]; }
    void set(int lane, T x) { part[lane / WIDTH][lane % WIDTH] = x; }

    friend Lanes operator+(Lanes a, Lanes b) { return each<Lanes>(a, b, std::plus<>()); }
    friend Lanes operator-(Lanes a, Lanes b) { return each<Lanes>(a, b, std::minus<>()); }
    friend Lanes operator*(Lanes a, Lanes b) { return each<Lanes>(a, b, std::multiplies<>()); }
    friend Lanes operator/(Lanes a, Lanes b) { return each<Lanes>(a, b, std::divides<>()); }
    friend Mask operator>(Lanes a, Lanes b) { return each<Mask>(a, b, std::greater<>()); }
    friend Mask operator<=(Lanes a, Lanes b) { return each<Mask>(a, b, std::less_equal<>()); }
    Lanes& operator+=(Lanes b) { return *this = *this + b; }
    Lanes& operator-=(Lanes b) { return *this = *this - b; }
    Lanes& operator*=(Lanes b) { return *this = *this * b; }

    friend Lanes select(Mask m, Lanes a, Lanes b) {
        for (int p = 0; p < PARTS; ++p) a.part[p] = m.part[p] ? a.part[p] : b.part[p];
        return a;
    }
    friend Lanes sqrt(Lanes a) {  // compilers make one instruction of each register's loop
        for (Register& p : a.part)
            for (int i = 0; i < WIDTH; ++i) p[i] = std::sqrt(p[i]);
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
    T sum() const {  // neighbours first
        T x[N];
        std::memcpy(x, part, sizeof(x));
        for (int step = 1; step < N; step *= 2)
            for (int i = 0; i < N; i += 2 * step) x[i] += x[i + step];
        return x[0];
    }

    template <class To, class From, class F>
    static To each(const From& a, const From& b, F f) {
        To out;
        for (int p = 0; p < PARTS; ++p) out.part[p] = f(a.part[p], b.part[p]);
        return out;
    }
};

inline double select(bool m, double a, double b) { return m ? a : b; }
using std::sqrt;

template <class V>
V larger(V a, V b) {  // b where a is NaN
    return select(a > b, a, b);
}

}  // namespace driftmap
