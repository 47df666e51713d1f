"""Camera: where the picture is taken from, how it orbits, and how it frames a set of points."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# Yaw and pitch in degrees of each named view: yaw 0 looks at the avatar's face, 90 at its left side. Chosen for looks.
VIEWS = {
    "front": (0.0, 4.0),
    "three_quarter": (35.0, 8.0),
    "side": (90.0, 4.0),
    "back": (180.0, 6.0),
    "back_quarter": (145.0, 8.0),
    "right": (-90.0, 4.0),
    "top": (0.0, 60.0),
}


@dataclass(frozen=True)
class Camera:
    """An orbiting camera: it looks at `target` from `distance`, turned by yaw about y and lifted by pitch."""

    target: tuple[float, float, float] = (0.0, 1.0, 0.0)  # metres
    distance: float = 3.0  # metres
    yaw: float = 0.0  # radians, 0 looks along -z, positive goes to the avatar's left
    pitch: float = 0.07  # radians, positive looks down
    fov: float = 0.5  # radians, vertical field of view
    near: float = 0.02  # metres

    @property
    def eye(self) -> np.ndarray:
        """(3,) position in metres."""
        return np.asarray(self.target) - self.distance * self.axes[2]

    @property
    def axes(self) -> np.ndarray:
        """(3, 3) rows right, up and forward, unit vectors in world space."""
        cy, sy, cp, sp = np.cos(self.yaw), np.sin(self.yaw), np.cos(self.pitch), np.sin(self.pitch)
        forward = np.array([-sy * cp, -sp, -cy * cp])
        right = np.array([cy, 0.0, -sy])
        return np.stack([right, np.cross(right, forward), forward])

    def matrix(self, width: int, height: int) -> np.ndarray:
        """(3, 4) map from world to (x w, y w, w): pixels from the top left corner, w metres along the view."""
        axes, eye = self.axes, self.eye
        view = np.concatenate([axes, -(axes @ eye)[:, None]], axis=1)
        f = 0.5 * height / np.tan(0.5 * self.fov)
        return np.stack([f * view[0] + 0.5 * width * view[2], -f * view[1] + 0.5 * height * view[2], view[2]])

    def orbited(self, yaw: float, pitch: float) -> Camera:
        """Turned about the target by these angles in radians; pitch stays within 85 degrees of the horizon."""
        limit = np.radians(85.0)
        return replace(self, yaw=self.yaw + yaw, pitch=float(np.clip(self.pitch + pitch, -limit, limit)))

    def zoomed(self, factor: float) -> Camera:
        """Distance multiplied by a factor, kept between 5 cm and 200 m."""
        return replace(self, distance=float(np.clip(self.distance * factor, 0.05, 200.0)))

    def moved(self, right: float, up: float) -> Camera:
        """Target and eye shifted across the picture, in metres."""
        axes = self.axes
        target = np.asarray(self.target) + right * axes[0] + up * axes[1]
        return replace(self, target=tuple(float(x) for x in target))


def frame(
    points: np.ndarray, view: str = "front", fov: float = 28.0, aspect: float = 2 / 3, margin: float = 1.08
) -> Camera:
    """Camera of a named view, with all points (V, 3) in the picture. fov in degrees, aspect is width / height.

    The distance is the least at which the silhouette fits, times `margin`; the box is centred in the picture.
    """
    if view not in VIEWS:
        raise ValueError(f"view {view!r} is unknown, wanted one of {', '.join(VIEWS)}")
    points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    if not len(points) or not np.isfinite(points).all():
        raise ValueError(
            f"framing view {view!r}: wanted finite points, got {len(points)} with NaN or infinity, or none"
        )
    yaw, pitch = np.radians(VIEWS[view])
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = np.tan(0.5 * np.radians(fov)) / margin
    camera = Camera(tuple(centre), 1.0, yaw, pitch, float(np.radians(fov)))
    right, up, forward = camera.axes
    # Each side of the picture is a plane through the eye. With the eye at centre + a right + b up - d forward, the left
    # and right planes need |x - a| <= half * aspect * (d + depth); the tightest pair gives d and the offset a at once.
    local = (points - centre) @ np.stack([right, up, forward]).T
    depth = local[:, 2]
    offsets, distances = [], []
    for axis, slope in ((0, half * aspect), (1, half)):
        high = np.max(local[:, axis] - slope * depth)
        low = np.max(-local[:, axis] - slope * depth)
        distances.append((high + low) / (2 * slope))
        offsets.append(0.5 * (high - low))
    distance = max(*distances, 0.05 - depth.min())
    target = centre + offsets[0] * right + offsets[1] * up
    return replace(camera, target=tuple(float(x) for x in target), distance=float(distance))
