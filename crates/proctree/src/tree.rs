//! Decides which processes belong to the server, from process ids, parents, groups and sessions. Pure.
//!
//! A process belongs if its parent does, if it is in a group or session of a member, or if lsp-soak (a subreaper)
//! adopted it. A member stays one until it ends.

use std::collections::HashMap;

use super::ExcludedPids;
use super::source::Found;

/// The ids of lsp-soak; its own group and session do not make a process a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    pub pid: u32,
    pub group: Option<u32>,
    pub session: Option<u32>,
}

impl Own {
    /// Takes the group and the session of a server that another program started, unless the server leads them: other
    /// processes in them are not the server's.
    pub fn beside(self, server: &Found) -> Own {
        let leads = Some(server.pid);
        Own {
            group: if server.group == leads {
                self.group
            } else {
                server.group
            },
            session: if server.session == leads {
                self.session
            } else {
                server.session
            },
            ..self
        }
    }
}

/// The member process ids, and their groups and sessions.
#[derive(Debug)]
pub struct Tree {
    own: Own,
    /// Start of the time in which orphans belong to this tree; `None` if none do.
    orphans_since: Option<u64>,
    /// Processes outside this tree, whatever they share with it.
    apart: ExcludedPids,
    members: HashMap<u32, Found>,
    groups: HashMap<u32, usize>,
    sessions: HashMap<u32, usize>,
}

impl Tree {
    /// An empty tree. Children of `own` that start at `orphans_since` or later may be orphans of the tree.
    pub fn new(own: Own, orphans_since: Option<u64>) -> Tree {
        Tree {
            own,
            orphans_since,
            apart: ExcludedPids::default(),
            members: HashMap::new(),
            groups: HashMap::new(),
            sessions: HashMap::new(),
        }
    }

    /// Excludes these processes from the tree, including ones that are added to `apart` later.
    pub fn excluding(self, apart: ExcludedPids) -> Tree {
        Tree { apart, ..self }
    }

    /// True if that process is a new member.
    pub fn gains(&self, found: &Found) -> bool {
        let is_ours = found.pid == self.own.pid || self.apart.contains(found.pid);
        if is_ours || self.members.contains_key(&found.pid) {
            return false;
        }
        self.has_parent_of(found)
            || found.group.is_some_and(|group| self.groups.contains_key(&group))
            || found
                .session
                .is_some_and(|session| self.sessions.contains_key(&session))
            || self.is_orphan(found)
    }

    /// A process that is older than the member with its parent's id is no child of it: that id was reused.
    fn has_parent_of(&self, found: &Found) -> bool {
        self.members
            .get(&found.parent)
            .is_some_and(|parent| parent.started <= found.started || found.started.is_none())
    }

    /// Processes that lsp-soak starts for itself share its group; adopted ones do not.
    fn is_orphan(&self, found: &Found) -> bool {
        let (Some(since), Some(started)) = (self.orphans_since, found.started) else {
            return false;
        };
        found.parent == self.own.pid && found.group != self.own.group && started >= since
    }

    /// Adds a process, or updates its group, session and parent.
    pub fn insert(&mut self, found: Found) {
        if self.members.get(&found.pid) == Some(&found) {
            return;
        }
        self.remove(found.pid);
        self.members.insert(found.pid, found);
        for (counts, id) in self.counted_ids(&found) {
            *counts.entry(id).or_default() += 1;
        }
    }

    pub fn remove(&mut self, pid: u32) {
        let Some(found) = self.members.remove(&pid) else { return };
        for (counts, id) in self.counted_ids(&found) {
            let count = counts.entry(id).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&id);
            }
        }
    }

    /// The group and the session of a member, each with its counts, unless they are lsp-soak's own.
    fn counted_ids(&mut self, found: &Found) -> impl Iterator<Item = (&mut HashMap<u32, usize>, u32)> {
        let group = found.group.filter(|id| *id != 0 && Some(*id) != self.own.group);
        let session = found.session.filter(|id| *id != 0 && Some(*id) != self.own.session);
        let group = group.map(|id| (&mut self.groups, id));
        let session = session.map(|id| (&mut self.sessions, id));
        group.into_iter().chain(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Own = Own {
        pid: 10,
        group: Some(10),
        session: Some(5),
    };

    fn a_process(pid: u32, parent: u32, group: u32, session: u32) -> Found {
        Found {
            pid,
            parent,
            group: Some(group),
            session: Some(session),
            started: Some(u64::from(pid)),
        }
    }

    fn tree_with_server() -> Tree {
        let mut tree = Tree::new(OWN, Some(100));
        tree.insert(a_process(100, 10, 100, 5));
        tree
    }

    #[test]
    fn a_child_of_a_member_belongs_and_a_member_is_not_new() {
        let tree = tree_with_server();
        assert!(tree.gains(&a_process(101, 100, 101, 101)));
        assert!(!tree.gains(&a_process(100, 10, 100, 5)));
        assert!(
            !tree.gains(&a_process(300, 299, 299, 5)),
            "another process of the user's session"
        );
    }

    #[test]
    fn a_process_in_the_servers_group_belongs_whoever_its_parent_is() {
        assert!(tree_with_server().gains(&a_process(101, 1, 100, 5)));
    }

    #[test]
    fn a_group_is_forgotten_with_its_last_member() {
        let mut tree = tree_with_server();
        tree.insert(a_process(101, 100, 100, 5));
        tree.remove(100);
        assert!(tree.gains(&a_process(102, 1, 100, 5)));
        tree.remove(101);
        assert!(!tree.gains(&a_process(102, 1, 100, 5)));
    }

    #[test]
    fn a_member_that_starts_a_session_keeps_what_comes_of_it() {
        let mut tree = tree_with_server();
        tree.insert(a_process(101, 100, 100, 5));
        assert!(!tree.gains(&a_process(102, 1, 101, 101)));
        tree.insert(a_process(101, 100, 101, 101));
        assert!(tree.gains(&a_process(102, 1, 102, 101)));
    }

    #[test]
    fn an_adopted_orphan_belongs_but_our_own_helpers_do_not() {
        let tree = tree_with_server();
        assert!(
            tree.gains(&a_process(102, 10, 102, 102)),
            "a daemon whose parent ended at once"
        );
        assert!(!tree.gains(&a_process(103, 10, 10, 5)), "a helper that lsp-soak runs");
        assert!(!tree.gains(&a_process(50, 10, 50, 50)), "a child from before");
        let mut apart = Tree::new(OWN, None);
        apart.insert(a_process(100, 10, 100, 5));
        assert!(!apart.gains(&a_process(102, 10, 102, 102)));
    }

    #[test]
    fn a_tracer_that_was_left_to_us_does_not_belong_but_its_children_would() {
        let apart = ExcludedPids::default();
        let tree = tree_with_server().excluding(apart.clone());
        assert!(tree.gains(&a_process(102, 10, 102, 102)));
        apart.add(102);
        assert!(!tree.gains(&a_process(102, 10, 102, 102)));
        assert!(tree.gains(&a_process(103, 10, 103, 103)));
    }

    #[test]
    fn a_starter_does_not_belong_though_its_command_has_its_group() {
        let apart = ExcludedPids::default();
        let tree = tree_with_server().excluding(apart.clone());
        assert!(tree.gains(&a_process(99, 10, 100, 5)));
        apart.add(99);
        assert!(!tree.gains(&a_process(99, 10, 100, 5)));
    }

    #[test]
    fn what_is_older_than_its_parent_is_no_child_of_it() {
        // Windows keeps the id of an ended parent, and reuses it.
        let mut tree = Tree::new(
            Own {
                pid: 10,
                group: None,
                session: None,
            },
            None,
        );
        let server = Found {
            pid: 100,
            parent: 10,
            group: None,
            session: None,
            started: Some(50),
        };
        tree.insert(server);
        for (started, is_child) in [(Some(49), false), (Some(50), true), (None, true)] {
            let process = Found {
                pid: 101,
                parent: 100,
                started,
                ..server
            };
            assert_eq!(tree.gains(&process), is_child, "{started:?}");
        }
    }

    #[test]
    fn of_a_running_server_only_groups_and_sessions_that_it_leads_make_members() {
        let in_an_editors_group = a_process(100, 50, 50, 50);
        let mut tree = Tree::new(OWN.beside(&in_an_editors_group), None);
        tree.insert(in_an_editors_group);
        assert!(!tree.gains(&a_process(60, 50, 50, 50)), "the editor's other server");
        assert!(tree.gains(&a_process(101, 100, 50, 50)), "a child");
        let leads_its_group = a_process(100, 50, 100, 50);
        let mut tree = Tree::new(OWN.beside(&leads_its_group), None);
        tree.insert(leads_its_group);
        assert!(tree.gains(&a_process(101, 1, 100, 50)));
        assert!(!tree.gains(&a_process(60, 50, 50, 50)));
    }

    #[test]
    fn lsp_soaks_own_group_and_session_say_nothing() {
        let mut tree = Tree::new(OWN, Some(100));
        tree.insert(a_process(100, 10, 10, 5));
        assert!(!tree.gains(&a_process(101, 1, 10, 5)));
    }
}
