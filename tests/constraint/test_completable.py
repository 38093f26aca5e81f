"""Whether tokens that lack bytes can finish a state is asked within a limit of work."""

from __future__ import annotations

from structgen.constraint.completable import MAX_WORK, Completable
from structgen.util.cancellation import checkpoint

LAST = 1 << 20


def counted(work: int) -> Completable:
    """States are numbers, each leads to the next, and each completion takes so much work."""

    def completion(state: int) -> bytes | None:
        checkpoint(work)
        return b"ab" if state == 5 else None

    return Completable(
        lambda state: [state + 1] if state < LAST else [],
        lambda state: state == LAST,
        completion,
        lambda state: state,
        frozenset({b"ab"}),
    )


def test_a_completion_of_tokens_is_enough() -> None:
    """No state is searched for."""
    completable = counted(1)
    assert completable(5)
    assert not completable.gave_up


def test_a_search_ends_with_its_work() -> None:
    """It says so, and the same question is answered at once."""
    completable = counted(MAX_WORK // 3)
    assert not completable(0)
    assert completable.gave_up
    assert not completable(0)


def test_a_completion_that_takes_too_long_ends_as_well() -> None:
    """Also where it is the first that is looked at."""
    completable = counted(2 * MAX_WORK)
    assert not completable(LAST - 1)
    assert completable.gave_up


def test_a_state_near_the_end_is_found_by_search() -> None:
    """And all on the way there."""
    completable = counted(1)
    assert completable(LAST - 3)
    assert completable(LAST - 2)
    assert not completable.gave_up
