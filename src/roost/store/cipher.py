"""Seals secrets at rest with a key that is not in the database."""

import base64
import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from roost.core.errors import ConfigError, StoreError
from roost.store.folder import KEY, is_there, sync_folder, unusable

VARIABLE = "ROOST_SECRET_KEY"
_NONCE = 12


class Cipher:
    def __init__(self, key: bytes) -> None:
        self._key = key
        self._box = ChaCha20Poly1305(key)

    def seal(self, value: str, *, owner: str, name: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._box.encrypt(nonce, value.encode(), _context(owner, name))

    def open(self, sealed: bytes, *, owner: str, name: str) -> str:
        try:
            plain = self._box.decrypt(sealed[:_NONCE], sealed[_NONCE:], _context(owner, name))
        except InvalidTag as error:
            raise StoreError(
                f"the secret {name!r} was sealed with another key. Put back the key it was sealed "
                "with, or enter the secret again."
            ) from error
        return plain.decode()

    @property
    def signing_key(self) -> bytes:
        """For configuration signatures: as stable as the key, and of no use to unseal anything."""
        return hashlib.blake2b(b"signatures", key=self._key, digest_size=32).digest()


def _context(owner: str, name: str) -> bytes:
    # Bound to where it stands: a sealed value copied to another row does not open.
    return f"{owner}\x00{name}".encode()


def has_key(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether there is one, for those who only look: `load_key` would make it."""
    return bool(environ.get(VARIABLE)) or is_there(folder / KEY)


def load_key(folder: Path, environ: Mapping[str, str]) -> bytes:
    """The key from the environment, else from its file, which is made on first use."""
    path = folder / KEY
    try:
        if not environ.get(VARIABLE):
            if not path.exists():
                _create(path)
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError as error:
        raise unusable(path, error) from error
    return read_key(folder, environ)


def read_key(folder: Path, environ: Mapping[str, str]) -> bytes:
    """The key that is there already; nothing is changed."""
    if given := environ.get(VARIABLE):
        return _decode(given, VARIABLE)
    path = folder / KEY
    try:
        return _decode(path.read_text(errors="replace"), str(path))
    except OSError as error:
        raise unusable(path, error) from error


def _decode(text: str, source: str) -> bytes:
    with contextlib.suppress(ValueError):
        key = base64.b64decode(text.strip(), validate=True)
        if len(key) == 32:
            return key
    raise ConfigError(f"{source}: expected a key of 32 bytes in base64.")


def _create(path: Path) -> None:
    """Durable before its first use: what is sealed with a lost key is lost."""
    draft = path.with_suffix(".new")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, base64.b64encode(secrets.token_bytes(32)) + b"\n")
        os.fsync(file)
    finally:
        os.close(file)
    draft.rename(path)
    sync_folder(path.parent)
