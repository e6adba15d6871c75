//! Reads a capture with a parser that nobody here wrote.

use pcap_parser::{Block, OptionCode, PcapNGOption, PcapNGSlice};
use stackwright_wire::capture::Frame;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Interface {
    pub name: String,
    pub description: String,
    pub link: i32,
    pub captured_most: u32,
    pub units_a_second: u64,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Packet {
    pub interface: u32,
    pub nanoseconds: u64,
    pub octets: Vec<u8>,
    pub original: u32,
    pub flags: u32,
    pub comment: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub application: String,
    pub interfaces: Vec<Interface>,
    pub packets: Vec<Packet>,
}

pub(crate) fn read(file: &[u8]) -> Read {
    let mut read = Read::default();
    let mut octets = 0;
    for block in
        PcapNGSlice::from_slice(file).expect("it begins with a section").map(Result::unwrap)
    {
        use pcap_parser::PcapBlockOwned::NG;
        let NG(block) = block else { panic!("a block of the older format") };
        match block {
            Block::SectionHeader(section) => {
                assert_eq!(
                    (section.major_version, section.minor_version, section.section_len),
                    (1, 0, -1)
                );
                read.application = text(&section.options, OptionCode::ShbUserAppl).unwrap();
                octets += lengths_agree(section.block_len1, section.block_len2);
            }
            Block::InterfaceDescription(interface) => {
                octets += lengths_agree(interface.block_len1, interface.block_len2);
                read.interfaces.push(Interface {
                    name: interface.if_name().unwrap().unwrap().to_owned(),
                    description: interface.if_description().unwrap().unwrap().to_owned(),
                    link: interface.linktype.0,
                    captured_most: interface.snaplen,
                    units_a_second: interface.ts_resolution().unwrap(),
                });
            }
            Block::EnhancedPacket(packet) => {
                octets += lengths_agree(packet.block_len1, packet.block_len2);
                let flags =
                    packet.options.iter().find(|option| option.code == OptionCode(2)).unwrap();
                read.packets.push(Packet {
                    interface: packet.if_id,
                    nanoseconds: u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                    octets: packet.data[..packet.caplen as usize].to_vec(),
                    original: packet.origlen,
                    flags: flags.as_u32_le().unwrap(),
                    comment: text(&packet.options, OptionCode::Comment),
                });
            }
            other => panic!("nobody wrote {other:?}"),
        }
    }
    assert_eq!(octets, file.len(), "every octet belongs to a block");
    read
}

fn lengths_agree(first: u32, last: u32) -> usize {
    assert_eq!(first, last);
    assert_eq!(first % 4, 0);
    first as usize
}

fn text(options: &[PcapNGOption<'_>], code: OptionCode) -> Option<String> {
    assert_eq!(options.last().map(|last| (last.code, last.len)), Some((OptionCode::EndOfOpt, 0)));
    options
        .iter()
        .find(|option| option.code == code)
        .map(|option| option.as_str().unwrap().to_owned())
}

/// A frame's octets in one piece.
pub(crate) fn flat(frame: &Frame<'_>) -> Vec<u8> {
    frame.pieces().flatten().copied().collect()
}
