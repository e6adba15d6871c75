//! Frames of AX.25, as octets: what crosses a TNC is written here without the code under test.

/// An address: six characters shifted left, then the SSID 0 with the reserved bits set.
fn address(call: &str, command: bool, last: bool) -> Vec<u8> {
    let mut octets: Vec<u8> = format!("{call:<6}").bytes().map(|octet| octet << 1).collect();
    octets.push(0x60 | u8::from(command) << 7 | u8::from(last));
    octets
}

fn frame(source: &str, destination: &str, command: bool, rest: &[u8]) -> Vec<u8> {
    let to = address(destination, command, false);
    [to, address(source, !command, true), rest.to_vec()].concat()
}

/// A UI frame without a layer above, as kissutil writes it too: both C bits are set.
pub(crate) fn ui(source: &str, destination: &str, text: &str) -> Vec<u8> {
    let head = [address(destination, true, false), address(source, true, true)].concat();
    [&head, &[0x03, 0xF0][..], text.as_bytes()].concat()
}

/// What tshark calls the frames of [`connected_mode`], in order; information is text to it.
pub(crate) const KINDS: [&str; 10] =
    ["SABM", "UA", "Text", "RR", "RNR", "REJ", "DISC", "DM", "FRMR", "Text"];

/// A link from its begin to its end, with numbers of three bits, and what else may occur.
pub(crate) fn connected_mode(one: &str, other: &str) -> Vec<Vec<u8>> {
    vec![
        frame(one, other, true, &[0x3F]),
        frame(other, one, false, &[0x73]),
        frame(one, other, true, &[&[0x00, 0xF0][..], b"a line\r"].concat()),
        frame(other, one, false, &[0x21]),
        frame(other, one, false, &[0x25]),
        frame(other, one, false, &[0x29]),
        frame(one, other, true, &[0x53]),
        frame(other, one, false, &[0x1F]),
        frame(other, one, false, &[0x97, 0x00, 0x00, 0x01]),
        ui(one, other, "unconnected"),
    ]
}
