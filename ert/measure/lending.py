"""Memory of one NUMA node lent to threads of another, for what each node gets from the memory of each."""

from __future__ import annotations

from collections.abc import Mapping

from ert.measure.plan import Pool
from ert.roofline.model import Team
from microbench import nodes
from microbench.buffers import Arena
from microbench.catalog import HUGE_PAGE
from microbench.team import Team as Threads

PLACED = 0.95
"""Share of the pages that must lie on the node meant. The rest moves a bandwidth by less than its grade allows, even
where the other node is three times as fast."""


class Lender:
    """Keeps a pool of memory on each node and lends parts of it to the threads of a team.

    Parameters
    ----------
    threads : Team
        Pinned threads, the keepers among them.
    pools : mapping of int to Pool
        By the number of the NUMA node.
    """

    def __init__(self, threads: Threads, pools: Mapping[int, Pool]) -> None:
        self._threads, self._pools = threads, dict(pools)
        self._kept: dict[int, Arena] = {}
        self._bound: dict[int, bool] = {}
        self._unknown = False
        self._borrowers: tuple[int, ...] = ()

    def lend(self, team: Team, size: int) -> None:
        """Give each thread of a team `size` bytes of the node that the team names.

        Raises
        ------
        MemoryError
            If the pool is too small, or the system has not so much.
        """
        node = team.memory_node
        assert node is not None, "teams with memory of their own borrow none"
        whole = self._pool(node)
        step = -(-size // HUGE_PAGE) * HUGE_PAGE
        if step * (team.threads - 1) + size > whole.size:
            raise MemoryError(
                f"{team.threads} parts of {size} bytes do not fit the pool of {whole.size} on node {node}"
            )
        places = {cpu: number * step for number, cpu in enumerate(team.cpus)}
        self._borrowers = team.cpus
        self._threads.each(team.cpus, lambda worker: worker.borrow(whole.part(places[worker.cpu or 0], size)))

    def settle(self) -> None:
        """Let all threads work on their own memory again."""
        if self._borrowers:
            self._threads.each(self._borrowers, lambda worker: worker.give_back())
            self._borrowers = ()

    def misplaced(self, team: Team) -> str:
        """Return one sentence if what a team borrowed does not lie on the node that it names, else ``""``."""
        node = team.memory_node
        assert node is not None, "teams with memory of their own borrow none"
        found = self._threads.each(team.cpus, lambda worker: nodes.where(worker.arena.address, worker.arena.size))
        known = [pages for pages in found.values() if pages]
        if not known:
            if not self._bound[node] and not self._pools[node].near:
                return f"the system does not let this process bind memory to node {node}, which has no CPU to write it"
            self._unknown |= not self._bound[node]
            return ""
        pages = sum(sum(part.values()) for part in known)
        right = sum(part.get(node, 0) for part in known) / pages
        if right >= PLACED:
            return ""
        how = "" if self._bound[node] else ", and the system does not let this process bind it there"
        return f"{100 * right:.0f} % of the memory lies on node {node}{how}"

    def notes(self) -> tuple[str, ...]:
        """Say what is not known of the places of the memory that was lent."""
        if not self._unknown:
            return ()
        return (
            "The system does not tell this process on which NUMA node memory lies: each pool was written first by a "
            "thread of its node, and the bandwidths between nodes take for granted that it stayed there.",
        )

    def _pool(self, node: int) -> Arena:
        if node not in self._kept:
            pool = self._pools[node]

            def reserve() -> tuple[Arena, bool]:
                # The last part ends within a huge page.
                arena = Arena(-(-pool.size // HUGE_PAGE) * HUGE_PAGE)
                bound = nodes.bind(arena.address, arena.size, node)
                arena.touch()
                return arena, bound

            self._kept[node], self._bound[node] = self._threads.each((pool.keeper,), lambda worker: reserve())[
                pool.keeper
            ]
        return self._kept[node]

    def close(self) -> None:
        """Give the pools back."""
        for arena in self._kept.values():
            arena.close()
        self._kept.clear()
