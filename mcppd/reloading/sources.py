"""Sources: reads a module's directory as it is on the disk now, or reuses what is known of it. Off the event loop."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.items import needs
from mcppd.core.manifest import parse_manifest
from mcppd.core.registry import Entry
from mcppd.core.yaml import read_yaml
from mcppd.reloading.contents import NOTHING, SOURCES_LIMIT, digest, read
from mcppd.reloading.links import trails
from mcppd.reloading.loaded import ENTRY, MANIFEST, Loaded, Look, is_same
from mcppd.reloading.patience import Patience, Unfinished, is_open_for_writing
from mcppd.reloading.readings import Readings
from mcppd.reloading.stamps import Stamp, differing, is_young, stamp
from mcppd.reloading.walks import (
    AGAIN,
    ENTRIES_LIMIT,
    SECONDS_LIMIT,
    Allowance,
    TooMuchError,
    matches,
    source_files,
)

FILES_LIMIT: Final = 2000
"""Source files of a module: each is looked at before a call."""
READ_TRIES: Final = 3
"""How often a file that changes while it is read is read again before the next pass has to do it."""


def load(
    directory: str,
    entry: Entry,
    known: Loaded | None,
    look: Look,
    readings: Readings | None = None,
    patience: Patience | None = None,
) -> Loaded:
    """Read a module's directory, or reuse what is known of it.

    With `patience` a save that looks unfinished is waited for, and meanwhile what is known holds; files that are
    ignored stay as they are known.
    """
    joined, ignored = look.joined.get(directory, frozenset()), look.ignored.get(directory, frozenset())
    if known is not None and _is_current(known, entry, joined, ignored):
        return known
    for _ in range(READ_TRIES):
        found = _read_directory(directory, entry, joined, look.youth)
        if not differing(found.stamps):
            break
    if known is not None and ignored:
        found.forget(ignored, known)
    if patience is not None and _is_unfinished(found, known, patience):
        return _waiting(found, known)
    loaded = found.loaded()
    if known is not None and is_same(known, loaded):
        return replace(loaded, manifest=known.manifest, fault=known.fault, offers=known.offers)
    return _with_manifest(loaded, readings)


def is_other_listing(loaded: Loaded) -> bool:
    """Whether other files lie in a module's directories than were read; where not, the places are noted as they are."""
    if loaded.again is not None:
        return True  # nobody knows what lies there
    places: dict[str, Stamp] = {}
    try:
        listing = {*_sources(loaded.directory, places, Allowance()), *_data_files(loaded.entry, places)}
    except (TooMuchError, FaultError):
        return True
    if listing != loaded.listing:
        return True
    if not is_young(places.values()):
        loaded.places.update((path, places[path]) for path in loaded.places.keys() & places.keys())
    return False


@dataclass(slots=True)
class _Found:
    """What lies in a directory, before any of it is understood."""

    directory: str
    entry: Entry
    fault: Fault | None
    youth: float
    stamps: dict[str, Stamp] = field(default_factory=dict)
    places: dict[str, Stamp] = field(default_factory=dict)
    globbed: frozenset[str] = frozenset()
    files: dict[str, bytes] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    listing: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    again: float | None = None

    @property
    def is_young(self) -> bool:
        """Whether something of it can't be believed yet."""
        # editors that move the old file away before they write the new one leave a moment without any
        required = (os.path.join(self.directory, name) for name in (MANIFEST, ENTRY))
        is_whole = all(path in self.files for path in required)
        each = self.stamps.values() if is_whole else (*self.stamps.values(), *self.places.values())
        return is_young(each, self.youth)

    def forget(self, ignored: frozenset[str], known: Loaded) -> None:
        """Let files be as they are known, whatever lies there now."""
        for path in ignored:
            self.stamps.pop(path, None)
            if path in known.files:
                self.files[path] = known.files[path]
            if path in known.data:
                self.data[path] = known.data[path]

    def loaded(self) -> Loaded:
        """The same as a reading whose manifest hasn't been looked at."""
        return Loaded(
            self.directory,
            self.entry,
            self.stamps,
            self.places,
            self.files,
            self.data,
            None,
            self.fault,
            self.is_young,
            links=trails(self.directory, (*self.stamps, *self.places)),
            globbed=self.globbed,
            listing=self.listing,
            folders=self.folders,
            again=self.again,
        )

    def cut(self, fault: Fault) -> None:
        """Note that there is more than may be looked at, and that it is to be tried again later."""
        self.fault = self.fault or fault
        self.again = time.monotonic() + AGAIN


def _is_current(known: Loaded, entry: Entry, joined: Iterable[str], ignored: frozenset[str]) -> bool:
    """Whether nothing on the disk has changed since a directory was read."""
    if known.entry != entry or known.is_young or not set(joined) - ignored <= known.stamps.keys():
        return False
    if known.again is not None and time.monotonic() > known.again:
        return False
    if not ignored.isdisjoint(known.stamps) or differing(known.stamps):
        return False
    return not differing(known.places) or not is_other_listing(known)


def _is_unfinished(found: _Found, known: Loaded | None, patience: Patience) -> bool:
    """Whether some of what lies there looks like the middle of a save that is still to be waited for.

    Where the directory itself is waited for, its files are as long, though the first of them went before it.
    """
    waits = [patience.waits(path, why, stamp) for path, why, stamp in _unfinished(found, known)]
    return any(waits) or (known is not None and patience.is_waited_for(found.directory))


def _unfinished(found: _Found, known: Loaded | None) -> Iterator[tuple[str, Unfinished, Stamp]]:
    files = known.files if known is not None else {}
    for path in files.keys() - found.files.keys():
        if found.stamps.get(path) is None:
            yield path, "gone", None
    for path, content in found.files.items():
        if content == files.get(path):
            continue
        if not content and path in files:
            yield path, "empty", None
        elif is_open_for_writing(path, found.stamps.get(path)):
            yield path, "open", found.stamps.get(path)
    for path, before in known.data.items() if known is not None else ():
        now = found.data.get(path)
        if now is None:
            yield path, "gone", None
        elif now == NOTHING != before:
            yield path, "empty", None


def _waiting(found: _Found, known: Loaded | None) -> Loaded:
    """What holds while a save is unfinished: what is known, to be looked at again soon."""
    if known is None:
        fault = Fault("it is still being written", found.directory)
        return replace(
            found.loaded(), files={}, data={}, fault=fault, is_young=True
        )  # none of it is known yet
    stamps = {path: found.stamps.get(path, stamp(path)) for path in (*known.stamps, *found.stamps)}
    return replace(known, stamps=stamps, places=found.places, is_young=True)


def _read_directory(directory: str, entry: Entry, joined: Iterable[str], youth: float) -> _Found:
    found = _Found(directory, entry, entry.fault, youth)
    sources, folders = _all_sources(found, joined)
    found.folders = frozenset(path for path in folders if path in found.places)
    size = 0
    for path in [os.path.join(directory, MANIFEST), *sources, *folders]:
        found.stamps[path] = stamp(path)
        size += (found.stamps[path] or (0, 0, 0, 0))[2]
        if size > SOURCES_LIMIT or len(found.stamps) > FILES_LIMIT:
            text = (
                f"the module has more than {FILES_LIMIT} source files or {SOURCES_LIMIT >> 20} MiB of them: "
                "move what isn't its code out of its directory"
            )
            found.fault = Fault(text, directory)
            break
        try:
            found.files[path] = read(path)
        except OSError as error:
            if path.endswith((MANIFEST, f"/{ENTRY}")):
                found.fault = found.fault or _unreadable(directory, path, error)
    globbed: dict[str, Stamp] = {}
    names: list[str] = []
    try:
        names = _data_files(entry, globbed)
    except FaultError as error:
        globbed.clear()
        found.cut(error.fault)
    found.data = {path: digest(path, found.stamps) for path in names}
    found.places |= globbed
    found.globbed = frozenset(globbed)
    found.listing = frozenset((*sources, *names))
    return found


def _with_manifest(loaded: Loaded, readings: Readings | None) -> Loaded:
    path = loaded.manifest_file
    if path not in loaded.files:
        return loaded
    reading = readings.recall(path, loaded.files[path]) if readings is not None else None
    try:
        manifest = reading.manifest if reading else parse_manifest(read_yaml(loaded.files[path], path))
    except FaultError as error:
        return replace(loaded, fault=loaded.fault or error.fault)
    fault = loaded.fault
    if fault is None and loaded.entry_file not in loaded.files:
        needed = " and ".join(f"`{each}`" for each in needs(manifest.tools, manifest.items))
        if needed:
            fault = Fault(
                f"there is no {ENTRY} beside {MANIFEST}: write it, with {needed} in it", loaded.directory
            )
    return replace(loaded, manifest=manifest, fault=fault, offers=reading.offers if reading else None)


def _all_sources(found: _Found, joined: Iterable[str]) -> tuple[list[str], list[str]]:
    """(what lies in a module's directory, what belongs to it from elsewhere); the least of a tree that is too large."""
    allowance = Allowance()
    try:
        sources = [*_sources(found.directory, found.places, allowance)]
        return sources, [*_with_folders(joined, found.places, allowance)]
    except TooMuchError:
        text = (
            f"there are more than {ENTRIES_LIMIT:,} files and directories in it, or looking through them takes longer "
            f"than {SECONDS_LIMIT:g} s: move what isn't its code out of its directory, or into one whose name begins "
            "with a dot"
        )
        found.cut(Fault(text, found.directory))
        found.places = {found.directory: stamp(found.directory)}
        return [os.path.join(found.directory, ENTRY)], []


def _sources(directory: str, places: dict[str, Stamp], allowance: Allowance) -> Iterator[str]:
    if not os.path.isdir(directory):
        places[directory] = stamp(directory)
        return
    entered: dict[str, Stamp] = {}  # as it was before it was looked into: what comes later makes it another
    for path, is_directory in source_files(
        directory, allowance, lambda path: entered.update({path: stamp(path)})
    ):
        if is_directory:
            places[path] = entered[path]
        else:
            yield path


def _with_folders(joined: Iterable[str], places: dict[str, Stamp], allowance: Allowance) -> Iterator[str]:
    """The files; a directory among them was looked for as a package, and its sources count."""
    for path in joined:
        if not os.path.isdir(path):
            yield path
            continue
        places[path] = stamp(path)
        yield path
        yield from sorted(matches(f"{glob.escape(path)}/*.py", allowance, lambda _: None))


def _data_files(entry: Entry, places: dict[str, Stamp]) -> list[str]:
    """What `watch:` names; every directory in which it may come to name more is noted in `places`.

    Raises FaultError where that is too much.
    """
    found: dict[str, None] = {}
    for pattern in entry.watch:
        try:
            named = sorted(matches(pattern, Allowance(), lambda path: places.setdefault(path, stamp(path))))
        except TooMuchError:
            raise FaultError(too_much(entry, f"`watch:` {pattern}")) from None
        found.update(dict.fromkeys(named))
    return [path for path in found if not os.path.isdir(path)]


def too_much(entry: Entry, what: str) -> Fault:
    """The fault of a glob that names, or leads through, more than may be looked at."""
    text = (
        f"{what} leads through more than {ENTRIES_LIMIT:,} files and directories, or takes longer than "
        f"{SECONDS_LIMIT:g} s: let it begin in a directory nearer to what is meant; it is tried again in a minute, and "
        "at `mcppd reload`"
    )
    return replace(entry.place, message=text)


def _unreadable(directory: str, path: str, error: OSError) -> Fault | None:
    """Why a file that a module needs wasn't read; None where it is the entry file's absence, which may be right."""
    if os.path.isdir(directory):
        if path.endswith(ENTRY) and isinstance(error, FileNotFoundError):
            return None
        return Fault(f"can't be read: {error.strerror}", path)
    what = "is not a directory" if os.path.exists(directory) else "does not exist"
    return Fault(f"{what}: a module's `path:` is the directory that holds its {MANIFEST}", directory)
