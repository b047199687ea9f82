"""Find the client of a Dask cluster, and check that its workers can run snekhorn."""

from __future__ import annotations

from typing import Any

from distributed import Client, get_client

from .. import __version__
from ..errors import InputError, InputTypeError
from .workers import reported_losses


def find_client(client: Any) -> Client:
    """Return the client, or the current one if it is None; raise if there is none, or if it cannot be used."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise InputError(
                "there is no Dask client; create one with distributed.Client(...), or pass it as `client`."
            ) from None
    if not isinstance(client, Client):
        raise InputTypeError(f"client must be a distributed.Client or None, got {client!r}.")
    if client.asynchronous:
        raise InputError("client is asynchronous; create it with asynchronous=False.")
    if client.status != "running":
        raise InputError(f"client is {client.status}; create a new one with distributed.Client(...).")
    return client


def check_workers(client: Client) -> tuple[str, ...]:
    """Return the addresses of the workers; raise if there are none, or if one has another version of snekhorn."""

    def installed_version() -> str | None:  # sent as code, because a worker may not have snekhorn
        try:
            import snekhorn
        except ImportError:
            return None
        return str(snekhorn.__version__)

    with reported_losses(client):
        addresses = tuple(sorted(client.nthreads()))
        if not addresses:
            raise InputError(
                f"the Dask cluster at {client.scheduler.address} has no workers; start some, and wait for them with "
                "client.wait_for_workers(1)."
            )
        versions = client.run(installed_version)
    for address in addresses:
        if (version := versions.get(address)) != __version__:
            found = "does not have snekhorn" if version is None else f"has snekhorn {version}"
            raise InputError(
                f"the worker at {address} {found}, but the client has version {__version__}; install "
                f"snekhorn=={__version__} on all workers."
            )
    return addresses
