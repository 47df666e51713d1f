"""Animations of a file as an inventory: names, lengths and the nodes they move. The keys are read by `motion`."""

from __future__ import annotations

from .accessors import read_accessor
from .description import ClipInfo
from .document import Document
from .skeleton import Skeleton


def read_clips(document: Document, skeleton: Skeleton) -> tuple[ClipInfo, ...]:
    """One record per animation, in file order. A channel without a node is ignored, as glTF wants."""
    clips = []
    for index, item in enumerate(document.items("animations")):
        samplers = item.children("samplers")
        nodes: dict[int, None] = {}
        used: set[int] = set()
        morphs, channels = False, 0
        for channel in item.children("channels"):
            used.add(channel.integer("sampler", below=len(samplers)))
            target = channel.child("target")
            node = target.integer("node", None, below=len(skeleton)) if target is not None else None
            if node is None:
                document.log.note(channel.where, "has no target node; ignored")
                continue
            channels += 1
            if target.text("path") == "weights":
                morphs = True
            else:
                nodes[node] = None
        seconds = 0.0
        for sampler in sorted(used):
            times = read_accessor(document, samplers[sampler].integer("input"), ("SCALAR",))
            seconds = max(seconds, float(times.max(initial=0.0)))
        clips.append(ClipInfo(index, item.text("name"), seconds, channels, tuple(nodes), morphs))
    return tuple(clips)
