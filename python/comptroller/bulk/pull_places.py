"""The places at which the next pulls begin, in a file beside the target store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from comptroller.bulk.files import refuse_open_store, whole_file
from comptroller.bulk.loading import LoadResult
from comptroller.decoding import NOT_JSON
from comptroller.errors import Error, unusable

if TYPE_CHECKING:
    from comptroller.service import Service

_SUFFIX = ".pulled"


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the next pull of a kind begins.

    Attributes:
        after: the place in the change feed; None if the service has no feed for the caller.
        page: the page of the list, if a pull that read all records was interrupted.
        again: the ids of records that were rejected.
    """

    after: str | None = None
    page: str | None = None
    again: tuple[str, ...] = ()


class Places:
    """The places of the next pulls, by kind and source, in a file beside the target store.

    Raises Unusable if the file cannot be used. A store in memory and a database without a state
    folder have no such file, and a source without a name has no place. Until version 0.2.0 the file
    had times, which are ignored.
    """

    def __init__(self, target: Service, kind: str, source: str | None) -> None:
        path = target.host.secrets_base
        self._store = None if path is None else Path(path)
        self._path = None if path is None else Path(path + _SUFFIX)
        self._kind = kind
        self._source = source
        if not getattr(target, kind.replace("-", "_")).list(limit=1).items:
            # The places belong to an earlier store of the same name.
            self._write({name: of for name, of in self._read().items() if name != kind})

    def read(self) -> Place | None:
        """Returns the place at which the next pull begins; None to read all records."""
        if self._source is None:
            return None
        place = self._read().get(self._kind, {}).get(self._source)
        return place if isinstance(place, Place) else None

    def save(self, place: Place, result: LoadResult) -> None:
        """Saves the place after a load. An Error that it raises has `load_result`."""
        if self._source is None:
            return
        rejected = [each.id for each in result.rejections]
        again = tuple(dict.fromkeys((*place.again, *(id for id in rejected if id is not None))))
        # A balance has no id by which it could be read again.
        is_named = len(rejected) == result.rejected and None not in rejected
        is_complete = not rejected or (is_named and self._kind != "balances")
        is_used = is_complete and (place.after is not None or place.page is not None)
        try:
            places = self._read()
            of_kind = places.setdefault(self._kind, {})
            of_kind.pop(self._source, None)
            if is_used:
                of_kind[self._source] = msgspec.structs.replace(place, again=again)
            self._write(places)
        except Error as error:
            vars(error)["load_result"] = result
            raise

    def _read(self) -> dict[str, dict[str, Place | str]]:
        if self._path is None or not self._path.exists():
            return {}
        refuse_open_store("target", self._path)
        try:
            return msgspec.json.decode(
                self._path.read_bytes(), type=dict[str, dict[str, Place | str]]
            )
        except (OSError, *NOT_JSON) as error:
            raise unusable(
                f"{self._path} cannot be used: {error}; remove it to read all records again"
            ) from error

    def _write(self, places: dict[str, dict[str, Place | str]]) -> None:
        if self._path is not None and places != self._read():
            with whole_file(self._path, store=self._store) as part:
                part.write_bytes(msgspec.json.format(msgspec.json.encode(places)))
