//! Events for the crate `tracing`, with the feature of that name; without it, nothing. Their target
//! is `stackwright`, their level `DEBUG`.

#[cfg(feature = "tracing")]
mod told {
    use stackwright_contract::ask::PathReport;
    use stackwright_contract::services::Ended;
    use stackwright_contract::{Handle, Participant};

    use crate::error::Error;

    const TARGET: &str = "stackwright";

    pub(crate) fn opened(name: Handle, (local, remote): (Participant, Participant)) {
        let association = name.index;
        tracing::debug!(target: TARGET, association, ?local, ?remote, "opened");
    }

    pub(crate) fn ended(name: Handle, why: Ended) {
        tracing::debug!(target: TARGET, association = name.index, %why, "ended");
    }

    pub(crate) fn refused(name: Handle, octets: usize, why: &Error) {
        tracing::debug!(target: TARGET, association = name.index, octets, %why, "message refused");
    }

    /// The application closes or drops it. `path` is asked for only where it is of use.
    pub(crate) fn closes(name: Handle, path: impl FnOnce() -> Option<PathReport>) {
        if tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
            && let Some(path) = path()
        {
            let PathReport { lost, retransmitted, timeouts, duplicates, .. } = path;
            tracing::debug!(
                target: TARGET,
                association = name.index,
                lost,
                retransmitted,
                timeouts,
                duplicates,
                "closes"
            );
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod told {
    use stackwright_contract::ask::PathReport;
    use stackwright_contract::services::Ended;
    use stackwright_contract::{Handle, Participant};

    use crate::error::Error;

    pub(crate) fn opened(_: Handle, _: (Participant, Participant)) {}
    pub(crate) fn ended(_: Handle, _: Ended) {}
    pub(crate) fn refused(_: Handle, _octets: usize, _: &Error) {}
    pub(crate) fn closes(_: Handle, _path: impl FnOnce() -> Option<PathReport>) {}
}

pub(crate) use told::{closes, ended, opened, refused};
