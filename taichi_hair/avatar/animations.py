"""Animations of a file as an inventory: names, lengths and the nodes they move. The keys are read by `motion`."""

from __future__ import annotations

from .accessors import read_accessor
from .description import ClipInfo
from .document import Document
from .skeleton import Skeleton


def read_clips(document: Document, skeleton: Skeleton) -> tuple[ClipInfo, ...]:
    """One record per animation, in file order. A channel without a node is ignored, as glTF wants."""
    clips = []
    ends: dict[int, float] = {}  # accessor of key times -> last time
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
            source = samplers[sampler].integer("input")
            if source not in ends:
                ends[source] = float(read_accessor(document, source, ("SCALAR",)).max(initial=0.0))
            seconds = max(seconds, ends[source])
        clips.append(ClipInfo(index, item.text("name"), seconds, channels, tuple(nodes), morphs))
    return tuple(clips)
