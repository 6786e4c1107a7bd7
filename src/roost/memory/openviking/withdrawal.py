"""Takes back what a session left in OpenViking's memory, where nothing has touched it since."""

import msgspec

from roost.memory.openviking.http import Viking, failed

_CONTENT = "/api/v1/content"
FILES = "/api/v1/fs"


class _Change(msgspec.Struct, frozen=True):
    uri: str
    after: str = ""
    before: str = ""


class _Operations(msgspec.Struct, frozen=True):
    adds: tuple[_Change, ...] = ()
    updates: tuple[_Change, ...] = ()


class _Diff(msgspec.Struct, frozen=True):
    operations: _Operations = _Operations()


class Withdrawal:
    """Of one user. OpenViking merges what it learns into files of Markdown, and keeps with each
    commit what that changed. A file that still reads as the commit left it is put back as it was;
    one that was changed since holds more than this session's, and stays."""

    def __init__(self, viking: Viking, user: str) -> None:
        self._viking = viking
        self._user = user

    async def undo(self, session_uri: str) -> None:
        """Everything that the commit of a session changed; again changes nothing more."""
        written = await self._read(f"{session_uri}/history/archive_001/memory_diff.json")
        if written is None:
            return
        try:
            changes = msgspec.json.decode(written, type=_Diff).operations
        except msgspec.DecodeError as error:
            raise failed("its record of what a session changed can't be read") from error
        for change in changes.adds:
            if await self._is_untouched(change):
                await self.remove(change.uri)
        for change in changes.updates:
            if await self._is_untouched(change):
                await self._write(change.uri, change.before)

    async def remove(self, uri: str) -> None:
        await self._viking.ask("DELETE", FILES, object, user=self._user, query={"uri": uri})

    async def _is_untouched(self, change: _Change) -> bool:
        text = await self._read(change.uri)
        return text is not None and text.strip() == change.after.strip()

    async def _read(self, uri: str) -> str | None:
        query = {"uri": uri}
        return await self._viking.ask("GET", f"{_CONTENT}/read", str, user=self._user, query=query)

    async def _write(self, uri: str, text: str) -> None:
        body = {"uri": uri, "content": text, "mode": "replace"}
        await self._viking.ask("POST", f"{_CONTENT}/write", object, user=self._user, body=body)
