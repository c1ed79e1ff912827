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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


class FileError(ValueError):
    """A file that cannot be used; the text is one line that says which and why.

    Advice that ends in a parameter is written for Python, ``give encoding='utf-16'``;
    :meth:`in_options` writes it for a command, ``give --encoding utf-16``.

    Examples
    --------
    >>> from robell.files import FileError, load_model
    >>> try:
    ...     load_model("nowhere.skops")
    ... except FileError as error:
    ...     print(error)
    nowhere.skops: there is no such file
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
    the earlier file stays as it was and no temporary file is left. A read-only file, a device and a
    pipe are never replaced; what goes to the null device is written there.
    """
    with _named_in_errors(path), _written_together([path]) as (temporary,):
        yield temporary


def write_together(contents: Mapping[Path, str | Callable[[Path], None]]) -> None:
    """Write several files, all of them whole or none: each a text, as UTF-8, or what writes it."""
    with _written_together(contents) as temporaries:
        for (path, content), temporary in zip(contents.items(), temporaries, strict=True):
            with _named_in_errors(path):
                if isinstance(content, str):
                    temporary.write_text(content, encoding="utf-8", newline="")
                else:
                    content(temporary)


@contextmanager
def _written_together(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Give temporary names beside the files, which get their own names once all are on the disk."""
    with ExitStack() as stack:
        halves = {}
        for path in paths:
            with _named_in_errors(path):
                check_output(path)
                halves[path] = target = Path(os.path.realpath(path))
                if target.is_file() or not target.exists():
                    hidden = f".{target.name[:100]}.{secrets.token_hex(4)}"
                    halves[path] = target.with_name(hidden)
                    stack.callback(_remove, halves[path])
        yield list(halves.values())
        complete = [path for path, temporary in halves.items() if temporary.is_file()]
        for path in complete:
            with _named_in_errors(path):
                with halves[path].open("rb+") as file:
                    os.fsync(file.fileno())
                with suppress(FileNotFoundError):  # the permissions of what is replaced
                    halves[path].chmod(Path(path).stat().st_mode & 0o7777)
        for path in complete:
            with _named_in_errors(path):
                os.replace(halves[path], os.path.realpath(path))


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


@contextmanager
def _named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of the system into one that names the file that was to be written."""
    try:
        yield
    except OSError as error:
        what = "no space is left" if error.errno == errno.ENOSPC else error.strerror or error
        raise FileError(f"{path}: cannot be written: {what}") from error


def check_output(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    is_ours: Callable[[Path], bool] | None = None,
) -> None:
    """Raise, before any work is done, where a result could not be written or would do harm.

    It must have a folder, must not be one of the files that are read, under whatever name, and must
    not be a read-only file, a device or a pipe; the null device is allowed. Given ``is_ours``, a
    file that is there may be replaced only if it is empty or an earlier result.
    """
    out, target = Path(path), Path(os.path.realpath(path))
    for folder in (out.parent, target.parent):  # a link may point into another folder
        if not folder.is_dir():
            raise FileError(f"{path}: there is no folder {folder}")
    if out.is_dir():
        raise FileError(f"{path}: is a folder")
    if not out.exists():
        return
    if not out.is_file() and not out.samefile(os.devnull):
        raise FileError(f"{path}: is a device or a pipe, not a file that could be replaced")
    for one in inputs:
        if out.is_file() and Path(one).exists() and out.samefile(one):
            raise FileError(f"{path}: is one of the files that are read; give another name")
    if out.is_file() and not (out.stat().st_mode & 0o222 and os.access(out, os.W_OK)):
        raise FileError(f"{path}: is read-only")
    if is_ours is not None and out.is_file() and out.stat().st_size and not is_ours(out):
        raise FileError(
            f"{path}: is there already and was not written by this command; give another name, or "
            "--force"
        )


def check_output_folder(path: str | os.PathLike[str], marks: Iterable[str]) -> None:
    """Raise where a folder of results is a file, or holds other files and none of the ``marks``."""
    out = Path(path)
    if not out.exists():
        return
    if not out.is_dir():
        raise FileError(f"{path}: is a file, and results are written to a folder")
    names = {one.name for one in out.iterdir() if not one.name.startswith(".")}
    if names and names.isdisjoint(marks):
        raise FileError(
            f"{path}: the folder holds other files and no earlier results, such as "
            f"{min(names)!r}; give another folder"
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
    with os.fdopen(pipe, "rb") as source, _named_in_errors(copy), copy.open("wb") as target:
        target.write(_first_bytes(path, pipe))
        os.set_blocking(pipe, True)
        shutil.copyfileobj(source, target)
    return copy


def _first_bytes(path: Path, pipe: int) -> bytes:
    """Wait for the first bytes of a pipe: as long as its writer likes, but not for a writer."""
    deadline, has_writer = time.monotonic() + PATIENCE, False
    while time.monotonic() < deadline or has_writer:
        select.select([pipe], [], [], 0.1)
        try:
            found = os.read(pipe, 1 << 16)
        except BlockingIOError:  # the other end is open, and silent
            has_writer = True
            continue
        if found or has_writer:
            return found
        time.sleep(0.01)
    raise FileError(f"{path}: nothing came through the pipe for {PATIENCE} seconds")


def lock_alone(file: int) -> bool:
    """Keep other processes from locking an open file; return False where one has done so.

    A killed process lets go of it. On a system without locks, two writers are the user's own care.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # others: no locks here
    return True


def file_state(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return size and time of a file, which a writer changes; None if it is gone."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def read_resource(package: str, name: str) -> str:
    """Read a text file that is part of the package."""
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


PATIENCE = 10  # seconds that a pipe may be without a writer
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(size: int | str) -> int:
    """Return a number of bytes, given as such or as ``"2GiB"`` (1024) or ``"500 MB"`` (1000)."""
    found = re.fullmatch(r"\s*(\d{1,20}(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(size).lower())
    if found is None or found[2] not in UNITS or float(found[1]) == 0:
        raise ValueError(f'memory must be a size such as "2GiB" or "500MB"; got {size!r}')
    return int(float(found[1]) * UNITS[found[2]])
