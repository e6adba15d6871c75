//! What one run came to, as ours and the strangers' programs print it alike.

use std::slice;

use serde::Deserialize;

/// One run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Measured {
    /// What the receiver's application got.
    pub(crate) octets: u64,
    pub(crate) messages: u64,
    pub(crate) seconds: f64,
    /// What each process took of the processor, in seconds.
    pub(crate) processor_sender: f64,
    pub(crate) processor_receiver: f64,
    pub(crate) latencies_us: Option<Latencies>,
    /// Packets that were sent again, where that is known.
    pub(crate) retransmitted: Option<u64>,
    /// What was changed of how it sends, where something was.
    pub(crate) changes: Option<Vec<Changed>>,
}

/// A change of how a transport sends.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Changed {
    /// In seconds since the sender's stack was made.
    pub(crate) at: f64,
    /// What is in force since then.
    pub(crate) to: String,
    /// The same with the reason, for a person.
    pub(crate) says: String,
}

/// Of requests, in microseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Latencies {
    pub(crate) p50: f64,
}

impl Measured {
    /// The first change to `to` that was no sooner than `from`.
    pub(crate) fn change(&self, to: &str, from: f64) -> Option<&Changed> {
        self.changes.iter().flatten().find(|change| change.to == to && change.at >= from)
    }

    /// In megabits a second.
    pub(crate) fn goodput(&self) -> f64 {
        8e-6 * self.octets as f64 / self.seconds.max(1e-9)
    }

    /// Seconds of the processor for a gigabyte, both ends together.
    pub(crate) fn processor(&self) -> f64 {
        Self::processor_of(slice::from_ref(self))
    }

    /// The same, of several flows together.
    pub(crate) fn processor_of(flows: &[Self]) -> f64 {
        let seconds: f64 = flows.iter().map(|it| it.processor_sender + it.processor_receiver).sum();
        let octets: u64 = flows.iter().map(|it| it.octets).sum();
        1e9 * seconds / octets.max(1) as f64
    }

    /// How many a second.
    pub(crate) fn frequency(&self) -> f64 {
        self.messages as f64 / self.seconds.max(1e-9)
    }

    /// The middle of the requests, in seconds.
    pub(crate) fn median(&self) -> Option<f64> {
        self.latencies_us.map(|latencies| latencies.p50 * 1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let text = r#"{"transport":"tcp","workload":"requests","octets":2000000,"messages":4,"seconds":0.5,
            "processor_sender":0.001,"processor_receiver":0.003,"latencies_us":{"p50":20.0,"p90":1,"p99":1,"max":1,"mean":1},
            "retransmitted":null,"counted_by":"receiver"}"#;
        let measured: Measured = serde_json::from_str(text).expect("it is such a run");
        assert_eq!((measured.goodput(), measured.frequency()), (32.0, 8.0));
        assert!((measured.processor() - 2.0).abs() < 1e-9);
        let idle = Measured {
            octets: 6_000_000,
            processor_sender: 0.0,
            processor_receiver: 0.0,
            ..measured.clone()
        };
        assert!(
            (Measured::processor_of(&[measured.clone(), idle]) - 0.5).abs() < 1e-9,
            "of all octets"
        );
        assert!(measured.median().is_some_and(|median| (median - 20e-6).abs() < 1e-12));
    }
}
