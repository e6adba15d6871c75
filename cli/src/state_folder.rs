//! Where the program keeps what it makes by itself.

use std::env;
use std::path::PathBuf;

/// Returns `$XDG_STATE_HOME/stackwright`, else that below `~/.local/state`.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")))?;
    Some(state.join("stackwright"))
}
