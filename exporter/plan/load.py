"""``plan.yaml`` becomes a Plan, or a list of all that is wrong with it, each with its line and place."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter import registry
from exporter.assignment import Budget, ProbeSpec
from exporter.document import Document, Mistake, Place, read_document
from exporter.plan import GroupTest, Nodes, PathMode, Plan, PlanError, Pool, Review
from exporter.plan.content_digest import content_digest
from exporter.plan.groups import group_contradictions
from exporter.plan.hcas import hca_classes
from exporter.plan.pods import outcome_spec, pods_contradictions, read_pods
from exporter.plan.schema import PlanSchema, PoolSchema, ReviewSchema, read_schema
from exporter.plan.selector import selector_problem
from exporter.plan.specs import GROUPS, SpecReader
from exporter.plan.templates import Templates
from exporter.registry import ProbeModule

SAME_RAIL = "same_rail"


def load_plan(path: Path, modules: Mapping[str, ProbeModule] | None = None) -> Plan:
    """Return the plan of that file; PlanError with all its mistakes. ``modules`` are the probes there are."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError((f"{path}: {error}, a readable plan wanted",)) from error
    return parse_plan(text, registry.probes() if modules is None else modules, path.absolute().parent)


def parse_plan(text: str, modules: Mapping[str, ProbeModule], base: Path | None = None) -> Plan:
    """Return the plan that the text says; PlanError with all its mistakes. Files that it names are in ``base``."""
    document = read_document(text)
    if document.mistakes:
        raise PlanError(document.render(document.mistakes))
    schema, mistakes = read_schema(document.data)
    pools, wrong = _read_pools(document, modules, base)
    mistakes = (*mistakes, *wrong, *(_contradictions(schema, pools) if schema else ()))
    if schema is None or mistakes:
        raise PlanError(document.render(mistakes))
    return with_digest(_plan(schema, pools))


def with_digest(plan: Plan) -> Plan:
    """Return the plan with its digest: comments, order of keys and ways to write a quantity do not change it."""
    return replace(plan, digest=content_digest(replace(plan, digest="")))


def _plan(schema: PlanSchema, pools: tuple[Pool, ...]) -> Plan:
    settled = tuple(_pool(one, pool) for one, pool in zip(schema.pools, pools, strict=True))
    modes = {name: PathMode(**mode) for name, mode in schema.paths.model_dump(exclude_none=True).items()}
    return Plan(
        cluster=schema.cluster,
        pools=settled,
        paths=modes,
        budget=Budget(**schema.budget.model_dump()),
        reviewed=_review(schema.reviewed),
        rack_label=schema.topology.rack.removeprefix("label:"),
    )


def _pool(schema: PoolSchema, pool: Pool) -> Pool:
    """What the schema has read, beside what was read by itself."""
    nodes = Nodes(tuple(schema.nodes.names), schema.nodes.selector, schema.nodes.at_least or 0)
    given, read = schema.test_pods, pool.test_pods
    if given is None or read is None:
        return replace(pool, nodes=nodes)
    times = {f"{name}_seconds": getattr(given, name) for name in ("every", "limit", "hold")}
    pods = replace(read, labels=given.labels, at_once=given.at_once, **times)
    return replace(pool, nodes=nodes, test_pods=pods, probes=(*pool.probes, outcome_spec(pods)))


def _review(schema: ReviewSchema | None) -> Review | None:
    """A review that does not say who, when and where is none."""
    if schema is None or not (schema.by and schema.on and schema.ref):
        return None
    return Review(schema.by, schema.on, schema.ref)


def _read_pools(
    document: Document, modules: Mapping[str, ProbeModule], base: Path | None
) -> tuple[tuple[Pool, ...], list[Mistake]]:
    """Read what the schema leaves open, wherever the file's shape allows it, so that all is said at once."""
    data = document.data if isinstance(document.data, dict) else {}
    given = data.get("pools")
    pools: list[Pool] = []
    mistakes: list[Mistake] = []
    for index, pool in enumerate(given if isinstance(given, list) else ()):
        if isinstance(pool, dict):
            place = ("pools", index)
            pods, wrong_pods = read_pods(pool.get("test_pods"), (*place, "test_pods"), base)
            # A template that is wrong is said once, and not again where a check would take it.
            of_pods = pods.template if pods else {} if wrong_pods else None
            templates = Templates(modules, base, of_pods)
            checks, wrong_files = templates.fill(pool.get("checks"), (*place, "checks"))
            read, wrong = _read_pool({**pool, "checks": checks}, place, modules)
            pools.append(replace(read, test_pods=pods))
            mistakes += [*wrong, *wrong_pods, *wrong_files]
    return tuple(pools), mistakes


def _read_pool(given: dict[str, Any], place: Place, modules: Mapping[str, ProbeModule]) -> tuple[Pool, list[Mistake]]:
    hcas, mistakes = hca_classes(given.get("hcas"), (*place, "hcas"))
    reader = SpecReader(modules, hcas, mistakes)
    checks = reader.read_checks(given.get("checks"), (*place, "checks"))
    tests = reader.read_tests(given.get("tests"), (*place, "tests"))
    paths = tuple(spec for spec in tests if modules[spec.probe].kind == "path")
    groups = tuple(GroupTest(spec, reader.groups[spec.id]) for spec in tests if spec not in paths)
    reader.mistakes += _unsettled_tests(paths, reader.ids)
    return Pool(str(given.get("name")), Nodes(), hcas, checks, paths, group_tests=groups), reader.mistakes


def _contradictions(schema: PlanSchema, pools: Iterable[Pool]) -> Iterator[Mistake]:
    yield from _pool_contradictions(schema)
    for index, pool in enumerate(pools):
        if pool.tests and schema.paths.same_rail is None:
            yield Mistake(("paths", SAME_RAIL), f"absent, a mode wanted: the tests of {pool.name} need paths")
        settled = _pool(schema.pools[index], pool)
        yield from pods_contradictions(settled, ("pools", index, "test_pods"))
        for test in pool.group_tests:
            yield from group_contradictions(settled, test, _place_of(test, schema.pools[index], index))


def _place_of(test: GroupTest, pool: PoolSchema, index: int) -> Place:
    ids = [given.get("id", given.get("probe")) for given in pool.tests]
    return ("pools", index, "tests", ids.index(test.spec.id), GROUPS)


def _pool_contradictions(schema: PlanSchema) -> Iterator[Mistake]:
    pool_of: dict[str, str] = {}
    for index, pool in enumerate(schema.pools):
        place = ("pools", index, "nodes")
        if bool(pool.nodes.names) == bool(pool.nodes.selector):
            yield Mistake(place, "both or neither of names and selector found, one of them wanted")
        if problem := selector_problem(pool.nodes.selector):
            yield Mistake((*place, "selector"), problem)
        if pool.nodes.names and (pool.nodes.at_least or 0) > len(pool.nodes.names):
            found = f"{pool.nodes.at_least} found, at most the {len(pool.nodes.names)} nodes named wanted"
            yield Mistake((*place, "at_least"), found)
        for node in pool.nodes.names:
            if node in pool_of:
                yield Mistake((*place, "names"), f"{node} is in pool {pool_of[node]} already, one pool wanted")
            pool_of[node] = pool.name
        if [other.name for other in schema.pools[:index]].count(pool.name):
            yield Mistake(("pools", index, "name"), f"{pool.name} found a second time, a name of its own wanted")


def _unsettled_tests(tests: Iterable[ProbeSpec], places: Mapping[str, Place]) -> Iterator[Mistake]:
    for spec in tests:
        if "hcas" not in spec.settings:
            place = (*places[spec.id][:-1], "hcas")
            yield Mistake(place, "absent, a class of the pool's hcas wanted: it says whose paths")
