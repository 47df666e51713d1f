"""HairModel (constant in a tick) and HairState (changes): few packed fields, ragged chains by spans and slots."""

from dataclasses import dataclass

from . import layout as row
from .backend import ti


@dataclass(frozen=True, eq=False)
class HairModel:
    """Constants of every kind of avatar, one column per joint or chain; `layout` names the rows."""

    joint: object  # f32 (MODEL_JOINT_ROWS, joint capacity)
    chain: object  # f32 (MODEL_CHAIN_ROWS, chain capacity)
    span: object  # i32 (MODEL_SPAN_ROWS, chain capacity)
    pair: object  # i32 (MODEL_PAIR_ROWS, pair capacity)
    pair_number: object  # f32 (MODEL_PAIR_NUMBER_ROWS, pair capacity)
    path: object  # i32 (MODEL_PATH_ROWS, path capacity)
    allowance: object  # f32 (1, allowance capacity): rest overlap of each pair and segment, metres at rest scale
    solid: bool  # whether any kind has boxes or surfaces; without, kernels are compiled without them
    limited: bool  # whether any kind has angle limits
    branched: bool  # whether any chain hangs on another
    shaped: bool  # whether any kind has round shapes other than spheres and capsules, or planes
    grid: object  # f32 (1, grid capacity): signed distances of surfaces, local units of their nodes


@dataclass(frozen=True, eq=False)
class HairState:
    """What moves, and what the host says about this launch; `layout` names the rows."""

    joint: object  # f32 (STATE_JOINT_ROWS, joint capacity)
    chain: object  # f32 (STATE_CHAIN_ROWS, slot capacity)
    slot: object  # i32 (STATE_SLOT_ROWS, slot capacity)
    family: object  # i32 (FAMILY_ROWS, slot capacity)
    frozen: object  # i32 (2, slot capacity): FAMILY_START and FAMILY_SIZE of families that are only carried
    anchor: object  # f32 (TICKS_PER_LAUNCH, ANCHOR_ROWS, anchor capacity)
    collider: object  # f32 (TICKS_PER_LAUNCH, COLLIDER_ROWS, collider capacity)
    attach: object  # f32 (4, anchor capacity): rotation of each attach node at the last tick


class Block:
    """Fields that live and die together: allocated at capacity, destroyed before a larger block takes over."""

    def __init__(self) -> None:
        self._builder = ti.FieldsBuilder()
        self._tree = None

    def field(self, dtype, *shape):
        """One dense field; the last axis is the fastest, so that neighbouring chains are neighbours in memory."""
        f = ti.field(dtype)
        axes = (ti.i, ti.ij, ti.ijk)[len(shape) - 1]
        self._builder.dense(axes, shape if len(shape) > 1 else shape[0]).place(f)
        return f

    def finish(self) -> None:
        self._tree = self._builder.finalize()

    def destroy(self) -> None:
        if self._tree is not None:
            self._tree.destroy()
            self._tree = None


def model_storage(
    joints: int, chains: int, pairs: int, allowances: int, corners: int, path: int, **features: bool
) -> tuple[HairModel, Block]:
    """Zeroed storage for that many columns."""
    block = Block()
    model = HairModel(
        joint=block.field(ti.f32, row.MODEL_JOINT_ROWS, joints),
        chain=block.field(ti.f32, row.MODEL_CHAIN_ROWS, chains),
        span=block.field(ti.i32, row.MODEL_SPAN_ROWS, chains),
        pair=block.field(ti.i32, row.MODEL_PAIR_ROWS, pairs),
        pair_number=block.field(ti.f32, row.MODEL_PAIR_NUMBER_ROWS, pairs),
        allowance=block.field(ti.f32, 1, allowances),
        **features,
        grid=block.field(ti.f32, 1, corners),
        path=block.field(ti.i32, row.MODEL_PATH_ROWS, path),
    )
    block.finish()
    return model, block


def state_storage(joints: int, slots: int, anchors: int, colliders: int) -> tuple[HairState, Block]:
    """Zeroed storage for that many columns."""
    block = Block()
    state = HairState(
        joint=block.field(ti.f32, row.STATE_JOINT_ROWS, joints),
        chain=block.field(ti.f32, row.STATE_CHAIN_ROWS, slots),
        slot=block.field(ti.i32, row.STATE_SLOT_ROWS, slots),
        family=block.field(ti.i32, row.FAMILY_ROWS, slots),
        frozen=block.field(ti.i32, 2, slots),
        anchor=block.field(ti.f32, row.TICKS_PER_LAUNCH, row.ANCHOR_ROWS, anchors),
        collider=block.field(ti.f32, row.TICKS_PER_LAUNCH, row.COLLIDER_ROWS, colliders),
        attach=block.field(ti.f32, 4, anchors),
    )
    block.finish()
    return state, block
