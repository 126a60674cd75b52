//! Packs the bundled releases into the binary, so that it runs from anywhere without a checkout.

use std::{
    env, fs,
    io::Error,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases");
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| Error::other("no OUT_DIR"))?);
    let mut archive = tar::Builder::new(fs::File::create(out.join("releases.tar"))?);
    // Equal sources give equal bytes: no times, no owners, order of names.
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    pack(&mut archive, &root, Path::new(""))?;
    archive.finish()
}

fn pack(archive: &mut tar::Builder<fs::File>, root: &Path, below: &Path) -> Result<(), Error> {
    let mut names: Vec<_> = fs::read_dir(root.join(below))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for name in names {
        let inner = below.join(name);
        if root.join(&inner).symlink_metadata()?.is_dir() {
            pack(archive, root, &inner)?;
        } else {
            archive.append_path_with_name(root.join(&inner), &inner)?;
        }
    }
    Ok(())
}
