"""Rows of the packed fields: the one home of every index. A vector takes as many rows as it has components."""

# HairModel.joint, one column per joint of a model
REST = 0  # 3, rest vector of the segment in the attach frame, metres at rest scale
REST_POINT = 3  # 3, rest end point in the attach frame, from the attach node
LENGTH = 6  # length of the segment, metres at rest scale
RADIUS = 7  # hit radius, metres at rest scale
REST_TURN = 8  # 4, rest rotation of the joint relative to the joint above (the attach frame for the first)
AXIS = 12  # 3, unit rest direction of the segment in the joint's own frame
PULL = 15  # arc: k, 1/s^2
KEEP = 16  # arc: exp(-c h); rod: exp(-alpha h); spring-bone: 1 - drag
FOLLOW = 17  # arc: share of the head's rigid motion that is not damped
PIVOT = 18  # rod: 1 / d of the factored system
LOWER1 = 19  # rod: first sub-diagonal of L
LOWER2 = 20  # rod: second sub-diagonal of L
STIFFNESS = 21  # spring-bone: the file's stiffness
DRIFT = 22  # 3, spring-bone: gravityDir * gravityPower
LIMIT = 25  # kind of angle limit, see phases.limits; 0 where the joint has none
LIMIT_FIRST = 26  # radians: cone, hinge or pitch
LIMIT_SECOND = 27  # radians: yaw
LIMIT_TURN = 28  # 4, frame of the limit in the joint's rest frame
MODEL_JOINT_ROWS = 32

# HairModel.chain, one column per chain of a model
ROOT = 0  # 3, joint of the first segment in the attach frame
GRAVITY = 3  # 3, m/s^2 in the world
GRAVITY_CARRIED = 6  # 3, the part that the authored style already carries, in the attach frame; 0 with sag-free off
MEMORY = 9  # rod: g = beta / (h + beta); spring-bone: 1 where a bone's length is measured anew in each tick
OFFSET_ABOVE = 10  # 3, the same joint from the node above in that node's own frame: ROOT, or what a branch hangs by
REACH = 13  # length of the strand and its largest hit radius, metres at rest scale
TICKS = 14  # of the crowd that are one of this chain
MODEL_CHAIN_ROWS = 15

# HairModel.span (int), one column per chain of a model
JOINTS = 0
JOINT_START = 1
JOINT_STRIDE = 2
PAIR_START = 3
PAIR_COUNT = 4
ALLOWANCE_START = 5
PATH_START = 6
PATH_COUNT = 7  # segments between the attach node and the joint that carries a branch; 0 where the node itself does
MODEL_SPAN_ROWS = 8

# HairModel.path (int), one column per segment on the way to a branch
PATH_STATE = 0  # column of HairState.joint, from the member's first
PATH_JOINT = 1  # column of HairModel.joint
PATH_CHAIN = 2  # column of the chain that starts with this segment, -1 where none does
MODEL_PATH_ROWS = 3

# HairModel.pair (int), one column per collider of a chain
PAIR_SHAPE = 0
PAIR_GRID = 1  # first column of a surface's distances in HairModel.grid, z fastest
PAIR_NX = 2  # corners of its grid along x, y and z
PAIR_NY = 3
PAIR_NZ = 4
MODEL_PAIR_ROWS = 5

# HairModel.pair_number, one column per collider of a chain
PAIR_FRICTION = 0
PAIR_KEPT = 1  # share of the speed past the collider that a tick of contact leaves
MODEL_PAIR_NUMBER_ROWS = 2

# HairState.joint, one column per joint of a slot; positions are from the attach node, along world axes
POSITION = 0  # 3
VELOCITY = 3  # 3
WORK = 6  # 3, force, then flight (a rod's less its position), then the projected end point of the tick that runs
DEVIATION = 9  # 3, rod: end point less its rest place; spring-bone: kept tail less end point
BEFORE = 12  # 3, end point one tick earlier, for display between ticks
DEVIATION_BEFORE = 15  # 3, rod: DEVIATION one tick earlier, carried, of the same place from this tick's rest shape
HANDED = 15  # 3, in contact: the way out that the segment below asks of this one; DEVIATION_BEFORE is done with then
STATE_JOINT_ROWS = 18

# HairState.chain, one column per slot
ROOT_BEFORE = 0  # 3, joint of the first segment one tick earlier, carried like a position
ROOT_FREE = 3  # 3, the same joint in the tick that runs, before contact
STATE_CHAIN_ROWS = 6

# HairState.slot (int), one column per slot
MODEL = 0  # column of the model's chain
START = 1  # first column of HairState.joint
STRIDE = 2
ANCHOR = 3  # column of HairState.anchor
COLLIDERS = 4  # first column of HairState.collider; a chain's follow each other as its pairs do
BLOCK = 5  # first column of the member in HairState.joint
STATE_SLOT_ROWS = 6

# HairState.family (int), what a launch runs: one column per family, and one per slot in the order of families
FAMILY_START = 0  # first column of the family in FAMILY_ORDER
FAMILY_SIZE = 1  # slots of the family
FAMILY_ORDER = 2  # slots, family after family, a chain before those that hang on it
FAMILY_ROWS = 3

# HairState.anchor, per tick of a launch, one column per anchor of an avatar
CARRY = 0  # 4, turn that carries positions and velocities from the last tick: identity in the world
SHIFT = 4  # 3, and the shift after it
SCALE = 7
ATTACH = 8  # 4, rotation of the attach node
SPIN = 12  # 4, rotation of the attach node since the last tick
STEP = 16  # 3, attach point of the last tick less this tick's
HOLD = 19  # 1 where the input was not finite: nothing moves
RIGID = 20  # 1 in a tick that carries the hair rigidly
ATTACH_BEFORE = 21  # 4, rotation of the attach node one tick earlier
SCALE_BEFORE = 25
ANCHOR_ROWS = 26

# HairState.collider, per tick of a launch, one column per collider of an avatar and anchor whose chains meet it, once
# more for chains with another list of colliders; places are from the anchor's attach point, along world axes
POINT_A = 0  # 3
POINT_B = 3  # 3; the unit normal of a plane, the half edges of a box, the cell of a surface's grid
WAS_A = 6  # 3, the same one tick earlier, carried to this tick as the hair is
WAS_B = 9  # 3
COLLIDER_RADIUS = 12
TAIL_RADIUS = 13
BOUND = 14  # 4, centre and radius of a sphere that holds the collider from the last tick to this one
THICKNESS = 18  # metres, least of the collider's radii
TWIST = 19  # metres that turning since the last tick moves any point of a box or a surface
COLLIDER_TURN = 20  # 4, rotation of a box or a surface
WAS_TURN = 24  # 4, the same one tick earlier, carried
COLLIDER_ROWS = 28

ONE = 4096  # parts of a tick: clip times are whole numbers of them, exact on every device and at any speed

# HairClip.anchor, one column per frame of a clip and anchor of an avatar; frame k is k ticks after the clip's beginning
CLIP_STEP = 0  # 3, attach point of the frame before less this frame's
CLIP_SCALE = 3
CLIP_ATTACH = 4  # 4
CLIP_JUMP = 8  # 1 where the body is somewhere else at once
CLIP_CENTER = 9  # 3, attach point less the centre
CLIP_CENTER_TURN = 12  # 4, rotation of the centre
CLIP_CENTERED = 16  # 1 where there is a centre
CLIP_ANCHOR_ROWS = 17

# HairClip.collider, one column per frame of a clip and column of HairState.collider
CLIP_A = 0  # 3, from the anchor's attach point
CLIP_B = 3  # 3
CLIP_RADIUS = 6
CLIP_TAIL_RADIUS = 7
CLIP_BOUND = 8  # 4, centre and radius of a sphere that holds the collider in this frame
CLIP_THICKNESS = 12
CLIP_EXTENT = 13  # of a box or a surface: metres from its middle to its farthest corner
CLIP_TURN = 14  # 4
CLIP_POINT_B = 18  # what point b is: 0 a place, 1 a direction, 2 a size
CLIP_OWNER = 19  # anchor of the collider, counted within the avatar
CLIP_COLLIDER_ROWS = 20

# HairClip.pilot (int), one column per member that plays a clip; times in parts of a tick, see clips.ONE
CLIP_ANCHOR_START = 0  # column of HairClip.anchor
CLIP_COLLIDER_START = 1
PHASE = 2  # where in the clip the body is
SPEED = 3  # parts of the clip's tick per tick
PERIOD = 4  # of a clip that goes round, else 0
LAST = 5  # of a clip that stays at its end
TIME_SCALE = 6  # parts of a tick that a tick of the crowd is to this member; 0 holds it
OWED = 7  # below one tick
PILOT_STRIDE = 8  # ticks that are run as one
PILOT_ANCHOR = 9  # first column of HairState.anchor
PILOT_ANCHORS = 10
PILOT_COLLIDER = 11
PILOT_COLLIDERS = 12
PILOT_JUMP = 13  # 1: the next tick carries the hair rigidly; 2: every tick does
PILOT_ROWS = 14

# HairClip.place, one column per member that plays a clip
PLACE_TURN = 0  # 4
PLACE_SIZE = 4
PLACE_ROWS = 5

TICKS_PER_LAUNCH = 2  # 60 frames a second in one launch; more rows would be most of an avatar's memory
