//! The memory of the machine, and the part of it that the process may use.
//!
//! On Linux, control groups limit the memory of a process: its own group and all groups above it, in the
//! unified hierarchy (version 2) or in the hierarchy of the memory controller (version 1). On other systems,
//! the limits are unknown.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Number of bytes that are available to the process: the minimum of the machine's available memory and of
/// the memory left in each control group of the process. `None` if unknown.
pub(super) fn available() -> Option<usize> {
    meminfo("MemAvailable:").into_iter().chain(groups().iter().filter_map(Group::available)).min()
}

/// Minimum of the machine's memory and the limits of the process's control groups, in bytes; `None` if
/// unknown.
pub(super) fn physical() -> Option<usize> {
    meminfo("MemTotal:").into_iter().chain(groups().iter().filter_map(Group::limit)).min()
}

fn meminfo(key: &str) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map(|kib: usize| kib.saturating_mul(1024))
}

/// A control group, as a folder of files.
struct Group {
    folder: PathBuf,
    files: &'static Files,
}

/// File names of a control group.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// Key in `memory.stat` for the size of cached files in bytes. The system frees cached files when memory
    /// is needed.
    cache: &'static str,
}

static UNIFIED: Files = Files { limit: "memory.max", used: "memory.current", cache: "inactive_file " };
static CONTROLLER: Files =
    Files { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file " };

impl Group {
    /// The limit of the group; `None` for `max`, or for a number larger than any machine's memory.
    fn limit(&self) -> Option<usize> {
        self.number(self.files.limit).filter(|limit| *limit < 1 << 60)
    }

    fn available(&self) -> Option<usize> {
        let (limit, used) = (self.limit()?, self.number(self.files.used)?);
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let cache = stat.lines().find_map(|l| l.strip_prefix(self.files.cache)?.trim().parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
    }

    fn number(&self, file: &str) -> Option<usize> {
        std::fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

/// The control groups to which the process belonged at the first call.
fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let membership = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut groups = groups_of(&membership, Path::new("/sys/fs/cgroup"));
        groups.retain(|group| group.folder.join(group.files.limit).exists());
        groups
    })
}

/// The control groups of a process, innermost first. `membership` is the contents of `/proc/PID/cgroup`,
/// whose lines are `0::/a/b` for the unified hierarchy and `4:memory:/a/b` for controllers. `root` is the
/// mount point. A process in a container may see its own group as the root, so the root is always included.
fn groups_of(membership: &str, root: &Path) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, files) = match controllers {
            "" => (root.to_owned(), &UNIFIED),
            list if list.split(',').any(|c| c == "memory") => (root.join("memory"), &CONTROLLER),
            _ => continue,
        };
        // The path contains `..` if the group lies outside of the root of the control group namespace.
        let path = Path::new(path.trim_start_matches('/'));
        let inside = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        let path = if inside { path } else { Path::new("") };
        groups.extend(path.ancestors().map(|p| Group { folder: root.join(p), files }));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_the_process_and_all_above() {
        let folders = |membership: &str| -> Vec<String> {
            let groups = groups_of(membership, Path::new("/g"));
            groups.iter().map(|g| format!("{} {}", g.folder.display(), g.files.limit)).collect()
        };
        assert_eq!(folders("0::/a/b\n"), ["/g/a/b memory.max", "/g/a memory.max", "/g/ memory.max"]);
        assert_eq!(folders("0::/../x"), ["/g/ memory.max"]);
        assert_eq!(
            folders("5:cpu,memory:/a\n3:cpuset:/\n0::/\n"),
            ["/g/memory/a memory.limit_in_bytes", "/g/memory/ memory.limit_in_bytes", "/g/ memory.max"]
        );
        assert!(folders("nonsense\n::\n1").len() <= 1);
    }

    #[test]
    fn a_group_has_what_its_limit_leaves() {
        let folder = std::env::temp_dir().join(format!("farcall-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 5\ninactive_file 200\n");
        let group = Group { folder: folder.clone(), files: &UNIFIED };
        assert_eq!((group.limit(), group.available()), (Some(1000), Some(500)));
        write("memory.max", "max\n");
        assert_eq!((group.limit(), group.available()), (None, None));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
