//! The working folder, and folders: CWD CDUP PWD MKD RMD.

use alloc::format;

use stackwright_contract::services::FilesRequest;
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::question::{Deed, Question};
use super::super::{Out, Server};
use crate::command::Folders;
use crate::path;

impl<M: Message> Server<M> {
    pub(super) fn obey_folders(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Folders<'_>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get(session) else { return };
        let resolved = |argument: &str| path::resolve(&state.folder, argument);
        match command {
            Folders::Pwd => {
                let text = format!("{} is the working folder.", path::quoted(&state.folder));
                self.answer(cx, session, 257, &text);
            }
            Folders::Cwd(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::Folder, path, out);
            }
            Folders::Cdup => {
                let path = resolved("..");
                self.ask(cx, session, Question::Folder, path, out);
            }
            Folders::Mkd(argument) => {
                let path = resolved(argument);
                let made = (Deed::Made, path.clone());
                let request = |token| FilesRequest::MakeFolder { token, path };
                self.ask_to_do(cx, session, made, request, out);
            }
            Folders::Rmd(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::RemoveFolder, path, out);
            }
        }
    }
}
