//! The one function of the system's mathematical library that this program needs (the progress
//! bar's average does), so that the library need not be found, mapped and relocated: 12 % of the
//! program's start, 2 % of a small transfer.

/// C's `pow`.
// The name is the linker's: defined here, it is not looked for in a shared library. It is safe: the
// signature and the meaning are those of the C standard (7.12.7.4), and nothing but this program's
// own objects sees it.
#[unsafe(no_mangle)]
extern "C" fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}
