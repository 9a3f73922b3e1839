//! `forklore completions`

use std::process::ExitCode;

use clap_complete::Shell;

use forklore_api::Failure;

/// Print a script that lets a shell complete Forklore's commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore completions bash > ~/.local/share/bash-completion/completions/forklore
  forklore completions zsh > ~/.zfunc/_forklore
  forklore completions fish > ~/.config/fish/completions/forklore.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut all: clap::Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut all, "forklore", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(ExitCode::SUCCESS)
}
