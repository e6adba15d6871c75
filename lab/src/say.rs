//! What is said on standard output.

/// Says a line on standard output, without colours where that is no terminal. Where nobody reads it
/// any more (`| head`), the work goes on all the same.
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stdout(), $($line)*);
    }};
}
pub(crate) use say;
