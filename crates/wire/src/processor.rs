//! Loops that gain from the processor's wider vectors.
//!
//! They are portable Rust, from which the compiler makes vector instructions: once for every
//! processor of the target, and with the feature `std` once more for x86-64 processors with AVX2,
//! which are detected at run time.

/// A loop over many octets.
pub(crate) trait Work {
    /// The result.
    type Output;

    /// Runs the loop. To be implemented with `#[inline(always)]`, as everything that it calls: only
    /// what is inlined is compiled for AVX2, too.
    fn run(self) -> Self::Output;
}

/// Runs `work` with the widest vectors that the processor has.
#[inline]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    return avx2::run(work);
    #[cfg(not(all(feature = "std", target_arch = "x86_64")))]
    work.run()
}

/// Named exception to the ban on `unsafe`: a function that is compiled for AVX2 may be called only
/// where the processor has it, which only the caller can check.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx2 {
    use super::Work;

    #[inline]
    #[allow(unsafe_code, reason = "named exception: loops compiled for AVX2")]
    pub(super) fn run<W: Work>(work: W) -> W::Output {
        if !std::is_x86_feature_detected!("avx2") {
            return work.run();
        }
        // SAFETY: `with_avx2` demands nothing but a processor with AVX2, and the lines above have
        // found one.
        unsafe { with_avx2(work) }
    }

    #[target_feature(enable = "avx2")]
    fn with_avx2<W: Work>(work: W) -> W::Output {
        work.run()
    }
}
