"""`python tools/system_packages.py`: install what the tests need of the system, where possible.

Root on a machine with apt gets what is missing. Anyone else goes without: tests that need it are
skipped and say why.
"""

import os
import shutil
import subprocess
import sys

PROGRAMS = {"bwrap": "bubblewrap", "chromium": "chromium"}
"""Each with the package that has it."""


def main() -> None:
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if missing and (os.geteuid() != 0 or not shutil.which("apt-get")):
        print(f"Tests that need {' or '.join(missing)} are skipped. Install it to run them too.")
        return
    for package in missing:
        print(f"Installing {package}")
        if not _installed(package):
            print(f"{package} can't be installed: tests that need it are skipped.", file=sys.stderr)


def _installed(package: str) -> bool:
    """The lists that are there are tried first: to fetch them takes longer than anything else."""
    install = ["install", "-y", "-qq", "--no-install-recommends", package]
    return _apt(*install) or (_apt("update", "-qq") and _apt(*install))


def _apt(*arguments: str) -> bool:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", *arguments]
    try:
        ran = subprocess.run(command, env=environ, capture_output=True, check=False, timeout=600)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


if __name__ == "__main__":
    main()
