"""Files of users: what is wrong with one, said in one line; and files written whole."""

from __future__ import annotations

import errno
import importlib.resources
import os
import re
import secrets
import select
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class FileError(ValueError):
    """A file that cannot be used; the text is one line that says which and why.

    Advice that ends in a parameter is written for Python, ``give encoding='utf-16'``;
    :meth:`in_options` writes it for a command, ``give --encoding utf-16``.
    """

    def __init__(self, text: str, parameter: str = "", value: str = "") -> None:
        self.parts = text, parameter, value
        written = f"{parameter}={value!r}" if value else f"{parameter}="
        super().__init__(f"{text} {written}" if parameter else text)

    def in_options(self, **names: str) -> FileError:
        """Return the error as a command says it; ``names`` are options called otherwise."""
        text, parameter, value = self.parts
        if not parameter:
            return self
        return FileError(f"{text} --{names.get(parameter, parameter)} {value}".rstrip())


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name to write to; the file gets its own name once it is complete.

    A link is followed, and a file that is replaced passes its permissions on. Whatever goes wrong,
    the earlier file stays as it was and no temporary file is left. A device or a pipe is never
    replaced: what goes to the null device is written there, any other is refused.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        check_output(path)
        yield target
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except OSError as error:
        what = "no space is left" if error.errno == errno.ENOSPC else error.strerror or error
        raise FileError(f"{path}: cannot be written: {what}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_output(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    is_ours: Callable[[Path], bool] | None = None,
) -> None:
    """Raise, before any work is done, where a result could not be written or would do harm.

    It must have a folder, must not be one of the files that are read, under whatever name, and must
    not be a device or a pipe; the null device is allowed. Given ``is_ours``, a file that is there
    may be replaced only if it is empty or an earlier result.
    """
    out = Path(path)
    if not out.parent.is_dir():
        raise FileError(f"{path}: there is no folder {out.parent}")
    if out.is_dir():
        raise FileError(f"{path}: is a folder")
    if not out.exists():
        return
    if not out.is_file() and not out.samefile(os.devnull):
        raise FileError(f"{path}: is a device or a pipe, not a file that could be replaced")
    for one in inputs:
        if Path(one).exists() and out.samefile(one):
            raise FileError(f"{path}: is one of the files that are read; give another name")
    if out.is_file() and not out.stat().st_mode & 0o222:
        raise FileError(f"{path}: is read-only")
    if is_ours is not None and out.is_file() and out.stat().st_size and not is_ours(out):
        raise FileError(
            f"{path}: is there already and was not written by this command; give another name, or "
            "--force"
        )


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file whole or not at all, text as UTF-8; its folder is made when missing."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from error
    with written_whole(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def copy_pipe(path: Path, copy: Path) -> Path:
    """Write what comes through a pipe to a file, which can be read more than once."""
    # A pipe that nobody has opened for writing would keep the usual open waiting for ever.
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(pipe, "rb") as source, copy.open("wb") as target:
        deadline = time.monotonic() + PATIENCE
        while not select.select([source], [], [], 0.1)[0] or not (first := _some_bytes(pipe)):
            if time.monotonic() > deadline:
                raise FileError(f"{path}: nothing came through the pipe for {PATIENCE} seconds")
            time.sleep(0.01)
        target.write(first)
        os.set_blocking(pipe, True)
        shutil.copyfileobj(source, target)
    return copy


def _some_bytes(pipe: int) -> bytes:
    """Return what is in a pipe, nothing where nobody has written to it yet."""
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def read_resource(package: str, name: str) -> str:
    """Read a text file that is part of the package."""
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


PATIENCE = 10  # seconds that a pipe may stay empty before anything comes
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(size: int | str) -> int:
    """Return a number of bytes, given as such or as ``"2GiB"`` (1024) or ``"500 MB"`` (1000)."""
    found = re.fullmatch(r"\s*(\d{1,20}(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(size).lower())
    if found is None or found[2] not in UNITS or float(found[1]) == 0:
        raise ValueError(f'memory must be a size such as "2GiB" or "500MB"; got {size!r}')
    return int(float(found[1]) * UNITS[found[2]])
