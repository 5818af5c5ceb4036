"""Who can read what an oracle keeps: users of this machine, files, and the process itself.

An answer tells little only to whom the labels are closed. So the oracle says plainly who can read
them, or, if told to, starts only where the agent can't.
"""

import codecs
import ctypes
import grp
import os
import pwd
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.errors import Failure

NOBODY: Final = "nobody"
_CODECS: Final = ("ascii", "cp437", "cp1252", "latin-1", "utf-8-sig", "utf-16", "utf-32", "idna")
_PR_SET_DUMPABLE: Final = 4
_CREDENTIALS: Final = "3i"  # struct ucred: pid, uid, gid
_ACL: Final = "system.posix_acl_access"


@dataclass(frozen=True)
class User:
    """A user of this machine, with all groups."""

    uid: int
    gid: int
    name: str
    groups: frozenset[int]

    @classmethod
    def find(cls, text: str) -> "User":
        """Return the user of a name or a number. Raises Failure."""
        try:
            return cls.of(pwd.getpwuid(int(text)) if text.isdecimal() else pwd.getpwnam(text))
        except KeyError:
            if text.isdecimal():  # a container's users need no name
                return cls(int(text), int(text), text, frozenset({int(text)}))
            raise Failure(f"This machine has no user {text!r}.") from None

    @classmethod
    def of(cls, entry: pwd.struct_passwd) -> "User":
        groups = frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return cls(entry.pw_uid, entry.pw_gid, entry.pw_name, groups)

    @property
    def group_name(self) -> str:
        with suppress(KeyError):
            return grp.getgrgid(self.gid).gr_name
        return str(self.gid)


@dataclass(frozen=True)
class _Guarded:
    """A file, or a folder above it, by owner, group and mode."""

    uid: int
    gid: int
    mode: int
    has_acl: bool

    @classmethod
    def look(cls, path: Path) -> "_Guarded":
        found = path.stat()
        try:
            has_acl = _ACL in os.listxattr(path)
        except (OSError, AttributeError):
            has_acl = False
        return cls(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode), has_acl)

    def allows(self, user: User, bit: int) -> bool:
        """Return whether the user has a permission, of 4 to read and 1 to go through.

        Where an access list is set, group bits are its mask: it may name anybody.
        """
        if user.uid == self.uid:
            return bool(self.mode >> 6 & bit)
        if self.gid in user.groups or self.has_acl:
            return bool(self.mode >> 3 & bit)
        return bool(self.mode & bit)


@dataclass(frozen=True)
class Closed:
    """Files as they were when the oracle could still look at them: who can read any."""

    files: tuple[tuple[Path, tuple[_Guarded, ...]], ...]

    @classmethod
    def look(cls, paths: Iterable[Path]) -> "Closed":
        """Look at files and all folders above them."""
        return cls(
            tuple(
                (path, tuple(map(_Guarded.look, (real, *real.parents))))
                for path in paths
                for real in (path.resolve(),)
            )
        )

    def readable_by(self, user: User) -> Iterator[Path]:
        """Yield the files that a user can read; root reads all, and whoever owns one can."""
        for path, (file, *folders) in self.files:
            owns = file.uid == user.uid
            reaches = all(folder.allows(user, 1) for folder in folders)
            if user.uid == 0 or (reaches and (owns or file.allows(user, 4))):
                yield path


def closed_folder(path: Path, user: User) -> Path | None:
    """Return the folder above a path that a user can't go through; None where there is none."""
    above = path.resolve().parents
    return next((each for each in above if not _Guarded.look(each).allows(user, 1)), None)


def starter() -> User:
    """Return who started this process; behind sudo, who ran that."""
    if os.geteuid() == 0 and (uid := os.environ.get("SUDO_UID", "")).isdecimal():
        return User.find(uid)
    return User.find(str(os.getuid()))


def become(user: User) -> None:
    """Give up root for good: groups first, as nobody else can, then group and user.

    Python itself may lie where the user can't read: what is loaded only when some file needs it is
    loaded before.
    """
    for each in _CODECS:
        codecs.lookup(each)
    os.setgroups([])
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)


def hide_memory() -> None:
    """Keep other processes of this user from reading this one's memory, where the system can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def peer(connection: socket.socket) -> int | None:
    """Return the user at the other end of a local socket; None where the system doesn't say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if connection.family != socket.AF_UNIX or option is None:
        return None
    found = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize(_CREDENTIALS))
    return int(struct.unpack(_CREDENTIALS, found)[1])
