"""What a workspace has to say of the one that its session had before."""

from pathlib import Path

from roost.workspace.place import Trace


def moved_from(server: str, files: Path) -> Trace:
    """Of a workspace that comes after one that another server had. `files` are what it has."""
    older = (
        " Files that are here are from before." if files.is_dir() and any(files.iterdir()) else ""
    )
    said = (
        f"The server {server} had the workspace of this session and is not there any more: its "
        f"files, shell and processes are out of reach. This is another workspace.{older}"
    )
    return Trace(news=said, moved=True)


def following(trace: Trace | None) -> Trace:
    """What the next workspace begins with. That its files are others goes before all that was lost
    since: nobody would look for them again."""
    if trace is None:
        return Trace()
    lost = lost_with(trace.shell, trace.processes)
    if trace.moved or not lost:
        return Trace(news=trace.news, moved=trace.moved)
    why = f": {trace.why}" if trace.why else " when Roost restarted"
    return Trace(news=f"{lost} ended{why}. Files are kept.")


def lost_with(shell: bool, processes: int) -> str:
    """What ends with a workspace, in words."""
    several = "1 process" if processes == 1 else f"{processes} processes"
    if shell:
        return f"The earlier shell and {several}" if processes else "The earlier shell"
    return f"{several} that ran earlier" if processes else ""
