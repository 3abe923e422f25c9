"""The asyncio client of a remote service."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, Unpack

import msgspec

from comptroller.arguments import Filter
from comptroller.async_operations import AsyncResources
from comptroller.async_operations.changes import AsyncChanges
from comptroller.async_operations.journal import AsyncJournal
from comptroller.async_operations.webhooks import AsyncWebhookOperations
from comptroller.bulk.exported import Exported
from comptroller.bulk.loading import LoadResult
from comptroller.bulk.mapping import Options
from comptroller.bulk.sources import LoadSource
from comptroller.bulk.streams import Stream
from comptroller.display.progress import Progress
from comptroller.remote.async_channel import AsyncChannel
from comptroller.remote.calls import Calls, Parameters
from comptroller.remote.host import RemoteHost
from comptroller.remote.session import Session
from comptroller.service import Service

R = TypeVar("R")


class AsyncHost(Calls):
    """Executes operations and streams of a remote service on an event loop."""

    def __init__(self, session: Session, channel: AsyncChannel) -> None:
        super().__init__(session)
        self._channel = channel
        #: The same service, for code in `AsyncChannel.in_thread`.
        self.blocking = RemoteHost(session)

    async def stream(self, kind: str, columns: list[str] | None, parameters: Parameters) -> Stream:
        """Returns a copy of all records of a kind that match the filters, as columns."""
        return await self._channel.in_thread(
            partial(self.blocking.stream, kind, columns, parameters)
        )


class AsyncService(AsyncResources):
    """A remote service for asyncio, made by :func:`comptroller.connect_async`.

    The resources have the methods of those of :class:`comptroller.Service`, as coroutines; `iter`
    is for ``async for``. All tasks of one event loop may share an instance.

    Streams, `load`, `load_all`, `export` and `run_sync` work in a thread of their own, so the event
    loop is never blocked. Cancelling their task cancels the request in flight, and ends the task
    once the thread has ended. The thread first finishes what it does between requests, such as
    reading the next row of a source, or a query of a report. Cancelling the task again ends it at
    once; the thread then ends at its next request. A cancelled load may have been stored; a
    cancelled export leaves an existing file unchanged.
    """

    def __init__(self, session: Session, channel: AsyncChannel) -> None:
        host = AsyncHost(session, channel)
        super().__init__(host)
        self._host = host
        self._channel = channel
        self._title = session.base_url
        self._service = Service(host.blocking, session.base_url)

    @property
    def changes(self) -> AsyncChanges:
        """The changes of all records, in order of commit: :attr:`comptroller.Service.changes`."""
        return AsyncChanges(self._host)

    @property
    def journal(self) -> AsyncJournal:
        """Who changed what, and the proof of it: :attr:`comptroller.Service.journal`."""
        return AsyncJournal(self._host)

    @property
    def webhooks(self) -> AsyncWebhookOperations:
        """Endpoints that get a request for each change: :attr:`comptroller.Service.webhooks`."""
        return AsyncWebhookOperations(self._host)

    async def load(
        self,
        kind: str,
        source: LoadSource | AsyncIterable[Mapping[str, object] | msgspec.Struct],
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        dry_run: bool = False,
        progress: Progress | bool | None = None,
        mapping: str | os.PathLike[str] | None = None,
        rejects: str | os.PathLike[str] | None = None,
        **columns: Unpack[Options],
    ) -> LoadResult:
        """Loads records of one kind: :meth:`comptroller.Service.load`.

        Args:
            kind: as for `Service.load`.
            source: as for `Service.load`; or an asynchronous iterable of dicts or records, which is
                iterated by one task of the event loop, up to 1,000 rows ahead; a generator is
                closed before `load` ends. Other sources are read in the thread.
            customer_id: as for `Service.load`.
            keep_going: as for `Service.load`.
            dry_run: as for `Service.load`.
            progress: as for `Service.load`; called in the thread.
            mapping: as for `Service.load`.
            rejects: as for `Service.load`.
            columns: as for `Service.load`.

        Returns:
            The counts of the lines, the rejected lines and the unknown members.

        Raises:
            Error: as for `Service.load`.
        """

        def load(given: LoadSource, service: Service) -> LoadResult:
            return service.load(
                kind,
                given,
                customer_id=customer_id,
                keep_going=keep_going,
                dry_run=dry_run,
                progress=progress,
                mapping=mapping,
                rejects=rejects,
                **columns,
            )

        if not isinstance(source, AsyncIterable):
            return await self.run_sync(partial(load, source))
        async with self._channel.iterate(source) as rows:
            return await self.run_sync(partial(load, rows))

    async def load_all(
        self,
        folder: str | os.PathLike[str],
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        progress: Progress | bool | None = None,
    ) -> dict[str, LoadResult]:
        """Loads a folder that has a file for each kind: :meth:`comptroller.Service.load_all`.

        Args:
            folder: the path of the folder.
            customer_id: as for `load`.
            keep_going: as for `load`.
            progress: as for `load`; starts again with each kind.

        Returns:
            The result of each loaded kind, in the order of loading.

        Raises:
            Error: as for `Service.load_all`.
        """
        return await self.run_sync(
            lambda service: service.load_all(
                folder, customer_id=customer_id, keep_going=keep_going, progress=progress
            )
        )

    async def export(
        self,
        kind: str,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        partition: str | Sequence[str] | None = None,
        **filters: Filter,
    ) -> Exported:
        """Writes matching records of a kind to a file: :meth:`comptroller.Service.export`.

        Args:
            kind: as for `Service.export`.
            path: the file.
            format: ndjson, csv or parquet; by default as for `Service.export`.
            partition: as for `Service.export`.
            filters: those of the kind's `list`.

        Returns:
            The number of records.

        Raises:
            Error: as for `Service.export`.
        """
        return await self.run_sync(
            lambda service: service.export(kind, path, format, partition=partition, **filters)
        )

    async def run_sync(self, work: Callable[[Service], R]) -> R:
        """Runs a function in a thread, with a blocking service, such as for reports.

        ::

            report = await svc.run_sync(lambda service: service.reports.failures(by="chain"))

        Args:
            work: the function. Its argument is a :class:`comptroller.Service` with the connections
                and the access token of this service. That service works only in this thread, until
                the function returns. If the task is cancelled, the request of the service in
                flight, or the next one, raises ``asyncio.CancelledError``; if it is cancelled
                again, so does each later request.

        Returns:
            The result of the function.
        """
        return await self._channel.in_thread(partial(work, self._service))

    async def close(self) -> None:
        """Closes the connections, and removes the copies of streams; may be repeated."""
        await self.run_sync(Service.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncService {self._title}>"
