"""The lists and creates in FastAPI and SQLAlchemy 2, with models and a session per request.

Times and amounts are text in both models, which is exact and fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from servers.callers import CALLERS, CUSTOMER
from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint, create_engine, event, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

GROUP = "7d0a5c3e-6a0f-4a3f-9a53-0c3a3f2f9b11"
ETHEREUM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


class Base(DeclarativeBase):
    pass


class Claim(Base):
    __tablename__ = "claims"

    rowid: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[str]
    id: Mapped[str] = mapped_column(unique=True)
    payout_group_id: Mapped[str | None]
    claim_type: Mapped[str]
    claim_schedule_id: Mapped[str | None]
    onchain_status: Mapped[str]
    amount: Mapped[str]
    tx_hash: Mapped[str | None]
    addresses: Mapped[list[str] | None] = mapped_column(JSON)
    error_message: Mapped[str | None]
    blockchain: Mapped[str | None]
    asset_type: Mapped[str | None]
    submitted_at: Mapped[str | None]
    confirmed_at: Mapped[str | None]
    created_at: Mapped[str]
    updated_at: Mapped[str]


class PayoutGroup(Base):
    __tablename__ = "payout_groups"

    id: Mapped[str] = mapped_column(primary_key=True)
    customer_id: Mapped[str]
    ledger: Mapped[str]


class RewardAddress(Base):
    __tablename__ = "reward_addresses"
    __table_args__ = (
        UniqueConstraint("ledger", "address"),
        Index("reward_addresses_by_customer", "customer_id", "created_at"),
        Index("reward_addresses_by_ledger", "customer_id", "ledger", "created_at"),
        Index("reward_addresses_by_group", "payout_group_id", "created_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    ledger: Mapped[str]
    address: Mapped[str]
    name: Mapped[str | None]
    payout_group_id: Mapped[str | None] = mapped_column(ForeignKey("payout_groups.id"))
    status: Mapped[str]
    created_at: Mapped[str]
    customer_id: Mapped[str]


class ClaimOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    payout_group_id: str | None
    claim_type: str
    claim_schedule_id: str | None
    onchain_status: str
    amount: str
    tx_hash: str | None
    addresses: list[str] | None
    error_message: str | None
    blockchain: str | None
    asset_type: str | None
    submitted_at: str | None
    confirmed_at: str | None
    created_at: str
    updated_at: str


class Claims(BaseModel):
    items: list[ClaimOut]


def _checked(address: str) -> str:
    if not ETHEREUM_ADDRESS.fullmatch(address):
        raise ValueError("must be 0x and 40 hex digits")
    return address


class AddressIn(BaseModel):
    ledger: Literal["ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE"]
    address: Annotated[str, AfterValidator(_checked)]
    name: Annotated[str | None, Field(max_length=200)] = None
    payout_group_id: str | None = None


class CreateAddress(BaseModel):
    address: AddressIn


class AddressOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    ledger: str
    address: str
    name: str | None
    payout_group_id: str | None
    status: str
    created_at: str


class Created(BaseModel):
    address: AddressOut


api = FastAPI()
sessions: sessionmaker[Session] = sessionmaker(expire_on_commit=False)


def session() -> Iterator[Session]:
    with sessions() as opened:
        yield opened


def caller(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> str:
    customer = CALLERS.get(given.credentials)
    if customer is None:
        raise HTTPException(401)
    return customer


Caller = Annotated[str, Depends(caller)]
Opened = Annotated[Session, Depends(session)]


@api.get("/rewards/claims", response_model=Claims, response_model_exclude_none=True)
def list_claims(
    customer: Caller, opened: Opened, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> dict[str, Any]:
    newest = (
        select(Claim)
        .where(Claim.customer_id == customer)
        .order_by(Claim.created_at.desc(), Claim.rowid.desc())
        .limit(limit)
    )
    return {"items": opened.scalars(newest).all()}


@api.post("/rewards/addresses", response_model=Created, response_model_exclude_none=True)
def create_address(body: CreateAddress, customer: Caller, opened: Opened) -> dict[str, Any]:
    given = body.address
    if given.payout_group_id is not None:
        group = opened.get(PayoutGroup, given.payout_group_id)
        if group is None or (group.customer_id, group.ledger) != (customer, given.ledger):
            raise HTTPException(404)
    address = RewardAddress(
        id=str(uuid4()),
        status="PENDING",
        created_at=datetime.now(UTC).isoformat(),
        customer_id=customer,
        **given.model_dump(),
    )
    opened.add(address)
    try:
        opened.commit()
    except IntegrityError:
        raise HTTPException(409) from None
    return {"address": address}


def app(database: Path) -> FastAPI:
    engine = create_engine(f"sqlite:///{database}", connect_args={"timeout": 30}, pool_size=40)

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _record: object) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    sessions.configure(bind=engine)
    Base.metadata.create_all(engine)
    with sessions() as opened:
        opened.merge(PayoutGroup(id=GROUP, customer_id=CUSTOMER, ledger="ETHEREUM"))
        opened.commit()
    return api
