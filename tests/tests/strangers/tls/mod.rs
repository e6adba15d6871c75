//! FTP over TLS: our client with servers, and our server with clients, that nobody here wrote, and
//! what our client says of a server that it does not trust.

mod distrust;
mod hostile;
mod their_clients;
mod their_servers;

use std::sync::Arc;

use libtest_mimic::Trial;

use crate::setting::Setting;

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let trials = [
        their_servers::trials(setting),
        their_clients::trials(setting),
        distrust::trials(setting),
        hostile::trials(),
    ];
    trials.into_iter().flatten().collect()
}
