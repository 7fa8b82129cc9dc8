"""What may register itself, and what is refused before anything is charged."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest

import pointveil as pv
from pointveil import formats
from pointveil.errors import InputError
from pointveil.methods import find_method
from pointveil.partition import PARTITIONERS, partitioner
from pointveil.placement import placement
from pointveil.plugins import Table
from pointveil.testing import ScriptedVault
from pointveil.world import World


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tables as they were."""
    monkeypatch.setattr(pv.METHODS, "_rows", dict(pv.METHODS._rows))
    monkeypatch.setattr(PARTITIONERS, "_rows", dict(PARTITIONERS._rows))


def one_cell(**members: Any) -> Any:
    """Return a class with these members, and the others of a partitioner."""
    good = {"spends": ("count",), "divide": lambda _self, _vault, _world, _budget: None}
    return type("OneCell", (), {**good, **members, "__module__": "elsewhere"})


def test_only_spends_and_divide_are_needed() -> None:
    kind: Any = partitioner(dataclass(frozen=True)(one_cell()))

    method = pv.Method(kind(), pv.Uniform(), {"count": 1})

    assert method.purposes == ("total", "count")
    assert not method.needs_roads
    assert method.parameters["partitioner"] == {"type": "OneCell", "plugin": "elsewhere"}


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"divide": None}, "lacks divide(vault, world, budget)"),
        ({"divide": lambda _self, _vault: None}, "needs divide to take (vault, world, budget)"),
        ({"spends": "count"}, "needs a tuple of texts as spends, not 'count'"),
    ],
)
def test_a_class_that_lacks_something_is_refused_where_it_is_defined(members: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as refusal:
        partitioner(dataclass(frozen=True)(one_cell(**members)))

    assert f"OneCell cannot be a partitioner: it {fault}." == str(refusal.value)


def test_all_that_is_missing_is_said_at_once() -> None:
    class Nothing:
        pass

    with pytest.raises(InputError, match=r"@placement above @dataclass\(frozen=True\).*lacks ask\(.*lacks draw\("):
        placement(Nothing)  # type: ignore[type-var]


def test_a_field_that_a_survey_could_not_save_is_refused() -> None:
    @dataclass(frozen=True)
    class Named:
        type: str = "x"
        spends = ("count",)

        def divide(self, vault: Any, world: Any, budget: Any) -> Any:
            del vault, world, budget

    with pytest.raises(InputError, match="must not have a field called type"):
        partitioner(Named)


@partitioner
@dataclass(frozen=True)
class Shaped:
    shape: Any = field(default_factory=tuple)
    spends = ("count",)

    def divide(self, *_: Any) -> Any:
        raise AssertionError("nothing may be asked")


class Unregistered(Shaped):
    pass


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        (Unregistered(), "Unregistered is not registered: write @partitioner above the class"),
        (Shaped((1, 2)), "cannot be restored from a saved survey"),
        (Shaped(object()), "cannot be restored from a saved survey"),
    ],
)
def test_a_part_that_could_not_be_read_back_is_refused_before_anything_is_charged(
    part: Any, fault: str, plain_world: World
) -> None:
    vault: Any = ScriptedVault(plain_world)
    PARTITIONERS.register(Shaped)

    with pytest.raises(InputError, match=fault):
        pv.survey(vault, pv.Method(part, pv.Uniform(), {"count": 1}))

    assert vault.left == vault.epsilon


def test_a_registered_method_is_found_by_its_name() -> None:
    own = pv.register_method(pv.Method(pv.UniformGrid(5), pv.Uniform(), {"count": 1}, "own"))

    assert find_method("own") is own
    assert "own" in pv.METHODS


def test_a_known_name_never_comes_to_mean_something_else() -> None:
    with pytest.raises(InputError, match="already a method called 'veil'"):
        pv.register_method(pv.Method(pv.UniformGrid(), pv.Uniform(), {"count": 1}, "veil"))
    with pytest.raises(InputError, match="already a partitioner called 'Veil'"):
        PARTITIONERS.register(type("Veil", (pv.Veil,), {"__module__": "elsewhere"}))


def test_running_the_same_definition_again_replaces_it() -> None:
    table: Table[str] = Table("word", str.lower)
    table.add("a", "ONE")
    table.add("a", "one")

    assert table["a"] == "one"
    with pytest.raises(InputError, match="already a word called 'a'"):
        table.add("a", "two")


@pytest.mark.parametrize("name", ["", "custom", "My method", "../x"])
def test_a_method_without_a_usable_name_is_not_registered(name: str) -> None:
    with pytest.raises(InputError, match="Give the method a name"):
        pv.register_method(pv.Method(pv.UniformGrid(), pv.Uniform(), {"count": 1}, name))


def test_a_format_of_a_plugin_is_found_by_its_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", dict(formats.FORMATS))
    own = dataclasses.replace(formats.FORMATS["csv"], suffixes=(".gpx",))

    def load() -> bool:
        formats.register_format("gpx", own)
        return True

    monkeypatch.setattr(formats, "load_plugins", load)

    assert formats.format_of("trips.gpx") == "gpx"
    with pytest.raises(InputError, match=r"already a format for \.gpx"):
        formats.register_format("other", own)
    with pytest.raises(InputError, match="already a format for csv"):
        formats.register_format("csv", dataclasses.replace(own, suffixes=(".new",)))


def test_a_class_of_the_same_name_in_another_package_does_not_stand_in() -> None:
    saved = pv.METHODS["ugrid-uni"].parameters
    theirs = {**saved, "partitioner": {**saved["partitioner"], "plugin": "elsewhere"}}

    assert pv.Method.restore("own", saved, {"count": 1}).partitioner == pv.UniformGrid()
    with pytest.raises(InputError, match="'UniformGrid' comes from the plug-in 'elsewhere', which is not installed"):
        pv.Method.restore("own", theirs, {"count": 1})
