"""The loader: reads the registry and the modules' files as they are on the disk now. Runs off the event loop.

It decides nothing about what is served; it reuses what hasn't changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.registry import Entry, Registry, parse_registry
from mcppd.core.yaml import read_yaml
from mcppd.reloading.contents import read
from mcppd.reloading.links import trail
from mcppd.reloading.loaded import MANIFEST, Loaded, Look, Scan
from mcppd.reloading.patience import Patience, is_open_for_writing
from mcppd.reloading.readings import Readings
from mcppd.reloading.sources import load, too_much
from mcppd.reloading.stamps import YOUNG, Stamp, is_young, stamp
from mcppd.reloading.walks import AGAIN, Allowance, TooMuchError, matches


class Loader:
    """Reads one registry and its modules."""

    def __init__(
        self,
        path: str,
        environ: Mapping[str, str],
        preferred: str | None = None,
        readings: Readings | None = None,
    ) -> None:
        """`preferred` is read instead of `path` as soon as it is there: the person's own over the bundled one."""
        self.path = path
        self._readings = readings
        self._preferred = preferred
        self._environ = environ
        self._patience = Patience()
        self._too_wide: dict[
            str, float
        ] = {}  # globs that lead through too much, and when they are tried again
        self._is_forgiving = False

    def check_registry(self) -> None:
        """Raise FaultError if there is no registry that can be read."""
        fault = self._registry(Scan(), YOUNG).fault
        if fault is not None:
            raise FaultError(fault)

    def forgive(self) -> None:
        """Try at the next scan what was too much to be looked at."""
        self._is_forgiving = True

    def scan(self, before: Scan, look: Look) -> Scan:
        """Read what is new since `before`."""
        self._patience.next_scan()
        if self._is_forgiving:
            self._is_forgiving, self._too_wide = False, {}
            before = replace(before, modules=tuple(map(_without_delay, before.modules)))
        scan = self._registry(before, look.youth)
        if look.only is not None and not scan.has_young_registry:
            some = look.only | {loaded.directory for loaded in before.modules if loaded.is_young}
            if _has_same_modules(before, scan, some):
                return self._some(scan, look, some)
        return self._all(scan, before, look)

    def _some(self, scan: Scan, look: Look, some: frozenset[str]) -> Scan:
        """A scan in which only some modules were looked at."""
        modules = tuple(
            load(loaded.directory, loaded.entry, loaded, look, self._readings, self._patience)
            if loaded.directory in some
            else loaded
            for loaded in scan.modules
        )
        return _grown(replace(scan, modules=modules), look.youth)

    def _all(self, scan: Scan, before: Scan, look: Look) -> Scan:
        entries = scan.registry.entries if scan.registry is not None else ()
        known = {loaded.directory: loaded for loaded in before.modules}
        places: dict[str, Stamp] = {}
        modules: dict[str, Loaded | None] = {}  # None: claimed by an entry that is not enabled
        warnings: list[Fault] = []
        named = {
            entry.path for entry in entries if not entry.is_glob
        }  # its own entry holds, wherever it stands
        for entry in entries:
            for directory in self._directories(entry, entries, known, places, warnings):
                if directory in modules or (entry.is_glob and directory in named):
                    continue
                modules[directory] = (
                    load(directory, entry, known.get(directory), look, self._readings, self._patience)
                    if entry.enabled
                    else None
                )
        found = tuple(loaded for loaded in modules.values() if loaded is not None)
        return _grown(replace(scan, places=places, modules=found, warnings=tuple(warnings)), look.youth)

    def _registry(self, before: Scan, youth: float) -> Scan:
        """A scan of the registry alone; the former one, with the fault, where it can't be read now."""
        seen = self._stamps()
        young = is_young(seen.values(), youth)
        if before.registry is not None and before.stamps == seen and not before.has_young_registry:
            return replace(before, has_young_registry=young)
        links = frozenset(trail(self.path))
        scan = Scan(before.registry, before.fault, seen, links=links, has_young_registry=young)
        try:
            content = read(self.path)
            if before.registry is not None and self._is_unfinished(content, before.registry):
                return replace(scan, has_young_registry=True)
            registry = self._parsed(content)
        except OSError as error:
            if before.registry is not None and self._patience.waits(self.path, "gone"):
                return replace(scan, has_young_registry=True)
            return replace(scan, fault=Fault(f"can't be read: {error.strerror}", self.path))
        except FaultError as error:
            return scan if before.registry is not None and young else replace(scan, fault=error.fault)
        return replace(scan, registry=registry, fault=None)

    def _is_unfinished(self, content: bytes, served: Registry) -> bool:
        """Whether the registry looks like the middle of a save that is still to be waited for."""
        if not content.strip() and served.entries:
            return self._patience.waits(self.path, "empty")
        found = stamp(self.path)
        return is_open_for_writing(self.path, found) and self._patience.waits(self.path, "open", found)

    def _parsed(self, content: bytes) -> Registry:
        """Raises FaultError."""
        directory = self._environ.get("MCPP_BASE_DIR") or os.path.dirname(self.path)
        home = os.path.expanduser("~")
        document = read_yaml(content, self.path)
        return _with_common_options(
            parse_registry(document, directory=directory, environ=self._environ, home=home)
        )

    def _stamps(self) -> dict[str, Stamp]:
        """The stamps that tell whether the registry has changed; the preferred one takes over here."""
        if self._preferred is not None and stamp(self._preferred) is not None:
            self.path, self._preferred = self._preferred, None
        paths = [self.path] if self._preferred is None else [self.path, self._preferred]
        return {path: stamp(path) for path in paths}

    def _directories(
        self,
        entry: Entry,
        entries: Iterable[Entry],
        known: Mapping[str, Loaded],
        places: dict[str, Stamp],
        warnings: list[Fault],
    ) -> Iterator[str]:
        """The module directories an entry names; looked-into directories are noted in `places`."""
        if not entry.is_glob:
            found = [entry.path]
        elif (globbed := self._globbed(entry.path, places)) is not None:
            found = sorted([*globbed, *self._gone_for_a_moment(entry, globbed, known)])
        else:
            warnings.append(too_much(entry, f"`path:` {entry.path}"))
            found = sorted(self._still_there(entry, entries, known))
        for path in found:
            if os.path.basename(path).startswith("_"):
                warnings.append(Fault(f"{path} is ignored: its name begins with _ (a template)"))
            else:
                yield path

    def _globbed(self, pattern: str, places: dict[str, Stamp]) -> list[str] | None:
        """The module directories that a glob names; None where it leads through too much."""
        if time.monotonic() < self._too_wide.get(pattern, 0.0):
            return None
        noted: dict[str, Stamp] = {}
        try:
            found = [*_globbed(pattern, noted)]
        except TooMuchError:
            self._too_wide[pattern] = time.monotonic() + AGAIN
            return None
        places.update(noted)
        return found

    def _still_there(
        self, entry: Entry, entries: Iterable[Entry], known: Mapping[str, Loaded]
    ) -> Iterator[str]:
        """The directories that are served, by a glob that leads through too much now or by one it took the place of."""
        for path, loaded in known.items():
            is_its_own = loaded.entry == entry or loaded.entry not in entries
            if is_its_own and (_has_manifest(path) or self._patience.waits(path, "gone")):
                yield path

    def _gone_for_a_moment(
        self, entry: Entry, found: Iterable[str], known: Mapping[str, Loaded]
    ) -> Iterator[str]:
        """The directories of a glob that have just lost their manifest, and may get it again.

        One whose manifest lies in a new directory now was renamed.
        """
        there = frozenset(found)
        gone = [path for path, loaded in known.items() if loaded.entry == entry and path not in there]
        new = [os.path.join(path, MANIFEST) for path in there - known.keys()] if gone else []
        moved = {read(path) for path in new if os.path.isfile(path)}
        for path in gone:
            manifest = known[path].files.get(known[path].manifest_file)
            if manifest not in moved and self._patience.waits(path, "gone"):
                yield path


def _grown(scan: Scan, youth: float) -> Scan:
    """The scan, with how much of it can't be believed yet."""
    has_young_places = is_young(scan.places.values(), youth)
    young = scan.has_young_registry or has_young_places or any(loaded.is_young for loaded in scan.modules)
    return replace(scan, is_young=young, has_young_places=has_young_places)


def _has_same_modules(before: Scan, scan: Scan, some: frozenset[str]) -> bool:
    """Whether the registry names just the modules that it named before, as far as these tell."""
    known = {loaded.directory for loaded in before.modules}
    return scan.registry is before.registry and some <= known and all(map(_has_manifest, some))


def _with_common_options(registry: Registry) -> Registry:
    """The registry with what holds for all modules in each entry."""
    entries = (
        replace(
            entry,
            env={**registry.env, **entry.env},
            pass_env=tuple(dict.fromkeys((*registry.pass_env, *entry.pass_env))),
        )
        for entry in registry.entries
    )
    return replace(registry, entries=tuple(entries))


def _globbed(pattern: str, places: dict[str, Stamp]) -> Iterator[str]:
    """The module directories that a glob names; those that may become one, or hold one, are noted in `places`.

    Raises TooMuchError.
    """
    for directory in matches(pattern, Allowance(), lambda path: places.setdefault(path, stamp(path))):
        if os.path.basename(directory).startswith((".", "_")):
            continue  # `_` is for templates, which are expected there
        if _has_manifest(directory):
            yield directory
        elif os.path.isdir(directory):
            places[directory] = stamp(directory)
            if _has_manifest(directory):  # it came before the stamp was taken
                yield directory


def _without_delay(loaded: Loaded) -> Loaded:
    """The same, to be tried again at once where it was too much to be looked at."""
    return loaded if loaded.again is None else replace(loaded, again=0.0)


def _has_manifest(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, MANIFEST))
