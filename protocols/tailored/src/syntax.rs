//! The syntax of a packet, for programs that display packets. The layouts are those of `header.rs`.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

use crate::header::{
    InquiryNumber, InternetCheck, LongCheck, NumberSpan, OpeningHashes, OpeningStage, OpeningToken,
    PacketCheck, PartHeader, PieceHeader, ReasonCode, ReportHeader, RuleHeader, TailoredHeader,
    TailoredKind,
};

/// Any packet.
pub const SYNTAX: &[Step] = &PACKET;

/// Returns the syntax of packets with messages of `message`, which are known where they travel in
/// one packet.
pub const fn syntax_of(message: &'static [Step]) -> [Step; 7] {
    let [header, check, opening, inquiry, kind, part] = PACKET;
    let body = Step::Choice { by: of_header("kind"), cases: OTHERS, otherwise: message };
    [header, check, opening, inquiry, kind, part, body]
}

/// What has no whole message in it.
const OTHERS: &[Case] = &[
    Case { value: TailoredKind::Piece as u64, name: "", steps: &[Step::Rest("part of a message")] },
    Case { value: TailoredKind::Report as u64, name: "", steps: &[] },
    Case { value: TailoredKind::Gap as u64, name: "", steps: &[] },
];

const PACKET: [Step; 6] = [
    of::<TailoredHeader>(),
    Step::Choice {
        by: of_header("check"),
        cases: &[
            Case {
                value: PacketCheck::Internet as u64,
                name: "Internet check",
                steps: &[of::<InternetCheck>()],
            },
            Case {
                value: PacketCheck::Crc32c as u64,
                name: "CRC-32C",
                steps: &[of::<LongCheck>()],
            },
            Case { value: PacketCheck::Cxor as u64, name: "CXOR", steps: &[of::<LongCheck>()] },
        ],
        otherwise: &[],
    },
    Step::Choice {
        by: of_header("opening"),
        cases: &[
            Case { value: OpeningStage::Over as u64, name: "open", steps: &[] },
            Case {
                value: OpeningStage::Asked as u64,
                name: "asked",
                steps: &[of::<OpeningHashes>()],
            },
        ],
        otherwise: &[of::<OpeningToken>()],
    },
    Step::Choice {
        by: of_header("asks"),
        cases: &[Case { value: 1, name: "inquiry", steps: &[of::<InquiryNumber>()] }],
        otherwise: &[],
    },
    Step::Choice {
        by: of_header("kind"),
        cases: &[
            Case { value: TailoredKind::Unit as u64, name: "unit", steps: &[] },
            Case {
                value: TailoredKind::Piece as u64,
                name: "piece",
                steps: &[of::<PieceHeader>()],
            },
            Case { value: TailoredKind::Report as u64, name: "report", steps: REPORT },
            Case { value: TailoredKind::Gap as u64, name: "gap", steps: &[of::<PieceHeader>()] },
        ],
        otherwise: &[],
    },
    Step::Choice {
        by: of_header("part"),
        cases: &[Case { value: 1, name: "part", steps: &[of::<PartHeader>()] }],
        otherwise: &[],
    },
];

const REPORT: &[Step] =
    &[of::<ReportHeader>(), REASON[0], RULE[0], Step::Repeat(&[of::<NumberSpan>()])];

const RULE: [Step; 1] = [Step::Choice {
    by: Discriminant::Value(field(ReportHeader::NAME, "proposes")),
    cases: &[Case { value: 1, name: "rule", steps: &[of::<RuleHeader>()] }],
    otherwise: &[],
}];

/// An end or a refusal has a reason, and never both.
const REASON: [Step; 1] = [Step::Choice {
    by: Discriminant::Value(field(ReportHeader::NAME, "end")),
    cases: &[Case { value: 1, name: "end", steps: &[of::<ReasonCode>()] }],
    otherwise: &[Step::Choice {
        by: Discriminant::Value(field(ReportHeader::NAME, "refuse")),
        cases: &[Case { value: 1, name: "refusal", steps: &[of::<ReasonCode>()] }],
        otherwise: &[],
    }],
}];

const fn of_header(name: &'static str) -> Discriminant {
    Discriminant::Value(field(TailoredHeader::NAME, name))
}

const fn of<H: Header>() -> Step {
    Step::Header(Layout::of::<H>())
}
