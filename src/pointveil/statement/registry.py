"""Put a statement into the fields of the OpenDP deployments registry."""

from fractions import Fraction
from typing import Any

from pointveil.statement.document import ONE_POINT, OperatorStates, Statement


def registry_entry(statement: Statement) -> dict[str, Any]:
    """Return an entry for the registry; what only the curator knows is left as an empty text."""
    return {
        "url_slug": f"pointveil-{statement.release}",
        "deployment": {
            "basic": _basic(statement),
            "dp_variant": {
                "variant_name": "Pure DP",
                "data_domain": _domain(statement),
                "unprotected_quantities": "; ".join(statement.unprotected) or "None.",
            },
            "privacy_loss": _loss(statement),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": _accounting(statement),
            "implementation": _implementation(statement),
            "administrative": {"status": "Draft", "tier": 3},
        },
    }


def _basic(statement: Statement) -> dict[str, Any]:
    method = "unknown" if statement.method is None else statement.method.name
    states = statement.operator_states or OperatorStates()
    return {
        "name": "",
        "data_curators": [{"data_curator_name": _states(states.owner), "data_curator_type": ""}],
        "description": f"Synthetic locations made by Pointveil with the method {method}.",
        "intended_use": _states(states.purpose),
        "data_product_type": "Synthetic data",
        "data_product_region": f"{statement.domain.crs} {list(statement.domain.bounds)}",
        "data_product_sector": "",
        "publication_date": statement.made,
    }


def _states(text: str | None) -> str:
    """Return what no program can know as what the operator says."""
    return "" if text is None else f"The operator states: {text}"


def _domain(statement: Statement) -> str:
    bounds = ", ".join(f"{side:.10g}" for side in statement.domain.bounds)
    return (
        f"Places on land within the public bounds {bounds} ({statement.domain.crs}), on a public lattice of "
        f"{statement.domain.lattice:g}; records elsewhere are dropped one by one. The world's SHA-256 is "
        f"{statement.domain.world_sha256}."
    )


def _prior(statement: Statement) -> str:
    prior = statement.prior
    if prior is None:
        return ""
    return f" And: {prior.name} (SHA-256 {prior.file_sha256}), which guided the release, is public."


def _loss(statement: Statement) -> dict[str, Any]:
    guarantee = statement.guarantee
    return {
        "privacy_unit": "Event-level" if guarantee.unit == ONE_POINT else "User-level",
        "privacy_unit_details": f"{guarantee.adjacency.capitalize()}: {guarantee.unit}.",
        "privacy_parameters": {"epsilon": float(Fraction(guarantee.epsilon)), "delta": 0},
        "privacy_parameters_details": f"epsilon is exactly {guarantee.epsilon}. {statement.promise}",
    }


def _accounting(statement: Statement) -> dict[str, Any]:
    spent = "; ".join(f"{question.purpose} {question.epsilon}" for question in statement.questions)
    entry = statement.ledger
    chain = "no ledger" if entry is None else f"entry {entry.entry}, chain {entry.chain_sha256}"
    return {
        "composition": f"Basic composition of {len(statement.questions)} questions, in exact fractions: {spent}.",
        "post_processing": "; ".join(statement.post_processing),
        "details": f"Paid before any noise was drawn; {chain}.",
    }


def _implementation(statement: Statement) -> dict[str, Any]:
    return {
        "preprocessing_and_hyperparameter_tuning": "The operator states: no parameter, boundary or epsilon "
        "was chosen by looking at the data." + _prior(statement),
        "mechanisms": [
            f"{asked.purpose}: {asked.sampler} on {asked.cells:,} cells, sensitivity {asked.sensitivity}, "
            f"epsilon {asked.epsilon} ({asked.theorem})"
            for asked in statement.questions
        ],
        "justification": "",
        "software": " ".join(statement.software.values()),
        "randomness": statement.randomness["source"],
        "numerics": statement.numerics,
        "known_limits": list(statement.not_promised),
    }
