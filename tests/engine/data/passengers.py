"""A made-up table as pandas writes it: an index without a name, an identifier, missing ages, and a class to learn."""

from __future__ import annotations

import numpy as np


def passengers(rows: int = 200, seed: int = 0) -> list[dict[str, str]]:
    """Columns: ``""`` (0, 1, …), PassengerId, Name, Sex, Age, Fare, Ticket, Survived. Survivors come last."""
    random = np.random.default_rng(seed)
    found: list[dict[str, str]] = []
    survived = np.sort(random.random(rows) < 0.4)
    numbers = random.permutation(rows) + 1
    for row in range(rows):
        female = random.random() < (0.7 if survived[row] else 0.2)
        found.append(
            {
                "": str(row),
                "PassengerId": str(numbers[row]),
                "Name": f"Passenger no. {numbers[row]}",
                "Sex": "female" if female else "male",
                "Age": "" if random.random() < 0.2 else str(random.integers(1, 80)),
                "Fare": f"{random.gamma(2, 15):.2f}",
                "Ticket": f"{random.integers(0, 50):04}",
                "Survived": str(int(survived[row])),
            }
        )
    return found


def as_csv(rows: list[dict[str, str]], *, header: bool = True) -> str:
    lines = [",".join(row.values()) for row in rows]
    return "\n".join([*([",".join(rows[0])] if header else []), *lines, ""])
