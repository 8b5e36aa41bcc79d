//! Where things are, and how other programs are started.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The workspace's own directory.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Where cargo builds: `CARGO_TARGET_DIR`, or `target` in the workspace.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |directory| root().join(directory))
}

/// Whether this is a run that nobody watches, where a skipped check is a failed one.
pub(crate) fn unattended() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}

/// `program` in the workspace's directory.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(args);
    cargo
}

/// Builds the benches and says where their program is.
pub(crate) fn benches() -> Result<PathBuf> {
    let arguments = ["bench", "--package", "tollgate-benches", "--bench", "peers", "--no-run"];
    let messages = output(cargo(arguments).args(["--message-format", "json"]))?;
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let program = |value: serde_json::Value| Some(PathBuf::from(value.get("executable")?.as_str()?));
    messages.lines().filter_map(message).filter_map(program).next_back().context("cargo built no benches")
}

/// Runs a command, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command for what it prints; its complaints matter only if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        let complaints = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}\n{}", shown(command), output.status, complaints.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed no text", shown(command)))
}

/// A command as one would type it: the variables set for it, its name and its arguments.
pub(crate) fn shown(command: &Command) -> String {
    let variables =
        command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let program = Path::new(command.get_program()).file_name().unwrap_or_else(|| command.get_program());
    let words = core::iter::once(quoted(program)).chain(command.get_args().map(quoted));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains([' ', '*', '"', '$']) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = cargo(["test", "--test", "loom_*"]);
        command.env("RUSTFLAGS", "--cfg tollgate_loom");
        let text = shown(&command);
        assert!(text.starts_with("RUSTFLAGS='--cfg tollgate_loom' cargo"), "{text}");
        assert!(text.ends_with("test --test 'loom_*'"), "{text}");
    }
}
