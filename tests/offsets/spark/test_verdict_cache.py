"""Verdicts of Spark are cached for some minutes; the key covers everything on which a verdict depends."""

from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import Digest
from gitops_connect.offsets.spark.verdict_cache import KEPT_FOR, CachedVerdict, VerdictCache

VERDICT = CachedVerdict(LargeVerdict(3, 3), SavedOffsets("gone.jsonl", 5, 500, Digest("d")))


def test_it_is_verdicts_for_some_minutes_by_its_key() -> None:
    cache = VerdictCache()
    assert cache.get("a", 1000.0) is None
    cache.keep("a", VERDICT, 1000.0)
    assert cache.get("a", 1000.0 + KEPT_FOR - 1) is VERDICT
    assert cache.get("b", 1000.0) is None
    assert cache.get("a", 1000.0 + KEPT_FOR) is None


def test_what_is_old_is_forgotten_and_what_is_new_stays() -> None:
    cache = VerdictCache()
    cache.keep("a", VERDICT, 0.0)
    cache.keep("b", VERDICT, KEPT_FOR / 2)
    cache.keep("c", VERDICT, KEPT_FOR + 1)
    assert set(cache._verdicts) == {"b", "c"}
