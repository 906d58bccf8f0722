// The module driftmap._core._level: the built levels of the core, and the level of this processor, which is 2, 3 or 4
// for x86-64-v2 to v4 of the psABI, and less for others. The loader imports it first, so it runs on every processor.
#include <Python.h>

#if defined(__x86_64__)
#include <cpuid.h>

static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

// Uses CPUID because __builtin_cpu_supports needs a runtime library that zig does not link.
static int processor_level() {
    unsigned a, b, d, basic = 0, more = 0, extended = 0, saved, high;
    __get_cpuid(1, &a, &b, &basic, &d);
    __get_cpuid_count(7, 0, &a, &more, &b, &d);
    __get_cpuid(0x80000001, &a, &b, &extended, &d);
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
    if (!has(basic, 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23) || !has(extended, 1u << 0)) return 1;
    // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
    if (!has(basic, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 2;
    if (!has(more, 1u << 3 | 1u << 5 | 1u << 8) || !has(extended, 1u << 5)) return 2;
    // The operating system must save the registers of SSE and AVX (0x06) and of AVX-512 (0xe6).
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if (!has(saved, 0x06)) return 2;
    // AVX512F, DQ, CD, BW, VL
    return has(more, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && has(saved, 0xe6) ? 4 : 3;
}
#else
static int processor_level() { return 0; }
#endif

static int execute(PyObject* module) {
    return PyModule_AddStringConstant(module, "built", DRIFTMAP_LEVELS) ||
           PyModule_AddIntConstant(module, "processor", processor_level());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_level", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__level() { return PyModuleDef_Init(&definition); }
