"""What Spark has said is kept for a while, by all that it depends on."""

from gitops_connect.checks.large.verdict_cache import KEPT_FOR, CachedVerdict, VerdictCache
from gitops_connect.model.large_manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import Digest

LOOK = CachedVerdict(LargeVerdict(3, 3), SavedOffsets("gone.jsonl", 5, 500, Digest("d")))


def test_it_is_known_for_some_minutes_by_its_key() -> None:
    looks = VerdictCache()
    assert looks.get("a", 1000.0) is None
    looks.keep("a", LOOK, 1000.0)
    assert looks.get("a", 1000.0 + KEPT_FOR - 1) is LOOK
    assert looks.get("b", 1000.0) is None
    assert looks.get("a", 1000.0 + KEPT_FOR) is None


def test_what_is_old_is_forgotten_and_what_is_new_stays() -> None:
    looks = VerdictCache()
    looks.keep("a", LOOK, 0.0)
    looks.keep("b", LOOK, KEPT_FOR / 2)
    looks.keep("c", LOOK, KEPT_FOR + 1)
    assert set(looks._known) == {"b", "c"}
