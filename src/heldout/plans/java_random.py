"""The random numbers of java.util.Random, which other programs' splits were drawn with."""

from __future__ import annotations

MULTIPLIER = 0x5DEECE66D
ADDEND = 0xB
MASK = (1 << 48) - 1
LARGEST = (1 << 31) - 1


class JavaRandom:
    """A linear congruential generator with 48 bits of state, as Java's documentation specifies it.

    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ MULTIPLIER) & MASK

    def _bits(self) -> int:
        """The next 31 bits."""
        self._state = (self._state * MULTIPLIER + ADDEND) & MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A number from 0 to bound − 1, as `nextInt(bound)` gives it."""
        if bound & -bound == bound:
            return (bound * self._bits()) >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            # The last, incomplete stretch of `bound` numbers would favour small ones; in Java it overflows.
            if bits - value + (bound - 1) <= LARGEST:
                return value
