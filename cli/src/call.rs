//! Call signs of the one who runs the program.

use stackwright::contract::CallSign;

/// Reads the call sign that a station transmits with.
///
/// # Errors
/// Says why it is none to transmit with.
pub(crate) fn own_call(text: &str) -> Result<CallSign, &'static str> {
    let call: CallSign = text.trim().parse().map_err(|_| NONE)?;
    let text = call.to_string();
    let name = text.split('-').next().unwrap_or_default();
    if matches!(name, "N0CALL" | "NOCALL") {
        return Err("it stands for a call sign in examples; write your own");
    }
    let has = |is: fn(&u8) -> bool| name.bytes().any(|octet| is(&octet));
    if !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic) {
        return Err("a station's call sign has a letter and a digit");
    }
    Ok(call)
}

/// Reads the call sign of another station.
///
/// # Errors
/// Says what a call sign is.
pub(crate) fn other_call(text: &str) -> Result<CallSign, &'static str> {
    text.trim().parse().map_err(|_| NONE)
}

const NONE: &str = "a call sign has one to six letters and digits, and may end with -1 to -15";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_sign_of_a_station_transmits() {
        for text in ["N0AAA", "oe1xyz-7", " DL1ABC-15 ", "2E0ABC", "N0CALLX-1"] {
            let is_long = text.trim().split('-').next().is_some_and(|name| name.len() > 6);
            assert_eq!(own_call(text).is_ok(), !is_long, "{text}");
        }
        for text in ["N0CALL", "n0call-7", "NOCALL", "NOCALL-15"] {
            assert_eq!(
                own_call(text),
                Err("it stands for a call sign in examples; write your own"),
                "{text}"
            );
        }
        for text in ["", "RELAY", "123", "N0AAA-16", "N0 AA", "N0AAA/P"] {
            assert!(own_call(text).is_err(), "{text}");
        }
        assert!(other_call("RELAY-1").is_ok());
        assert!(other_call("RELAY-16").is_err());
    }
}
