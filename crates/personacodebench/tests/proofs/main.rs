//! Proofs through the real binary: what a run leaves on disk, survives and says, as a user meets it.

mod agents;
mod bench;
mod browser;
mod calibrate;
mod cheats;
mod config_and_options;
mod containers;
mod derived_files;
mod disk_full;
mod docker;
mod exit_codes;
mod first_hour;
mod golden_run;
mod harbor_export;
mod harbor_tasks;
mod kill_and_resume;
mod models;
mod ordinary_user;
mod page;
mod published;
mod regrade;
mod schemas;
mod services;
mod signals;
mod steps;
mod terminal_safety;
