//! What is said on standard output.

use std::fmt::Arguments;
use std::io::Write;

/// Says a line on standard output, without colours where that is no terminal. Where nobody reads it
/// any more (`| head`), the work goes on all the same.
#[macro_export]
macro_rules! say {
    () => { $crate::say_line(::std::format_args!("")) };
    ($($line:tt)*) => { $crate::say_line(::std::format_args!($($line)*)) };
}

/// Says a line; what [`say!`] does.
pub fn say_line(line: Arguments<'_>) {
    let _ = writeln!(anstream::stdout(), "{line}");
}
